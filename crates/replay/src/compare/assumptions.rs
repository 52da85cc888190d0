//! The assumptions behind the numbers of a comparison, and the reasons to doubt it.

use super::line::PresetLine;
use super::sessions::{CorpusSummary, Unit};
use super::table::Reporting;
use super::{prices, windows};
use crate::fault::FailedReplay;
use crate::judge::cost::OWN;
use crate::number::grouped;
use crate::read::recorder::{Policy, Recorded};
use crate::rows::study::{Knowledge, Recording, Score, Summaries};
use crate::run::setup::{Preset, RequestSource, Setup};
use foldback_core::strategy::Kind;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) fn assumptions(
    presets: &[Preset],
    setup: &Setup,
    corpus: &CorpusSummary,
    sessions: &[Recording],
    scores: &[Box<[Score]>],
    reporting: &Reporting,
) -> Vec<String> {
    let mut lines = vec![
        "Replayed under the recorded actions: a replay can't tell what the agent would have done on a smaller \
         view, or whether it would have succeeded."
            .to_owned(),
        format!(
            "Every preset decides with its own estimator; all token columns are measured with {}.",
            setup.measure.id()
        ),
        scales(setup, sessions),
        "The recorders' own compactions are undone if the file still holds the original.".to_owned(),
        prices::whole(setup, sessions, reporting),
        paid(sessions),
        cache(setup, sessions, reporting),
    ];
    let with_usage = sessions.iter().filter(|facts| facts.records_usage).count();
    lines.push(format!(
        "{with_usage} of {} sessions record usage; in these, the size of system prompt and tools that were not \
         recorded is derived from usage.",
        sessions.len()
    ));
    let estimated: usize = sessions.iter().map(|facts| facts.outputs_estimated).sum();
    if estimated > 0 {
        let calls: usize = corpus.sessions.iter().map(|line| line.calls).sum();
        lines.push(format!(
            "{estimated} of {calls} answers have an impossible recorded output, less than half of what \
             they show; they are billed by what they show."
        ));
    }
    let headless = sessions.iter().filter(|facts| facts.headless).count();
    if headless > 0 {
        lines.push(format!(
            "{headless} of {} sessions begin in the middle of a conversation: the lost part is in no \
             request here, and their usage is ignored.",
            sessions.len()
        ));
    }
    if presets.iter().any(|preset| preset.strategy.filter.is_some()) {
        lines.push(
            "Summaries are written by the summarizer at the end of the preset's name, not by a model \
             of the original; the bill charges them as if a model had written them, with a prompt of its own."
                .to_owned(),
        );
    }
    if presets.iter().any(|preset| preset.completions.is_some()) {
        lines.push(
            "If a preset's name ends with llm(MODEL vN), this MODEL wrote the summaries, now or when its answers \
             were recorded, with version N of foldback's own prompts; the code after them identifies other \
             settings. Their real cost is not in the bill, which uses the prices of the regime."
                .to_owned(),
        );
    }
    lines.push(windows::assumed(setup, sessions, scores));
    lines.push(recorders(sessions));
    lines.extend(as_recorded(presets, scores));
    lines
}

/// Models whose scale is listed.
const SCALES: usize = 6;

/// What recorded usage says about the measure, by model: those with the most sessions.
fn scales(setup: &Setup, sessions: &[Recording]) -> String {
    let mut models: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for facts in sessions {
        if let Some(scale) = facts.scale {
            let model = facts.model.as_deref().unwrap_or("unknown model");
            models.entry(model).or_default().push(scale.kappa_ppm);
        }
    }
    let measure = setup.measure.id();
    let calibrated: usize = models.values().map(Vec::len).sum();
    if calibrated == 0 {
        return format!(
            "No session's recorded usage converts {measure} tokens to those of its provider."
        );
    }
    let mut models: Vec<(&str, Vec<u64>)> = models.into_iter().collect();
    models.sort_by_key(|(_, scales)| std::cmp::Reverse(scales.len()));
    let scales = models.iter_mut().take(SCALES).map(|(model, scales)| {
        scales.sort_unstable();
        let median = scales.get(scales.len() / 2).copied().unwrap_or_default();
        format!("{:.2} of {model} ({})", median as f64 / 1e6, scales.len())
    });
    let scales: Vec<String> = scales.collect();
    let more = match models.len().saturating_sub(SCALES) {
        0 => String::new(),
        more => format!(", of {more} other models"),
    };
    format!(
        "By the usage of {calibrated} of {} sessions a token of {measure} is, in the median, {}{more}. ~ marks presets \
         over the window only by such calibrated sizes; the gate and all else use {measure}.",
        sessions.len(),
        scales.join(", ")
    )
}

