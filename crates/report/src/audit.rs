//! What recorders' own compactions did: tables and a closing sentence, a document, and a row for each compaction and strategy.

use crate::inspect::{common_folder, not_used};
use crate::number::{count, decimals, dollars, grouped, money, percent, short};
use crate::plain;
use crate::terminal::{ALWAYS, Head, Width, dash, shortened, table, wrap};
use foldback_replay::audit::{Audit, AuditedFold, Binding, Compaction, Missing, NEAR};
use foldback_replay::corpus::Skipped;
use foldback_replay::setup::AS_RECORDED;
use foldback_replay::tune::agents::OtherThreshold;
use foldback_replay::walk::Walk;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Texts of a kind that are listed, and columns that each takes.
const LISTED: (usize, usize) = (3, 60);

/// Sessions without a compaction that are listed.
const NEAREST: usize = 3;

/// The share of a window below which a compaction says nothing of when its agent compacts.
const LOW: f64 = 0.3;

/// The sessions of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Audited {
    /// Version of the program.
    pub version: &'static str,
    /// The estimator that counted the tokens.
    pub estimator: String,
    /// Files that were not used.
    pub skipped: Vec<Skipped>,
    /// The closing sentence.
    pub sentence: String,
    /// What another threshold would have made of the sessions in which an agent compacted by itself, by agent.
    pub thresholds: Vec<OtherThreshold>,
    /// In the order of their paths.
    pub sessions: Vec<Audit>,
}

/// A compaction: the number of its session among those that have one, the session, and its number there.
type Place<'a> = (usize, &'a Audit, usize, &'a Compaction);

/// When a sign is explained.
type Condition = dyn Fn(&Compaction, &AuditedFold) -> bool;

impl Audited {
    /// The sessions of a run.
    pub fn new(
        sessions: Vec<Audit>,
        skipped: Vec<Skipped>,
        thresholds: Vec<OtherThreshold>,
        estimator: String,
    ) -> Self {
        let (version, sentence) = (env!("CARGO_PKG_VERSION"), String::new());
        let mut out = Self { version, estimator, skipped, sentence, thresholds, sessions };
        out.sentence = out.summed_up();
        out
    }

    /// A row for each compaction and whoever folds there. Lists are their lengths.
    pub fn rows(&self) -> Vec<Map<String, Value>> {
        let mut rows = Vec::new();
        for (_, session, number, compaction) in self.places() {
            for fold in &compaction.folds {
                let mut row = Map::new();
                flatten(&mut row, "", &json!({ "session": session.path, "compaction": number }));
                for part in [json!(session), json!(compaction), json!(fold)] {
                    flatten(&mut row, "", &part);
                }
                row.retain(|name, _| {
                    !["path", "compactions", "failed", "folds"].contains(&&**name)
                });
                rows.push(row);
            }
        }
        rows
    }

    /// The tables and the closing sentence; with everything of each compaction if it is `full`.
    pub fn text(&self, full: bool, width: Width) -> String {
        let mut out = self.tables(width);
        for place in self.places().filter(|_| full) {
            details(&mut out, place, width);
        }
        self.without(&mut out, width);
        for text in not_used(&self.skipped, full) {
            wrap(&mut out, "", "  ", &text, width);
        }
        for text in self.closing() {
            wrap(&mut out, "", "", &text, width);
        }
        out
    }

    /// The closing sentences, of all sessions and then of each agent.
    pub(crate) fn closing(&self) -> impl Iterator<Item = String> {
        let others = self.thresholds.iter().map(threshold);
        let checks =
            "To try values on sessions held out: foldback recommend --for AGENT".to_owned();
        let checks = (!self.thresholds.is_empty()).then_some(checks);
        let invented = self.places().flat_map(|(at, _, number, it)| {
            let text = move |rule: &String| {
                let rule = plain::line(rule);
                format!("{at}.{number}: its summary forbids what no user named: {rule}")
            };
            it.invented.iter().map(text)
        });
        invented.chain([self.sentence.clone()]).chain(others).chain(checks)
    }

