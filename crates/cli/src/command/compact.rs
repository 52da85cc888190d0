//! `foldback compact`

use crate::args::{Compact, CompactText, CompactTime};
use crate::asking::Answers;
use crate::command::convert;
use crate::error::Error;
use crate::summaries::Choice;
use crate::{input, output, strategies};
use foldback_core::conversation::{Conversation, Report, StageRole};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::strategy::Strategy;
use foldback_formats::{Session, View};
use foldback_replay::fault::FailedReplay;
use foldback_replay::index::Index;
use foldback_replay::state::{Ask, stored};
use foldback_replay::{ReplayOptions, calibrate, replay, replay_with};
use foldback_report::number::count;
use foldback_report::{plan, render};
use std::sync::Arc;

pub(crate) fn run(args: &Compact) -> Result<(), Error> {
    let file = &args.session.file;
    // Lines that its agent appends meanwhile are not lost.
    let before = args.in_place.then(|| std::fs::read(file).ok()).flatten();
    match compact(args)? {
        Output::Message(text) => output::print(&text),
        Output::Report(text) => output::report(args.out.as_deref(), &text),
        Output::Data { text, notes } => {
            match args.in_place {
                true => output::write_over(file, before.as_deref(), &text)?,
                false => output::write(args.out.as_deref(), &text)?,
            }
            notes.iter().for_each(output::note);
            Ok(())
        }
    }
}

/// The result of a compaction.
pub(crate) enum Output {
    /// The requests of a dry run: no model was asked.
    Message(String),
    /// Text for people: the plan, or a rendering of the view.
    Report(String),
    /// Data for programs: the session, or the plan as JSON. Notes go to standard error.
    Data { text: String, notes: Vec<String> },
}

