//! The summaries that the recorder wrote, for a replay that cuts where it did.

use async_trait::async_trait;
use foldback_core::log::{EntryKind, Message, PartKind, Role};
use foldback_core::services::Services;
use foldback_core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use foldback_formats::Session;
use foldback_formats::session::Boundary;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Messages between a compaction's mark and its summary, at most.
const NEAR: usize = 3;

/// The summaries of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordedSummaries {
    /// By the last message that each stands for.
    texts: BTreeMap<String, String>,
    /// The first message of the user: each stands for it as well.
    first: Option<String>,
}

impl RecordedSummaries {
    /// Those that can be read, of compactions whose messages are still there.
    pub(crate) fn read(session: &Session) -> Self {
        let messages = &session.messages;
        let of_summaries =
            session.boundaries.iter().filter(|one| one.kind == "summary" && one.original_kept);
        let found = of_summaries.filter_map(|boundary| {
            let (cut, summary) = replaced(messages, boundary)?;
            let last = messages[..cut].iter().rfind(|message| !message.is_entry())?;
            Some((last.id.clone(), messages[summary].shown_text()))
        });
        let texts = found.filter(|(_, text)| !text.trim().is_empty()).collect();
        let first = session.log().find(|message| message.role == Role::User);
        Self { texts, first: first.map(|message| message.id.clone()) }
    }

    /// The one that stands for the same as a request: for all up to its last message. A request for a part of it alone, such as
    /// the beginning of a turn, has none.
    fn of_request(&self, request: &SummaryRequest) -> Option<&String> {
        let begins =
            |message: &Arc<Message>| message.is_entry() || Some(&message.id) == self.first.as_ref();
        let whole = request.previous.is_some() || request.messages.iter().any(begins);
        self.texts.get(&request.messages.last()?.id).filter(|_| whole)
    }
}

/// The first message that a compaction left as it was, and its summary, where that can be read.
pub(crate) fn replaced(messages: &[Arc<Message>], boundary: &Boundary) -> Option<(usize, usize)> {
    let written = |at: &usize| messages[*at].is_entry_of(EntryKind::Summary);
    let before = boundary.before.min(messages.len());
    let near = before.saturating_sub(NEAR)..(before + NEAR + 1).min(messages.len());
    let summary = near.clone().filter(written).min_by_key(|at| at.abs_diff(before))?;
    // Some recorders leave messages in front of it as they were, and say which is the first of them.
    let cut = match near.clone().find_map(|at| tail(&messages[at])) {
        Some(first) => messages[..before].iter().position(|one| one.id == first)?,
        None => before,
    };
    Some((cut, summary))
}

/// Id of the first message that a compaction left unchanged, if the marker names it.
fn tail(message: &Message) -> Option<&str> {
    message.parts.iter().find_map(|part| match &part.kind {
        PartKind::Marker(marker) => marker.tail_start.as_deref(),
        _ => None,
    })
}

/// Gives the recorder's own summary where a fold ends at the same message as the recorder's did, and has another
/// summarizer write it elsewhere.
#[derive(Clone, Debug)]
pub struct Recorded(pub Arc<dyn Summarizer>);

impl Recorded {
    /// Its id.
    pub const ID: &str = "recorded";
}

