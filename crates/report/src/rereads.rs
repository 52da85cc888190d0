//! The report of `foldback rereads`: per session with a compaction what was dropped, needed and read
//! again, the rates over all sessions compared with those without a loss, and examples.

use crate::inspect::not_used;
use crate::json::document;
use crate::number::{count, grouped, short};
use crate::terminal::{ALWAYS, Head, Width, measured, table, wrap};
use foldback_replay::recorder::{
    Aftermath, Conversion, DroppedResult, GroupPolicy, Horizon, Pooled, Rate, Survey, Surveyed,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Examples of each kind.
const EXAMPLES: usize = 5;

/// How the report is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Whether every file that is not used is listed.
    pub all: bool,
    /// How wide it may be.
    pub width: Width,
    /// Calls after a compaction that the table per session and the examples cover; one of the
    /// horizons, `None` for all up to the next compaction.
    pub within: Option<usize>,
}

/// The document of `--json`: what was pooled, and every session with its rows.
#[derive(Serialize)]
struct Document<'a> {
    files: usize,
    skipped: &'a [foldback_replay::corpus::Skipped],
    pooled: &'a Pooled,
    conversion: Vec<Factor>,
    groups: &'a [GroupPolicy],
    sessions: &'a [Surveyed],
}

/// The factor of one horizon, raw and without what happens anyway.
#[derive(Serialize)]
struct Factor {
    within: Option<usize>,
    raw: Option<Conversion>,
    attributable: Option<Conversion>,
}

/// Everything as one JSON document, indented, with a newline at its end.
pub fn json(
    survey: &Survey,
    pooled: &Pooled,
    groups: &[GroupPolicy],
) -> serde_json::Result<String> {
    let factor = |horizon: &Horizon| Factor {
        within: horizon.within,
        raw: horizon.conversion(),
        attributable: horizon.attributable(),
    };
    document(&Document {
        files: survey.files,
        skipped: &survey.skipped,
        pooled,
        conversion: pooled.horizons.iter().map(factor).collect(),
        groups,
        sessions: &survey.sessions,
    })
}

/// The report for a terminal.
pub fn rereads(survey: &Survey, pooled: &Pooled, groups: &[GroupPolicy], layout: Layout) -> String {
    let mut out = String::new();
    let mut say = |text: &str| wrap(&mut out, "", "  ", text, layout.width);
    say(&format!(
        "{}; {} in {}{}",
        count(pooled.sessions as u64, "session"),
        count(pooled.compactions as u64, "recorded compaction"),
        count(compacted(survey).count() as u64, "session"),
        match pooled.silent {
            0 => String::new(),
            silent => format!(
                ", of which {silent} show nothing (no call follows, or what was dropped is not recorded)"
            ),
        }
    ));
    if pooled.compactions == 0 {
        say("No session here has a recorded compaction, so it is unknown what an agent reads \
             again after one. Claude Code, Codex, OpenCode and pi mark theirs; try --discover.");
    } else {
        out.push('\n');
        sessions(&mut out, survey, layout);
        out.push('\n');
        rates(&mut out, pooled, layout);
        out.push('\n');
        kinds(&mut out, pooled, layout);
        out.push('\n');
        verdict(&mut out, pooled, layout);
        examples(&mut out, survey, layout);
    }
    policies(&mut out, survey, groups, layout);
    for text in not_used(&survey.skipped, layout.all) {
        wrap(&mut out, "", "  ", &text, layout.width);
    }
    out
}

fn compacted(survey: &Survey) -> impl Iterator<Item = &Surveyed> {
    let sessions = survey.sessions.iter();
    sessions.filter(|session| session.rereads.compactions > 0)
}

fn within(happened: Option<usize>, horizon: Option<usize>) -> bool {
    happened.is_some_and(|at| horizon.is_none_or(|horizon| at < horizon))
}

/// `20 calls`, or no limit but the next compaction.
fn horizon_name(within: Option<usize>) -> String {
    match within {
        Some(calls) => format!("{calls} calls"),
        None => "no limit".to_owned(),
    }
}

