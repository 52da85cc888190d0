//! The constants of the presets, at their edges.

use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part, PartKind};
use foldback_core::moment::Moment;
use foldback_core::stage::SummaryRequest;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use std::sync::Arc;

/// A message of the user of so many tokens: three come with each message, and one with its role.
fn sized(id: &str, tokens: usize) -> Message {
    Message::user(id, "x".repeat((tokens - 4) * 4))
}

/// The conversation before a call, and what was to be summarized.
fn before_call(
    preset: &str,
    window: u64,
    messages: Vec<Message>,
) -> (Conversation, Vec<SummaryRequest>) {
    summarized(preset, window, messages, Some("S"))
}

/// The same with another summary, or none.
fn summarized(
    preset: &str,
    window: u64,
    messages: Vec<Message>,
    summary: Option<&str>,
) -> (Conversation, Vec<SummaryRequest>) {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_langchain::REGISTRATION]);
    let scripted = Scripted::always(summary);
    let mut strategy = talk::compiled(&registry, &format!("name = \"t\"\nextends = \"{preset}\""));
    strategy.summarizer = Some(scripted.clone());
    let mut talk = talk::conversation(Arc::new(strategy), Limits::new(window, 0));
    talk::append(&mut talk, messages);
    talk::at(&mut talk, Moment::CallStart);
    (talk, scripted.asked())
}

#[test]
fn context_editing_begins_above_100_000_tokens_and_keeps_three() {
    for (id, tokens, cleared) in [("LE-1", 100_000, 0), ("LE-2", 100_001, 2)] {
        let steps = (0..5).flat_map(|number| talk::step(number, "read", "a result ".repeat(9)));
        let mut messages: Vec<Message> = steps.collect();
        let (talk, _) = before_call("langchain-context-editing", 0, messages.clone());
        let rest = tokens - talk.tokens() as usize;
        messages.insert(0, sized("u", rest));
        let (talk, _) = before_call("langchain-context-editing", 0, messages);
        let shown = talk.sent().into_iter().map(|shown| shown.to_message().shown_text());
        assert_eq!(shown.filter(|text| text == "[cleared]").count(), cleared, "{id}");
    }
}

#[test]
fn context_editing_clears_the_oldest_results_and_nothing_else() {
    let thought = PartKind::Reasoning { text: "So be it.".to_owned(), opaque: None };
    let mut messages = vec![sized("u", 100_000)];
    for number in 0..5 {
        let [mut answer, result] = talk::step(number, "read", "a result ".repeat(9));
        answer.parts.insert(0, Part::new(thought.clone()));
        messages.extend([answer, result]);
    }
    let (talk, _) = before_call("langchain-context-editing", 0, messages);
    let sent: Vec<Message> = talk.sent().iter().map(|shown| shown.to_message()).collect();
    let is_cleared = |message: &Message| message.shown_text() == "[cleared]";
    let cleared: Vec<usize> = (0..sent.len()).filter(|at| is_cleared(&sent[*at])).collect();
    assert_eq!(cleared, [2, 4], "LE-3");
    let thoughts = sent.iter().flat_map(|message| &message.parts);
    assert_eq!(thoughts.filter(|part| part.kind == thought).count(), 5, "LE-4");
}

#[test]
fn without_a_summary_everything_stays() {
    // id, preset, tokens of the first message. Twenty-one more of 10 tokens each follow.
    for (id, preset, first) in
        [("LS-31", "langchain-summarization", 9_000), ("DA-17", "deepagents", 9_000)]
    {
        let rest = (0..21).map(|number| sized(&format!("{number}"), 10));
        let messages = std::iter::once(sized("u", first)).chain(rest).collect();
        let (talk, asked) = summarized(preset, 10_000, messages, None);
        assert_eq!((talk.sent().len(), asked.len()), (22, 1), "{id}");
    }
}

#[test]
fn of_what_goes_the_last_4_000_tokens_are_summarized() {
    for (id, tokens, asked) in [("LS-29", 4_000, vec!["v"]), ("LS-30", 4_001, vec![])] {
        let mut messages = vec![sized("u", 4_001), sized("v", tokens)];
        messages.extend((0..20).map(|number| sized(&format!("{number}"), 10)));
        let (talk, requests) = before_call("langchain-summarization", 10_000, messages);
        assert_eq!(talk.sent().len(), 21, "{id}");
        let ids: Vec<&str> =
            requests.iter().flat_map(|request| &request.messages).map(|one| &*one.id).collect();
        assert_eq!(ids, asked, "{id}");
    }
}

