//! The conformance rows of what is counted, cut and shown, in `rows.toml`.

use foldback_core::log::{Media, Message, Part, PartKind, ResultStatus, ToolResult, Usage};
use foldback_core::moment::Moment;
use foldback_core::registry::Registry;
use foldback_core::stage::Estimator as _;
use foldback_core::strategy::Strategy;
use foldback_core::{Limits, Role};
use foldback_gemini::cut::{Content, cut};
use foldback_gemini::preview::preview;
use foldback_gemini::{Count, CountUnit, MaskConfig, SnapshotConfig};
use foldback_test_support::table;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;

pub(crate) const PRESET: &str = include_str!("../presets/gemini-cli.toml");

pub(crate) fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/rows.toml"), group)
}

/// The preset with other sections.
pub(crate) fn changed(sections: &str) -> String {
    format!("name = \"here\"\nextends = \"gemini-cli\"\n{sections}")
}

/// The preset with another budget of results.
pub(crate) fn masking(protect: u64, minimum: u64) -> String {
    changed(&format!(
        "[[pruner]]\nuse = \"gemini.mask\"\nprotect_tokens = {protect}\nminimum_tokens = {minimum}\n"
    ))
}

pub(crate) fn registry() -> Registry {
    talk::registry([&foldback_stages::REGISTRATION, &foldback_gemini::REGISTRATION])
}

pub(crate) fn strategy(toml: &str) -> Strategy {
    talk::compiled(&registry(), toml)
}

/// A message of parts in short: a letter for the kind and a length.
fn message(parts: &str) -> Message {
    let media = |mime: &str, url: String| Media { mime: mime.into(), url, ..Media::default() };
    let file = |mime: &str| PartKind::File(media(mime, String::new()));
    let result = |text: String, change: &dyn Fn(&mut ToolResult)| {
        let mut part = Part::result("c", "read", text);
        if let PartKind::Result(result) = &mut part.kind {
            change(result);
        }
        part
    };
    let part = |word: &str| {
        let (kind, length) = word.split_at(1);
        let text = |of: &str| of.repeat(length.parse().unwrap());
        match kind {
            "t" => Part::text(text("x")),
            "u" => Part::text(text("é")),
            "n" => Part::text(text("\n")),
            "z" => Part::text(text("\u{1}")),
            "q" => Part::text(text("\"")),
            "r" => Part::result("c", "read", text("x")),
            "v" => Part::result("c", "read", text("é")),
            "w" => Part::text(text("😀")),
            "m" => Part::text(text("xé")),
            "c" => Part::call("c", "read", "{ }"),
            "a" => Part::call("c", "read", " "),
            "b" => Part::call("c", "read", text("x")),
            "e" => result(text("x"), &|result| result.status = ResultStatus::Error),
            "k" => result(text("x"), &|result| {
                result.media.push(media("image/png", String::new()));
            }),
            "j" => result(String::new(), &|result| {
                result.media.push(media("text/plain", text("x")));
            }),
            "f" => Part::new(PartKind::File(media("text/plain", text("x")))),
            "l" => {
                Part::new(PartKind::File(media("text/plain", format!("https://a/{}", text("x")))))
            }
            "i" => Part::new(file("image/png")),
            "p" => Part::new(file("application/pdf")),
            _ => Part::new(PartKind::Reasoning { text: text("x"), opaque: None }),
        }
    };
    Message::new("m", Role::User, parts.split(' ').map(part).collect())
}

#[test]
fn the_window_of_a_model_that_is_not_known() {
    assert_eq!(strategy(PRESET).preset_limits, Limits::new(1_048_576, 65_536), "GC-W1");
}

#[test]
fn estimates() {
    let estimator = Count::new(CountUnit::Tokens);
    for (id, parts, tokens) in rows::<(String, String, u64)>("estimates") {
        assert_eq!(estimator.count(&message(&parts)).total(), tokens, "{id} {parts}");
    }
}

#[test]
fn json() {
    let estimator = Count::new(CountUnit::Json);
    for (id, parts, units) in rows::<(String, String, u64)>("json") {
        assert_eq!(estimator.count(&message(&parts)).total(), units, "{id} {parts}");
    }
}

