//! What recorders' own compactions did: tables and a closing sentence, a document, and a row for each compaction and strategy.

use crate::json::document;
use crate::number::{count, decimals, dollars, grouped, percent, short};
use crate::plain;
use crate::terminal::{ALWAYS, Head, Width, table, wrap};
use foldback_replay::audit::{Audit, AuditedFold, Compaction, Missing, NEAR, Texts};
use foldback_replay::corpus::Skipped;
use foldback_replay::setup::AS_RECORDED;
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;

/// Texts of a kind that are listed.
const LISTED: usize = 3;

/// Characters of a text that is quoted.
const QUOTED: usize = 60;

/// Sessions without a compaction that are listed.
const NEAREST: usize = 5;

/// The share of a session's calls that has to come after a compaction for it to be of use.
const LATE: f64 = 0.1;

/// The sessions of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Audited {
    /// Files that were looked at.
    pub files: usize,
    /// Files that were not used.
    pub skipped: Vec<Skipped>,
    /// The figures of the closing sentence.
    pub total: Total,
    /// In the order of their paths.
    pub sessions: Vec<Audit>,
    /// The estimator that counted the tokens.
    pub estimator: String,
    /// Version of the program.
    pub version: &'static str,
}

/// What all compactions did together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Total {
    /// Compactions.
    pub compactions: usize,
    /// Sessions with one or more.
    pub sessions: usize,
    /// What they cost.
    pub usd: f64,
    /// The part of it that is estimated, since the requests for summaries are not recorded.
    pub estimated_usd: f64,
    /// Results that were read again.
    pub read_again: usize,
    /// What that cost.
    pub read_again_usd: f64,
    /// Compactions with less than a tenth of their session's calls behind them.
    pub late: usize,
    /// Compactions before which the cache had expired.
    pub cold: usize,
    /// Compactions of which the recording does not say what went.
    pub unknown: usize,
}

/// One compaction as one strategy, or the recorder, made it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AuditRow<'a> {
    session: &'a str,
    format: &'a str,
    project: Option<&'a str>,
    model: Option<&'a str>,
    subagent: bool,
    calls: usize,
    compaction: usize,
    call: usize,
    followed: usize,
    at_ms: Option<i64>,
    trigger: &'a str,
    kind: &'a str,
    tokens_before: Option<u64>,
    tokens_after: Option<u64>,
    pause_ms: Option<i64>,
    original_kept: bool,
    by: &'a str,
    folded: bool,
    sealed: bool,
    next_tokens: u64,
    summary_usd: Option<f64>,
    summary_estimated: Option<bool>,
    rewritten_tokens: Option<u64>,
    rewritten_usd: Option<f64>,
    cold: Option<bool>,
    near_names: usize,
    near_old_texts: usize,
    near_pieces: usize,
    near_results: usize,
    names: usize,
    old_texts: usize,
    pieces: usize,
    results: usize,
    result_tokens: u64,
    rules: Option<usize>,
    rules_missing: Option<usize>,
    tasks: Option<usize>,
    tasks_missing: Option<usize>,
    read_again: Option<usize>,
    read_again_tokens: Option<u64>,
    read_again_usd: Option<f64>,
}

