//! Finding the conversation that a request belongs to without a look at all of them.

use super::chain::{Chain, Relation, Request};
use super::message::Unit;
use crate::prelude::*;
use blake3::{Hash, Hasher};

/// An index of conversations by their content.
#[derive(Clone, Copy)]
enum By {
    /// All units of a context. A request that begins with them continues the conversation.
    Whole,
    /// The first so many units, as they were last shown: a request that has no others repeats one.
    Beginning,
    /// The first unit.
    First,
    /// The span around its calls, and its instructions.
    Caller,
}

/// The conversations of a file by what they are found by.
#[derive(Default)]
pub(super) struct Index {
    chains: HashMap<Hash, BTreeSet<usize>>,
    /// Under what each is found.
    marks: HashMap<usize, Vec<Hash>>,
}

/// A chain, and how a request relates to it.
pub(super) type ChainMatch = Option<(usize, Relation)>;

impl Index {
    /// Notes a chain as it is now.
    pub(super) fn note(&mut self, number: usize, chain: &Chain) {
        for mark in self.marks.remove(&number).unwrap_or_default() {
            if let Some(chains) = self.chains.get_mut(&mark) {
                chains.remove(&number);
                if chains.is_empty() {
                    self.chains.remove(&mark);
                }
            }
        }
        let mut contents: Vec<(By, Hash)> = Vec::new();
        let units = || chain.context.iter().map(|held| &held.unit);
        contents.extend(beginnings(units(), shown).map(|hash| (By::Beginning, hash)));
        let identities: Vec<Hash> = beginnings(units(), identity).collect();
        if let [_, first, ..] = *identities {
            contents.push((By::First, first));
            contents.extend(identities.last().map(|whole| (By::Whole, *whole)));
        }
        contents.extend(caller(&chain.parent, &chain.instructions).map(|hash| (By::Caller, hash)));
        let conversation = chain.conversation.as_deref();
        let marks = contents.into_iter().flat_map(|(by, content)| {
            let within = [Within::Any, Within::This(conversation)];
            within.map(|within| mark(by, content, chain.agent.as_deref(), within))
        });
        let marks: Vec<Hash> = marks.collect();
        for mark in &marks {
            self.chains.entry(*mark).or_default().insert(number);
        }
        self.marks.insert(number, marks);
    }

    /// The chain that a request belongs to: the longest that it continues, else the latest of the same agent.
    pub(super) fn nearest(&self, chains: &[Chain], request: &Request<'_>) -> ChainMatch {
        let latest = |by: By, content: Hash| {
            let agent = request.span.text(&["gen_ai.agent.name"]);
            let within = match request.span.text(&["gen_ai.conversation.id"]) {
                None => vec![Within::Any],
                named => vec![Within::This(None), Within::This(named)],
            };
            let marks = within.into_iter().map(|within| mark(by, content, agent, within));
            marks.filter_map(|mark| self.chains.get(&mark)?.last().copied()).max()
        };
        let identities: Vec<Hash> = beginnings(request.units.iter(), identity).collect();
        let continued = identities.iter().skip(1).rev().find_map(|hash| latest(By::Whole, *hash));
        if let Some(number) = continued {
            return Some((number, Relation::Continues(chains.get(number)?.shown_anew(request))));
        }
        let all = beginnings(request.units.iter(), shown).last();
        if let Some(number) = all.and_then(|all| latest(By::Beginning, all)) {
            return Some((number, Relation::Repeats));
        }
        let first = identities.get(1).and_then(|first| latest(By::First, *first));
        let caller = caller(&request.span.parent, &request.instructions);
        let caller = caller.and_then(|caller| latest(By::Caller, caller));
        first.max(caller).map(|number| (number, Relation::Replaces))
    }
}

/// The conversation that is asked for.
enum Within<'a> {
    Any,
    /// By its name, if it has one.
    This(Option<&'a str>),
}

fn mark(by: By, content: Hash, agent: Option<&str>, within: Within<'_>) -> Hash {
    let mut hasher = Hasher::new();
    hasher.update(&[by as u8]).update(content.as_bytes());
    let (any, conversation) = match within {
        Within::Any => (1, None),
        Within::This(conversation) => (0, conversation),
    };
    hasher.update(&[any]);
    for name in [agent, conversation] {
        add(&mut hasher, name);
    }
    hasher.finalize()
}

fn add(hasher: &mut Hasher, text: Option<&str>) {
    let length = text.map_or(u64::MAX, |text| text.len() as u64);
    hasher.update(&length.to_le_bytes()).update(text.unwrap_or_default().as_bytes());
}

fn caller(parent: &str, instructions: &[String]) -> Option<Hash> {
    if parent.is_empty() {
        return None;
    }
    let mut hasher = Hasher::new();
    for text in std::iter::once(parent).chain(instructions.iter().map(String::as_str)) {
        add(&mut hasher, Some(text));
    }
    Some(hasher.finalize())
}

/// The hash of each beginning of a list of units, from the empty one on.
fn beginnings<'a>(
    units: impl Iterator<Item = &'a Unit>,
    told: fn(&Unit) -> (bool, &str),
) -> impl Iterator<Item = Hash> {
    let none = Hasher::new().finalize();
    std::iter::once(none).chain(units.scan(none, move |before, unit| {
        let (kind, text) = told(unit);
        let mut hasher = Hasher::new();
        hasher.update(before.as_bytes()).update(&[u8::from(kind)]).update(text.as_bytes());
        *before = hasher.finalize();
        Some(*before)
    }))
}

/// What a unit shows.
fn shown(unit: &Unit) -> (bool, &str) {
    (false, &unit.key)
}

/// The identity of a unit, without the text of a result, which may change later.
fn identity(unit: &Unit) -> (bool, &str) {
    unit.answers.as_deref().map_or((false, &unit.key), |call| (true, call))
}
