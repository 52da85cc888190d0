//! Recordings that hold the requests as they were sent, as of Claude Code 2.1.332: at which call it compacts, with what count, what it
//! keeps and what it clears, beside `claude-code-2.1.332`.

#![allow(clippy::print_stdout, reason = "a test tells its counts")]

use crate::recorded::acts;
use foldback_core::log::{Message, PartKind};
use foldback_core::moment::Moment;
use foldback_formats::session::Boundary;
use foldback_formats::{Session, read};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Tokens that a recorded count may have more: the sentences around attachments are in no line, and the program counts the blocks of
/// an answer behind its first one twice.
const UNRECORDED: u64 = 250;

/// The preset beside one recorded summary.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fold {
    /// By how many calls the preset is late; `None` where it does not fold.
    late: Option<i64>,
    /// Whether it counts as many tokens as are recorded.
    counts_alike: bool,
    /// Answers, results and prompts that stand behind the recorded summary.
    recorded: usize,
    /// Those of them that stand behind the preset's.
    kept: usize,
    /// Others that stand behind the preset's.
    others: usize,
}

impl Fold {
    fn is_alike(&self) -> bool {
        let Self { late, counts_alike, recorded, kept, others } = *self;
        late == Some(0) && counts_alike && recorded == kept && others == 0
    }
}

/// Every summary of a session, and the ids of the results that the preset clears or that the requests show otherwise than they were
/// logged.
fn compare(session: &Session, window: u64, refused: bool) -> (Vec<Fold>, Vec<String>) {
    let moment = if refused { Moment::ProviderOverflow } else { Moment::CallStart };
    let requests = requests(session);
    let (mut from, mut standing, mut cleared) = (0, Vec::new(), Vec::new());
    let mut folds = Vec::new();
    for boundary in session.boundaries.iter().filter(|boundary| boundary.kind == "summary") {
        let part = &session.messages[from..boundary.before];
        let ours = acts("claude-code-2.1.332", window, &standing, part, Some(moment));
        let shown = request_behind(session, boundary, &requests);
        let before = session.messages[..boundary.before].iter().filter(|one| is_logged(one));
        let of_ours = |one: &&Arc<Message>| ours.kept.contains(&one.id);
        let kept: Vec<_> = before.clone().filter(of_ours).collect();
        standing = before.filter(|message| is_shown(message, shown)).cloned().collect();
        let alike = kept.iter().filter(|message| standing.contains(message)).count();
        let recorded = boundary.tokens_before.unwrap_or_default();
        let least = recorded.saturating_sub(UNRECORDED);
        folds.push(Fold {
            late: ours.folds.map(|(call, _)| call as i64 - ours.requests.len() as i64),
            counts_alike: ours
                .folds
                .is_some_and(|(_, count)| refused || (least..=recorded).contains(&count)),
            recorded: standing.len(),
            kept: alike,
            others: kept.len() - alike,
        });
        cleared.extend(ours.clears.iter().flat_map(|clear| clear.ids.iter().cloned()));
        from = boundary.before;
    }
    cleared.extend(changed(session, &requests));
    (folds, cleared)
}

/// Every request of a session that was written down as it was sent, by the id of its answer.
fn requests(session: &Session) -> BTreeMap<&str, Vec<&Message>> {
    let mut messages: Vec<&[Arc<Message>]> = Vec::new();
    let request = session.sent.iter().map(|request| {
        messages.truncate(request.keep);
        messages.extend(request.tail.iter().map(Vec::as_slice));
        (&*request.answer, messages.iter().flat_map(|run| run.iter().map(Arc::as_ref)).collect())
    });
    request.collect()
}

/// The request of the first answer behind a summary.
fn request_behind<'r, 's>(
    session: &'s Session,
    boundary: &Boundary,
    requests: &'r BTreeMap<&'s str, Vec<&'s Message>>,
) -> &'r [&'s Message] {
    let answer = session.messages[boundary.before..].iter().find(|message| message.is_answer());
    answer.and_then(|answer| requests.get(&*answer.id)).map_or(&[], Vec::as_slice)
}

