//! The laws that one session can break.

use crate::drive::{DriveEvent, drive, sent};
use crate::session::Session;
use crate::subject::Subject;
use crate::talk;
use foldback_core::conversation::{Conversation, Report, StageRole};
use foldback_core::history::History;
use foldback_core::log::{EntryKind, Message, Part, PartKind, Role};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::stage::Estimator;
use foldback_core::strategy::Strategy;
use foldback_core::validity::Monitor;
use foldback_stages::estimator::{Rounding, Unit, chars};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How often the view was changed.
pub(super) fn changes(subject: &Subject, session: &Session) -> Result<usize, String> {
    let mut changes = 0;
    drive(session, &subject.strategy(session), &mut |_, seen| {
        if let DriveEvent::Answered(_, _, reports) = seen {
            changes += reports.iter().filter(|report| report.outcome.changed()).count();
        }
        Ok(())
    })?;
    Ok(changes)
}

pub(super) fn valid(subject: &Subject, session: &Session) -> Result<(), String> {
    let mut monitor = Monitor::default();
    drive(session, &subject.strategy(session), &mut |talk, seen| match seen {
        DriveEvent::Asked => Ok(()),
        DriveEvent::Answered(_, _, reports) => {
            reports.iter().try_for_each(|report| guarded(talk, report))
        }
        DriveEvent::Call | DriveEvent::End => {
            monitor.check(talk);
            if let Some(broken) = monitor.findings().caused.first() {
                return Err(format!("before message {}: {broken}", talk.history().log_len() + 1));
            }
            once(talk)
        }
    })?;
    Ok(())
}

/// Fails if the guard `pairs` rejects a fold: a stage must not rely on it. While a result is still to come, and where one came
/// after the next answer, every stage may be rejected.
fn guarded(talk: &Conversation, report: &Report) -> Result<(), String> {
    let history = talk.history();
    let open = || !history.open_calls().is_empty();
    let late = || {
        history.iter().any(|(pos, _)| {
            let call = history.group(history.group_of(pos)).items[0];
            history.range(call + 1..pos.max(call + 1)).any(|(_, message)| message.is_answer())
        })
    };
    match &report.outcome {
        Outcome::Failed(why) if why.code == "pair-broken" && !open() && !late() => {
            Err(format!("a guard had to step in at {}: {why}", report.moment))
        }
        _ => Ok(()),
    }
}

fn once(talk: &Conversation) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut positions =
        talk.sent().into_iter().filter_map(|shown| Some((shown.pos?, shown.message)));
    match positions.find(|(pos, _)| !seen.insert(*pos)) {
        Some((_, message)) => Err(format!("message {} is sent twice", message.id)),
        None => Ok(()),
    }
}

pub(super) fn log_untouched(subject: &Subject, session: &Session) -> Result<(), String> {
    // A clone has caches of its own, and they are empty.
    let before: Vec<Message> =
        session.messages().iter().map(|message| Message::clone(message)).collect();
    let strategy = subject.strategy(session);
    let talk = drive(session, &strategy, &mut |_, _| Ok(()))?;
    unaltered(session.messages(), talk.history())?;
    let measure: Arc<dyn Estimator> = Arc::new(chars(Unit::Utf16, Rounding::Ceil));
    let estimators = strategy.estimators.iter().chain([&measure]);
    for (estimator, (was, is)) in
        estimators.flat_map(|by| std::iter::repeat(by).zip(before.iter().zip(session.messages())))
    {
        if *was != **is {
            return Err(format!("message {} was altered", was.id));
        }
        let counted = estimator.counts(is);
        if *counted != estimator.count(was) {
            let id = estimator.id();
            return Err(format!("the tokens of message {} under {id} were altered", was.id));
        }
    }
    Ok(())
}

