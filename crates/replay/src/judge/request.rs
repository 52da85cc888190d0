//! What a measurement sees of a replay: each request, with what the view held.

use crate::judge::measures::WrittenSummary;
use crate::read::index::Tracker;
use foldback_core::conversation::Conversation;
use foldback_core::delta::ViewDelta;
use foldback_core::log::Message;
use foldback_core::meter::Meter;

/// What a probe is shown of a request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Number of the call, from 0; after the last call the number of calls.
    pub call: usize,
    /// What the recorded model answered, which is not in the conversation yet; `None` after the last
    /// call.
    pub answer: Option<&'a Message>,
    /// The conversation as it is sent.
    pub conversation: &'a Conversation,
    /// Its counts under the measuring estimator.
    pub meter: &'a Meter,
    /// What changed since the request before.
    pub delta: &'a ViewDelta,
    /// What the view holds of what the session refers to.
    pub tracker: &'a Tracker,
    /// The messages with summaries that folds wrote since the request before.
    pub(crate) written: &'a [WrittenSummary],
}

/// Looks on while a session is replayed: a measurement that needs to see what each request held.
pub trait Probe {
    /// A request goes out.
    fn call(&mut self, request: &Request<'_>);

    /// The session is over: what was appended and folded since the last request.
    fn end(&mut self, _request: &Request<'_>) {}
}

/// Shows probes a request, or the end of the session where nothing is answered.
pub(crate) fn show(probes: &mut [&mut dyn Probe], request: &Request<'_>) {
    for probe in probes {
        match request.answer {
            Some(_) => probe.call(request),
            None => probe.end(request),
        }
    }
}
