//! Which arguments are cut, and when: the rows of deepagents 0.7.19, `middleware/summarization.py` (`_truncate_args`,
//! `_truncate_tool_call`, `compute_summarization_defaults`).

use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::moment::Moment;
use foldback_testkit::talk;
use serde_json::{Value, json};

/// The arguments of the first call before the next call, under `deepagents` without summaries.
fn first_call(tool: &str, arguments: &Value, filler: usize, newest: usize) -> Value {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_langchain::REGISTRATION]);
    let toml = "name = \"t\"\nextends = \"deepagents\"\n[overflow]\nfraction = 1.0\n";
    let mut talk = talk::conversation(talk::compiled(&registry, toml), Limits::new(10_000, 0));
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

#[test]
fn the_newest_tenth_and_the_trigger_are_exact() {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_langchain::REGISTRATION]);
    let toml = "name = \"t\"\nextends = \"deepagents\"\n[overflow]\nfraction = 1.0\n";
    // id, tokens of all messages, tokens of what follows the call and its result, whether the arguments are cut
    for (id, all, after, cuts) in [
        ("DA-7 the trigger is reached", 8_500, 2_000, true),
        ("DA-8 not quite", 8_499, 2_000, false),
        ("DA-9 all of the call is among the newest 1,000", 8_500, 100, false),
    ] {
        let mut talk = talk::conversation(talk::compiled(&registry, toml), Limits::new(10_000, 0));
        let arguments = json!({"content": "x".repeat(2_001)}).to_string();
        let call = Message::assistant("a", vec![Part::call("c", "write_file", arguments)]);
        let result = Message::tool("t", "c", "write_file", "done");
        // Three tokens come with each message, and four characters with its role.
        let sized =
            |id: &str, tokens: u64| Message::user(id, "x".repeat((tokens as usize - 4) * 4));
        let between = talk.meter(0).measure(&call) + talk.meter(0).measure(&result);
        talk.append(sized("u", all - after - between));
        talk.append(call);
        talk.append(result);
        talk.append(sized("v", after - after / 4));
        talk.append(sized("w", after / 4));
        assert_eq!(talk.tokens(), all, "{id}");
        talk::at(&mut talk, Moment::CallStart);
        assert_eq!(!talk.view().edits().is_empty(), cuts, "{id}");
    }
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