#[test]
fn deepagents_folds_from_85_percent_down_to_a_tenth_and_summarizes_all_else() {
    // id, tokens of the first and of the last message, messages that are sent. A window of 10,000; 800 stand between.
    for (id, first, last, sent) in [
        ("DA-10 85 % is reached, and 1,000 stay", 7_500, 200, 4),
        ("DA-11 not quite", 7_499, 200, 4),
        ("DA-12 one of them does not fit", 7_500, 201, 3),
    ] {
        let messages = vec![sized("u", first), sized("a", 400), sized("b", 400), sized("c", last)];
        let (talk, requests) = before_call("deepagents", 10_000, messages);
        assert_eq!(talk.sent().len(), sent, "{id}");
        assert_eq!(talk.folds().is_empty(), first == 7_499, "{id}");
        let all = requests.iter().all(|request| request.messages[0].id == "u");
        assert!(all, "{id}: what is summarized begins with the first");
    }
}

#[test]
fn deepagents_where_it_is_not_known_what_the_model_takes() {
    // id, tokens of the first message, messages that are sent. Seven more of 10 tokens each follow.
    for (id, first, sent) in [
        ("DA-23 170,000 tokens are reached, and six messages stay", 169_930, 7),
        ("DA-24 not quite", 169_929, 8),
    ] {
        let rest = (0..7).map(|number| sized(&format!("{number}"), 10));
        let messages = std::iter::once(sized("u", first)).chain(rest).collect();
        let (talk, _) = before_call("deepagents", 0, messages);
        assert_eq!(talk.sent().len(), sent, "{id}");
    }
    // id, messages behind the call, whether its argument is cut.
    for (id, behind, is_cut) in [
        ("DA-15 one of 21 messages is older than the newest twenty", 20, true),
        ("DA-16 none of 20", 19, false),
    ] {
        let content = format!("{{\"content\":\"{}\"}}", "x".repeat(2_001));
        let mut messages =
            vec![Message::assistant("a", vec![Part::call("c", "write_file", content)])];
        messages.push(Message::tool("t", "c", "write_file", "done"));
        messages.extend((1..behind).map(|number| sized(&format!("{number}"), 10)));
        let (talk, _) = before_call("deepagents", 0, messages);
        let shown = talk.sent()[0].to_message().shown_text();
        assert_eq!(shown.contains("...(argument truncated)"), is_cut, "{id}");
    }
}

#[test]
fn where_no_number_of_messages_is_set_nothing_is_cut_without_a_window() {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_langchain::REGISTRATION]);
    let toml = "name = \"t\"\nextends = \"deepagents\"\n[[pruner]]\nuse = \"langchain.clip-arguments\"\nunknown_messages = 0\n";
    let mut talk = talk::conversation(talk::compiled(&registry, toml), Limits::default());
    let content = format!("{{\"content\":\"{}\"}}", "x".repeat(2_001));
    talk.append(Message::assistant("a", vec![Part::call("c", "write_file", content)]));
    talk.append(Message::tool("t", "c", "write_file", "done"));
    talk::at(&mut talk, Moment::CallStart);
    assert!(talk.view().edits().is_empty());
}

#[test]
fn settings_at_the_edge_of_what_is_allowed() {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_langchain::REGISTRATION]);
    for (fields, refused) in [
        ("[[pruner]]\nuse = \"langchain.clip-arguments\"\nmax_chars = 9\nkeep_chars = 9\n", ""),
        (
            "[[pruner]]\nuse = \"langchain.clip-arguments\"\nmax_chars = 9\nkeep_chars = 10\n",
            "keep_chars",
        ),
    ] {
        let toml = format!("name = \"t\"\nextends = \"deepagents\"\n{fields}");
        let error = talk::try_compile(&registry, &toml).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(error.contains("must"), !refused.is_empty(), "{fields}{error}");
        assert!(error.contains(refused), "{error}");
    }
}