/// The context policies of the recorders themselves: retention is inflated if the recorded
/// agent saw no more than the strategy keeps.
fn recorders(sessions: &[Recording]) -> String {
    let mut full = 0;
    let mut unknown = 0;
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    let mut unmarked = 0;
    for facts in sessions {
        let recorder = &facts.recorder;
        unmarked += usize::from(!recorder.unmarked.is_empty());
        match recorder.policy {
            Some(Policy::Full) => full += 1,
            Some(policy) => *others.entry(policy.to_string()).or_default() += 1,
            None => unknown += 1,
        }
    }
    let mut line = format!("Recorders, by their usage: {full} sent their full history");
    for (policy, sessions) in others {
        let _ = write!(line, ", {sessions} {policy}");
    }
    let _ = write!(line, ", {unknown} can't be determined");
    if unmarked > 0 {
        let _ = write!(line, "; in {unmarked} the input drops as if compacted, without a mark");
    }
    line.push('.');
    line
}

/// What is known about the recorders' own requests.
fn as_recorded(presets: &[Preset], scores: &[Box<[Score]>]) -> Option<String> {
    let at = presets.iter().position(|preset| matches!(preset.made, RequestSource::Recorded))?;
    let own: Vec<&Score> = scores.iter().filter_map(|scores| scores.get(at)).collect();
    let with = |known: Knowledge| own.iter().filter(|score| score.known == known).count();
    let (sizes, unknown) = (with(Knowledge::Sizes), with(Knowledge::Nothing));
    let name = &presets[at].strategy.name;
    if sizes + unknown == 0 {
        return Some(format!("{name} is the same as none: no recorder compacted its own context."));
    }
    let mut line =
        format!("{name}: the recorder compacted {1} of {0} sessions.", own.len(), sizes + unknown);
    if sizes > 0 {
        let _ = write!(
            line,
            " Sizes of {sizes} are from its usage, converted to the estimator of the other rows by each session's own \
             calibration; what its requests held is not recorded."
        );
    }
    if unknown > 0 {
        let _ = write!(line, " {unknown} do not record what was sent and are left out of the row.");
    }
    line.push_str(" In the others, it is the same as none.");
    Some(line)
}

/// How it is known what was paid, and where it is not.
fn paid(sessions: &[Recording]) -> String {
    let billed = sessions.iter().filter(|session| session.billed).count();
    if billed == 0 {
        return "No session's usage says what was paid for it: bills are of the model of the cache alone, and so is the base."
            .to_owned();
    }
    let others = match sessions.len() - billed {
        0 => String::new(),
        others => format!(
            " Of {others} sessions the usage does not say what was paid; they count for no bill, neither of the base nor of a preset."
        ),
    };
    format!(
        "Bills: as recorded is what the recorded usage cost. The requests of recorder and presets go through one model of the \
         cache, and a preset's bill is what was paid times the ratio of the two, session by session. What the recorders paid \
         for summaries without recorded usage is estimated for that ratio.{others}"
    )
}

fn cache(setup: &Setup, sessions: &[Recording], reporting: &Reporting) -> String {
    let timed = sessions.iter().filter(|facts| facts.timed).count();
    format!(
        "Caching rules {} as of {}; pauses as recorded in {timed} of {} sessions; in the others the cache is \
         always warm.",
        match reporting.regime.as_str() {
            OWN => "of each model's provider".to_owned(),
            regime => format!("of {regime}"),
        },
        setup.regimes.as_of,
        sessions.len()
    )
}

/// The summaries of a preset in all sessions.
fn summaries(scores: &[Box<[Score]>], preset: usize) -> Summaries {
    let mut summaries = Summaries::default();
    let own = scores.iter().filter_map(|scores| scores.get(preset));
    own.for_each(|score| summaries += score.summaries);
    summaries
}

/// How many summaries are the recorders' own, of presets that take those where they cut alike.
fn by_recorders<'a>(
    presets: &'a [Preset],
    lines: &'a [PresetLine],
    scores: &'a [Box<[Score]>],
) -> impl Iterator<Item = String> + 'a {
    let takes = |preset: &Preset| {
        let summarizer =
            preset.strategy.summarizer.as_ref().filter(|_| preset.strategy.filter.is_some());
        summarizer.is_some_and(|summarizer| summarizer.id() == Recorded::ID)
    };
    presets.iter().zip(lines).enumerate().filter(move |(_, (preset, _))| takes(preset)).map(
        |(at, (_, line))| {
            let Summaries { asked, recorded, .. } = summaries(scores, at);
            format!(
                "{}: {recorded} of {asked} summaries are the recorder's own, where both cut at the same message; the others \
                 are of the stand-in.",
                line.preset
            )
        },
    )
}

