//! What an agent really read again after the recorder had dropped it.
//!
//! A would-be re-read ([`crate::availability`]) is a tool result that had left the view and that a later call
//! needed something of. How often does such a miss become a real re-read? Recordings with
//! compactions answer it, since the agent really worked without what was dropped.
//!
//! Per compaction and tool result that it dropped:
//!
//! - *read again*: a call of the window (up to the next compaction) gets the same again, as [`super::access`]
//!   defines it. Of results that get the same thing only the latest before the compaction counts.
//! - *needed*: the arguments of a call in the window have an identifier, or an edit's old text, whose latest
//!   tool result before the compaction is this one, and which then stood neither in what was
//!   kept, nor in the summary, nor in anything new but what read this result again. That the agent read it
//!   again before it used it does not make it less needed; the call that reads it again does not by itself
//!   make it needed.
//! - *found elsewhere*: the same, but something else that came in the meantime had it (another tool's
//!   result, the user). A replay would not count it as missed, so it is neither needed nor lost.
//!
//! References are those of [`crate::availability`], chance matches included (a line count that stood in a
//! result too): a replay counts them alike, so the factor fits what it is applied to.
//!
//! Agents read things twice without having lost them: to see an edit, to run the tests. *Control*
//! windows measure that: points in undisturbed stretches at which nothing was dropped, where all results so far
//! are treated as if they had been.
//!
//! Windows of k calls are counted only where k calls follow, so that short windows do not pull the
//! shares down.

use super::access::{Access, Alike, Kind};
use super::window::{Begin, Window, windows};
use crate::index::{EditNeed, Index, LogPart};
use foldback_core::log::Role;
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What one session says about re-reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionRereads {
    /// Recorded calls.
    pub calls: usize,
    /// Compactions that the recorder marked.
    pub compactions: usize,
    /// Of them, those that say nothing here: no call follows, or the recording does not tell what went.
    pub silent: usize,
    /// One per other compaction, and the controls before the first.
    pub windows: Vec<Aftermath>,
}

/// What followed one compaction, or one control point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aftermath {
    /// `true` where nothing was dropped.
    pub control: bool,
    /// Kind and trigger of the compaction (`summary, auto`), or `control`.
    pub what: String,
    /// Number of the first call after it.
    pub call: usize,
    /// Calls up to the next compaction or the end.
    pub follow: usize,
    /// Whether the recording holds the summary. Where it does not (Codex), what the summary kept counts
    /// as missed: the needs are an upper bound.
    pub readable: bool,
    /// The results that were dropped, in order.
    pub results: Vec<DroppedResult>,
}

/// A tool result that a compaction dropped. Calls are counted from the compaction: 0 is the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DroppedResult {
    /// Id of the tool message.
    pub id: String,
    /// File, or beginning of the call.
    pub label: String,
    /// What kind of result.
    pub kind: Kind,
    /// Size by the measuring estimator.
    pub tokens: u64,
    /// Number of the call that had asked for it, from the start of the session.
    pub asked_at: usize,
    /// First call that read it again.
    pub reread: Option<usize>,
    /// First call that needed something of it.
    pub needed: Option<usize>,
    /// What that call needed: an identifier, or the first line of an edit's old text.
    pub reference: Option<String>,
    /// First call that used something of it after it had come from elsewhere.
    pub elsewhere: Option<usize>,
}

/// Looks at a session; `measure` counts the tokens of the results.
pub fn rereads(session: &Session, measure: &dyn Estimator) -> SessionRereads {
    let index = Index::of(session);
    let accesses = accesses(&index);
    let windows: Vec<Aftermath> = windows(session, &index)
        .iter()
        .map(|window| WindowScan::new(&index, &accesses, window).run(session, measure))
        .collect();
    let followed = windows.iter().filter(|window| !window.control).count();
    SessionRereads {
        calls: index.calls.len(),
        compactions: session.boundaries.len(),
        silent: session.boundaries.len().saturating_sub(followed),
        windows,
    }
}

/// What the call after a tool result gets, and its number.
struct Asked {
    access: Access,
    call: usize,
}

/// By tool result, the call that asked for it.
fn accesses(index: &Index) -> BTreeMap<LogPart, Asked> {
    let mut open: HashMap<&str, (Access, usize)> = HashMap::new();
    let mut out = BTreeMap::new();
    let mut answers = 0;
    for (ordinal, message) in index.log.iter().enumerate() {
        if message.is_answer() {
            answers += 1;
        }
        for (at, part) in message.parts.iter().enumerate() {
            if let Some(call) = part.as_call() {
                let asked_at = answers.max(1) - 1;
                open.insert(&call.call_id, (Access::of(call), asked_at));
            } else if let Some(result) = part.as_result()
                && let Some((access, call)) = open.get(&*result.call_id)
            {
                let asked = Asked { access: access.clone(), call: *call };
                out.insert((ordinal, at), asked);
            }
        }
    }
    out
}

/// One pass over a window.
struct WindowScan<'a> {
    index: &'a Index,
    accesses: &'a BTreeMap<LogPart, Asked>,
    window: &'a Window,
    /// By reference, the latest tool result before the window that has it.
    source: HashMap<u32, LogPart>,
    /// References that came from elsewhere since.
    elsewhere: BTreeSet<u32>,
    found: BTreeMap<LogPart, DroppedResult>,
    /// What was found, by what it gets.
    alike: Alike<'a>,
}

