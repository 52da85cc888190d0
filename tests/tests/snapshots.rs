//! What each preset makes of a small session: the view it leaves, and the plans behind it.

use foldback_core::conversation::Conversation;
use foldback_replay::replay;
use foldback_tests::{Script, file, options, presets};
use serde_json::Value;
use std::collections::BTreeMap;

/// Three turns on one small program; the window makes every preset act.
fn small() -> Script {
    let mut script = Script::default();
    script.user("The parser drops the last line of a file. Mend it in src/parse.rs and keep parse_line() as it is.");
    script.call(
        "I will look at the parser first.",
        &[
            ("read", "{\"path\":\"src/parse.rs\"}", &file("src/parse.rs", 9_000)),
            ("search", "{\"pattern\":\"parse_line\"}", &file("hits", 6_000)),
        ],
    );
    script.call(
        "",
        &[(
            "bash",
            "{\"command\":\"cargo test\"}",
            &format!("error: test last_line failed\n{}", file("log", 60_000)),
        )],
    );
    script.call(
        "We decided to read with read_until instead of lines().",
        &[("edit", "{\"path\":\"src/parse.rs\"}", "ok")],
    );
    script.call("", &[("bash", "{\"command\":\"cargo test\"}", &file("log", 150_000))]);
    script.call("All tests pass. The last line is kept.", &[]);
    script.user("Now the same for src/lexer.rs.");
    script.call("", &[("read", "{\"path\":\"src/lexer.rs\"}", &file("src/lexer.rs", 30_000))]);
    script.call("", &[("edit", "{\"path\":\"src/lexer.rs\"}", "ok")]);
    script.call("", &[("bash", "{\"command\":\"cargo test\"}", &file("log", 120_000))]);
    script.call("Done: the lexer keeps its last line as well.", &[]);
    script.user("Write a test for both.");
    script.call("", &[("write", "{\"path\":\"tests/last_line.rs\"}", "created")]);
    script.call("", &[("bash", "{\"command\":\"cargo test\"}", &file("log", 150_000))]);
    script.call("The test is in tests/last_line.rs.", &[]);
    script.user("Thanks. Commit it.");
    script.call(
        "",
        &[("bash", "{\"command\":\"git commit -am 'Keep the last line'\"}", "1 file changed")],
    );
    script.call("Committed.", &[]);
    script
}

fn each(mut of: impl FnMut(&str, &Conversation)) {
    let session = small().session();
    for strategy in presets() {
        let done = replay(&session, &strategy, &options(90_000, 8_000));
        if strategy.kind == foldback_core::strategy::Kind::Strategy {
            let whys: Vec<String> =
                done.reports.iter().map(|(_, r)| r.outcome.to_string()).collect();
            assert!(done.metrics.compactions > 0, "{} did nothing: {whys:#?}", strategy.name);
        }
        of(&strategy.name, &done.conversation);
    }
}

#[test]
fn render() {
    each(|name, conversation| {
        let text = foldback_report::render::view(name, conversation);
        insta::assert_snapshot!(format!("render-{name}"), text);
    });
}

/// Presets that have the plans of another one here.
const SAME: [(&str, &str); 2] = [("codex-remote", "codex"), ("pi-0.87", "pi")];

#[test]
fn plan() {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    each(|name, conversation| {
        let plans: Vec<_> = conversation.folds().iter().map(|fold| &fold.plan).collect();
        let mut plans = serde_json::to_value(&plans).unwrap();
        shorten(&mut plans);
        let text = serde_json::to_string_pretty(&plans).unwrap();
        known.insert(name.to_owned(), text.clone());
        if !SAME.iter().any(|(same, _)| *same == name) {
            insta::assert_snapshot!(format!("plan-{name}"), text);
        }
    });
    for (one, other) in SAME {
        assert!(known[one] == known[other], "{one} has plans of its own: a snapshot of its own");
    }
}

/// Cuts long texts to what a reviewer reads. Their hash shows that the rest is as it was.
fn shorten(value: &mut Value) {
    const MOST: usize = 240;
    match value {
        Value::String(text) if text.chars().count() > MOST => {
            let (hash, length) = (blake3::hash(text.as_bytes()), text.len());
            let start: String = text.chars().take(MOST).collect();
            *text = format!("{start}… ({length} bytes, {})", &hash.to_hex()[..16]);
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}
