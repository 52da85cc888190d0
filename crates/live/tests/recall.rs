//! Everything that a fold hides or clears is found again; what is shown as it is, is not.

use crate::support::{append, asks, at, step, turns};
use foldback::{Conversation, Moment};
use foldback_core::services::FixedClock;
use foldback_live::recall::{Recall, RecallError};
use foldback_live::tools;
use proptest::prelude::*;
use std::sync::Arc;

/// A conversation that was folded by hand after some steps.
fn folded(preset: &str, steps: usize) -> Conversation {
    let mut conversation = crate::support::conversation(preset, &Arc::new(FixedClock::at(1_000)));
    turns(&mut conversation, 0..steps, 400);
    let reports = at(&mut conversation, Moment::Manual);
    assert!(reports.iter().any(|report| report.outcome.changed()), "{reports:?}");
    conversation
}

#[test]
fn references() {
    let conversation = folded("window", 8);
    let recall =
        Recall::new().with_limit(300).with_store(|id| (id == "ctx_1").then(|| "stored".into()));
    let hidden = "word0x0 word0x1";
    let cases = [
        ("t0", 0, Ok(hidden)),
        ("call-0", 0, Ok(hidden)),
        ("#2", 0, Ok(hidden)),
        ("t0", 1_000, Ok("word0x")),
        ("a0", 0, Ok("I look at file 0.\nread {\"path\":\"src/file_0.rs\"}")),
        ("u0", 0, Ok("Question 0")),
        ("ctx_1", 0, Ok("stored")),
        ("ctx_2", 0, Err("nothing is stored under `ctx_2`")),
        ("#9999", 0, Err("nothing is stored under `#9999`")),
        ("", 0, Err("nothing is stored under ``")),
        ("t7", 0, Err("`t7` was not cleared")),
        ("t0", 99_999, Err("offset 99999 is past the end")),
    ];
    for (reference, offset, expect) in cases {
        match (recall.by_reference(&conversation, reference, offset), expect) {
            (Ok(page), Ok(text)) => {
                assert!(page.text.contains(text), "{reference}: {}", page.text);
                assert!(page.text.len() <= 300, "{reference}");
            }
            (Err(error), Err(text)) => assert!(error.to_string().starts_with(text), "{error}"),
            (got, _) => panic!("{reference}: {got:?}"),
        }
    }
}

#[test]
fn a_search_follows_folds_and_undos() {
    let mut conversation = folded("window", 8);
    let mut recall = Recall::new();
    let find = |recall: &mut Recall, conversation: &Conversation| -> Vec<String> {
        let (hits, all) = recall.search(conversation, "word0x7 file_0", 0);
        assert!(hits.len() <= all);
        hits.into_iter().map(|hit| hit.reference).collect()
    };
    let found = find(&mut recall, &conversation);
    assert!(found.contains(&"t0".to_owned()) && found.contains(&"a0".to_owned()), "{found:?}");
    conversation.undo();
    assert!(find(&mut recall, &conversation).is_empty());
    assert_eq!(recall.indexed().len(), 0);
    at(&mut conversation, Moment::Manual);
    assert_eq!(find(&mut recall, &conversation), found);
}

#[test]
fn a_message_whose_id_is_used_again_goes_by_its_place() {
    let mut conversation = crate::support::conversation("opencode", &Arc::default());
    for number in 0..8 {
        conversation.append(asks(0));
        append(&mut conversation, step(0, 400 + number));
    }
    at(&mut conversation, Moment::Manual);
    let mut recall = Recall::new();
    let (hits, _) = recall.search(&conversation, "word0x7", 0);
    assert!(!hits.is_empty());
    for hit in hits {
        let page = recall.by_reference(&conversation, &hit.reference, 0).unwrap();
        assert!(page.text.contains("word0x7 "), "{hit:?}");
    }
}

#[test]
fn what_the_tool_answers() {
    let conversation = folded("window", 8);
    let mut recall = Recall::new().with_limit(256);
    let cases = [
        (r#"{"reference":"t0"}"#, "[t0: result of read, bytes 0 to 256 of "),
        (r#"{"reference":"t0","offset":256}"#, "[t0: result of read, bytes 256 to "),
        (r#"{"reference":"nope"}"#, "Nothing is stored under `nope`. Search for it"),
        (
            r#"{"reference":"t7"}"#,
            "`t7` was not cleared: the conversation shows it in full. Read it there.",
        ),
        (
            r#"{"query":"file_0"}"#,
            "13 cleared passages match `file_0`:\n1. a0 (call of read, 29 bytes): read",
        ),
        (r#"{"query":"unheardof"}"#, "Nothing that was cleared matches `unheardof`"),
        (r#"{"query":"word0x1","offset":999}"#, "There are only "),
        (r#"{"query":"a","reference":"b"}"#, "Give either `reference` or `query`"),
        ("{}", "Give a `reference`"),
        (r#"{"query":" "}"#, "Give a `reference`"),
        (r#"{"id":"t0"}"#, "The arguments are not understood (unknown field `id`"),
        ("t0", "The arguments are not understood ("),
    ];
    for (arguments, expect) in cases {
        let answer = tools::handle(&mut recall, &conversation, arguments);
        assert!(answer.starts_with(expect), "{arguments}\n{answer}");
    }
    let missing = Recall::new().by_reference(&conversation, "x", 0);
    assert_eq!(missing, Err(RecallError::Unknown("x".to_owned())));
}

#[test]
fn definitions() {
    insta::assert_json_snapshot!("definition", tools::openai());
    let anthropic = tools::anthropic();
    assert_eq!(anthropic["input_schema"], tools::openai()["function"]["parameters"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_gone_is_found_and_nothing_else(
        sizes in proptest::collection::vec(1_usize..600, 3..12),
        folds in proptest::collection::vec(0_usize..12, 0..4),
        undo in any::<bool>(),
        preset in prop_oneof![Just("opencode"), Just("window"), Just("tiered")],
    ) {
        let mut conversation = crate::support::conversation(preset, &Arc::default());
        let mut recall = Recall::new();
        for (number, size) in sizes.iter().enumerate() {
            conversation.append(asks(number));
            append(&mut conversation, step(number, *size));
            if folds.contains(&number) {
                at(&mut conversation, Moment::Manual);
                recall.update(&conversation);
            }
        }
        if undo {
            conversation.undo();
        }
        recall.update(&conversation);
        let (history, view) = (conversation.history(), conversation.view());
        for at in recall.indexed() {
            prop_assert!(!view.is_visible(at.item) || view.edit(at).is_some(), "{at:?}");
        }
        for (pos, message) in history.iter() {
            let whole = view.is_visible(pos) && view.show_item(history, pos).edits.is_empty();
            let page = recall.by_reference(&conversation, &message.id, 0);
            prop_assert_eq!(whole, page.is_err(), "{}", message.id);
            let indexed = recall.indexed().any(|at| at.item == pos);
            prop_assert_eq!(indexed, !whole && !message.is_entry(), "{}", message.id);
        }
    }
}