/// Checks that a history holds what was appended, and besides only what compactions wrote.
///
/// # Errors
///
/// Names the first message that is missing or another.
pub fn unaltered(appended: &[Arc<Message>], history: &History) -> Result<(), String> {
    let mut kept = history.iter().map(|(_, message)| message).filter(|message| !message.is_entry());
    for message in appended.iter().filter(|message| !message.is_entry()) {
        if !kept.next().is_some_and(|kept| Arc::ptr_eq(kept, message)) {
            return Err(format!("message {} is not in the log as it was appended", message.id));
        }
    }
    match kept.next() {
        Some(more) => Err(format!("message {} is in the log and was never appended", more.id)),
        None => Ok(()),
    }
}

pub(super) fn idempotent(subject: &Subject, session: &Session) -> Result<(), String> {
    drive(session, &subject.strategy(session), &mut |talk, seen| {
        let DriveEvent::Answered(moment, signals, reports) = seen else { return Ok(()) };
        if moment == Moment::Manual || !reports.iter().any(|report| report.outcome.changed()) {
            return Ok(());
        }
        let mut again = talk.clone();
        let mut changed = reports.iter().filter(|report| report.outcome.changed());
        if moment.is_reactive() && changed.all(|report| report.role == StageRole::Pruner) {
            talk::block_on(again.at(moment, signals.clone()));
        }
        let before = sent(&again);
        let reports = talk::block_on(again.at(moment, signals.clone()));
        match reports.iter().find(|report| report.outcome.changed()) {
            Some(report) => Err(format!("asked again at {moment}, {} acts again", report.stage)),
            None if sent(&again) != before => {
                Err(format!("asked again at {moment}, other messages are sent"))
            }
            None => Ok(()),
        }
    })?;
    Ok(())
}

pub(super) fn smaller_or_refused(subject: &Subject, session: &Session) -> Result<(), String> {
    let mut before = (Vec::new(), 0);
    drive(session, &subject.strategy(session), &mut |talk, seen| {
        match seen {
            DriveEvent::Asked => before = (sent(talk), talk.tokens()),
            DriveEvent::Answered(moment, _, reports) => {
                reports.iter().try_for_each(report_holds)?;
                let changed = reports.iter().any(|report| report.outcome.changed());
                match sent(talk) != before.0 {
                    true if !changed => {
                        return Err(format!(
                            "at {moment} no stage changed anything, and others are sent"
                        ));
                    }
                    // A person who compacts gets what there is.
                    true if moment != Moment::Manual && talk.tokens() >= before.1 => {
                        let tokens = before.1;
                        return Err(format!(
                            "at {moment} others are sent, of {tokens} tokens as before"
                        ));
                    }
                    _ => {}
                }
            }
            DriveEvent::Call | DriveEvent::End => {}
        }
        Ok(())
    })?;
    Ok(())
}

/// Checks what a stage reports of itself: what changed the view made it no larger, what did not left it alone.
///
/// # Errors
///
/// Says by how much.
pub fn report_holds(report: &Report) -> Result<(), String> {
    let Report { moment, stage, outcome, tokens_before: before, tokens_after: after, .. } = report;
    match outcome.changed() {
        true if after > before => {
            Err(format!("at {moment}, {stage} made the view grow from {before} to {after} tokens"))
        }
        false if after != before => Err(format!(
            "at {moment}, {stage} reports {outcome}, and the view went from {before} to {after} tokens"
        )),
        _ => Ok(()),
    }
}

pub(super) fn pins(subject: &Subject, session: &Session) -> Result<(), String> {
    let mut number = 0;
    let pinned = |message: &Arc<Message>| {
        if message.role != Role::User || message.is_entry() {
            return Arc::clone(message);
        }
        number += 1;
        let mut parts = message.parts.clone();
        parts.push(Part::text(format!("<pin>Never touch folder number {number}.</pin>")));
        if number % 4 == 0 {
            let text = format!("<unpin>Never touch folder number {}.</unpin>", number - 1);
            parts.push(Part::text(text));
        }
        Arc::new(message.with_parts(parts))
    };
    let messages: Vec<_> = session.messages().iter().map(pinned).collect();
    let session = session.with_future(0, messages);
    let strategy = subject.strategy(&session);
    let talk = drive(&session, &strategy, &mut |talk, seen| match seen {
        DriveEvent::Call | DriveEvent::End => pins_shown(talk),
        _ => Ok(()),
    })?;
    pins_shown(&talk)
}