impl Audited {
    /// The sessions of these files.
    pub fn new(
        files: usize,
        skipped: Vec<Skipped>,
        sessions: Vec<Audit>,
        estimator: String,
    ) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self { files, skipped, total: Total::new(&sessions), sessions, estimator, version }
    }

    /// The document.
    ///
    /// # Errors
    ///
    /// None that is known.
    pub fn json(&self) -> serde_json::Result<String> {
        document(self)
    }

    /// A row for each compaction and strategy.
    pub fn rows(&self) -> Vec<AuditRow<'_>> {
        let folds = self.numbered().flat_map(|(_, session, number, compaction)| {
            compaction.folds.iter().map(move |fold| row(session, number, compaction, fold))
        });
        folds.collect()
    }

    /// Every compaction: its number among all, its session, its number there, and itself.
    fn numbered(&self) -> impl Iterator<Item = (usize, &Audit, usize, &Compaction)> {
        let all = self.sessions.iter().flat_map(|session| {
            let numbered = session.compactions.iter().enumerate();
            numbered.map(move |(number, compaction)| (session, number + 1, compaction))
        });
        all.enumerate()
            .map(|(at, (session, number, compaction))| (at + 1, session, number, compaction))
    }

    /// The tables and the closing sentence; with everything of each compaction if it is `full`.
    pub fn text(&self, full: bool, width: Width) -> String {
        let mut out = String::new();
        if self.total.compactions > 0 {
            self.recorded(&mut out, width);
            self.beside(&mut out, width);
        }
        if full {
            for (number, session, _, compaction) in self.numbered() {
                details(&mut out, number, session, compaction, width);
            }
        }
        self.without(&mut out, width);
        for text in crate::inspect::not_used(&self.skipped, full) {
            wrap(&mut out, "", "  ", &text, width);
        }
        wrap(&mut out, "", "", &self.sentence(), width);
        out
    }
}

impl Total {
    fn new(sessions: &[Audit]) -> Self {
        let mut out = Self::default();
        for session in sessions {
            out.sessions += usize::from(!session.compactions.is_empty());
            for compaction in &session.compactions {
                out.compactions += 1;
                out.read_again += compaction.read_again.results;
                out.read_again_usd += compaction.read_again.usd;
                out.late += usize::from(is_late(session, compaction));
                let Some(own) = own(compaction) else { continue };
                out.unknown += usize::from(!own.folded);
                if let Some(cost) = own.cost {
                    out.usd += cost.usd();
                    out.estimated_usd += if cost.estimated { cost.summary_usd } else { 0.0 };
                    out.cold += usize::from(cost.cold);
                }
            }
        }
        out
    }
}

fn is_late(session: &Audit, compaction: &Compaction) -> bool {
    let left = session.calls.saturating_sub(compaction.call);
    (left as f64) < LATE * session.calls as f64
}

/// What the recorder made of it.
fn own(compaction: &Compaction) -> Option<&AuditedFold> {
    compaction.folds.iter().find(|fold| fold.by == AS_RECORDED)
}

fn row<'a>(
    session: &'a Audit,
    number: usize,
    compaction: &'a Compaction,
    fold: &'a AuditedFold,
) -> AuditRow<'a> {
    let again = (fold.by == AS_RECORDED).then_some(&compaction.read_again);
    let binding = fold.binding.as_ref();
    let Missing { names, old_texts, pieces, results, tokens } = &fold.missing;
    AuditRow {
        session: &session.path,
        format: session.format,
        project: session.project.as_deref(),
        model: session.model.as_deref(),
        subagent: is_subagent(session, compaction),
        calls: session.calls,
        compaction: number,
        call: compaction.call,
        followed: compaction.followed,
        at_ms: compaction.at,
        trigger: &compaction.trigger,
        kind: &compaction.kind,
        tokens_before: compaction.tokens_before,
        tokens_after: compaction.tokens_after,
        pause_ms: compaction.pause,
        original_kept: compaction.original_kept,
        by: &fold.by,
        folded: fold.folded,
        sealed: fold.sealed,
        next_tokens: fold.tokens,
        summary_usd: fold.cost.map(|cost| cost.summary_usd),
        summary_estimated: fold.cost.map(|cost| cost.estimated),
        rewritten_tokens: fold.cost.map(|cost| cost.rewritten),
        rewritten_usd: fold.cost.map(|cost| cost.rewritten_usd),
        cold: fold.cost.map(|cost| cost.cold),
        near_names: fold.near.names.len(),
        near_old_texts: fold.near.old_texts,
        near_pieces: fold.near.pieces,
        near_results: fold.near.results,
        names: names.len(),
        old_texts: *old_texts,
        pieces: *pieces,
        results: *results,
        result_tokens: *tokens,
        rules: binding.map(|binding| binding.rules.all),
        rules_missing: binding.map(|binding| binding.rules.missing.len()),
        tasks: binding.map(|binding| binding.tasks.all),
        tasks_missing: binding.map(|binding| binding.tasks.missing.len()),
        read_again: again.map(|again| again.results),
        read_again_tokens: again.map(|again| again.tokens),
        read_again_usd: again.map(|again| again.usd),
    }
}

