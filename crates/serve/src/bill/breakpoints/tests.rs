//! Where marks go.

use super::*;
use foldback_providers::wire::Dialect;

fn body(messages: &[&str]) -> String {
    format!(r#"{{"messages": [{}]}}"#, messages.join(","))
}

/// What is shown as items: those that were sent so, what was cut of the second, and what is new.
fn items(before: &[&str], after: &[&str]) -> Vec<Item> {
    let item = |text: &&str| match before.iter().position(|before| before == text) {
        Some(record) => Item::Keep(record.try_into().unwrap()),
        None if text.contains("tool_result") => Item::Changed(1, (*text).to_owned()),
        None => Item::New(raw::parse(text).unwrap()),
    };
    after.iter().map(item).collect()
}

#[test]
fn a_mark_goes_to_the_last_message_before_its_own() {
    let plain = |name: &str| format!(r#"{{"role":"user","content":"{name}"}}"#);
    let marked = |name: &str| {
        format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"{name}","cache_control":{{"type":"ephemeral"}}}}]}}"#
        )
    };
    let cut = r#"{"role":"user","content":[{"type":"tool_result","content":"cut","cache_control":{"type":"ephemeral"}}]}"#;
    let thought = r#"{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"thinking","thinking":"h"}]}"#;
    let thought_marked = r#"{"role":"assistant","content":[{"type":"text","text":"t","cache_control":{"type":"ephemeral"}},{"type":"thinking","thinking":"h"}]}"#;
    let (a, b, c, s) = (plain("a"), plain("b"), plain("c"), plain("s"));
    let (am, bm, cm, sm) = (marked("a"), marked("b"), marked("c"), marked("s"));
    let hour = |of: &str| of.replace(r#""ephemeral""#, r#""ephemeral","ttl":"1h""#);
    let (ah, bh, ch, sh) = (hour(&am), hour(&bm), hour(&cm), hour(&sm));
    let (word, wordm) = (plain("cache_control"), marked("cache_control"));
    let argument = r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{"cache_control":{"type":"ephemeral"}}}]}"#;
    let argument_marked = r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{"cache_control":{"type":"ephemeral"}},"cache_control":{"type":"ephemeral"}}]}"#;
    let inner = r#"{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"i","cache_control":{"type":"ephemeral"}},{"type":"text","text":"j","cache_control":{"type":"ephemeral"}}]}]}"#;
    let document = r#"{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"d","cache_control":{"type":"ephemeral"}}]}}]}"#;
    let uncut = r#"{"role":"user","content":[{"type":"tool_result","content":"cut"}]}"#;
    let blank = r#"{"role":"user","content":[{"type":"text","text":" "}]}"#;
    let two =
        r#"{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}"#;
    let two_marked = r#"{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},{"type":"text","text":"y","cache_control":{"type":"ephemeral"}}]}"#;
    // What the client sent, what the view shows, and what becomes of it.
    type Row<'a> = (&'a str, Vec<&'a str>, Vec<&'a str>, Vec<&'a str>);
    let rows: [Row<'_>; 23] = [
        ("no marks", vec![&a, &b], vec![&s, &b], vec![&s, &b]),
        ("all there", vec![&am, &b, &cm], vec![&am, &cm], vec![&am, &cm]),
        ("one gone", vec![&am, &b, &cm], vec![&s, &b, &cm], vec![&sm, &b, &cm]),
        ("in the middle", vec![&a, &bm, &c], vec![&a, &c], vec![&am, &c]),
        ("nothing before", vec![&am, &b], vec![&b], vec![&bm]),
        ("two to one place", vec![&am, &bm, &c], vec![&s, &c], vec![&sm, &cm]),
        ("each to one of its own", vec![&a, &bm, &cm], vec![&a, &s], vec![&am, &sm]),
        ("its place is taken", vec![&am, &bm, &c], vec![&am, &c], vec![&am, &cm]),
        ("one message for two", vec![&am, &bm, &c], vec![two], vec![two_marked]),
        ("one block for two", vec![&am, &bm, &c], vec![&s], vec![&sm]),
        ("edited, not gone", vec![&a, &bm], vec![&a, cut], vec![&a, cut]),
        ("gone by the edit", vec![&a, inner], vec![&a, uncut], vec![&am, cut]),
        ("within a result", vec![&a, inner, &c], vec![&a, &c], vec![&am, &cm]),
        ("within a document", vec![&a, document, &c], vec![&a, &c], vec![&am, &c]),
        ("not on thoughts", vec![thought, &bm, &c], vec![thought, &c], vec![thought_marked, &c]),
        ("not on blanks", vec![&a, blank, &bm, &c], vec![&a, blank, &c], vec![&am, blank, &c]),
        ("a text with the word", vec![&word, &bm, &c], vec![&word, &c], vec![&wordm, &c]),
        ("a new text with it", vec![&a, &bm, &c], vec![&a, &word], vec![&a, &wordm]),
        ("an argument", vec![argument, &bm, &c], vec![argument, &c], vec![argument_marked, &c]),
        ("an hour first", vec![&ah, &bm, &c], vec![&s, &c], vec![&sh, &cm]),
        ("behind a short one", vec![&ah, &bm, &c], vec![&bm, &c], vec![&bm, &cm]),
        ("before an hour", vec![&a, &ah, &bm], vec![&a, &ah, &s], vec![&a, &ah, &sm]),
        ("both for an hour", vec![&a, &bh, &ch], vec![&a, &s], vec![&ah, &sh]),
    ];
    for (name, before, after, expected) in rows {
        let request = Request::parse(Dialect::Anthropic, body(&before)).unwrap();
        let mut list = items(&before, &after);
        moved(&request, &mut list).unwrap();
        assert_eq!(request.with_list(&list), body(&expected), "{name}");
    }
}

