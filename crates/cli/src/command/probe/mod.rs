//! `foldback probe`

mod ask;
mod likelihood;
mod models;

use crate::args::{Forms, Probe};
use crate::error::Error;
use crate::groups::Listed;
use crate::progress::Progress;
use crate::summaries::Choice;
use crate::{input, output, strategies};
use ask::{Arm, Shows, Sitting};
use foldback::llm::Questioner;
use foldback_formats::Session;
use foldback_replay::Source;
use foldback_replay::corpus::Skipped;
use foldback_replay::fault::FailedReplay;
use foldback_replay::probe::figures::{RECALL, Row};
use foldback_replay::probe::{Moment, Own, Question, likelihood as likely, questions};
use foldback_report::html;
use foldback_report::probe::Probed;
use foldback_report::probe::likelihood::Likely;
use foldback_report::rows::Format;
use models::Models;
use serde::Serialize;
use std::path::PathBuf;

/// The controls.
const FULL: &str = "full";
const NOTHING: &str = "nothing";

pub(crate) fn run(args: &Probe) -> Result<(), Error> {
    let rows = output::rows_file(args.rows.as_ref())?;
    let asks_nothing = args.form == Forms::Likelihood;
    check(args)?;
    let own = args.questions.as_deref().map(|path| input::parsed(path, Own::read));
    let own = own.transpose()?.unwrap_or_default();
    let registry = foldback::registry()?;
    let setup = strategies::setup(&registry, &args.model)?;
    let window = setup.models.find(&args.ask).map(|model| model.context);
    let model = Choice::of_model(&args.ask, window)?;
    // Its errors name the place of each mistake.
    model.alone(&registry, "questions")?;
    let questioner = Questioner::new(model.config()?);
    let questioner = match asks_nothing {
        true => questioner.and_then(Questioner::of_likelihoods),
        false => questioner,
    };
    let questioner =
        questioner.map_err(|invalid| Error::Usage(format!("{}: {}", args.ask, invalid.message)))?;
    let summaries = args.summaries.summarizer.as_deref().map(Choice::read).transpose()?;
    let names = Listed::new(&registry)?.expand(&args.preset);
    let presets = strategies::usable(&registry, &names, summaries.as_ref(), setup.limits)?;
    let corpus = input::corpus(&args.corpus)?;
    let mut labels: Vec<String> = Vec::new();
    for preset in &presets {
        let label = preset.strategy.label();
        let with_recall = args.recall.map(|_| format!("{label}{RECALL}"));
        labels.extend([label].into_iter().chain(with_recall));
    }
    labels.extend([FULL, NOTHING].map(str::to_owned));
    let choices: Vec<Choice> = summaries.into_iter().chain([model.clone()]).collect();
    let (models, presets) =
        Models::open(args, presets, &labels, questioner.asks(), &choices, &setup)?;
    let of_preset = |preset| {
        let without = (Shows::Preset(preset), None);
        [without].into_iter().chain(args.recall.map(|times| (Shows::Preset(preset), Some(times))))
    };
    let shows = presets.iter().flat_map(of_preset);
    let shows = shows.chain([(Shows::Full, None), (Shows::Nothing, None)]);
    let arm = |(at, (label, (shows, recall))): (usize, (&String, _))| Arm {
        label: label.clone(),
        shows,
        model: models.model(presets.len() + at),
        recall,
    };
    let arms: Vec<Arm<'_>> = labels.iter().zip(shows).enumerate().map(arm).collect();

    let what = format!("under {} views", arms.len());
    let progress = Progress::new(corpus.sources.len(), "files", what);
    models.show(&progress);
    let sitting = Sitting { args, setup: &setup, questioner: &questioner, arms: &arms };
    let ask = |_: &Source, path, session: &Session| findings(path, session, args, &own, &sitting);
    let (found, skipped) = input::made_of_sessions(&corpus, progress, ask)?;
    let mut all = Findings::default();
    found.into_iter().for_each(|one| all.add(one));
    if let Some(at) = args.at.filter(|at| *at >= all.calls && all.calls > 0) {
        return Err(Error::Usage(format!(
            "--at {at}: the longest session has {} calls, and the first is 0",
            all.calls
        )));
    }
    if let Some(counted) = models.finish()? {
        output::print(&counted)?;
        return Error::of_replays(all.failed);
    }
    for Skipped { path, reason } in &skipped {
        output::note(format_args!("note: {path} is left out: {reason}"));
    }
    if all.without > 0 {
        let without = all.without;
        output::note(format_args!("note: sessions without a question or that call: {without}"));
    }
    if let Some(path) = args.requests() {
        let lines = models.exported();
        if lines.is_empty() {
            return Err(nothing_asked().after(all.failed));
        }
        output::note(format_args!("{} requests were written and none was sent", lines.len()));
        output::write(Some(path), &(lines.join("\n") + "\n"))?;
        return Error::of_replays(all.failed);
    }
    if all.rows.is_empty() && all.likely.is_empty() {
        return Err(nothing_asked().after(all.failed));
    }
    if asks_nothing {
        all.likely.sort_by_key(|row| labels.iter().position(|label| *label == row.preset));
        let told = Likely::from_rows(&all.likely, model.model(), setup.measure.id().to_string());
        give(args, rows, &all.likely, &told, told.text(output::width()))?;
        return Error::of_replays(all.failed);
    }
    all.rows.sort_by_key(|row| labels.iter().position(|label| *label == row.preset));
    let probed = Probed::from_rows(&all.rows, model.model(), setup.measure.id().to_string());
    if let Some(path) = &args.html {
        output::write(Some(path), &html::probed(&probed))?;
    }
    give(args, rows, &all.rows, &probed, probed.text(output::width()))?;
    Error::of_replays(all.failed)
}

