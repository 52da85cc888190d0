//! The next command to suggest after a comparison.

use crate::args::{Compare, ModelArgs, SummaryArgs, quoted};
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{Reason, Verdict};
use std::path::Path;

/// The next command, and what it is for: a smaller window if nothing acted, else the session in which the first preset forgot
/// most. Where what runs today should stay, nobody needs a look at a preset, unless it was named or the answer speaks of it.
pub(crate) fn words(comparison: &Comparison, args: &Compare, named: bool) -> (String, Vec<String>) {
    let next = |words: Vec<String>| ("next:".to_owned(), words);
    let words = |text: &str| next(text.split(' ').map(str::to_owned).collect());
    if comparison.corpus.triggering > 0 {
        let is_of_use = match comparison.verdict() {
            Verdict::Stay(Reason::Forgets(_)) | Verdict::Nothing | Verdict::Use { .. } => true,
            Verdict::TooFew { lowest, .. } => lowest.is_none_or(|line| comparison.is_billed(line)),
            Verdict::Stay(_) => named,
        };
        if !is_of_use {
            return next(Vec::new());
        }
        return explain(comparison, args).unwrap_or_else(|| match &args.html {
            Some(page) => next(vec!["open".to_owned(), quoted(&page.display().to_string())]),
            None => words("the same with --html report.html, to walk the sessions"),
        });
    }
    if comparison.of_kind(Kind::Strategy).is_empty() {
        return words("the same without --preset, for all presets");
    }
    let idle = (0..comparison.presets.len()).flat_map(|preset| comparison.nearest_idle(preset));
    match idle.filter_map(|idle| idle.window).max() {
        Some(window) => words(&format!("the same with --window {window}, at which something acts")),
        None => words("the same with longer sessions"),
    }
}

/// The words of the command that tries the preset of the verdict; none where what runs today should stay.
pub(crate) fn employ(comparison: &Comparison, args: &Compare) -> Vec<String> {
    let Verdict::Use { best, .. } = comparison.verdict() else { return Vec::new() };
    // A strategy file goes by its path.
    let file = args.design.preset.iter().find(|name| {
        Path::new(name).file_stem().is_some_and(|stem| stem == best.name())
            && name.ends_with(".toml")
    });
    let preset = file.map_or_else(|| best.name().to_owned(), |file| quoted(file));
    ["foldback serve --preset", &preset].map(str::to_owned).into()
}

fn explain(comparison: &Comparison, args: &Compare) -> Option<(String, Vec<String>)> {
    // A strategy file goes by its path.
    let by_name = !args.design.preset.iter().any(|name| name.ends_with(".toml"));
    if args.redact || !by_name || args.design.experiment.is_some() {
        return None;
    }
    let (session, preset) = comparison.telling(&comparison.answer())?;
    let (file, id) = match session.path.rsplit_once('#') {
        Some((file, id)) if !Path::new(&*session.path).exists() => (file, Some(id.to_owned())),
        _ => (&*session.path, None),
    };
    let mut words = ["foldback", "explain"].map(str::to_owned).to_vec();
    words.push(quoted(file));
    let options = [("--session", id), ("--preset", Some(preset.name().to_owned()))];
    let SummaryArgs { summarizer, cassette, .. } = &args.summaries;
    let cassette = cassette.as_ref().map(|path| path.display().to_string());
    // Recorded answers are not paid for again.
    let asked = [("--summarizer", summarizer.clone()), ("--cassette", cassette)];
    for (flag, value) in options.into_iter().chain(flags(&args.design.model)).chain(asked) {
        words.extend(value.map(|value| format!("{flag} {}", quoted(&value))));
    }
    let title = match preset.metrics.frr_obs_far.value {
        Some(kept) if kept < 1.0 => format!("where {} forgets most:", preset.name()),
        _ => "next:".to_owned(),
    };
    Some((title, words))
}

/// The options that both commands need.
pub(crate) fn flags(model: &ModelArgs) -> [(&'static str, Option<String>); 4] {
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    [
        ("--window", number(model.window)),
        ("--max-output", number(model.max_output)),
        ("--model", model.model.clone()),
        ("--models", model.models.as_ref().map(|path| path.display().to_string())),
    ]
}