fn sessions(out: &mut String, survey: &Survey, layout: Layout) {
    let heads = [
        Head::names("session"),
        Head::number("calls", 1),
        Head::number("compacted", 3),
        Head::number("dropped", ALWAYS),
        Head::number("tokens", 2),
        Head::number("again", ALWAYS),
        Head::number("needed", ALWAYS),
        Head::number("both", 4),
    ];
    let row = |session: &Surveyed| {
        let windows = session.rereads.windows.iter();
        let results: Vec<&DroppedResult> =
            windows.filter(|window| !window.control).flat_map(|window| &window.results).collect();
        let number = |of: &dyn Fn(&DroppedResult) -> bool| {
            results.iter().filter(|result| of(result)).count().to_string()
        };
        let again = |result: &DroppedResult| within(result.reread, layout.within);
        let needed = |result: &DroppedResult| within(result.needed, layout.within);
        vec![
            name(&session.path).to_owned(),
            session.rereads.calls.to_string(),
            session.rereads.compactions.to_string(),
            results.len().to_string(),
            short(results.iter().map(|result| result.tokens).sum()),
            number(&again),
            number(&needed),
            number(&|result| again(result) && needed(result)),
        ]
    };
    table(out, layout.width, &heads, compacted(survey).map(row).collect());
    let text = format!(
        "dropped: tool results that the recorder removed from its own view; among equal ones, the latest. \
         again: read again. needed: referred to while nothing else had it. both: needed and read again. {}.",
        match layout.within {
            Some(calls) => format!("All within {calls} calls of the compaction"),
            None => "All up to the next compaction or the end".to_owned(),
        }
    );
    wrap(out, "", "", &text, layout.width);
}

/// Last component of a path, for a narrow table; the id after `#` too.
fn name(path: &str) -> &str {
    let file = path.split('#').next().unwrap_or(path);
    let start = file.rfind(['/', '\\']).map_or(0, |at| at + 1);
    &path[start..]
}

fn share(rate: &Rate) -> String {
    measured(rate.value, rate.bootstrap.or(rate.wilson))
}

/// `19.6% (12–45) of 46`.
fn rate(rate: &Rate) -> String {
    match rate.value {
        Some(_) => format!("{} of {}", share(rate), grouped(rate.n)),
        None => "–".to_owned(),
    }
}

fn rates(out: &mut String, pooled: &Pooled, layout: Layout) {
    let heads = [
        Head::names("within"),
        Head::number("windows", 1),
        Head::number("read again", ALWAYS),
        Head::number("control", 3),
        Head::number("needed: again", ALWAYS),
        Head::number("control", 2),
    ];
    let row = |horizon: &Horizon| {
        vec![
            horizon_name(horizon.within),
            format!("{}/{}", horizon.windows, horizon.control_windows),
            share(&horizon.reread),
            share(&horizon.control),
            rate(&horizon.converted),
            rate(&horizon.base),
        ]
    };
    table(out, layout.width, &heads, pooled.horizons.iter().map(row).collect());
    let text = "control: the same shares after points at which nothing had been dropped, since agents \
                read things again anyway. Intervals: 95%, bootstrap over tasks or repositories, Wilson's \
                if there is only one. Only windows in which that many calls follow count (compactions/controls); without a limit they \
                extend to the next compaction.";
    wrap(out, "", "", text, layout.width);
}

fn kinds(out: &mut String, pooled: &Pooled, layout: Layout) {
    let Some(horizon) = pooled.horizons.last() else {
        return;
    };
    let heads = [
        Head::names("no limit"),
        Head::number("read again", ALWAYS),
        Head::number("control", 3),
        Head::number("needed: again", ALWAYS),
        Head::number("control", 2),
    ];
    let rates = horizon.kinds.iter().map(|kind| {
        vec![
            kind.kind.as_str().to_owned(),
            share(&kind.reread),
            share(&kind.control),
            rate(&kind.converted),
            rate(&kind.base),
        ]
    });
    table(out, layout.width, &heads, rates.collect());
}