fn is_subagent(session: &Audit, compaction: &Compaction) -> bool {
    session.subagent || compaction.agent.is_some()
}

fn dash() -> String {
    "–".to_owned()
}

/// A time span as its largest unit.
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
        "auto" => "auto",
        "manual" => "by hand",
        "overflow" => "refused",
        "unknown" => "–",
        other => other,
    }
}

/// `12/41`: within the first calls, and up to the next compaction.
fn both(fold: &AuditedFold, of: impl Fn(&Missing) -> usize) -> String {
    match fold.folded {
        true => format!("{}/{}", grouped(of(&fold.near) as u64), grouped(of(&fold.missing) as u64)),
        false => "?".to_owned(),
    }
}

fn texts(missing: &Missing) -> usize {
    missing.old_texts + missing.pieces
}

fn gone(texts: &Texts) -> String {
    match texts.all {
        0 => dash(),
        all => format!("{} of {all}", texts.missing.len()),
    }
}

fn cents(usd: f64) -> String {
    format!("{usd:.2}")
}

impl Audited {
    fn recorded(&self, out: &mut String, width: Width) {
        let heads = [
            Head::number("#", ALWAYS),
            Head::names("session"),
            Head::number("call", 8),
            Head::words("when", 1),
            Head::words("trigger", 6),
            Head::number("tokens", 9),
            Head::number("pause", 3),
            Head::words("cache", 4),
            Head::number("$", ALWAYS),
            Head::number("names", ALWAYS),
            Head::number("texts", ALWAYS),
            Head::number("again", 7),
            Head::number("rules", 5),
            Head::number("tasks", 2),
        ];
        let folder =
            crate::inspect::common_folder(self.sessions.iter().map(|one| one.path.as_str()));
        let line = |(at, session, _, compaction): (usize, &Audit, usize, &Compaction)| {
            let Compaction { call, at: when, tokens_before, tokens_after, pause, .. } = compaction;
            let size = |tokens: &Option<u64>| tokens.map_or_else(dash, short);
            let own = own(compaction);
            let cost = own.and_then(|own| own.cost);
            let binding = own.and_then(|own| own.binding.as_ref());
            let subagent = if is_subagent(session, compaction) { " (sub)" } else { "" };
            vec![
                at.to_string(),
                format!("{}{subagent}", &session.path[folder.len()..]),
                format!("{call}/{}", session.calls),
                when.map_or_else(dash, time),
                trigger(&compaction.trigger).to_owned(),
                format!("{}→{}", size(tokens_before), size(tokens_after)),
                pause.map_or_else(dash, span),
                cost.map_or_else(dash, |cost| if cost.cold { "cold" } else { "warm" }.to_owned()),
                cost.map_or_else(dash, |cost| cents(cost.usd())),
                own.map_or_else(dash, |own| both(own, |missing| missing.names.len())),
                own.map_or_else(dash, |own| both(own, texts)),
                compaction.read_again.results.to_string(),
                binding.map_or_else(dash, |binding| gone(&binding.rules)),
                binding.map_or_else(dash, |binding| gone(&binding.tasks)),
            ]
        };
        table(out, width, &heads, self.numbered().map(line).collect());
        let legend = format!(
            "call: the one that came next, of all · $: for the summary and for what the next call wrote to the cache again · names, texts: \
             what calls needed and no longer had, within {NEAR} calls and up to the next compaction; texts are old texts of edits and pieces \
             of results · again: results that were read again · rules, tasks: sentences of yours that bind, and open tasks, that the next \
             request no longer says word for word · ?: the recording does not hold what went"
        );
        wrap(out, "", "  ", &legend, width);
        if self.numbered().any(|(.., compaction)| own(compaction).is_some_and(|own| own.sealed)) {
            let text = "Where only the provider can read the summary, names and texts are the most that is missing.";
            wrap(out, "", "  ", text, width);
        }
        if !folder.is_empty() {
            wrap(out, "", "  ", &format!("all are in {folder}"), width);
        }
        out.push('\n');
    }