/// Fails if a text that is pinned is not in the view, or is carried over beside a message that says it. The summary of a system
/// that copies what users said may say it again.
fn pins_shown(talk: &Conversation) -> Result<(), String> {
    let (mut carried, mut others) = (String::new(), String::new());
    for shown in talk.sent() {
        let message = shown.to_message();
        // Some systems carry messages over themselves, and these are in the history.
        let is_carried = shown.pos.is_none() && message.is_entry_of(EntryKind::Carried);
        let text = if is_carried { &mut carried } else { &mut others };
        text.push_str(&message.shown_text());
        text.push('\n');
    }
    for pin in talk.pins().iter() {
        let says = |text: &str| text.matches(&*pin.text).count();
        match (says(&carried), says(&others)) {
            (1, 0) | (0, 1..) => {}
            (0, 0) => return Err(format!("\"{}\" is pinned, and no message says it", pin.text)),
            _ => {
                return Err(format!("\"{}\" is pinned, and carried beside what says it", pin.text));
            }
        }
    }
    Ok(())
}

pub(super) fn undo_restores(subject: &Subject, session: &Session) -> Result<(), String> {
    let mut before = (Vec::new(), 0);
    let mut talk = drive(session, &subject.strategy(session), &mut |talk, seen| {
        match seen {
            DriveEvent::Asked => before = (sent(talk), talk.folds().len()),
            DriveEvent::Answered(moment, _, _) if talk.folds().len() > before.1 => {
                let mut back = talk.clone();
                while back.folds().len() > before.1 && back.undo().is_some() {}
                if sent(&back) != before.0 {
                    return Err(format!(
                        "what was done at {moment} is undone, and others are sent"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    while talk.undo().is_some() {}
    let log: Vec<String> = session.messages().iter().map(|message| message.shown_text()).collect();
    match !talk.view().is_folded() && talk::sent_texts(&talk) == log {
        true => Ok(()),
        false => Err("all folds are undone, and the view is not the log".to_owned()),
    }
}

/// What was sent at every call.
pub(super) fn requests(
    session: &Session,
    strategy: &Arc<Strategy>,
) -> Result<Vec<Vec<Arc<Message>>>, String> {
    let mut requests = Vec::new();
    drive(session, strategy, &mut |talk, seen| {
        if matches!(seen, DriveEvent::Call | DriveEvent::End) {
            requests.push(sent(talk));
        }
        Ok(())
    })?;
    Ok(requests)
}

pub(super) fn deterministic(subject: &Subject, session: &Session) -> Result<(), String> {
    let strategy = subject.strategy(session);
    let first = requests(session, &strategy)?;
    // Another conversation, whose messages have the same ids.
    let other = another_with_the_same_ids(session);
    requests(&other, &strategy)?;
    let again = [
        ("after another conversation", requests(session, &strategy)?),
        ("made anew", requests(session, &subject.strategy(session))?),
    ];
    for (how, again) in again {
        if let Some(call) = first.iter().zip(&again).position(|(first, again)| first != again) {
            return Err(format!("{how}, the strategy sends other messages with call {}", call + 1));
        }
    }
    Ok(())
}

/// Whether a message begins a group that must stay together.
pub(super) fn begins_group(message: &Message) -> bool {
    message.role != Role::Tool
}

/// Another session: each text is another, and each id the same.
pub(super) fn another_with_the_same_ids(session: &Session) -> Session {
    let another = |message: &Arc<Message>| {
        let parts = message.parts.iter().map(|part| {
            let mut part = part.clone();
            match &mut part.kind {
                PartKind::Text { text, .. } => text.insert_str(0, "Not this: "),
                PartKind::Result(result) => result.text.truncate(0),
                _ => {}
            }
            part
        });
        Arc::new(message.with_parts(parts.collect()))
    };
    session.with_future(0, session.messages().iter().map(another).collect::<Vec<_>>())
}
