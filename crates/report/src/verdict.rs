//! The verdict of a comparison in words, for terminal and page.

use crate::facts;
use crate::number::{change, count, decimals, dollars, grouped};
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{
    Base, Contrast, Difference, LEAST_REPOSITORIES, LEAST_SESSIONS, McNemar, Metric, Outcomes,
    PresetLine, Reason, Remark, SampleSize, Unit, Verdict,
};
use foldback_replay::recorder::Recorded;
use foldback_replay::setup::AS_RECORDED;

/// The answer in a sentence or a few.
pub(crate) fn verdict(comparison: &Comparison) -> Option<String> {
    let stays = comparison.base.as_ref().map_or_else(String::new, stays);
    let of = |line| name(comparison, line);
    Some(match comparison.verdict() {
        Verdict::Nothing if comparison.of_kind(Kind::Strategy).is_empty() => return None,
        Verdict::Nothing => "No answer: no session could be billed.".to_owned(),
        Verdict::TooFew { acting, lowest } => {
            let sessions = count(acting as u64, "session");
            let lowest = lowest.and_then(|line| Some((line, saved(comparison, line)?)));
            let sums = lowest.map_or_else(String::new, |(line, saved)| match comparison.is_billed(line) {
                true => format!(" By their sums {} costs {saved}.", of(line)),
                false => format!(
                    " What {} would cost is not known: no session in which it acted has a bill.",
                    of(line)
                ),
            });
            format!(
                "Too few to tell: presets acted in {sessions}, and it takes {LEAST_SESSIONS}.{sums}"
            )
        }
        Verdict::Stay(reason) => match reason {
            Reason::NothingActed => {
                format!("{stays}: no session came near a limit, so no preset changed anything.")
            }
            Reason::Refused => {
                format!("{stays}: every preset that acted sends what a provider refuses.")
            }
            Reason::CostsMore => {
                let all = comparison.of_kind(Kind::Strategy);
                let lines = || all.iter().filter_map(|at| comparison.presets.get(*at));
                let acted = lines().filter(|line| line.triggered > 0).count();
                let dearer = |line: &PresetLine| line.ratio.value.is_none_or(|ratio| ratio >= 1.0);
                let dearer = lines().filter(|line| line.is_choice()).all(dearer);
                let none = match (acted, dearer) {
                    (1, _) => "it does not save",
                    (_, true) => "none of them saves",
                    (_, false) => "none of them saves and keeps enough in view",
                };
                let all = count(all.len() as u64, "preset");
                format!("{stays}: {} of {all} acted, and {none}.", grouped(acted as u64))
            }
            Reason::Forgets(line) if comparison.base.as_ref().is_some_and(Base::must_cut) => {
                format!(
                    "No preset that a provider takes keeps {} in view at this window. {} keeps most, {}, and costs {}.",
                    facts::whole_percent(comparison.reporting.keep),
                    of(line),
                    kept(line),
                    saved(comparison, line).unwrap_or_default(),
                )
            }
            Reason::Forgets(line) => format!(
                "{stays}: what saves loses too much. {} costs {} and keeps {} in view.",
                of(line),
                saved(comparison, line).unwrap_or_default(),
                kept(line),
            ),
            Reason::Noise => format!("{stays}: no preset saves measurably."),
        },
        Verdict::Use { best, alike, cheaper, fuller } => {
            let saved = saved(comparison, best).unwrap_or_default();
            let mut text = format!(
                "Use {}: it costs {saved}; {} of what was needed stays in view.",
                of(best),
                kept(best)
            );
            if best.triggered < best.sessions {
                let (acted, all) =
                    (grouped(best.triggered as u64), count(best.sessions as u64, "session"));
                text += &format!(" It acts in {acted} of {all}.");
            }
            // The cheaper preset has a sentence of its own.
            let mut others = alike;
            others.retain(|line| !cheaper.is_some_and(|cheaper| std::ptr::eq(*line, cheaper)));
            text += &about_as_much(comparison, best, &others);
            let short = |line: &PresetLine| {
                let base = comparison.base.as_ref();
                base.and_then(|base| saved_within(base, &line.ratio, &line.saved, ""))
                    .unwrap_or_default()
            };
            if let Some(line) = cheaper {
                let (name, saved) = (of(line), short(line));
                text += &format!(" {name} is cheaper at {saved} but keeps only {}.", kept(line));
            }
            if let Some(line) = fuller {
                text += &format!(" {} keeps {} and costs {}.", of(line), kept(line), short(line));
            }
            if comparison.corpus.unit == Unit::Sessions {
                let few = match comparison.corpus.clusters {
                    1 => format!("There is only {}", facts::clusters(&comparison.corpus)),
                    2..LEAST_REPOSITORIES => {
                        format!("There are only {}", facts::clusters(&comparison.corpus))
                    }
                    _ => {
                        format!("It acts in too few of the {}", facts::clusters(&comparison.corpus))
                    }
                };
                text += &format!(" {few}: others may differ.");
            }
            text + " A replay can't tell whether the task would have been solved."
        }
    })
}