    /// What strategies would have made of the same places.
    fn beside(&self, out: &mut String, width: Width) {
        let mut heads = vec![Head::number("#", ALWAYS), Head::words("replica", 1)];
        for (figure, keep) in [("$", 3), ("names", 5), ("texts", 6), ("next", 2)] {
            for who in ["own", "indexed", "replica"] {
                let name = if who == "own" { format!("{figure} {who}") } else { who.to_owned() };
                heads.push(Head::number(name, keep));
            }
        }
        let line = |(at, _, _, compaction): (usize, &Audit, usize, &Compaction)| {
            let folds = [0, 1, 2].map(|at| compaction.folds.get(at));
            let mut cells =
                vec![at.to_string(), folds[2].map_or_else(dash, |fold| fold.by.clone())];
            let figure = |of: &dyn Fn(&AuditedFold) -> String| {
                folds.map(|fold| fold.filter(|fold| fold.folded).map_or_else(dash, of))
            };
            cells.extend(figure(&|fold| fold.cost.map_or_else(dash, |cost| cents(cost.usd()))));
            cells.extend(figure(&|fold| grouped(fold.missing.names.len() as u64)));
            cells.extend(figure(&|fold| grouped(texts(&fold.missing) as u64)));
            cells.extend(figure(&|fold| short(fold.tokens)));
            cells
        };
        out.push_str("The same places, folded by the recorder (own), by indexed, and by the preset that\nreproduces the agent\n");
        table(out, width, &heads, self.numbered().map(line).collect());
        let legend = "Up to the next compaction; next: tokens of the next request. The presets' summaries are made without a model here.";
        wrap(out, "", "  ", legend, width);
        out.push('\n');
    }

    /// How far the other sessions were from a compaction.
    fn without(&self, out: &mut String, width: Width) {
        let mut usual: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (_, session, _, compaction) in self.numbered() {
            if compaction.trigger == "auto" && compaction.kind != "clear" {
                usual.entry(session.format).or_default().extend(compaction.tokens_before);
            }
        }
        usual.values_mut().for_each(|sizes| sizes.sort_unstable());
        let limit = |session: &Audit| {
            let known = usual.get(session.format).filter(|sizes| !sizes.is_empty());
            known.map_or(session.window, |sizes| sizes[sizes.len() / 2])
        };
        let none = self.sessions.iter().filter(|it| it.compactions.is_empty() && it.calls > 0);
        let (known, unknown): (Vec<&Audit>, Vec<&Audit>) = none.partition(|it| it.largest > 0);
        if known.is_empty() && unknown.is_empty() {
            return;
        }
        let all = (known.len() + unknown.len()) as u64;
        let share = |session: &&Audit| session.largest as f64 / limit(session).max(1) as f64;
        let mut nearest = known;
        nearest.sort_by(|a, b| share(b).total_cmp(&share(a)));
        let text = format!(
            "{} without a compaction{}",
            count(all, "session"),
            if nearest.is_empty() {
                "; none records how large its requests were."
            } else {
                "; the nearest to one:"
            }
        );
        wrap(out, "", "  ", &text, width);
        for session in nearest.iter().take(NEAREST) {
            let from = match usual.contains_key(session.format) {
                true => format!("at which {} compacted in the sessions above", session.format),
                false => "of its window".to_owned(),
            };
            let text = format!(
                "{}: its largest request had {} of the {} tokens {from} ({})",
                session.path,
                grouped(session.largest),
                grouped(limit(session)),
                percent(share(session)),
            );
            wrap(out, "  ", "    ", &plain::line(&text), width);
        }
        out.push('\n');
    }