impl<'a> WindowScan<'a> {
    fn new(index: &'a Index, accesses: &'a BTreeMap<LogPart, Asked>, window: &'a Window) -> Self {
        let mut source = HashMap::new();
        for (ordinal, message) in index.log[..window.log.start].iter().enumerate() {
            if message.role != Role::Tool {
                continue;
            }
            for (at, found) in index.references_of(ordinal) {
                source.extend(found.into_iter().map(|reference| (reference, at)));
            }
        }
        let (elsewhere, found, alike) = (BTreeSet::new(), BTreeMap::new(), Alike::default());
        Self { index, accesses, window, source, elsewhere, found, alike }
    }

    fn run(mut self, session: &Session, measure: &dyn Estimator) -> Aftermath {
        self.list(measure);
        let mut call = self.window.first_call;
        let first = self.window.log.start;
        for ordinal in first..self.window.log.end {
            let message = &self.index.log[ordinal];
            if message.is_answer() {
                self.uses(call, ordinal);
                call += 1;
            } else if call > self.window.first_call && message.role != Role::Assistant {
                self.comes(ordinal);
            }
        }
        let what = match self.window.begin {
            Begin::Control => "control".to_owned(),
            Begin::Compaction(number) => {
                let boundary = &session.boundaries[number];
                format!("{}, {}", boundary.kind, boundary.trigger)
            }
        };
        Aftermath {
            control: self.window.begin == Begin::Control,
            what,
            call: self.window.first_call,
            follow: self.window.end_call - self.window.first_call,
            readable: self.window.readable,
            results: self.found.into_values().collect(),
        }
    }

    /// The dropped results, without those that a later one before the compaction had replaced.
    fn list(&mut self, measure: &dyn Estimator) {
        for at in self.window.dropped.iter().rev() {
            let Some(asked) = self.accesses.get(at) else {
                continue;
            };
            let supersedes =
                |later: LogPart| self.accesses[&later].access.supersedes(&asked.access);
            if self.alike.superseding(&asked.access).any(supersedes) {
                continue;
            }
            self.alike.add(&asked.access, *at);
            let message = &self.index.log[at.0];
            let part = &message.parts[at.1];
            self.found.insert(
                *at,
                DroppedResult {
                    id: message.id.clone(),
                    label: asked.access.label(),
                    kind: asked.access.kind,
                    tokens: measure.part(part, &part.shown()),
                    asked_at: asked.call,
                    reread: None,
                    needed: None,
                    reference: None,
                    elsewhere: None,
                },
            );
        }
    }

    /// A call refers to things and reads things.
    fn uses(&mut self, call: usize, ordinal: usize) {
        let offset = call - self.window.first_call;
        let answer = &self.index.log[ordinal];
        let mut again = BTreeSet::new();
        for now in answer.parts.iter().filter_map(|part| part.as_call()).map(Access::of) {
            let earlier = self.alike.got_by(&now);
            again.extend(earlier.filter(|at| now.gets_again(&self.accesses[at].access)));
        }
        let index = self.index;
        if let Some(needs) = index.calls.get(call) {
            for need in &needs.references {
                let reference = need.reference;
                if self.window.kept.contains(&reference) {
                    continue;
                }
                let Some(source) = self.source.get(&reference).copied() else {
                    continue;
                };
                if again.contains(&source) {
                    continue;
                }
                let came = self.elsewhere.contains(&reference);
                let text = &index.entries[need.id as usize].text;
                self.need(source, offset, came, text);
            }
            for edit in &needs.edits {
                self.edit(edit, offset, &again);
            }
        }
        for at in again {
            if let Some(found) = self.found.get_mut(&at) {
                found.reread.get_or_insert(offset);
            }
        }
    }

    fn edit(&mut self, edit: &EditNeed, offset: usize, again: &BTreeSet<LogPart>) {
        let is_tool = |at: &&LogPart| self.index.log[at.0].role == Role::Tool;
        let places = self.index.places(edit);
        let before = || places.iter().filter(|at| at.0 < self.window.log.start);
        let Some(source) = before().rev().find(is_tool).copied() else {
            return;
        };
        let kept = before().any(|at| is_tool(&at) && !self.window.dropped.contains(at));
        if kept || again.contains(&source) {
            return;
        }
        let earlier = self.accesses.get(&source).map(|asked| &asked.access);
        let came = places.iter().any(|at| {
            at.0 >= self.window.log.start
                && self.index.log[at.0].role != Role::Assistant
                && !self.reads_again(*at, earlier)
        });
        let text = self.index.old_text(edit);
        let line = text.lines().find(|line| !line.trim().is_empty());
        self.need(source, offset, came, line.unwrap_or_default().trim());
    }

    fn need(&mut self, source: LogPart, offset: usize, elsewhere: bool, text: &str) {
        let Some(found) = self.found.get_mut(&source) else {
            return;
        };
        if elsewhere {
            found.elsewhere.get_or_insert(offset);
        } else if found.needed.is_none() {
            found.needed = Some(offset);
            found.reference = Some(text.chars().take(LONGEST).collect());
        }
    }

    /// Something new comes: what it has need not be missed any more, unless it is a re-read.
    fn comes(&mut self, ordinal: usize) {
        for (at, found) in self.index.references_of(ordinal) {
            for reference in found {
                let source = self.source.get(&reference);
                let earlier = source.and_then(|at| self.accesses.get(at));
                if !self.reads_again(at, earlier.map(|asked| &asked.access)) {
                    self.elsewhere.insert(reference);
                }
            }
        }
    }

    fn reads_again(&self, at: LogPart, earlier: Option<&Access>) -> bool {
        let now = self.accesses.get(&at).map(|asked| &asked.access);
        matches!((now, earlier), (Some(now), Some(earlier)) if now.gets_again(earlier))
    }
}

/// Longest reference that a row holds, in characters.
const LONGEST: usize = 80;