/// Presets named after a model whose summaries are missing in part, or not in the requested form.
fn without_model<'a>(
    presets: &'a [Preset],
    lines: &'a [PresetLine],
    scores: &'a [Box<[Score]>],
) -> impl Iterator<Item = String> + 'a {
    let asking = presets.iter().zip(lines).enumerate();
    asking
        .filter(|(_, (preset, _))| preset.completions.is_some())
        .flat_map(|(at, (_, line))| {
            let Summaries { stand_ins: without, formless, .. } = summaries(scores, at);
            let failed = line.failures;
            let unused = (failed + without > 0).then(|| {
                format!(
                    "{}: in {} compactions no summary of the model could be used; {failed} of them changed \
                     nothing, {without} went without one or used a stand-in. Its numbers include these.",
                    line.preset,
                    failed + without
                )
            });
            let taken = (formless > 0).then(|| {
                format!(
                    "{}: in {formless} compactions the model ignored the headings even after a reminder; its \
                     summary was used anyway.",
                    line.preset
                )
            });
            unused.into_iter().chain(taken)
        })
}

/// What of the corpus was copied from one session to another.
pub(super) fn copied(summary: &CorpusSummary) -> Option<String> {
    let copies = summary.sessions.iter().map(|line| line.copied_calls).filter(|calls| *calls > 0);
    let (sessions, copied) =
        copies.fold((0, 0), |(sessions, sum), calls| (sessions + 1, sum + calls));
    let calls: usize = summary.sessions.iter().map(|line| line.calls).sum();
    (sessions > 0).then(|| {
        format!(
            "{sessions} of {} sessions hold the history of others, which were resumed, forked or handed on: {} calls in them \
             are copies. They count once, where they were made, beside {} calls in all.",
            summary.imported,
            grouped(copied as u64),
            grouped(calls as u64),
        )
    })
}

/// Presets that are compared on fewer sessions than others, since their replays failed.
pub(super) fn failed(failed: &[FailedReplay]) -> Option<String> {
    let mut presets: BTreeMap<&str, usize> = BTreeMap::new();
    for replay in failed {
        *presets.entry(&replay.preset).or_default() += 1;
    }
    let of = |(preset, sessions): (&str, usize)| format!("{preset} ({})", grouped(sessions as u64));
    let presets: Vec<String> = presets.into_iter().map(of).collect();
    (!presets.is_empty()).then(|| {
        format!(
            "Replays failed, which is a fault of foldback: {}. These sessions count for nothing under these presets.",
            presets.join(", ")
        )
    })
}

/// Signs that a comparison says little.
pub(super) fn cautions(
    contenders: &[Preset],
    presets: &[PresetLine],
    corpus: &CorpusSummary,
    scores: &[Box<[Score]>],
) -> Vec<String> {
    let mut lines = Vec::new();
    if corpus.triggering == 0 {
        lines.push(
            "No strategy changed anything in any session: nothing was compared. A smaller --window makes \
             them act."
                .to_owned(),
        );
    }
    let units = match corpus.unit {
        Unit::Sums => Some("in fewer than five sessions, so there are sums alone"),
        Unit::Sessions => Some(
            "in fewer than ten repositories, so intervals and tests hold for these sessions alone",
        ),
        Unit::Repositories => None,
    };
    lines.extend(
        units.filter(|_| corpus.triggering > 0).map(|units| format!("Strategies acted {units}.")),
    );
    lines.extend(unfittable(contenders, presets));
    let random = presets.iter().find(|line| line.preset == "random");
    let kept = |line: &PresetLine| line.metrics.frr_obs_far.value;
    let acted = |line: &&PresetLine| line.kind == Kind::Strategy && line.triggered > 0;
    if let Some(random) = random
        && let Some(placebo) = kept(random)
    {
        let beaten: Vec<&str> = presets
            .iter()
            .filter(acted)
            .filter(|line| kept(line).is_some_and(|own| own <= placebo))
            .filter(|line| line.metrics.token_ratio.value >= random.metrics.token_ratio.value)
            .map(|line| line.preset.as_str())
            .collect();
        if !beaten.is_empty() {
            lines.push(format!(
                "Random eviction sends less than {} and keeps at least as much of what only observations said, and not recently.",
                beaten.join(", ")
            ));
        }
    }
    lines.extend(without_model(contenders, presets, scores));
    lines.extend(by_recorders(contenders, presets, scores));
    lines
}

/// The requests that no preset can help, with what to do about them.
fn unfittable(contenders: &[Preset], presets: &[PresetLine]) -> Option<String> {
    let at = contenders.iter().position(Preset::is_baseline)?;
    let requests = presets.get(at)?.gate.unfittable;
    (requests > 0).then(|| {
        format!(
            "{requests} requests do not fit under any preset: the system prompt and the tools alone are larger than the \
             window. They count against no preset. A larger --window lets them fit."
        )
    })
}