/// Compacts the session.
pub(crate) fn compact(args: &Compact) -> Result<Output, Error> {
    let registry = foldback::registry()?;
    let choice = args.summaries.summarizer.as_deref();
    let choice = choice.map(Choice::read).transpose()?;
    let preset = strategies::preset(&registry, &args.preset, choice.as_ref())?;
    let strategy = Arc::clone(&preset.strategy);
    let live = args.when == Some(CompactTime::Live);
    let manual = args.when == Some(CompactTime::Manual);
    let setup = strategies::setup(&registry, &args.model)?;
    if !manual {
        strategies::check_window(&strategy, setup.limits)?;
    }
    let (session, own) = input::session(&args.session, args.in_place)?;
    // Asked for before any work is done: a format that can't be written.
    let format = match &args.to {
        Some(id) => convert::target(id)?,
        None => foldback_formats::format(own)
            .map_err(|error| Error::Read { path: own.to_owned(), error })?,
    };
    let answers = Answers::open(&args.summaries, &[preset], &[], choice.as_slice(), &setup)?;
    let mut options = setup.options(&session, &strategy);
    options.validate = false;
    options.completions = answers.model(0).map(|model| model as _);
    let progress = answers.progress();
    let path = args.session.file.display().to_string();
    let mut views = plan::Views::default();
    let folded = FailedReplay::caught(&path, &strategy.label(), || {
        if live && args.show == Some(CompactText::PlanJson) {
            let index = Arc::new(Index::new(&session));
            let replay = replay_with(&session, &index, &strategy, &options, &mut [&mut views]);
            views.asked(&replay.summary_calls);
            replay.into_state()
        } else if live {
            replay(&session, &strategy, &options).into_state()
        } else {
            let ask = if manual { Ask::Manual } else { Ask::NextTurn };
            stored(&session, &strategy, &options, ask)
        }
    });
    drop(progress);
    let (conversation, reports) = folded?;
    // Live, most moments of a session have nothing to say; what was tried and failed has.
    let has_news = |report: &Report| {
        !live || report.outcome.changed() || matches!(report.outcome, Outcome::Failed(_))
    };
    let reports: Vec<Report> = reports.into_iter().filter(has_news).collect();
    if answers.asks() {
        for rule in conversation.invented() {
            output::note(format_args!("note: the summary forbids what no user named: {rule}"));
        }
    }
    let happened = || match reports.is_empty() {
        true => nothing(args, &conversation),
        false => plan::reports(&reports, &conversation),
    };
    let idle = |_| {
        let mut folds = reports.iter().filter(|report| report.role != StageRole::Pruner);
        match (folds.next(), folds.count()) {
            (None, _) => "nothing was folded".to_owned(),
            (Some(first), more) => {
                let first = plan::reports(std::slice::from_ref(first), &conversation);
                let more = (more > 0).then(|| format!("; {more} more"));
                format!("{}{}", first.trim_end(), more.unwrap_or_default())
            }
        }
    };
    if let Some(counted) = answers.finish(Some(used(&conversation)), &idle)? {
        return Ok(Output::Message(counted));
    }
    if args.show == Some(CompactText::PlanJson) {
        let plans = plan::Plans::new(&session, &conversation, &views);
        let text = format!("{}\n", serde_json::to_string_pretty(&plans)?);
        return Ok(Output::Data { text, notes: Vec::new() });
    }
    if args.show == Some(CompactText::Plan) {
        let text = happened() + &plan::plans(&conversation);
        let changed = reports.iter().any(|report| report.outcome.changed());
        let stored = !live && !manual && !answers.asks();
        let missed = match stored && !changed {
            true => FailedReplay::caught(&path, &strategy.label(), || {
                on_the_way(&session, &strategy, &options)
            })?,
            false => String::new(),
        };
        return Ok(Output::Report(text + &missed));
    }
    if args.show == Some(CompactText::View) {
        let title = format!("{} · {}", strategy.label(), session.id);
        return Ok(Output::Report(render::view(&title, &conversation)));
    }
    let recorded = session.recorded_edits();
    let view = if live && conversation.folds().is_empty() && format.id == own {
        // It was driven without its recorder's compactions. They stay where nothing takes their place.
        View::recorded(&session, &recorded)
    } else {
        View {
            session: &session,
            frame: &session.frame,
            unrecorded: calibrate::unrecorded(&session, &*options.measure),
            sent: conversation.sent(),
            stored: conversation.stored(),
        }
    };
    let Some(outcome) = format.write(&view) else {
        return Err(convert::read_only(format));
    };
    let outcome = outcome?;
    let loss = |loss: &_| format!("note: differs from the {} file: {loss}", format.id);
    let mut notes: Vec<String> = outcome.losses.iter().map(loss).collect();
    notes.extend(output::refused(format.id, &outcome.breaks));
    // The report goes to standard error, so that the session stays clean.
    notes.push(happened().trim_end().to_owned());
    Ok(Output::Data { text: outcome.text, notes })
}

/// A hint at what the strategy would have done while the session grew, since a stored session is a single moment.
fn on_the_way(session: &Session, strategy: &Arc<Strategy>, options: &ReplayOptions) -> String {
    let (_, reports) = replay(session, strategy, options).into_state();
    match reports.iter().filter(|report| report.outcome.changed()).count() {
        0 => String::new(),
        times => format!(
            "while the session grew it would have changed the view {}; --when live shows that\n",
            count(times as u64, "time")
        ),
    }
}

/// Tokens of requests whose summaries are in the view, input and output.
fn used(conversation: &Conversation) -> u64 {
    conversation.folds().iter().map(|fold| fold.plan.summary_tokens).sum()
}

/// The sentence that says that no stage did anything.
fn nothing(args: &Compact, conversation: &Conversation) -> String {
    let messages = conversation.history().len();
    let strategy = conversation.strategy();
    let label = strategy.label();
    let between = |moment: &Moment| Ask::NextTurn.moments().contains(moment);
    let policy = strategy.overflow.as_ref().filter(|policy| !policy.when.iter().any(between));
    let waits = match policy {
        Some(policy) if args.when.is_none() => {
            let when: Vec<&str> = policy.when.iter().map(|moment| moment.as_str()).collect();
            format!(
                "; it acts at {}, which a stored session is past: --when live drives the session from its first \
                 message, --when manual compacts it now",
                when.join(" and ")
            )
        }
        _ => String::new(),
    };
    format!("nothing was done: no stage of {label} acted on the {messages} messages{waits}\n")
}
