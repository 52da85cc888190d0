//! Whatever happens in between: what is masked is what a walk over everything finds.

use crate::rows::{masking, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part, Role};
use foldback_core::moment::Moment;
use foldback_core::stage::Estimator as _;
use foldback_gemini::{Count, CountUnit};
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use proptest::prelude::*;
use std::collections::BTreeSet;

const TAG: &str = "<tool_output_masked>";
const PROTECT: u64 = 800;
const MINIMUM: u64 = 500;

/// What kind of result it is.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain,
    /// Of a tool whose results stay.
    Exempt,
    /// It was masked when it was recorded.
    Recorded,
}

/// What happens in a conversation.
#[derive(Clone, Debug)]
enum Act {
    /// The model calls a tool, and the result has so many characters.
    Call(Kind, usize),
    /// The model ends its turn, and the user goes on.
    Turn,
    /// A request is about to be sent.
    Send,
    /// A person compresses.
    Compress,
    /// What was done last is undone.
    Undo,
}

fn act() -> impl Strategy<Value = Act> {
    let lengths = prop_oneof![0usize..900, 500usize..4_000];
    let kind = prop_oneof![
        6 => Just(Kind::Plain),
        1 => Just(Kind::Exempt),
        1 => Just(Kind::Recorded),
    ];
    prop_oneof![
        6 => (kind, lengths).prop_map(|(kind, length)| Act::Call(kind, length)),
        2 => Just(Act::Turn),
        4 => Just(Act::Send),
        1 => Just(Act::Compress),
        1 => Just(Act::Undo),
    ]
}

fn tokens(text: &str) -> u64 {
    let part = Part::result("c", "read", text);
    Count::new(CountUnit::Tokens).part(&part, text)
}

/// The messages whose results are to be masked: behind the newest `PROTECT` tokens of results, where these come to `MINIMUM`, and where a
/// preview has fewer. `preview` are the tokens of one.
fn walked(talk: &Conversation, preview: u64) -> BTreeSet<String> {
    let sent = talk.sent();
    let end = sent.iter().rposition(|shown| shown.message.role == Role::Assistant).unwrap_or(0);
    let (mut newest, mut behind) = (0, Vec::new());
    for shown in sent[..end].iter().rev() {
        let text = match shown.message.parts.first().and_then(Part::as_result) {
            Some(result) if result.tool == "read" => shown.text_of(0),
            _ => continue,
        };
        if text.contains(TAG) {
            continue;
        }
        newest += tokens(&text);
        if newest > PROTECT {
            behind.push((shown.message.id.clone(), tokens(&text)));
        }
    }
    let all: u64 = behind.iter().map(|(_, tokens)| tokens).sum();
    let shorter = |(id, tokens)| (tokens > preview).then_some(id);
    if all < MINIMUM { BTreeSet::new() } else { behind.into_iter().filter_map(shorter).collect() }
}

fn masked(talk: &Conversation) -> BTreeSet<String> {
    let sent = talk.sent();
    let is_masked = sent.iter().filter(|shown| shown.to_message().shown_text().contains(TAG));
    is_masked.map(|shown| shown.message.id.clone()).collect()
}

fn conversation() -> Conversation {
    let mut strategy = strategy(&masking(PROTECT, MINIMUM));
    strategy.summarizer = Some(Scripted::always(Some("s")));
    talk::conversation(strategy, Limits::new(1_000_000, 0))
}

fn append_call(talk: &mut Conversation, number: usize, kind: Kind, length: usize) {
    let (tool, text) = match kind {
        Kind::Plain => ("read", String::new()),
        Kind::Exempt => ("ask_user", String::new()),
        Kind::Recorded => ("read", TAG.to_owned()),
    };
    let call = format!("c{number}");
    talk.append(Message::assistant(format!("a{number}"), vec![Part::call(&call, tool, "{}")]));
    talk.append(Message::tool(format!("t{number}"), call, tool, text + &"x".repeat(length)));
}

/// The tokens of a preview of a text of one line, which has two ends of one length.
fn preview() -> u64 {
    let mut talk = conversation();
    for number in 0..3 {
        append_call(&mut talk, number, Kind::Plain, 8_000);
    }
    talk::at(&mut talk, Moment::CallStart);
    tokens(&talk.sent()[1].text_of(0))
}

/// Does it all, and compares at every request what is masked with what a walk over everything finds.
fn masks_of_a_walk(acts: &[Act]) -> Result<Conversation, TestCaseError> {
    let preview = preview();
    let mut talk = conversation();
    talk.append(Message::user("u", "Read."));
    for (number, act) in acts.iter().enumerate() {
        match *act {
            Act::Call(kind, length) => append_call(&mut talk, number, kind, length),
            Act::Turn => {
                talk.append(Message::assistant(format!("a{number}"), vec![Part::text("Read.")]));
                talk.append(Message::user(format!("u{number}"), "Go on."));
            }
            Act::Send => {
                let expected: BTreeSet<String> =
                    walked(&talk, preview).union(&masked(&talk)).cloned().collect();
                talk::at(&mut talk, Moment::CallStart);
                prop_assert_eq!(masked(&talk), expected);
            }
            Act::Compress => _ = talk::at(&mut talk, Moment::Manual),
            Act::Undo => _ = talk.undo(),
        }
    }
    Ok(talk)
}

/// Results that stay because their previews would be no shorter count on, but for those that a compression hides.
#[test]
fn some_of_the_results_that_stay_are_hidden() {
    let read = |length| [Act::Call(Kind::Plain, length), Act::Turn];
    let mut acts: Vec<Act> = (0..40).flat_map(|_| read(400)).collect();
    acts.extend(read(1_500).into_iter().chain(read(1_500)));
    acts.extend([Act::Send, Act::Compress]);
    let before = masks_of_a_walk(&acts).unwrap();
    let small =
        before.sent().iter().filter(|shown| shown.message.shown_text().len() == 400).count();
    assert!((2..40).contains(&small), "{small} of 40 small results are sent");
    assert_eq!(masked(&before), BTreeSet::new());
    // What would go besides is too little without the small results.
    acts.extend(read(800).into_iter().chain([Act::Send]));
    assert_eq!(masked(&masks_of_a_walk(&acts).unwrap()), BTreeSet::from(["t80".to_owned()]));
}

proptest! {
    #[test]
    fn masks_are_those_of_a_walk_over_everything(acts in prop::collection::vec(act(), 1..60)) {
        masks_of_a_walk(&acts)?;
    }
}