/// Whether a message is a call, a result, or what the model or a person said.
fn is_logged(message: &Message) -> bool {
    !message.is_entry()
        && message.parts.iter().any(|part| match &part.kind {
            PartKind::Call(_) | PartKind::Result(_) => true,
            PartKind::Text { synthetic, .. } => !synthetic,
            _ => false,
        })
}

/// Whether a request shows a message: each call and result by its id, each text as it is.
fn is_shown(message: &Message, request: &[&Message]) -> bool {
    let parts = || request.iter().flat_map(|message| &message.parts);
    message.parts.iter().all(|part| match &part.kind {
        PartKind::Call(call) => {
            parts().filter_map(|part| part.as_call()).any(|shown| shown.call_id == call.call_id)
        }
        PartKind::Result(result) => {
            parts().filter_map(|part| part.as_result()).any(|shown| shown.call_id == result.call_id)
        }
        _ => parts().any(|shown| shown.shown() == part.shown()),
    })
}

/// Ids of calls whose results are sent otherwise than they were logged. The program puts what it has to say behind a result.
fn changed(session: &Session, requests: &BTreeMap<&str, Vec<&Message>>) -> Vec<String> {
    let results = |message: &Message| {
        let results = message.parts.iter().filter_map(|part| part.as_result());
        results.map(|result| (result.call_id.clone(), result.text.clone())).collect::<Vec<_>>()
    };
    let logged: BTreeMap<_, _> = session.messages.iter().flat_map(|one| results(one)).collect();
    let sent = requests.values().flatten().flat_map(|message| results(message));
    let otherwise = sent.filter(|(id, text)| {
        logged.get(id).is_some_and(|logged| !text.starts_with(logged.trim_end()))
    });
    otherwise.map(|(id, _)| id).collect()
}

fn session(bytes: &[u8]) -> Session {
    read(bytes, Some("claude-code")).unwrap().remove(0)
}

#[test]
fn a_recording_with_requests() {
    let session = session(include_bytes!("../rows/requests.jsonl"));
    let alike = Fold { late: Some(0), counts_alike: true, recorded: 3, kept: 3, others: 0 };
    assert_eq!(compare(&session, 40_000, false), (vec![alike], vec![]));
}

/// What was recorded of a story of `tests/recorders/claude-code-folds.mjs`: its window, its summaries, and those that are not met.
const STORIES: [(&str, u64, usize, &[Fold]); 5] = [
    ("calls", 100_000, 6, &[]),
    ("large", 200_000, 4, &[]),
    ("prompts", 100_000, 3, &[]),
    // The program leaves the first answer alone.
    (
        "first",
        100_000,
        1,
        &[Fold { late: Some(-1), counts_alike: false, recorded: 2, kept: 0, others: 0 }],
    ),
    // Of the second refused request it keeps more, so that the request for the summary fits.
    (
        "refused",
        200_000,
        2,
        &[Fold { late: Some(0), counts_alike: true, recorded: 4, kept: 2, others: 0 }],
    ),
];

#[test]
#[ignore = "runs the released program: cargo xtask test-external claude-code:"]
fn folds_of_the_released_program() {
    let home = std::env::var_os("PACKAGE_HOME").map(PathBuf::from).unwrap();
    for (story, window, summaries, differing) in STORIES {
        let bytes = std::fs::read(home.join("folds").join(format!("{story}.jsonl"))).unwrap();
        let session = session(&bytes);
        let (folds, cleared) = compare(&session, window, story == "refused");
        let others: Vec<Fold> = folds.iter().copied().filter(|fold| !fold.is_alike()).collect();
        assert_eq!((folds.len(), &*others, &*cleared), (summaries, differing, &[][..]), "{story}");
        assert!(session.sent.len() >= 4, "{story} holds its requests");
        let alike = summaries - others.len();
        println!("{story}: {alike} of {summaries} summaries in {} requests", session.sent.len());
    }
}