/// The factor, with what may be said of it.
fn verdict(out: &mut String, pooled: &Pooled, layout: Layout) {
    let percent = |value: f64| format!("{:.0}%", value * 100.0);
    let horizon = pooled.horizons.iter().find(|h| h.within == layout.within);
    let Some(horizon) = horizon.or(pooled.horizons.last()) else {
        return;
    };
    let mut text = match (horizon.conversion(), horizon.attributable()) {
        (Some(raw), net) => {
            let mut text = format!(
                "Of what was dropped and then needed ({}), {} ({}–{} of {}) was really read again.",
                match horizon.within {
                    Some(calls) => format!("within {calls} calls"),
                    None => "up to the next compaction".to_owned(),
                },
                percent(raw.factor),
                percent(raw.lo),
                percent(raw.hi),
                count(raw.n, "result"),
            );
            match (net, horizon.base.value) {
                (Some(net), Some(base)) => {
                    let _ = write!(
                        text,
                        " Without a loss it is {}, so the loss accounts for {} ({}–{}).",
                        percent(base),
                        percent(net.factor),
                        percent(net.lo),
                        percent(net.hi)
                    );
                }
                _ => text.push_str(
                    " No undisturbed stretch here shows how often that happens without a loss.",
                ),
            }
            text
        }
        (None, _) => "Nothing that was dropped was needed in these windows.".to_owned(),
    };
    if let (Some(lo), Some(hi)) = (horizon.excess.lo, horizon.excess.hi)
        && horizon.excess.is_tie(0.0)
    {
        let _ = write!(
            text,
            " The difference ({:+.0} to {:+.0} points) can't be distinguished from none.",
            lo * 100.0,
            hi * 100.0
        );
    }
    wrap(out, "", "", &text, layout.width);
    let mut text = match pooled.opaque {
        0 => String::new(),
        1 => {
            "One compaction has a summary that is not in the file: what it kept counts as missed. "
                .to_owned()
        }
        opaque => format!(
            "{opaque} compactions have summaries that are not in the file: what those kept counts as missed. "
        ),
    };
    if horizon.elsewhere > 0 {
        let _ = write!(
            text,
            "Not counted as needed: {} that something else brought back first.",
            count(horizon.elsewhere, "dropped result")
        );
    }
    if !text.is_empty() {
        wrap(out, "", "", text.trim_end(), layout.width);
    }
}

/// Needed and read again, and needed and not: the largest of each.
fn examples(out: &mut String, survey: &Survey, layout: Layout) {
    type Found<'a> = (&'a Surveyed, &'a Aftermath, &'a DroppedResult);
    let mut again: Vec<Found<'_>> = Vec::new();
    let mut never: Vec<Found<'_>> = Vec::new();
    for session in &survey.sessions {
        for window in session.rereads.windows.iter().filter(|w| !w.control) {
            for result in &window.results {
                if within(result.needed, layout.within) {
                    match result.reread {
                        Some(_) => again.push((session, window, result)),
                        None => never.push((session, window, result)),
                    }
                }
            }
        }
    }
    for (title, mut found, more) in
        [("Needed and read again", again, true), ("Needed and never read again", never, false)]
    {
        if found.is_empty() {
            continue;
        }
        found.sort_by_key(|(_, _, result)| std::cmp::Reverse(result.tokens));
        let _ = writeln!(out, "\n{title}");
        for (session, window, result) in found.into_iter().take(EXAMPLES) {
            let needed = result.needed.map_or(0, |needed| window.call + needed);
            let reference = result.reference.as_deref().unwrap_or_default();
            let text = match result.reread.filter(|_| more) {
                Some(reread) => format!(
                    "{}: call {} reads {} again ({} tokens, from call {}); dropped at call {}, call {needed} needs `{reference}`",
                    name(&session.path),
                    window.call + reread,
                    result.label,
                    short(result.tokens),
                    result.asked_at,
                    window.call,
                ),
                None => format!(
                    "{}: call {needed} uses `{reference}` of {} ({} tokens, from call {}); dropped at call {}",
                    name(&session.path),
                    result.label,
                    short(result.tokens),
                    result.asked_at,
                    window.call,
                ),
            };
            wrap(out, "  ", "    ", &text, layout.width);
        }
    }
}

/// What the recorders did by themselves, counted; what is not the full history, one by one.
fn policies(out: &mut String, survey: &Survey, groups: &[GroupPolicy], layout: Layout) {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for session in &survey.sessions {
        let policy = match (session.policy.policy, session.policy.calls) {
            (Some(policy), _) => policy.to_string(),
            (None, 0) => "no usage".to_owned(),
            (None, _) => "unknown".to_owned(),
        };
        *counts.entry(policy).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.into_iter().map(|(policy, number)| format!("{policy} {number}")).collect();
    let text = format!("Context policy of the recorders, by their usage: {}.", counts.join(", "));
    out.push('\n');
    wrap(out, "", "  ", &text, layout.width);
    for group in groups.iter().filter(|group| group.sessions > 2) {
        let policy = group.policy.map_or_else(|| "unknown".to_owned(), |policy| policy.to_string());
        let text = format!("{} ({}): {policy}", group.group, count(group.sessions as u64, "total"));
        wrap(out, "  ", "    ", &text, layout.width);
    }
    for session in &survey.sessions {
        let drops = &session.policy.unmarked;
        let folds = session
            .policy
            .policy
            .filter(|policy| *policy != foldback_replay::recorder::Policy::Full);
        if folds.is_some() || !drops.is_empty() {
            let text = format!("{}: {}", name(&session.path), session.policy.sentence());
            wrap(out, "  ", "    ", &text, layout.width);
        }
    }
}
