//! Which observations are replaced, and by what: the rows of SWE-agent's processor.

use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Media, Message, Part, PartKind, ResultStatus, Role, ToolResult};
use foldback_core::moment::Moment;
use foldback_test_support::table;
use foldback_testkit::talk;

const ROWS: &str = include_str!("../rows/observations.toml");

fn conversation(toml: &str) -> Conversation {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_pruning::REGISTRATION]);
    let strategy = talk::compiled(&registry, &format!("name = \"t\"\n{toml}"));
    let mut talk = talk::conversation(strategy, Limits::default());
    talk.append(Message::user("task", "Mend the build."));
    talk
}

/// What is sent in the place of each result.
fn shown(talk: &mut Conversation) -> Vec<String> {
    talk::at(talk, Moment::CallStart);
    let sent = talk.sent().into_iter().filter(|shown| shown.message.role == Role::Tool);
    sent.map(|shown| shown.to_message().shown_text()).collect()
}

#[test]
fn the_newest_stay() {
    let rows: Vec<(String, String, usize, usize)> = table::rows(ROWS, "omitted");
    for (id, toml, results, omitted) in rows {
        let mut talk = conversation(&toml);
        for number in 0..results {
            talk::append(&mut talk, talk::step(number, "bash", "a long line ".repeat(20)));
            // What was decided before must not matter.
            talk::at(&mut talk, Moment::CallStart);
        }
        let shown = shown(&mut talk);
        let replaced = shown.iter().map(|text| text.starts_with("Old environment output"));
        let expected = (0..results).map(|number| number < omitted);
        assert!(replaced.eq(expected), "{id}: {shown:?}");
    }
}

#[test]
fn what_stands_in_the_place_of_a_result() {
    let rows: Vec<(String, String, usize, String)> = table::rows(ROWS, "placeholders");
    for (id, text, images, expected) in rows {
        let mut talk = conversation("extends = \"swe-agent-last-5\"");
        let image = Media { mime: "image/png".to_owned(), ..Media::default() };
        let first = ToolResult {
            call_id: "first".to_owned(),
            status: ResultStatus::Completed,
            text: format!("{}{text}", "a long line ".repeat(20)),
            media: vec![image; images],
            ..ToolResult::default()
        };
        let calls = vec![Part::call("first", "bash", "{}")];
        talk.append(Message::assistant("a", calls));
        talk.append(Message::new("t", Role::Tool, vec![Part::new(PartKind::Result(first))]));
        for number in 0..5 {
            talk::append(&mut talk, talk::step(number, "bash", "a long line ".repeat(20)));
        }
        assert_eq!(shown(&mut talk)[0], expected, "{id}");
    }
}

#[test]
fn what_would_not_get_smaller_stays() {
    let mut talk = conversation("extends = \"swe-agent-last-5\"");
    for number in 0..7 {
        let text = if number == 0 { "ok".to_owned() } else { "a long line ".repeat(20) };
        talk::append(&mut talk, talk::step(number, "bash", text));
    }
    let shown = shown(&mut talk);
    assert_eq!([&*shown[0], &*shown[1]], ["ok", "Old environment output: (1 lines omitted)"]);
}

#[test]
fn reasoning_stays() {
    let clearing = "extends = \"anthropic-clear-tool-uses\"\n[[pruner]]\nuse = \"clear-tool-uses\"\ntrigger = 100";
    let thought = PartKind::Reasoning { text: "So be it.".to_owned(), opaque: None };
    for (id, toml) in [
        ("LO-15", "extends = \"swe-agent-last-5\""),
        ("CT-4", "extends = \"masking-10\""),
        ("CTU-18", clearing),
    ] {
        let mut talk = conversation(toml);
        for number in 0..12 {
            let [mut answer, result] = talk::step(number, "bash", "a long line ".repeat(20));
            answer.parts.insert(0, Part::new(thought.clone()));
            talk::append(&mut talk, [answer, result]);
        }
        let shown = shown(&mut talk);
        assert!(shown[0].len() < shown[11].len(), "{id}: {shown:?}");
        let parts = talk.sent().into_iter().flat_map(|shown| shown.to_message().parts);
        assert_eq!(parts.filter(|part| part.kind == thought).count(), 12, "{id}");
    }
}