/// The presets that cost about as much as the one to use, with what they keep: ` indexed (keeps 99%) and pi (97%) cost about as
/// much as window.`
fn about_as_much(comparison: &Comparison, best: &PresetLine, lines: &[&PresetLine]) -> String {
    let as_best = format!("about as much as {}", name(comparison, best));
    let named = lines.iter().take(NAMED).enumerate().map(|(at, line)| {
        let keeps = if at == 0 { "keeps " } else { "" };
        format!("{} ({keeps}{})", name(comparison, line), kept(line))
    });
    let mut named: Vec<String> = named.collect();
    if let more @ 1.. = lines.len().saturating_sub(NAMED) {
        named.push(count(more as u64, "other"));
    }
    match &*named {
        [] => String::new(),
        [one] => format!(" {one} costs {as_best}."),
        [first @ .., last] => format!(" {} and {last} cost {as_best}.", first.join(", ")),
    }
}

/// The advice where nothing is better than the base.
fn stays(base: &Base) -> String {
    match base.preset.as_str() {
        AS_RECORDED => "Keep what you have".to_owned(),
        other => format!("Nothing beats {other}"),
    }
}

/// The share that a preset kept, in percent.
fn kept(line: &PresetLine) -> String {
    let kept = &line.metrics.frr_obs_far;
    let least = || kept.lo.map(|least| format!("at least {}", facts::whole_percent(least)));
    let share = kept.value.map(facts::whole_percent);
    share.or_else(least).unwrap_or_else(|| "all".to_owned())
}

/// `$1.21 less a session (−14%, likely −21% to −4%)`; `None` if it is not known.
fn saved(comparison: &Comparison, line: &PresetLine) -> Option<String> {
    saved_likely(comparison.base.as_ref()?, &line.ratio, &line.saved)
}

/// The same of a ratio to the bill of a base, and dollars.
pub(crate) fn saved_likely(base: &Base, ratio: &Metric, usd: &Metric) -> Option<String> {
    let likely = ratio.lo.zip(ratio.hi);
    let likely = likely
        .map_or_else(String::new, |(lo, hi)| format!(", likely {} to {}", change(lo), change(hi)));
    saved_within(base, ratio, usd, &likely)
}

/// `$1.21 less a session (−14%)`, with what is said of the range behind the percentage.
fn saved_within(base: &Base, ratio: &Metric, usd: &Metric, range: &str) -> Option<String> {
    let (usd, ratio) = (usd.value?, change(ratio.value?));
    if ratio == change(1.0) {
        return Some(format!("about as much as {}", base_name(base)));
    }
    let word = if usd < 0.0 { "more" } else { "less" };
    let than = if base.must_cut() { format!(" than {}", base.preset) } else { String::new() };
    Some(format!("{} {word} a session{than} ({ratio}{range})", beside(base, usd.abs())))
}

/// A base by its name on the screen.
pub(crate) fn base_name(base: &Base) -> &str {
    match base.preset.as_str() {
        AS_RECORDED => "today",
        other => other,
    }
}