#[test]
fn recorded_requests_keep_as_many_marks_as_the_client_set() {
    let rows = [
        ("marks-codex-1-8.json", vec![(0, 0), (1, 0)]),
        ("marks-indexed-small-10-6.json", vec![(1, 0), (3, 1)]),
    ];
    for (file, expected) in rows {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/F07-cache-marks");
        let text = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
        let case = raw::parse(&text).unwrap();
        let request = Request::parse(Dialect::Anthropic, case["client"].to_string()).unwrap();
        let own = case["client"]["messages"].as_array().unwrap();
        let item = |message: &Value| match own.iter().position(|own| own == message) {
            Some(record) => Item::Keep(record.try_into().unwrap()),
            None => Item::New(message.clone()),
        };
        let sent = case["sent"]["messages"].as_array().unwrap();
        let mut list: Vec<Item> = sent.iter().map(item).collect();
        moved(&request, &mut list).unwrap();
        let body = raw::parse(&request.with_list(&list)).unwrap();
        let messages = body["messages"].as_array().unwrap().iter().enumerate();
        let places = messages.flat_map(|(at, message)| {
            marks(message).into_iter().map(move |(block, _)| (at, block)).collect::<Vec<_>>()
        });
        assert_eq!(places.collect::<Vec<_>>(), expected, "{file}");
    }
}

#[test]
fn what_is_marked_around_the_messages_counts_towards_the_most_that_the_provider_takes() {
    let mark = r#""cache_control":{"type":"ephemeral"}"#;
    let message = |text: &str, mark: &str| {
        format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"{mark}}}]}}"#)
    };
    let with = format!(",{mark}");
    let tool =
        format!(r#""tools":[{{"name":"t","input_schema":{{"properties":{{{mark}}}}},{mark}}}]"#);
    let plain = format!(r#""tools":[{{"name":"t","input_schema":{{"properties":{{{mark}}}}}}}]"#);
    let system = format!(r#""system":[{{"type":"text","text":"cache_control",{mark}}}]"#);
    let one = "\"max_tokens\":1".to_owned();
    let whole = mark.to_owned();
    // What is around, marks of the client in messages, marks in messages that are sent.
    let rows = [
        ("nothing", &one, &one, 2, 2),
        ("tools and system", &tool, &system, 2, 2),
        ("an argument's name", &plain, &system, 3, 3),
        ("too many already", &tool, &system, 3, 2),
        ("more than it takes", &tool, &system, 9, 2),
        ("the request's own", &system, &whole, 2, 2),
        ("the request's own, and all", &tool, &whole, 3, 2),
    ];
    for (name, first, second, marks, expected) in rows {
        let old: Vec<_> = (0..marks).map(|at| message(&at.to_string(), &with)).collect();
        let new: Vec<_> = (0..10).map(|at| message(&format!("n{at}"), "")).collect();
        let all = [&old[..], &new[..]].concat().join(",");
        let body = format!(r#"{{{first},{second},"messages":[{all}]}}"#);
        let request = Request::parse(Dialect::Anthropic, body).unwrap();
        let mut list: Vec<_> = (marks..marks + 10).map(Item::Keep).collect();
        moved(&request, &mut list).unwrap();
        let marked = list.iter().filter(|item| matches!(item, Item::Changed(..)));
        assert_eq!(marked.count(), expected, "{name}");
        // The provider marks the last block by itself.
        let last = list.last().unwrap();
        assert!(second != &whole || matches!(last, Item::Keep(_)), "{name}");
    }
}

#[test]
fn the_newest_mark_says_how_long_the_cache_is_to_live() {
    let message = |mark: &str| {
        format!(r#""messages":[{{"role":"user","content":[{{"type":"text","text":"a"{mark}}}]}}]"#)
    };
    let (hour, five) = (
        r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
        r#","cache_control": {"type":"ephemeral"}"#,
    );
    let system = |mark: &str| format!(r#""system":[{{"type":"text","text":"s"{mark}}}]"#);
    let tool = r#""messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"t","input":{"ttl":"1h"}}]}]"#;
    let named = format!(
        r#""messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"c","name":"t","input":{{"a":1{hour}}}}}]}}]"#
    );
    let schema =
        format!(r#""tools":[{{"name":"t","input_schema":{{"a":1{hour}}}}}],{}"#, message(""));
    let said = r#""messages":[{"role":"user","content":"\"cache_control\":{\"ttl\":\"1h\"}"}]"#;
    let rows = [
        ("no mark", message(""), false),
        ("an hour", message(hour), true),
        ("five minutes", message(five), false),
        ("none", message(r#","cache_control":null"#), false),
        ("of the system prompt", format!("{},{}", system(hour), message("")), true),
        ("the message counts", format!("{},{}", system(hour), message(five)), false),
        ("wherever it stands", format!("{},{}", message(five), system(hour)), false),
        ("of the request", format!(r#"{}{hour}"#, message("")), true),
        ("an argument", tool.to_owned(), false),
        ("an argument of that name", named, false),
        ("a property of that name", schema, false),
        ("a text", said.to_owned(), false),
    ];
    for (name, members, expected) in rows {
        let request = Request::parse(Dialect::Anthropic, format!("{{{members}}}")).unwrap();
        assert_eq!(for_an_hour(&request), expected, "{name}");
    }
}
