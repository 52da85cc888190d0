//! Which arguments are cut, and when: the rows of deepagents 0.7.32, `middleware/summarization.py` (`_truncate_args`,
//! `_truncate_tool_call`, `compute_summarization_defaults`).

use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::{Frame, Limits, SegmentKind};
use foldback_testkit::talk;
use serde_json::{Value, json};

/// The arguments of the first call before the next call, under `deepagents` without summaries.
fn first_call(tool: &str, arguments: &Value, filler: usize, newest: usize) -> Value {
    let mut talk = without_summaries();
    talk.append(Message::user("u", "u"));
    let call = Part::call("c", tool, arguments.to_string());
    talk.append(Message::assistant("a", vec![call]));
    talk.append(Message::tool("t", "c", tool, "done"));
    talk.append(Message::user("v", "x".repeat(filler)));
    talk.append(Message::user("w", "x".repeat(newest)));
    talk::at(&mut talk, Moment::CallStart);
    let shown = talk.sent()[1].to_message().shown_text();
    serde_json::from_str(&shown).unwrap()
}

#[test]
fn long_arguments_of_old_calls_are_cut() {
    let long = |chars: usize| json!({"path": "a.rs", "content": "é".repeat(chars), "lines": [1]});
    let cut = json!({"path": "a.rs", "content": format!("{}...(argument truncated)", "é".repeat(20)), "lines": [1]});
    // 10,000 tokens are taken: 8,500 trigger, 1,000 stay. All but the filler comes to some 600.
    let (above, below) = (32_000, 30_000);
    for (id, tool, arguments, filler, newest, expected) in [
        ("DA-1", "write_file", long(2_001), above, 40, cut.clone()),
        ("DA-2 2,000 characters stay", "write_file", long(2_000), above, 40, long(2_000)),
        ("DA-3 edits, too", "edit_file", long(2_001), above, 40, cut.clone()),
        ("DA-4 no other tool", "bash", long(2_001), above, 40, long(2_001)),
        (
            "DA-5 below the trigger nothing is cut",
            "write_file",
            long(2_001),
            below,
            40,
            long(2_001),
        ),
        (
            "DA-6 lists and numbers stay",
            "write_file",
            json!({"lines": vec![1; 900]}),
            above,
            40,
            json!({"lines": vec![1; 900]}),
        ),
    ] {
        assert_eq!(first_call(tool, &arguments, filler, newest), expected, "{id}");
    }
}

/// `deepagents` without summaries, in a window of 10,000 tokens.
fn without_summaries() -> Conversation {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_langchain::REGISTRATION]);
    let toml = "name = \"t\"\nextends = \"deepagents\"\n[overflow]\nshare = 1.0\n";
    talk::conversation(talk::compiled(&registry, toml), Limits::new(10_000, 0))
}

/// A message of the user of so many tokens: three come with each message, and one with its role.
fn sized(id: &str, tokens: u64) -> Message {
    Message::user(id, "x".repeat((tokens as usize - 4) * 4))
}

/// A call with a long argument, and its result.
fn long_call(id: &str) -> [Message; 2] {
    let arguments = json!({"content": "x".repeat(2_001)}).to_string();
    let call = Part::call(id, "write_file", arguments);
    [Message::assistant(format!("a{id}"), vec![call]), Message::tool(id, id, "write_file", "done")]
}

#[test]
fn the_newest_tenth_and_the_trigger_are_exact() {
    // id, tokens of the system prompt, of all messages, and of what follows the call and its result, whether the arguments are cut
    for (id, frame, all, after, cuts) in [
        ("DA-7 the trigger is reached", 0, 8_500, 2_000, true),
        ("DA-8 not quite", 0, 8_499, 2_000, false),
        ("DA-9 all of the call is among the newest 1,000", 0, 8_500, 100, false),
        ("DA-18 its result alone is", 0, 8_500, 900, true),
        ("DA-19 the system prompt counts", 100, 8_400, 2_000, true),
        ("DA-20 not quite", 100, 8_399, 2_000, false),
    ] {
        let mut talk = without_summaries();
        let mut system = Frame::default();
        system.push_tokens(SegmentKind::System, frame);
        talk.set_frame(system);
        let call = long_call("c");
        let between: u64 =
            call.iter().map(|message| talk.meter(MeterId::OWN).measure(message)).sum();
        talk.append(sized("u", 100));
        talk.append(sized("v", 100));
        talk.append(sized("w", all - after - between - 200));
        talk::append(&mut talk, call);
        talk.append(sized("x", after - after / 4));
        talk.append(sized("y", after / 4));
        assert_eq!(talk.tokens(), all + frame, "{id}");
        talk::at(&mut talk, Moment::CallStart);
        assert_eq!(!talk.view().edits().is_empty(), cuts, "{id}");
    }
}

#[test]
fn what_was_cut_counts_whole() {
    let mut talk = without_summaries();
    let ([call, result], newest) = (long_call("c"), long_call("d"));
    let sizes = newest.iter().map(|message| talk.meter(MeterId::OWN).measure(message));
    let newest_tokens = sizes.sum::<u64>() + 100;
    talk::append(&mut talk, [call, result]);
    talk.append(sized("u", 8_500 - talk.tokens() - newest_tokens));
    talk::append(&mut talk, newest.into_iter().chain([sized("v", 100)]));
    talk::at(&mut talk, Moment::CallStart);
    assert_eq!((talk.view().edits().len(), talk.tokens() < 8_100), (1, true), "DA-21");
    // The second call is old now. Less than the trigger is shown.
    talk.append(sized("w", 400));
    talk::at(&mut talk, Moment::CallStart);
    assert_eq!(talk.view().edits().len(), 2, "DA-22");
}

#[test]
fn nothing_is_cut_where_the_last_message_is_over_the_budget() {
    let long = json!({"content": "x".repeat(2_001)});
    for (id, newest, cut) in [("DA-13", 4_000, true), ("DA-14", 4_001, false)] {
        // Four characters of its role, and three tokens, come with the message.
        let shown = first_call("write_file", &long, 30_000, newest - 16);
        assert_eq!(shown != long, cut, "{id}");
    }
}