/// The bill of a base, in words.
pub(crate) fn paid(base: &Base) -> String {
    match base.preset.as_str() {
        AS_RECORDED => "the bill as recorded".to_owned(),
        other => format!("the bill of {other}"),
    }
}

/// The bill that presets are held against, and its prices.
pub(crate) fn base(comparison: &Comparison) -> Option<String> {
    let base = comparison.base.as_ref()?;
    let prices = &comparison.prices;
    let prices = prices.split(',').next().filter(|prices| !prices.is_empty());
    let prices = prices.map_or_else(String::new, |prices| format!(", at {prices}"));
    let part = match base.sessions < comparison.corpus.imported {
        true => format!(
            "; averages are over the {} with a bill",
            count(base.sessions as u64, "session")
        ),
        false => String::new(),
    };
    let usd = beside(base, base.spent(comparison.netted));
    Some(match (base.preset.as_str(), base.narrowed) {
        (AS_RECORDED, _) => {
            format!("today, as your agents ran: {usd} a session{prices}{part}")
        }
        (other, true) => {
            format!("with {other}, which fits this window: {usd} a session{prices}{part}")
        }
        (other, false) => {
            format!("with {other}: {usd} a session{prices}; what was paid is not recorded")
        }
    })
}

/// A base of so many sessions, its bill, and where it is known.
pub(crate) fn what_was_paid(base: &Base, sessions: usize) -> String {
    let usd = beside(base, base.spent(true));
    let (name, why) = match (base.preset.as_str(), base.narrowed) {
        (AS_RECORDED, _) => ("as recorded", ""),
        (other, true) => (other, "; more was sent than fits"),
        (other, false) => (other, "; what was paid is not recorded"),
    };
    let part = match base.sessions < sessions {
        true => format!(
            ", in the {} of {} where it is known",
            grouped(base.sessions as u64),
            count(sessions as u64, "session"),
        ),
        false => String::new(),
    };
    format!("{name}, {usd} a session{part}{why}")
}

/// Dollars, all with the decimals that the base needs.
pub(crate) fn amount(comparison: &Comparison, usd: f64) -> String {
    match &comparison.base {
        Some(base) => beside(base, usd),
        None => dollars(usd, decimals(usd)),
    }
}

fn beside(base: &Base, usd: f64) -> String {
    dollars(usd, decimals(base.usd))
}

/// The name of a preset, with its summarizer only if that is not the same for all.
pub(crate) fn name<'l>(comparison: &Comparison, line: &'l PresetLine) -> &'l str {
    if summarizer(comparison).is_some() { line.name() } else { &line.preset }
}