/// Writes rows and figures where they are asked for, and prints the table unless one of them is printed.
fn give(
    args: &Probe,
    wanted: Option<(&PathBuf, Format)>,
    rows: &[impl Serialize],
    json: &impl Serialize,
    table: String,
) -> Result<(), Error> {
    output::rows(wanted, rows)?;
    output::json(args.json.as_ref(), json)?;
    output::print_beside(&[&args.json, &args.html, &args.rows], &table)
}

/// Refuses options that exclude one another by the value of one, or by whether a file exists.
fn check(args: &Probe) -> Result<(), Error> {
    let figures = args.rows.is_some() || args.json.is_some() || args.html.is_some();
    let why = if args.form == Forms::Likelihood
        && (args.recall.is_some()
            || args.questions.is_some()
            || args.batch.is_some()
            || args.html.is_some())
    {
        "--form likelihood asks nothing; leave out --recall, --questions, --batch and --html"
            .to_owned()
    } else if let Some(path) = args.requests().filter(|_| figures) {
        format!(
            "there is no {}, so --batch writes the requests to it, and there are no answers yet for --rows, --json or --html",
            path.display()
        )
    } else {
        return Ok(());
    };
    Err(Error::Usage(why))
}

fn nothing_asked() -> Error {
    let why = "the sessions have too little that has a single answer and others like it";
    Error::Usage(format!("nothing could be asked: {why}"))
}

/// Answers about some sessions.
#[derive(Default)]
struct Findings {
    rows: Vec<Row>,
    likely: Vec<likely::Row>,
    failed: Vec<FailedReplay>,
    /// Calls of the longest session.
    calls: usize,
    /// Sessions that nothing could be asked of.
    without: usize,
}

impl Findings {
    fn add(&mut self, more: Self) {
        self.rows.extend(more.rows);
        self.likely.extend(more.likely);
        self.failed.extend(more.failed);
        self.calls = self.calls.max(more.calls);
        self.without += more.without;
    }
}

/// Asks about a session.
fn findings(
    path: String,
    session: &Session,
    args: &Probe,
    own: &Own,
    sitting: &Sitting<'_>,
) -> Result<Findings, Error> {
    input::strict(&path, &session.warnings, args.corpus.strict)?;
    let mut found = Findings { calls: session.calls(), ..Findings::default() };
    let cluster = session.cluster.as_deref().unwrap_or(&path);
    if args.form == Forms::Likelihood {
        found.likely = sitting.likely(&path, cluster, session, &mut found.failed)?;
        found.without = usize::from(found.likely.is_empty());
        return Ok(found);
    }
    let asked = moment(session, args.at).map(|moment| {
        let mut asked: Vec<Question> = questions(&moment, args.count);
        asked.extend(own.about(&path, &moment));
        (moment, asked)
    });
    match asked.filter(|(_, asked)| !asked.is_empty()) {
        Some((moment, asked)) => {
            found.rows = sitting.rows(&path, cluster, &moment, &asked, &mut found.failed)?;
        }
        None => found.without = 1,
    }
    Ok(found)
}

fn moment(session: &Session, at: Option<usize>) -> Option<Moment> {
    match at {
        Some(call) => Moment::before(session, call),
        None => (session.calls() > 0).then(|| Moment::end(session)),
    }
}
