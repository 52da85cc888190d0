//! The laws of one fixed long session, and the one that compares a session with others that begin like it.

use super::session::{begins_group, requests};
use crate::drive::{DriveEvent, drive};
use crate::session::{Session, lines};
use crate::subject::Subject;
use foldback_core::guard::Guards;
use foldback_core::log::{Message, Part};
use foldback_core::work;
use std::ops::Range;
use std::sync::Arc;

/// Calls of the session over which work is counted.
const CALLS: usize = 6_000;

/// Early calls and the last ones, each more than one period of whatever comes and goes.
const SPANS: [Range<usize>; 2] = [1_000..2_000, 5_000..6_000];

/// Tokens of a window that has room for a hundred messages of the long session.
const ROOMY: u64 = 8_000;

/// A session of so many calls that read one of two hundred files each; the user speaks at every twentieth.
pub fn long_session(calls: usize) -> Session {
    let mut session = Session::new(format!("{calls} calls"));
    for call in 0..calls {
        if call % 20 == 0 {
            session = session.user(format!("Please look at step {call} as well"));
        }
        let name = format!("src/m{}.rs", call % 200);
        session = session.call("read", &format!("{{\"path\":\"{name}\"}}"), lines(&name, 200));
    }
    session
}

/// Counts how often messages are read, and the steps that stages note with [`foldback_core::work`].
pub(super) fn flat(subject: &Subject) -> Result<(), String> {
    let strategy = subject.strategy(&Session::default());
    // A small window is filled often; where the view has hardly room for a message, every call folds.
    let windows = subject.usable_windows();
    let roomy = windows.iter().find(|limits| limits.context >= ROOMY).or(windows.last());
    let session = long_session(CALLS).with_limits(roomy.copied().unwrap_or_default());
    let begun = work::counted();
    let mut done = Vec::with_capacity(CALLS);
    drive(&session, &strategy, &mut |talk, seen| {
        if matches!(seen, DriveEvent::Call) {
            done.push(talk.history().reads() + work::counted() - begun);
        }
        Ok(())
    })?;
    let [early, late] = SPANS.map(|Range { start, end }| {
        let work = done[end - 1] - done[start];
        work as f64 / (end - start) as f64
    });
    if late <= 1.25 * early + 2.0 {
        return Ok(());
    }
    Err(format!(
        "a call takes {early:.1} steps around call {} and {late:.1} around call {}",
        SPANS[0].start, SPANS[1].start
    ))
}

/// Turns of the session in which folds must go on freeing room, in three parts: in the first they begin.
const TURNS: usize = 150;

/// What the last part may free of what the one before it did; less is the way to nothing. Few folds fall unevenly.
const LEAST: f64 = 0.25;

/// A session of so many turns, each of twenty calls and an answer.
fn endless(turns: usize) -> Session {
    let mut session = Session::new(format!("{turns} turns"));
    for turn in 0..turns {
        session = session.user(format!("Please look at part {turn} as well"));
        for call in 0..20 {
            let name = format!("src/m{}.rs", (turn * 20 + call) % 200);
            session = session.call("read", &format!("{{\"path\":\"{name}\"}}"), lines(&name, 200));
        }
        session = session.answer(format!("Part {turn} is as it should be."));
    }
    session
}

pub(super) fn keeps_freeing(subject: &Subject) -> Result<(), String> {
    let strategy = subject.strategy(&Session::default());
    // What some strategies leave free is most of a small window.
    let window = subject.usable_windows().into_iter().max_by_key(|limits| limits.context);
    let session = endless(TURNS).with_limits(window.unwrap_or_default());
    let all = session.messages().iter().filter(|message| message.is_answer()).count();
    let (mut calls, mut freed, mut last, mut left) = (0, [0; 3], Vec::new(), None);
    let talk = drive(&session, &strategy, &mut |talk, seen| {
        match seen {
            DriveEvent::Call => calls += 1,
            DriveEvent::Answered(moment, _, reports) => {
                let part = (calls * 3 / all).min(2);
                for report in reports.iter().filter(|report| report.outcome.changed()) {
                    let tokens = report.tokens_before.saturating_sub(report.tokens_after);
                    freed[part] += tokens;
                    last.push(tokens);
                    left = (part == 2).then(|| talk.tokens());
                }
                let fruitless = talk.breaker().fruitless(moment);
                if fruitless >= Guards::default().breaker {
                    let last = &last[last.len().saturating_sub(3)..];
                    return Err(format!(
                        "{fruitless} folds in a row had no effect before call {calls}; the last that changed the view \
                         freed {last:?} tokens"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    let [_, early, late] = freed;
    if (late as f64) < LEAST * early as f64 {
        return Err(format!(
            "{early} tokens are freed in the second third of {calls} calls, and {late} in the last"
        ));
    }
    // Pruners alone leave the calls, which fill every window in time. A policy may ask for a fold between turns only.
    let (view, window) = (left.unwrap_or(talk.tokens()), talk.limits().context);
    match strategy.filter.is_none() || view <= window {
        true => Ok(()),
        false => Err(format!(
            "after {calls} calls the last fold leaves {view} tokens, and the window has {window}"
        )),
    }
}

/// Puts another future behind the first so many messages.
pub type Future = fn(&[Arc<Message>], usize) -> Vec<Arc<Message>>;

/// Futures that no strategy may notice before they come.
pub const FUTURES: [(&str, Future); 3] = [
    ("cut off", |_, _| Vec::new()),
    ("turned round", |messages, cut| {
        // By calls with their results, so that it stays a conversation.
        let mut groups: Vec<Vec<Arc<Message>>> = Vec::new();
        for message in &messages[cut..] {
            match groups.last_mut() {
                Some(group) if !begins_group(message) => group.push(Arc::clone(message)),
                _ => groups.push(vec![Arc::clone(message)]),
            }
        }
        groups.into_iter().rev().flatten().collect()
    }),
    ("another", |_, _| {
        let all = [
            Message::assistant("stop", vec![Part::text("Done.")]),
            Message::user("other", "Now mend src/other.rs"),
            Message::assistant("end", vec![Part::text("No.")]),
        ];
        all.map(Arc::new).into()
    }),
];

/// The first answer from a place on: everything before it is whole.
pub fn first_answer_behind(messages: &[Arc<Message>], place: usize) -> usize {
    place + messages[place..].iter().take_while(|message| !message.is_answer()).count()
}

pub(super) fn blind(subject: &Subject, session: &Session) -> Result<(), String> {
    let messages = session.messages();
    let recorded = requests(session, &subject.strategy(session))?;
    for share in [2, 1] {
        let cut = first_answer_behind(messages, messages.len() * share / 3);
        // Its results come in the past, whoever speaks between them: then the steps there are the same.
        let calls = messages[..cut].iter().filter(|message| message.is_answer()).count();
        for (name, future) in FUTURES {
            let other = session.with_future(cut, future(messages, cut));
            let sent = requests(&other, &subject.strategy(&other))?;
            let differs = |call: &usize| recorded.get(*call) != sent.get(*call);
            if let Some(call) = (0..calls).find(differs) {
                return Err(format!(
                    "with another future behind message {cut} ({name}), call {} is another",
                    call + 1
                ));
            }
        }
    }
    Ok(())
}