    /// What recorders did and others would have done, where there is a compaction.
    pub(crate) fn tables(&self, width: Width) -> String {
        let mut out = String::new();
        if self.places().next().is_some() {
            self.recorded(&mut out, width);
            self.beside(&mut out, width);
        }
        out
    }

    /// The sessions with compactions, call by call.
    pub fn walks(&self) -> impl Iterator<Item = &Walk> {
        self.sessions.iter().filter_map(|session| session.walk.as_ref())
    }

    fn compacted(&self) -> impl Iterator<Item = &Audit> {
        self.sessions.iter().filter(|session| !session.compactions.is_empty())
    }

    fn places(&self) -> impl Iterator<Item = Place<'_>> {
        self.compacted().enumerate().flat_map(|(at, session)| {
            let numbered = session.compactions.iter().enumerate();
            numbered.map(move |(number, compaction)| (at + 1, session, number + 1, compaction))
        })
    }

    /// What the recorders did, and the sessions behind the numbers.
    fn recorded(&self, out: &mut String, width: Width) {
        let heads = [
            Head::words("#", ALWAYS),
            Head::number("call", ALWAYS),
            Head::words("by", 6),
            Head::number("tokens", ALWAYS),
            Head::number("pause", 3),
            Head::number("$", ALWAYS),
            Head::number("names", ALWAYS),
            Head::number("texts", ALWAYS),
            Head::number("again", 8),
            Head::number("rules", 7),
            Head::number("tasks", 5),
            Head::words("when", 1),
        ];
        let line = |(at, session, number, compaction): Place<'_>| {
            let size = |tokens: Option<u64>| tokens.map_or_else(dash, short);
            let (before, after) = (size(compaction.tokens_before), size(compaction.tokens_after));
            let own = own(compaction);
            let cost = |own: &AuditedFold| {
                format!("{}{:.2}", if own.cost.cold { "cold " } else { "" }, own.cost.usd())
            };
            let time = compaction.at_ms.and_then(|at| Timestamp::from_millisecond(at).ok());
            vec![
                format!("{at}.{number}"),
                format!("{}/{}", compaction.call, session.calls),
                if compaction.copied { "copy" } else { trigger(&compaction.trigger) }.to_owned(),
                format!("{before}→{after}"),
                compaction.pause_ms.map_or_else(dash, span),
                own.map_or_else(dash, cost),
                own.map_or_else(dash, |own| both(own, |missing| missing.names.len())),
                own.map_or_else(dash, |own| both(own, |missing| missing.texts.len())),
                compaction.read_again.results.to_string(),
                own.map_or_else(dash, |own| gone(&own.rules)),
                own.map_or_else(dash, |own| gone(&own.tasks)),
                time.map_or_else(dash, |time| time.strftime("%Y-%m-%d %H:%M").to_string()),
            ]
        };
        out.push_str("What your agents' own compactions did\n");
        table(out, width, &heads, self.places().map(line).collect());
        let mut legend = format!(
            "#: session and compaction · call: the one that came next, of all · by: the agent itself (auto), its user (hand), or after a \
             refusal · tokens: of the requests before and after · pause: since the message before, with the time that the compaction took \
             where its end is recorded · $: the summary, and what the next call wrote to the cache again; cold: the cache had expired · \
             names, texts: what calls needed and no longer had in view, within {NEAR} calls / up to the next compaction; texts are old \
             texts of edits and pieces of results · again: results that were read again · rules, tasks: binding sentences of the user's \
             and open tasks that the next request no longer said word for word, of all"
        );
        let any =
            |is: &Condition| self.places().any(|(.., it)| own(it).is_some_and(|own| is(it, own)));
        let rest: [(&str, &Condition); 3] = [
            (" · ?: the recording does not hold what went", &|_, own| !own.folded),
            (" · ≤: a sealed summary may hold some of it", &|_, own| own.sealed),
            (" · copy: it counts in the session that this one goes on from", &|it, _| it.copied),
        ];
        legend.extend(rest.iter().filter(|(_, is)| any(is)).map(|(text, _)| *text));
        wrap(out, "", "  ", &legend, width);
        out.push('\n');
        let folder = common_folder(self.compacted().map(|one| one.path.as_str()));
        for (at, session) in self.compacted().enumerate() {
            let text = format!(
                "{}{}, {}{}",
                &session.path[folder.len()..],
                if session.subagent { " (subagent or fork)" } else { "" },
                count(session.calls as u64, "call"),
                session.usd.map_or_else(String::new, |usd| format!(", {}", dollars(usd, 2))),
            );
            wrap(out, &format!("{:>3}  ", at + 1), "     ", &plain::line(&text), width);
        }
        if !folder.is_empty() {
            wrap(out, "", "  ", &format!("all are in {folder}"), width);
        }
        out.push('\n');
    }

    /// What strategies would have made of the same places.
    fn beside(&self, out: &mut String, width: Width) {
        let mut heads = vec![Head::words("#", ALWAYS)];
        heads.extend(["recorder", "indexed", "replica"].map(|name| Head::number(name, ALWAYS)));
        heads.push(Head::words("which", ALWAYS));
        let line = |(at, session, number, compaction): Place<'_>| {
            let folds = [0, 1, 2].map(|at| compaction.folds.get(at));
            let cell = |fold: Option<&AuditedFold>| {
                let fold = fold.filter(|fold| fold.folded && compaction.call < session.calls);
                fold.map_or_else(dash, |fold| {
                    let (usd, missed) = (fold.cost.usd(), missed(fold));
                    format!("{usd:.2}  {missed:>3}  {:>4}", short(fold.next_tokens))
                })
            };
            let which = folds[2].and_then(|fold| fold.by.split('+').next()).unwrap_or_default();
            let cells = folds.map(cell).into_iter().chain([which.to_owned()]);
            [format!("{at}.{number}")].into_iter().chain(cells).collect()
        };
        out.push_str("The same places, folded by others\n");
        table(out, width, &heads, self.places().map(line).collect());
        let legend = "Each: dollars, names and texts that calls missed up to the next compaction, tokens of the next request. The replica is \
                      the preset that reproduces the agent; presets write their summaries without a model here. –: it folded nothing there, \
                      or nothing came after it.";
        wrap(out, "", "  ", legend, width);
        out.push('\n');
    }

    /// How far the other sessions were from a compaction.
    fn without(&self, out: &mut String, width: Width) {
        // By agent, the shares of the window at which it compacted by itself.
        let mut usual: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (_, session, _, it) in self.places() {
            let before = it.tokens_before.filter(|_| it.trigger == "auto" && it.kind != "clear");
            let share = before.map(|before| before as f64 / session.window.max(1) as f64);
            usual.entry(session.format).or_default().extend(share.filter(|share| *share > LOW));
        }
        usual.values_mut().for_each(|shares| shares.sort_by(f64::total_cmp));
        let limit = |session: &Audit| {
            let shares = usual.get(session.format);
            let share = shares.and_then(|shares| shares.get(shares.len() / 2)).copied();
            ((share.unwrap_or(1.0) * session.window as f64) as u64, share.is_some())
        };
        let share = |it: &Audit| it.largest as f64 / limit(it).0.max(1) as f64;
        let none = self.sessions.iter().filter(|it| it.compactions.is_empty() && it.calls > 0);
        let mut none: Vec<&Audit> = none.collect();
        none.sort_by(|a, b| share(b).total_cmp(&share(a)));
        if none.is_empty() {
            return;
        }
        let text = format!(
            "{} without a compaction. The nearest to one, by their largest requests:",
            count(none.len() as u64, "session")
        );
        wrap(out, "", "  ", &text, width);
        for session in none.into_iter().take(NEAREST) {
            let (tokens, is_usual) = limit(session);
            let text = match session.largest {
                0 => format!("{}: their size is not recorded", session.path),
                largest => format!(
                    "{}: {} tokens, {} of {}",
                    session.path,
                    grouped(largest),
                    percent(share(session)),
                    match (grouped(tokens), is_usual) {
                        (usual, true) =>
                            format!("the {usual} at which {} compacted above", session.format),
                        (window, false) => format!("its window of {window}"),
                    }
                ),
            };
            wrap(out, "  ", "    ", &plain::line(&text), width);
        }
        out.push('\n');
    }

    /// The closing sentence.
    fn summed_up(&self) -> String {
        let counted: Vec<Place<'_>> = self.places().filter(|(.., it)| !it.copied).collect();
        if counted.is_empty() {
            return "No compaction is recorded in these sessions.".to_owned();
        }
        let folds = || counted.iter().filter_map(|(.., compaction)| own(compaction));
        let usd: f64 = folds().map(|own| own.cost.usd()).sum();
        let estimated = folds().filter(|own| own.cost.estimated);
        let estimated: f64 = estimated.map(|own| own.cost.summary_usd).sum();
        let again = || counted.iter().map(|(.., compaction)| &compaction.read_again);
        let results: usize = again().map(|again| again.results).sum();
        let again_usd: f64 = again().map(|again| again.usd).sum();
        let compactions = count(counted.len() as u64, "compaction");
        let mut out = format!("Your {compactions} cost {}", money(usd));
        if estimated > 0.0 {
            out += &format!(
                " ({} of it for summaries whose requests are not recorded, priced as if they read nothing from the cache)",
                money(estimated)
            );
        }
        out += &match results {
            0 => ", and nothing was read again after them.".to_owned(),
            _ => {
                let results = count(results as u64, "result");
                format!(", and after them your agents read {results} again ({}).", money(again_usd))
            }
        };
        let late =
            |(_, session, _, it): &&Place<'_>| (session.calls - it.call) * 10 < session.calls;
        let late = counted.iter().filter(late).count();
        let cold = folds().filter(|own| own.cost.cold).count();
        let unknown = folds().filter(|own| !own.folded).count();
        for (number, text) in [
            (late, "of them came less than 10 % before the session ended"),
            (cold, "came after the cache had expired"),
            (unknown, "took away what the recording does not hold"),
        ] {
            out += &if number > 0 { format!(" {number} {text}.") } else { String::new() };
        }
        let pairs = counted.iter().filter_map(|(.., compaction)| match &*compaction.folds {
            [own, indexed, ..] if own.folded && indexed.folded => Some([own, indexed]),
            _ => None,
        });
        let pairs: Vec<[&AuditedFold; 2]> = pairs.collect();
        let places = pairs.len();
        if places > 0 {
            let [own, indexed] = [0, 1].map(|at| {
                let folds = || pairs.iter().map(|pair| pair[at]);
                let next: u64 = folds().map(|fold| fold.next_tokens).sum();
                let usd: f64 = folds().map(|fold| fold.cost.usd()).sum();
                (money(usd), folds().map(missed).sum::<usize>(), short(next / places as u64))
            });
            out += &format!(
                " At the {places} places where it folds, too, indexed would have cost {} instead of {}, and calls would have missed {} instead of \
                 {} names and texts; the next request would have had {} tokens instead of {}.",
                indexed.0, own.0, indexed.1, own.1, indexed.2, own.2
            );
        }
        out
    }
}

