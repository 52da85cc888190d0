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

/// Texts of a kind that are listed, and columns that each takes.
const LISTED: (usize, usize) = (3, 60);

/// Sessions without a compaction that are listed.
const NEAREST: usize = 3;

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

    /// What recorders did and others would have done at the same places, and the sessions behind the numbers; nothing without a
    /// compaction.
    pub(crate) fn tables(&self, width: Width) -> String {
        let mut out = String::new();
        if self.compacted().next().is_none() {
            return out;
        }
        let heads = [
            Head::words("#", ALWAYS),
            Head::number("call", ALWAYS),
            Head::words("by", ALWAYS),
            Head::number("tokens", ALWAYS),
            Head::number("next", 4),
            Head::number("pause", 3),
            Head::number("$", ALWAYS),
            Head::number("names", ALWAYS),
            Head::number("texts", ALWAYS),
            Head::number("again", 8),
            Head::number("rules", 7),
            Head::number("tasks", 5),
            Head::words("when", 1),
        ];
        let rows =
            self.places().flat_map(|place| place.3.folds.iter().map(move |fold| row(place, fold)));
        out.push_str(
            "What your agents' own compactions did, and what others would have done there\n",
        );
        table(&mut out, width, &heads, rows.collect());
        let legend = format!(
            "#: session and compaction; below it, indexed and the preset that reproduces the agent, at the same place and without a model · \
             call: the one that came next, of all · by: the agent itself (auto), its user (hand), or after a refusal; copy: it counts in the \
             session that this one goes on from · tokens: of the requests before and after, by their provider; next: of the one after, as \
             counted here · pause: since the message before, with the time that the compaction took where its end is recorded · $: the \
             summary, and what the next call wrote to the cache again; cold: the cache had expired · names, texts: what calls needed and no \
             longer had in view, within {NEAR} calls / up to the next compaction; texts are old texts of edits and pieces of results; ≤: a \
             sealed summary may hold some of it; ?: the recording does not hold what went · again: results that were read again · rules, \
             tasks: binding sentences of the user's and open tasks that the next request no longer said word for word, of all"
        );
        wrap(&mut out, "", "  ", &legend, width);
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
            wrap(&mut out, &format!("{:>3}  ", at + 1), "     ", &plain::line(&text), width);
        }
        if !folder.is_empty() {
            wrap(&mut out, "", "  ", &format!("all are in {folder}"), width);
        }
        out.push('\n');
        out
    }

    /// How far the other sessions were from a compaction.
    fn without(&self, out: &mut String, width: Width) {
        let share = |it: &Audit| it.largest as f64 / it.window.max(1) as f64;
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
            let Audit { path, largest, window, .. } = session;
            let text = match largest {
                0 => format!("{path}: their size is not recorded"),
                _ => format!(
                    "{path}: {} tokens, {} of its window of {}",
                    grouped(*largest),
                    percent(share(session)),
                    grouped(*window)
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
        let folds: Vec<&AuditedFold> =
            counted.iter().filter_map(|(.., compaction)| own(compaction)).collect();
        let sum = |usd: fn(&AuditedFold) -> f64| folds.iter().map(|own| usd(own)).sum::<f64>();
        let estimated = sum(|own| if own.cost.estimated { own.cost.summary_usd } else { 0.0 });
        let again = || counted.iter().map(|(.., compaction)| &compaction.read_again);
        let results: usize = again().map(|again| again.results).sum();
        let compactions = count(counted.len() as u64, "compaction");
        let mut out = format!("Your {compactions} cost {}", money(sum(|own| own.cost.usd())));
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
                let usd = money(again().map(|again| again.usd).sum());
                format!(", and after them your agents read {results} again ({usd}).")
            }
        };
        let late =
            |(_, session, _, it): &&Place<'_>| (session.calls - it.call) * 10 < session.calls;
        let count_of = |is: fn(&AuditedFold) -> bool| folds.iter().filter(|own| is(own)).count();
        for (number, text) in [
            (
                counted.iter().filter(late).count(),
                "of them came less than 10 % before the session ended",
            ),
            (count_of(|own| own.cost.cold), "came after the cache had expired"),
            (count_of(|own| !own.folded), "took away what the recording does not hold"),
        ] {
            out += &if number > 0 { format!(" {number} {text}.") } else { String::new() };
        }
        let pairs = counted.iter().filter_map(|(.., compaction)| match &*compaction.folds {
            [own, indexed, ..] if own.folded && indexed.folded => Some([own, indexed]),
            _ => None,
        });
        let pairs: Vec<[&AuditedFold; 2]> = pairs.collect();
        if !pairs.is_empty() {
            let [own, indexed] = [0, 1].map(|at| {
                let usd: f64 = pairs.iter().map(|pair| pair[at].cost.usd()).sum();
                (money(usd), pairs.iter().map(|pair| missed(pair[at])).sum::<usize>())
            });
            out += &format!(
                " indexed folds {}, too: it would have cost {} instead of {}, and calls would have missed {} instead of {} names and texts.",
                match (pairs.len(), counted.len()) {
                    (some, all) if some == all => "there".to_owned(),
                    (some, all) => format!("at {some} of these {all} places"),
                },
                indexed.0,
                own.0,
                indexed.1,
                own.1
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

/// What a recorder's compaction did, or a strategy would have done at its place.
fn row((at, session, number, compaction): Place<'_>, fold: &AuditedFold) -> Vec<String> {
    let is_own = fold.by == AS_RECORDED;
    let of_own = |text: &dyn Fn() -> String| if is_own { text() } else { String::new() };
    // Nothing is folded where a strategy does not act, or where no request came after it.
    let is_known = is_own || fold.folded && compaction.call < session.calls;
    let cell = |text: String| if is_known { text } else { dash() };
    // `12/41`: within the first calls, and up to the next compaction.
    let missed = |list: fn(&Missing) -> usize| {
        let most = if fold.sealed { "≤" } else { "" };
        match fold.folded {
            true => format!("{most}{}/{}", list(&fold.near), list(&fold.missing)),
            false => cell("?".to_owned()),
        }
    };
    let gone = |texts: &Binding| match texts.all {
        0 => dash(),
        all => cell(format!("{}/{all}", texts.missing.len())),
    };
    let size = |tokens: Option<u64>| tokens.map_or_else(dash, short);
    let time = || compaction.at_ms.and_then(|at| Timestamp::from_millisecond(at).ok());
    let by = match &*compaction.trigger {
        _ if !is_own => fold.by.split('+').next().unwrap_or_default(),
        _ if compaction.copied => "copy",
        "manual" => "hand",
        "overflow" => "refusal",
        "unknown" => "–",
        other => other,
    };
    vec![
        of_own(&|| format!("{at}.{number}")),
        of_own(&|| format!("{}/{}", compaction.call, session.calls)),
        by.to_owned(),
        of_own(&|| format!("{}→{}", size(compaction.tokens_before), size(compaction.tokens_after))),
        cell(short(fold.next_tokens)),
        of_own(&|| compaction.pause_ms.map_or_else(dash, span)),
        cell(format!("{}{:.2}", if fold.cost.cold { "cold " } else { "" }, fold.cost.usd())),
        missed(|missing| missing.names.len()),
        missed(|missing| missing.texts.len()),
        of_own(&|| compaction.read_again.results.to_string()),
        gone(&fold.rules),
        gone(&fold.tasks),
        of_own(&|| time().map_or_else(dash, |at| at.strftime("%Y-%m-%d %H:%M").to_string())),
    ]
}

/// Everything of one compaction.
fn details(out: &mut String, (at, session, number, compaction): Place<'_>, width: Width) {
    let Some(own) = own(compaction) else { return };
    let again = &compaction.read_again;
    let head = format!("{at}.{number} before call {} of {}", compaction.call, session.path);
    wrap(out, "", "  ", &plain::line(&head), width);
    let cost = format!(
        "summary: {}{}; {} tokens written to the cache again {}; {} read again, {} tokens, {}",
        dollars(own.cost.summary_usd, 2),
        if own.cost.estimated { " (estimated)" } else { "" },
        grouped(own.cost.rewritten),
        dollars(own.cost.rewritten_usd, 2),
        count(again.results as u64, "result"),
        grouped(again.tokens),
        dollars(again.usd, 2)
    );
    wrap(out, "  ", "    ", &cost, width);
    for (what, texts) in [
        ("names needed", &own.missing.names),
        ("texts needed", &own.missing.texts),
        ("files read again", &again.files),
        ("rules not in view", &own.rules.missing),
        ("tasks not in view", &own.tasks.missing),
    ] {
        if !texts.is_empty() {
            let text = format!("{what}: {}", listed(texts));
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