    /// What all of it comes to.
    fn sentence(&self) -> String {
        let Total {
            compactions,
            usd,
            estimated_usd,
            read_again,
            read_again_usd,
            late,
            cold,
            unknown,
            ..
        } = self.total;
        if compactions == 0 {
            return "No compaction is recorded in these sessions.".to_owned();
        }
        let money = |usd: f64| dollars(usd, decimals(usd));
        let mut out =
            format!("Your {} cost {}", count(compactions as u64, "compaction"), money(usd));
        if estimated_usd > 0.0 {
            out += &format!(
                " ({} of it estimated: most agents do not record the request for a summary)",
                money(estimated_usd)
            );
        }
        out += &match read_again {
            0 => ", and nothing was read again after them.".to_owned(),
            _ => format!(
                ", and after them your agents read {} again ({}).",
                count(read_again as u64, "result"),
                money(read_again_usd)
            ),
        };
        if late > 0 {
            out += &format!(" {late} of them came less than 10 % before the session ended.");
        }
        if cold > 0 {
            out += &format!(" {cold} came after the cache had expired.");
        }
        if unknown > 0 {
            out += &format!(" Of {unknown} the recording does not hold what went.");
        }
        let folds = self.numbered().filter_map(|(.., compaction)| match &*compaction.folds {
            [own, indexed, ..] if own.folded && indexed.folded => Some([own, indexed]),
            _ => None,
        });
        let mut sums = [(0, 0.0); 2];
        let mut places = 0;
        for pair in folds {
            places += 1;
            for (sum, fold) in sums.iter_mut().zip(pair) {
                sum.0 += fold.missing.names.len() + texts(&fold.missing);
                sum.1 += fold.cost.map_or(0.0, |cost| cost.usd());
            }
        }
        if places > 0 {
            let [(own, own_usd), (indexed, indexed_usd)] = sums;
            out += &format!(
                " At the {places} places where both act, indexed would have cost {} instead of {} and left {} of what calls needed out of \
                 view instead of {}.",
                money(indexed_usd),
                money(own_usd),
                grouped(indexed as u64),
                grouped(own as u64),
            );
        }
        out
    }
}

fn time(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms).ok();
    at.map_or_else(dash, |at| at.strftime("%Y-%m-%d %H:%M").to_string())
}

/// Everything of one compaction.
fn details(
    out: &mut String,
    number: usize,
    session: &Audit,
    compaction: &Compaction,
    width: Width,
) {
    let mut say = |text: &str| wrap(out, "    ", "      ", &plain::line(text), width);
    say(&format!("#{number} {}", session.path));
    if let Some(own) = own(compaction) {
        if let Some(cost) = own.cost {
            say(&format!(
                "summary {}{}, {} tokens written to the cache again {}",
                dollars(cost.summary_usd, 2),
                if cost.estimated { " (estimated)" } else { "" },
                grouped(cost.rewritten),
                dollars(cost.rewritten_usd, 2),
            ));
        }
        if !own.missing.names.is_empty() {
            say(&format!("names: {}", listed(&own.missing.names)));
        }
        if let Some(binding) = &own.binding {
            for (what, texts) in [("rules", &binding.rules), ("open tasks", &binding.tasks)] {
                if !texts.missing.is_empty() {
                    say(&format!("{what} no longer in view: {}", listed(&texts.missing)));
                }
            }
        }
    }
    let again = &compaction.read_again;
    if again.results > 0 {
        say(&format!(
            "read again: {}, {} tokens, {}: {}",
            count(again.results as u64, "result"),
            grouped(again.tokens),
            dollars(again.usd, 2),
            listed(&again.files)
        ));
    }
    out.push('\n');
}

/// The first of some texts, and how many more there are.
fn listed(texts: &[String]) -> String {
    let quoted = texts.iter().take(LISTED).map(|text| {
        let short: String = text.chars().take(QUOTED).collect();
        if short.len() < text.len() { format!("{short}…") } else { short }
    });
    let more = texts.len().saturating_sub(LISTED);
    let list = quoted.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{list} and {more} more") } else { list }
}
