//! The verdict of a comparison in words, for terminal and page.

use crate::facts;
use crate::number::{change, count, decimals, dollars, grouped};
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{PresetLine, Saving, Verdict};

/// The answer in a sentence or two.
pub(crate) fn verdict(comparison: &Comparison) -> Option<String> {
    let keep = facts::whole_percent(comparison.reporting.keep);
    Some(match comparison.verdict() {
        Verdict::Nothing if comparison.of_kind(Kind::Strategy).is_empty() => return None,
        Verdict::Nothing if comparison.base.is_none() => {
            "No verdict: no session could be billed.".to_owned()
        }
        Verdict::Nothing => "No verdict: no preset that a provider takes acted.".to_owned(),
        Verdict::Few(tasks) => format!(
            "Only {}: too few to rank presets. They stand in the order of their bills.",
            count(tasks as u64, "task")
        ),
        Verdict::Cheapest { best, cheaper } => {
            let cheaper = cheaper.map_or_else(String::new, |line| {
                let name = name(comparison, line);
                format!(" {name} is cheaper ({}) and keeps {}.", bill(line), kept(line))
            });
            format!(
                "{} is the cheapest that keeps {keep} of what was needed: it {}.{cheaper}",
                name(comparison, best),
                saves(comparison, best),
            )
        }
        Verdict::NoneKeeps(most) => format!(
            "No preset keeps {keep} of what was needed. {} keeps most, {}: it {}.",
            name(comparison, most),
            kept(most),
            saves(comparison, most),
        ),
    })
}

/// The share that a preset kept, in percent.
fn kept(line: &PresetLine) -> String {
    line.metrics.frr_obs_far.value.map_or_else(|| "–".to_owned(), facts::whole_percent)
}

/// `saves $0.52 a session (0.10 to 0.95), 8% of the bill as recorded`.
fn saves(comparison: &Comparison, line: &PresetLine) -> String {
    let Some(Saving { ratio, usd }) = &line.saving else { return "has no bill".to_owned() };
    let (Some(value), Some(part)) = (usd.value, ratio.value) else {
        return "has no bill".to_owned();
    };
    let (verb, sign) = if value < 0.0 { ("costs", -1.0) } else { ("saves", 1.0) };
    let more = if value < 0.0 { " more" } else { "" };
    let ends = usd.lo.zip(usd.hi).map(|(lo, hi)| (lo * sign, hi * sign));
    let interval = ends.map_or_else(String::new, |(a, b)| {
        format!(" ({} to {})", amount(comparison, a.min(b)), amount(comparison, a.max(b)))
    });
    let of = match comparison.base.as_ref().map(|base| base.preset.as_str()) {
        Some("none") => "of the bill of none",
        _ => "of the bill as recorded",
    };
    let part = facts::whole_percent((1.0 - part).abs());
    format!("{verb} {}{more} a session{interval}, {part} {of}", amount(comparison, value * sign))
}

/// The bill that savings are measured against.
pub(crate) fn base(comparison: &Comparison) -> Option<String> {
    let base = comparison.base.as_ref()?;
    let usd = amount(comparison, base.usd);
    Some(match base.preset.as_str() {
        "none" if base.sessions < comparison.corpus.imported => format!(
            "base: none, {usd} a session, in the {} of {} where every request fits",
            grouped(base.sessions as u64),
            count(comparison.corpus.imported as u64, "session"),
        ),
        "none" => format!("base: none, {usd} a session"),
        _ => {
            let estimated = comparison
                .presets
                .iter()
                .any(|line| line.preset == base.preset && line.dollars.summaries_usd > 0.0);
            let summaries = if estimated { ", the recorders' own summaries estimated" } else { "" };
            format!("base: as recorded, {usd} a session{summaries}")
        }
    })
}

/// Dollars, all with the decimals that the base needs.
pub(crate) fn amount(comparison: &Comparison, usd: f64) -> String {
    let base = comparison.base.as_ref().map_or(usd, |base| base.usd);
    dollars(usd, decimals(base))
}

/// The name of a preset, with its summarizer only if that is not the same for all.
pub(crate) fn name<'l>(comparison: &Comparison, line: &'l PresetLine) -> &'l str {
    if summarizer(comparison).is_some() { line.name() } else { &line.preset }
}

/// The summarizer, if it is the same for all.
pub(crate) fn summarizer(comparison: &Comparison) -> Option<&str> {
    let mut all = comparison.presets.iter().filter_map(|line| line.summarizer.as_deref());
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// `−40% (−47 to −38)`; without an interval that is narrower than a percent.
pub(crate) fn bill(line: &PresetLine) -> String {
    let bare = |ratio: f64| change(ratio).trim_end_matches('%').to_owned();
    let ratio = line.saving.as_ref().map(|saving| &saving.ratio);
    match ratio.map(|metric| (metric.value, metric.lo, metric.hi)) {
        Some((Some(value), Some(lo), Some(hi))) if bare(lo) != bare(hi) => {
            format!("{} ({} to {})", change(value), bare(lo), bare(hi))
        }
        Some((Some(value), ..)) => change(value),
        _ => "–".to_owned(),
    }
}