/// The summarizer, if it is the same for all.
fn summarizer(comparison: &Comparison) -> Option<&str> {
    let mut all = comparison.presets.iter().filter_map(|line| line.summarizer.as_deref());
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// How many sessions would show a difference, by the preset of the verdict or else the one with the lowest bill.
pub(crate) fn needed(comparison: &Comparison) -> Option<String> {
    let ratio = |line: &&PresetLine| line.ratio.value.unwrap_or(f64::INFINITY);
    let lines = comparison.presets.iter().filter(|line| line.needed.is_some());
    let lowest = || lines.min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let best = comparison.best().filter(|line| line.needed.is_some());
    let line = best.or_else(lowest)?;
    let SampleSize { here, five_percent, ten_percent } = line.needed?;
    let unit = match comparison.corpus.unit {
        Unit::Repositories => "repositories",
        Unit::Sessions | Unit::Sums => "sessions",
    };
    Some(format!(
        "A difference of 10 % would show in some {} {unit} in which a preset acts, one of 5 % in some {} (here are {}; by the \
         spread of {}, in four of five such comparisons)",
        grouped(ten_percent as u64),
        grouped(five_percent as u64),
        grouped(here as u64),
        name(comparison, line),
    ))
}

/// The author of the summaries, in words; `None` without summaries.
pub(crate) fn summaries(comparison: &Comparison) -> Option<String> {
    let mut scores = comparison.scores.iter().flatten();
    if !scores.any(|score| score.metrics.counters.summaries > 0) {
        return None;
    }
    Some(match summarizer(comparison)? {
        Recorded::ID => "are the recorders' own where they cut alike".to_owned(),
        by if by.starts_with("llm") => format!("are by {by}"),
        "extractive" => "are extracts, billed as a model's".to_owned(),
        by => format!("are by {by}, billed as a model's"),
    })
}

/// The change of a ratio with its interval, `−40% (−47 to −38)`; without one that is narrower than a percent.
pub(crate) fn changed(metric: &Metric) -> String {
    let bare = |ratio: f64| change(ratio).trim_end_matches('%').to_owned();
    let Metric { value, lo, hi, .. } = *metric;
    match (value, lo, hi) {
        (Some(value), Some(lo), Some(hi)) if bare(lo) != bare(hi) => {
            format!("{} ({} to {})", change(value), bare(lo), bare(hi))
        }
        (Some(value), ..) => change(value),
        _ => "–".to_owned(),
    }
}

/// The remarks on a preset, in a few words.
pub(crate) fn remarks(comparison: &Comparison, line: &PresetLine) -> String {
    remarked(comparison, line).join(", ")
}

/// The remarks one by one, the worst first.
pub(crate) fn remarked(comparison: &Comparison, line: &PresetLine) -> Vec<String> {
    let word = |remark: &Remark| match remark {
        Remark::Over(requests) => {
            let may = match (line.gate.passed, requests) {
                (true, _) => "may",
                (false, 1) => "does",
                (false, _) => "do",
            };
            format!("{} {may} not fit", count(*requests, "request"))
        }
        Remark::BrokeRules(times) => format!("breaks rules {} times", grouped(*times)),
        Remark::LosesNear => "loses what was just read".to_owned(),
        Remark::ForgetsMuch => "forgets much".to_owned(),
        Remark::Dearer => "costs more".to_owned(),
    };
    let remarks = line.remarks(comparison.reporting.keep);
    remarks.iter().map(word).collect()
}

/// How much the presets lose of the rules that users gave, where one loses much more of them than another.
pub(crate) fn rules(comparison: &Comparison) -> Option<String> {
    let [(worst, lost), (best, least)] = comparison.rules_lost()?;
    let percent = facts::whole_percent;
    Some(format!(
        "{} loses {} of the rules that users gave, {} {} (word for word).",
        name(comparison, worst),
        percent(lost),
        name(comparison, best),
        percent(least),
    ))
}

/// How two strategies differ, a sentence for every pair of them.
pub(crate) fn pairs(comparison: &Comparison) -> Vec<String> {
    let ranks = comparison.is_tested();
    let pair = |pair: &Contrast| {
        let bill = difference(&pair.net, ranks, |ratio| ratio - 1.0, "%", ["lower", "higher"]);
        let kept = difference(&pair.frr_obs_far, ranks, |share| share, " points", ["less", "more"]);
        let line = |full: &String| comparison.presets.iter().find(|line| line.preset == *full);
        let short = |full: &String| {
            line(full).map_or_else(|| full.clone(), |line| name(comparison, line).to_owned())
        };
        // By the first judge alone, a strategy that was chosen by it looks better than it is.
        let verbatim = |full: &String| {
            let value = line(full)?.metrics.verbatim_far.value?;
            Some(format!("{:.0}%", value * 100.0))
        };
        let verbatim = verbatim(&pair.first).zip(verbatim(&pair.second));
        let verbatim = verbatim.map_or_else(String::new, |(first, second)| {
            format!(", and word for word {first} against {second}")
        });
        let (first, second) = (short(&pair.first), short(&pair.second));
        format!("{first} against {second}: its bill is {bill}; it keeps {kept}{verbatim}.")
    };
    comparison.contrasts.iter().map(pair).collect()
}

/// What the sessions came to, and how the arms that they were recorded under differ: how many have an outcome, the
/// arms, then a sentence a pair.
pub(crate) fn outcomes(comparison: &Comparison) -> Vec<String> {
    let Some(outcomes) = &comparison.outcomes else { return Vec::new() };
    let Outcomes { rows, found, unknown, missing, sessions, binary, arms, pairs } = outcomes;
    let named = |names: &[&str]| {
        let first = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(NAMED);
        if more > 0 { format!("{first} and {more} more") } else { first }
    };
    let by = [(found.path, "path"), (found.id, "id"), (found.name, "file name")];
    let by: Vec<String> = by
        .iter()
        .filter(|(found, _)| *found > 0)
        .map(|(found, by)| format!("{} by {by}", grouped(*found as u64)))
        .collect();
    let mut head = format!(
        "Outcomes of {} of {}: {}",
        grouped(sessions.len() as u64),
        count(comparison.corpus.imported as u64, "session"),
        by.join(", ")
    );
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|path| &**path).collect();
        head += &format!("; none of {}", named(&names));
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(String::as_str).collect();
        head +=
            &format!("; {} of {rows} rows are of no session here: {}", names.len(), named(&names));
    }
    let share = |value: Option<f64>| match (value, binary) {
        (Some(value), true) => format!("{:.1}%", value * 100.0),
        (Some(value), false) => format!("{value:.3}").replace('-', "−"),
        (None, _) => "–".to_owned(),
    };
    let signed = |value: Option<f64>| match (value, binary) {
        (Some(value), true) => format!("{:+.1}", value * 100.0).replace('-', "−"),
        (Some(value), false) => format!("{value:+.3}").replace('-', "−"),
        (None, _) => "–".to_owned(),
    };
    let mut out = vec![head + "."];
    if !arms.is_empty() {
        let arms = arms.iter().map(|arm| format!("{} {} of {}", arm.arm, share(arm.mean), arm.n));
        out.push(format!("By arm: {}.", arms.collect::<Vec<_>>().join(", ")));
    }
    for pair in pairs {
        let (arm, against) = (&pair.arm, &pair.against);
        if pair.tasks == 0 {
            out.push(format!(
                "{arm} against {against}: no task in common; give the rows a `task`."
            ));
            continue;
        }
        let unit = if *binary { " points" } else { "" };
        let mut text = format!("{arm} against {against}: {}{unit}", signed(pair.value));
        if pair.lo.is_some() {
            text += &format!(" ({} to {})", signed(pair.lo), signed(pair.hi));
        }
        text += &format!(" over {}", count(pair.tasks as u64, "task"));
        if let Some(McNemar { gained, lost, p, p_holm }) = pair.mcnemar {
            text += &format!("; it alone solves {gained}, the other {lost}, McNemar p {p:.3}");
            if pairs.len() > 1 {
                text += &format!(", by Holm {p_holm:.3}");
            }
        }
        out.push(text + ".");
    }
    out
}