/// What of a result is held against the budget, and what a text counts by itself.
#[test]
fn of_the_budget() {
    let [results, json] = [CountUnit::Results, CountUnit::Json].map(Count::new);
    for (id, parts, tokens) in [
        ("GC-E13 the text", "r9", 2),
        // {"error": "xxxxxxxxx"}, in three lines
        ("GC-E13 of a failed one the object", "e9", 6),
        ("GC-E13 nothing else", "t9 c0", 0),
    ] {
        assert_eq!(results.count(&message(parts)).total(), tokens, "{id}");
    }
    let failed = message("e9").parts.remove(0);
    assert_eq!(results.part(&failed, "cut"), 0, "GC-E13: what was cut did not fail any more");
    assert_eq!(json.text("xxx"), 15, "GC-J1");
}

#[test]
fn triggers() {
    for (id, window, tokens, compresses) in rows::<(String, u64, u64, bool)>("triggers") {
        let mut talk = talk::conversation(strategy(PRESET), Limits::new(window, 0));
        talk.append(Message::user("u", "Go on."));
        talk.append(Message::assistant("a", vec![Part::call("c", "read", "{}")]));
        talk.append(Message::tool("t", "c", "read", "x".repeat(40_000)));
        // The answer and what came after it do not count.
        let usage = (tokens > 0).then(|| Usage {
            uncached: tokens - 300,
            cache_read: 200,
            cache_write: 100,
            output: 900_000,
            reasoning: 900_000,
            total: Some(2_000_000),
            ..Usage::default()
        });
        let reports = talk::at_usage(&mut talk, Moment::StepEnd, usage);
        let decision = reports[0].decision.clone().unwrap();
        assert_eq!(decision.fold, compresses, "{id}: {}", decision.reason);
    }
}

#[test]
fn cuts() {
    let snapshot: SnapshotConfig = talk::config(&registry(), "gemini-cli", "filter");
    for (id, contents, first) in rows::<(String, String, usize)>("cuts") {
        let words = contents.split(' ').enumerate();
        let contents: Vec<Content> = words
            .map(|(first, word)| {
                let (kind, units) = word.split_at(1);
                let (model, tools) = ("mf".contains(kind), "fr".contains(kind));
                Content { first, units: units.parse().unwrap(), model, tools }
            })
            .collect();
        assert_eq!(cut(&contents, *snapshot.keep), first, "{id} {contents:?}");
    }
}

#[test]
fn previews() {
    type Row = (String, usize, usize, usize, usize, String, String);
    for (id, length, limit, head, tail, note, omitted) in rows::<Row>("previews") {
        let (half, text) = (length / 2, "a".repeat(length / 2) + &"z".repeat(length - length / 2));
        let shown = preview(&text, limit, "{first} of {last}");
        let expected = (!note.is_empty()).then(|| {
            let head: String = text.chars().take(head).collect();
            let tail = &text[length - tail..];
            format!("{note}\n{head}\n\n... [{omitted} characters omitted] ...\n\n{tail}")
        });
        assert!(half > 0 && shown == expected, "{id} {length} {limit}");
    }
    // Units of UTF-16 are counted, not bytes.
    assert_eq!(preview(&"é".repeat(10), 10, ""), None);
    assert!(preview(&"é".repeat(10), 9, "").is_some());
    // A character that a limit would cut in two is left out.
    let text = "ab😀cd".repeat(2);
    let shown = preview(&text, 10, "{first} {last}").unwrap();
    assert_eq!(shown, "2 8\nab\n\n... [2 characters omitted] ...\n\ncdab😀cd");
    assert!(preview(&text, 3, "").unwrap().ends_with("\n\ncd"));
}

#[test]
fn defaults() {
    for line in ["when = [\"step-end\", \"provider-overflow\"]", "when = \"call-start\""] {
        assert!(PRESET.contains(line), "{line}");
    }
    let mask: MaskConfig = talk::config(&registry(), "gemini-cli", "pruner[0]");
    let snapshot: SnapshotConfig = talk::config(&registry(), "gemini-cli", "filter");
    assert_eq!((mask.protect_tokens, mask.minimum_tokens), (50_000, 30_000));
    let questions = ["activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode"];
    assert_eq!(mask.exempt, questions);
    assert_eq!(mask.shells, ["run_shell_command"]);
    assert_eq!((snapshot.keep.number(), snapshot.summary_tokens.get()), (0.3, 4_096));
    assert_eq!((snapshot.result_tokens, snapshot.result_units), (50_000, 40_000));
    assert!(snapshot.verify);
}
