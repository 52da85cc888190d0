//! Drives a conversation through a session, as an agent's loop would, while somebody looks on.

use crate::session::{Besides, Session};
use crate::talk;
use foldback_core::conversation::{Conversation, Report, Signals};
use foldback_core::log::{Message, Usage};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::services::{Clock as _, FixedClock, Services};
use foldback_core::stage::{UsageReading, UsageSource};
use foldback_core::step::{Step, steps};
use foldback_core::strategy::Strategy;
use foldback_core::{Frame, Limits};
use std::sync::Arc;

/// An event that `drive` reports to whoever watches.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum DriveEvent<'a> {
    /// The strategy is about to be asked.
    Asked,
    /// The strategy was asked: the moment, the signals, and the reports of its stages.
    Answered(Moment, &'a Signals, &'a [Report]),
    /// A request goes out.
    Call,
    /// The session is over.
    End,
}

/// Watches a session; an error ends it.
pub type Watch<'w> = dyn FnMut(&Conversation, DriveEvent<'_>) -> Result<(), String> + 'w;

/// The limits that hold for a strategy in a session: those of its own file, then those of the session.
pub(crate) fn limits(strategy: &Strategy, session: &Session) -> Limits {
    strategy.limits(Limits::default(), session.limits(), Limits::default())
}

/// Runs a session under a strategy. The clock shows the time of the latest message, and every pause between two turns is long enough
/// for the idle moment. The usage that a step reports is
/// what the strategy's own estimator counts, as if it were the provider's.
///
/// ```
/// use foldback_testkit::{DriveEvent, Session, Subject, drive, lines};
///
/// let session = Session::new("two files")
///     .user("Read both.")
///     .call("read", "{\"path\":\"a.rs\"}", lines("a.rs", 4_000))
///     .call("read", "{\"path\":\"b.rs\"}", lines("b.rs", 4_000))
///     .answer("Done.");
/// let mut requests = Vec::new();
/// let strategy = Subject::preset("keep-last-1").strategy(&session);
/// drive(&session, &strategy, &mut |conversation, seen| {
///     if let DriveEvent::Call = seen {
///         requests.push(conversation.tokens());
///     }
///     Ok(())
/// })?;
/// // The third request holds two results, of which the first is cleared.
/// assert!(requests[2] < requests[1] + 100);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// What somebody who looks on says.
pub fn drive(
    session: &Session,
    strategy: &Arc<Strategy>,
    watch: &mut Watch<'_>,
) -> Result<Conversation, String> {
    let clock = Arc::new(FixedClock::default());
    let services = Services::with_clock(Arc::clone(&clock) as _);
    let limits = limits(strategy, session);
    let mut talk = Conversation::new(Arc::clone(strategy), limits, Frame::default(), services);
    let mut request = 0;
    let mut appended = 0;
    besides(&mut talk, session.behind(0), watch)?;
    for step in steps(session.messages()) {
        match step {
            Step::Append(message) => {
                clock.set(message.at.unwrap_or(0));
                talk.append(Arc::clone(message));
                appended += 1;
                besides(&mut talk, session.behind(appended), watch)?;
            }
            Step::At(moment) => {
                ask(&mut talk, moment, Signals::default(), watch)?;
                let due = talk.idle_at().filter(|_| moment == Moment::TurnEnd);
                if let Some(due) = due {
                    let before = clock.now();
                    clock.set(due);
                    ask(&mut talk, Moment::Idle, Signals::default(), watch)?;
                    clock.set(before);
                }
            }
            Step::Call { .. } => {
                request = talk.tokens();
                watch(&talk, DriveEvent::Call)?;
            }
            Step::StepEnd { answer } => {
                let output = talk.meter(MeterId::OWN).measure(answer);
                let usage = Usage { uncached: request, output, ..Usage::default() };
                ask(&mut talk, Moment::StepEnd, signals(Some(usage)), watch)?;
            }
        }
    }
    watch(&talk, DriveEvent::End)?;
    Ok(talk)
}

fn ask(
    talk: &mut Conversation,
    moment: Moment,
    signals: Signals,
    watch: &mut Watch<'_>,
) -> Result<(), String> {
    watch(talk, DriveEvent::Asked)?;
    let reports = talk::block_on(talk.at(moment, signals.clone()));
    watch(talk, DriveEvent::Answered(moment, &signals, &reports))
}

fn besides(
    talk: &mut Conversation,
    all: impl Iterator<Item = Besides>,
    watch: &mut Watch<'_>,
) -> Result<(), String> {
    for besides in all {
        match besides {
            Besides::Ask(moment, usage) => ask(talk, moment, signals(usage), watch)?,
            Besides::Undo => drop(talk.undo()),
        }
    }
    Ok(())
}

fn signals(usage: Option<Usage>) -> Signals {
    let usage = usage.map(|usage| UsageReading { usage, source: UsageSource::Provider });
    Signals { usage, instructions: None }
}

/// What the model would be sent, message by message; shared with the history where a message is sent as it came.
pub(crate) fn sent(talk: &Conversation) -> Vec<Arc<Message>> {
    talk.sent().iter().map(|shown| shown.to_shared()).collect()
}
