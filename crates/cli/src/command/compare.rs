//! `foldback compare`

use crate::args::{Compare, ComparisonText, PageSessions};
use crate::design::{self, Planned};
use crate::details::Computed;
use crate::error::{Error, add_failed};
use crate::groups::OTHERS;
use crate::progress::Progress;
use crate::strategies::Controls;
use crate::{input, next, output, page, results};
use foldback_replay::outcomes;
use foldback_replay::{Comparison, Preset, Reporting, Run, parts};
use foldback_report::number::grouped;
use foldback_report::{first, json, paper, rows, table};

/// Compares, and writes nothing.
pub(crate) fn compute(args: &Compare, controls: Controls) -> Result<Computed, Error> {
    let folders = input::parts(&args.corpus)?;
    let files = folders.is_empty().then(|| input::corpus(&args.corpus)).transpose()?;
    let outcomes = args.outcomes.as_deref();
    let rows = outcomes.map(|path| input::parsed(path, outcomes::read)).transpose()?;
    let registry = foldback::registry()?;
    let planned =
        design::plan(&registry, &args.design, args.prices.as_deref(), &args.summaries, controls)?;
    let Planned { experiment, presets, setup, answers, .. } = &planned;
    let reporting = Reporting { keep: args.keep, ..design::reporting(experiment, setup)? };
    // What is in parts is there already.
    let mut store = results::store(&args.store, answers.asks() || files.is_none())?;
    let corpus = match files {
        Some(corpus) => corpus,
        None => parts::read(folders, presets, setup, experiment.split, &mut store)
            .map_err(Error::Usage)?,
    };
    let progress = Progress::replays(corpus.sources.len(), presets.len());
    answers.show(&progress);
    let run = Run { store: &store, progress: &|| progress.step(), strict: args.corpus.strict };
    let mut comparison = foldback_replay::compare(&corpus, presets, setup, reporting, run)?;
    if let Some((path, rows)) = outcomes.zip(rows) {
        let joined = comparison.join_outcomes(&store, &rows);
        joined.map_err(|error| Error::Usage(format!("{}:{error}", path.display())))?;
    }
    comparison.provenance.made_by(Some(args.command_line.clone()));
    if args.redact {
        comparison.redact();
    }
    drop(progress);
    Ok(Computed { comparison, store, corpus, planned })
}

pub(crate) fn run(args: &Compare) -> Result<(), Error> {
    let rows = output::rows_file(args.rows.as_ref())?;
    let pages = args.html.as_deref().filter(|_| args.reader.contains(&PageSessions::Beside));
    pages.map_or(Ok(()), page::has_folder)?;
    let computed = compute(args, controls(args))?;
    let Computed { comparison, store, planned, .. } = &computed;
    if let Some(path) = pages {
        page::check(path, comparison.corpus.sessions.len())?;
    }
    let Planned { experiment, listed, presets, answers, .. } = planned;
    if let Some(counted) = answers.finish(None, &|at| idle(comparison, at))? {
        return output::print(&counted);
    }
    let mut failed = comparison.failed.clone();
    if let Some((path, format)) = rows {
        output::write_with(Some(path), |out| rows::write(comparison, store, format, out))?;
    }
    if let Some(path) = &args.json {
        output::write_with(Some(path), |out| json::write(comparison, out))?;
    }
    if let Some(path) = &args.manifest {
        let files = files_of(args)?;
        output::write_with(Some(path), |out| json::write_manifest(comparison, files, out))?;
    }
    if let Some(path) = &args.html {
        add_failed(&mut failed, page::write(path, &computed, args)?);
        if !output::is_stdout(path) {
            output::note(format_args!("note: the page is {}", path.display()));
        }
    }
    // A document on standard output stands alone, so that it can be piped.
    let mut named = args.files().into_iter().flatten();
    let form = match args.show {
        Some(ComparisonText::Latex) => Some(paper::Form::Latex),
        Some(ComparisonText::Csv) => Some(paper::Form::Csv),
        Some(ComparisonText::Md) => Some(paper::Form::Markdown),
        Some(ComparisonText::Full) | None => None,
    };
    if let Some(form) = form {
        output::write(None, &paper::table(comparison, form))?;
    } else if !named.any(|path| output::is_stdout(path)) {
        let others = experiment.strategies.is_empty().then_some(OTHERS);
        let named = listed.names_one(&experiment.strategies);
        let text = text(comparison, args, named, others);
        let marks = output::Marks {
            answer: first::answer(comparison),
            best: first::best(comparison),
            warnings: &first::notes(comparison),
        };
        output::screen(&text, &marks)?;
    }
    tell_statistics(presets);
    results::tell(store);
    Error::of_replays(failed)
}

/// The files that options name, with the hashes of their contents.
fn files_of(args: &Compare) -> Result<Vec<json::NamedFile>, Error> {
    let files = args.option_values.iter().filter(|path| path.is_file());
    files
        .map(|path| {
            let bytes =
                std::fs::read(path).map_err(|error| Error::File { path: path.clone(), error })?;
            Ok(json::NamedFile::new(path.display().to_string(), &bytes))
        })
        .collect()
}

/// The first screen shows no control. All else that is written has every one, and so do parts that were scored.
fn controls(args: &Compare) -> Controls {
    let written = args.files().iter().any(|path| path.is_some()) || args.show.is_some();
    let parts = args.corpus.paths.iter().any(|path| parts::is_part(path));
    match written || parts {
        true => Controls::All,
        false => Controls::Blind,
    }
}

/// Why a preset had nothing to ask a model.
fn idle(comparison: &Comparison, at: usize) -> String {
    let Some(line) = comparison.presets.get(at) else { return "it was not compared".to_owned() };
    match line.overflow_detections {
        0 => format!(
            "nothing was folded: no view was too large for it, no request has more than {} tokens; a smaller --window makes it \
             act",
            grouped(line.metrics.peak_tokens.value.unwrap_or_default() as u64)
        ),
        times => format!(
            "of {times} times that a view was too large none needed a summary that could be requested; `foldback explain \
             FILE` with the same options says why"
        ),
    }
}

/// The first screen, or everything. `named` says whether presets were named; `others` are the presets not compared.
fn text(comparison: &Comparison, args: &Compare, named: bool, others: Option<&str>) -> String {
    if args.show == Some(ComparisonText::Full) {
        let more = others.map(|others| format!("other presets: {others}\n")).unwrap_or_default();
        return table::comparison(comparison, output::width()) + &more;
    }
    let (title, next) = next::words(comparison, args, named);
    let employ = next::employ(comparison, args);
    let commands = first::Commands { named, others, title: &title, next: &next, employ: &employ };
    first::screen(comparison, output::width(), commands)
}

/// Reports of filters on their own work, such as the hit rate of a cache. They depend on the schedule, so they are not
/// part of the result.
fn tell_statistics(presets: &[Preset]) {
    for preset in presets {
        let filter = preset.strategy.filter.as_ref();
        for (name, value) in filter.iter().flat_map(|filter| filter.stage.report()) {
            output::detail(format_args!("{}: {name} {}", preset.strategy.name, in_words(&value)));
        }
    }
}

/// Figures by name as `hits 3, misses 4`.
fn in_words(value: &serde_json::Value) -> String {
    let Some(figures) = value.as_object() else { return value.to_string() };
    let figures =
        figures.iter().map(|(name, figure)| format!("{} {figure}", name.replace('_', " ")));
    figures.collect::<Vec<_>>().join(", ")
}