#[async_trait]
impl Summarizer for Recorded {
    fn id(&self) -> &str {
        Self::ID
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        services: &Services,
    ) -> Result<Summary, SummaryError> {
        let recorded = services.extensions.get::<RecordedSummaries>();
        let Some(text) = recorded.and_then(|all| all.of_request(request)) else {
            return self.0.summarize(request, services).await;
        };
        Ok(Summary {
            tokens: request.estimator.text(text),
            text: text.clone(),
            by: Self::ID.to_owned(),
            usage: None,
            lacks: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acted::{boundary, call, options, strategy};
    use crate::{Replay, replay};
    use foldback_core::Limits;
    use foldback_core::conversation::StageRole;
    use foldback_core::log::{Marker, Origin, Part};
    use foldback_formats::session::Boundary;
    use foldback_stages::estimator::{Rounding, Unit, chars};

    #[derive(Debug)]
    struct StandIn;

    #[async_trait]
    impl Summarizer for StandIn {
        fn id(&self) -> &str {
            "stand-in"
        }

        async fn summarize(
            &self,
            _: &SummaryRequest,
            _: &Services,
        ) -> Result<Summary, SummaryError> {
            let (text, by) = (String::new(), self.id().to_owned());
            Ok(Summary { text, tokens: 0, by, usage: None, lacks: None })
        }
    }

    /// Three messages, the recorder's summary of the first two, and one more.
    fn recording(format: &'static str, kind: &str, original_kept: bool) -> Session {
        let mut summary = Message::user("s", "They said hello.");
        summary.origin = Origin::Entry(EntryKind::Summary);
        let said = |id: &str| Message::user(id, id);
        let messages = [said("a"), said("b"), summary, said("c")];
        let mut session = Session::of_messages("one", messages.map(Arc::new).to_vec());
        session.format = format;
        session.boundaries = vec![Boundary { original_kept, ..boundary(2, kind) }];
        session
    }

    #[test]
    fn a_summary_is_that_of_the_last_message_before_it() {
        let table = [
            ("claude-code", "summary", true, 1),
            ("claude-code", "clear", true, 0),
            ("claude-code", "summary", false, 0),
        ];
        for (format, kind, kept, expected) in table {
            let found = RecordedSummaries::read(&recording(format, kind, kept));
            assert_eq!(found.texts.len(), expected, "{format} {kind} {kept}");
        }
    }

    #[test]
    fn a_recorder_may_leave_messages_in_front_of_its_summary() {
        for (first, expected) in [("b", Some("a")), ("a", None), ("unknown", None)] {
            let mut session = recording("pi", "summary", true);
            let tail_start = Some(first.to_owned());
            let marker = PartKind::Marker(Marker { tail_start, ..Marker::default() });
            Arc::make_mut(&mut session.messages[2]).parts.push(Part::new(marker));
            let found = RecordedSummaries::read(&session);
            assert_eq!(found.texts.keys().next().map(String::as_str), expected, "{first}");
        }
    }

    #[test]
    fn it_is_given_where_the_cut_is_the_same_and_nowhere_else() {
        let session = recording("claude-code", "summary", true);
        let mut services = Services::fixed();
        services.extensions.insert(RecordedSummaries::read(&session));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let by = |from: usize, until: usize, services: &Services| {
            let messages = session.log().skip(from).take(until - from).cloned().collect();
            let request = SummaryRequest {
                name: "one".to_owned(),
                style: String::new(),
                messages,
                previous: None,
                instructions: Vec::new(),
                budget: 1_000,
                estimator: Arc::new(chars(Unit::Utf16, Rounding::Ceil)),
                ready: None,
            };
            let recorded = Recorded(Arc::new(StandIn));
            runtime.block_on(recorded.summarize(&request, services)).unwrap()
        };
        let own = by(0, 2, &services);
        assert_eq!(
            (own.text.as_str(), own.by.as_str(), own.tokens),
            ("They said hello.", "recorded", 4)
        );
        for (from, until) in [(0, 0), (0, 1), (0, 3), (1, 2)] {
            assert_eq!(by(from, until, &services).by, "stand-in", "{from} {until}");
        }
        assert_eq!(by(0, 2, &Services::fixed()).by, "stand-in");
    }

    #[test]
    fn a_replay_that_cuts_alike_shows_it() {
        let mut strategy = strategy("claude-code");
        let inner = strategy.summarizer.take().unwrap();
        strategy.summarizer = Some(Arc::new(Recorded(inner)));
        let strategy = Arc::new(strategy);
        let measure = Arc::new(chars(Unit::Utf16, Rounding::Ceil));
        let options = options(Limits::new(40_000, 4_000), measure);
        let mut messages = vec![Message::user("u", "Read it all")];
        for number in 0..12 {
            let arguments = serde_json::json!({ "path": format!("{number}.rs") });
            let text = "a line of some file that is read\n".repeat(300);
            messages.extend(call(number, "read", arguments, &text));
        }
        let mut session = Session::of_messages("one", messages.into_iter().map(Arc::new).collect());
        let done = replay(&session, &strategy, &options);
        let shown = |done: &Replay| {
            let sent = done.conversation.sent();
            sent.iter().any(|one| one.to_message().shown_text().contains("They said hello."))
        };
        assert!(!shown(&done));
        let mut folds = done.reports.iter().filter(|(_, report)| report.role == StageRole::Fold);
        let call = folds.next_back().map(|(call, _)| *call).unwrap();

        // The recorder had compacted at the same place.
        let before = 1 + 2 * call;
        let recorded = recording("claude-code", "summary", true);
        session.messages.insert(before, Arc::clone(&recorded.messages[2]));
        session.boundaries = recorded.boundaries;
        session.boundaries[0].before = before;
        assert!(shown(&replay(&session, &strategy, &options)));
        session.boundaries[0].kind = "clear".to_owned();
        assert!(!shown(&replay(&session, &strategy, &options)));
    }
}