/// Sessions that are named.
const NAMED: usize = 3;

/// `12% lower (−18 to −5, p = 0.003)`: how large a difference is, in hundredths, and in which direction.
fn difference(
    difference: &Difference,
    ranks: bool,
    part: fn(f64) -> f64,
    unit: &str,
    [less, more]: [&str; 2],
) -> String {
    let hundredths = |value: f64| (part(value) * 100.0).round();
    let Some(value) = difference.value.map(hundredths) else { return "not known".to_owned() };
    let size = match value {
        0.0 => "the same".to_owned(),
        value => {
            let one = if value.abs() == 1.0 { unit.trim_end_matches('s') } else { unit };
            format!("{:.0}{one} {}", value.abs(), if value < 0.0 { less } else { more })
        }
    };
    let signed = |value: f64| match hundredths(value) {
        0.0 => "0".to_owned(),
        value => format!("{}{:.0}", if value < 0.0 { "−" } else { "+" }, value.abs()),
    };
    let interval = difference.lo.zip(difference.hi);
    let interval = interval.map(|(lo, hi)| format!("{} to {}", signed(lo), signed(hi)));
    let p = difference.p_holm.filter(|_| ranks).map(|p| match p {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p => format!("p = {p:.3}"),
    });
    let tie = (difference.tie && ranks).then(|| "a tie".to_owned());
    let inside: Vec<String> = [interval, p, tie].into_iter().flatten().collect();
    // One task has no interval.
    if inside.is_empty() { size } else { format!("{size} ({})", inside.join(", ")) }
}