/// What another threshold would have made.
fn threshold(other: &OtherThreshold) -> String {
    let OtherThreshold { agent, key, value, sessions, net_usd: [own, best], .. } = other;
    let sessions = count(*sessions as u64, "session");
    let of = format!("{agent}, {sessions} in which it compacted by itself");
    let usd = |amount: f64| dollars(amount, decimals(*own));
    let Some(value) = value else {
        return format!(
            "{of}: replayed at {} each; no other {key} that was tried costs less.",
            usd(*own)
        );
    };
    let [missed, would_miss] = other.missed_per_100_calls;
    format!(
        "{of}: replayed with {key} = {value} they cost {} each instead of {}, and 100 calls miss {would_miss:.1} texts instead of \
         {missed:.1}.",
        usd(*best),
        usd(*own)
    )
}

/// Adds the members of an object to a row: those of objects in it under both names, lists as their lengths.
fn flatten(row: &mut Map<String, Value>, prefix: &str, value: &Value) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(_) => flatten(row, &format!("{name}_"), value),
            Value::Array(list) => _ = row.insert(name, list.len().into()),
            _ => _ = row.insert(name, value.clone()),
        }
    }
}

/// The fold of the recorder.
fn own(compaction: &Compaction) -> Option<&AuditedFold> {
    compaction.folds.iter().find(|fold| fold.by == AS_RECORDED)
}

/// All that calls missed up to the next compaction.
fn missed(fold: &AuditedFold) -> usize {
    fold.missing.names.len() + fold.missing.texts.len()
}

/// A time span in its largest unit.
fn span(ms: i64) -> String {
    match ms / 1_000 {
        seconds @ 0..100 => format!("{seconds}s"),
        seconds @ 100..6_000 => format!("{}m", seconds / 60),
        seconds @ 6_000..172_800 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

fn trigger(word: &str) -> &str {
    match word {
        "manual" => "hand",
        "overflow" => "refusal",
        "unknown" => "–",
        other => other,
    }
}

/// `12/41`: within the first calls, and up to the next compaction.
fn both(fold: &AuditedFold, of: impl Fn(&Missing) -> usize) -> String {
    match fold.folded {
        true => {
            let most = if fold.sealed { "≤" } else { "" };
            format!("{most}{}/{}", of(&fold.near), of(&fold.missing))
        }
        false => "?".to_owned(),
    }
}

fn gone(texts: &Binding) -> String {
    match texts.all {
        0 => dash(),
        all => format!("{}/{all}", texts.missing.len()),
    }
}

/// Everything of one compaction.
fn details(out: &mut String, (at, session, number, compaction): Place<'_>, width: Width) {
    let Some(own) = own(compaction) else { return };
    let head = format!("{at}.{number} before call {} of {}", compaction.call, session.path);
    wrap(out, "", "  ", &plain::line(&head), width);
    let estimated = if own.cost.estimated { " (estimated)" } else { "" };
    let (again, rewritten) = (&compaction.read_again, grouped(own.cost.rewritten));
    let (summary, written) = (dollars(own.cost.summary_usd, 2), dollars(own.cost.rewritten_usd, 2));
    let cost =
        format!("{summary}{estimated}; {rewritten} tokens written to the cache again {written}");
    let results = count(again.results as u64, "result");
    let read = format!("{results}, {} tokens, {}: ", grouped(again.tokens), dollars(again.usd, 2));
    for (what, texts, start) in [
        ("summary", None, cost),
        ("names needed", Some(&own.missing.names), String::new()),
        ("texts needed", Some(&own.missing.texts), String::new()),
        ("read again", Some(&again.files), read),
        ("rules not in view", Some(&own.rules.missing), String::new()),
        ("tasks not in view", Some(&own.tasks.missing), String::new()),
    ] {
        if texts.is_none_or(|texts| !texts.is_empty()) {
            let text =
                format!("{what}: {start}{}", texts.map_or_else(String::new, |it| listed(it)));
            wrap(out, "  ", "    ", &plain::line(&text), width);
        }
    }
    out.push('\n');
}

/// The first of some texts, and how many more there are.
pub(crate) fn listed(texts: &[String]) -> String {
    let (most, columns) = LISTED;
    let list: Vec<String> = texts.iter().take(most).map(|text| shortened(text, columns)).collect();
    match texts.len().saturating_sub(most) {
        0 => list.join(", "),
        more => format!("{} and {more} more", list.join(", ")),
    }
}
