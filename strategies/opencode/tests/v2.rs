//! Version 2: when it compacts, what it keeps as text, and the message that it writes. Rows in `later.toml`.

use crate::flow::{long, prompt, turn, with};
use crate::overflow::decide;
use crate::support::*;
use crate::v1_18::rows;
use foldback_core::Role;
use foldback_core::log::{EntryKind, Finish, Media, Message, Part, PartKind, ToolResult, Usage};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::stage::{Pressure, SummaryError, UsageReading, UsageSource};
use foldback_opencode::recent::RecentConfig;
use foldback_opencode::recent::record::{Recorded, recorded};
use foldback_opencode::recent::split::{Entry, start};
use foldback_testkit::talk;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Deserialize)]
struct Ceiling {
    id: String,
    window: Vec<u64>,
    ceiling: u64,
}

#[test]
fn ceilings() {
    for Ceiling { id, window, ceiling } in rows("ceilings") {
        for (count, fold) in [(ceiling - 1, false), (ceiling, true)] {
            let decision = decide("opencode-2", "", limits(&window), usage(count, 0, 0));
            assert_eq!(decision.fold, fold, "{id} {window:?}: {}", decision.reason);
        }
    }
    let unknown = decide("opencode-2", "", limits(&[0, 32_000]), usage(900_000, 0, 0));
    assert!(!unknown.fold, "OCv2-C5: {}", unknown.reason);
}

#[derive(Deserialize)]
struct Count {
    id: String,
    usage: Vec<u64>,
    sizes: [u64; 3],
    count: u64,
}

#[test]
fn counts() {
    for Count { id, usage, sizes: [frame_tokens, view_tokens, since_answer], count } in
        rows("counts")
    {
        let usage = (!usage.is_empty()).then(|| UsageReading {
            usage: Usage {
                uncached: usage[0],
                output: usage[1],
                reasoning: usage[2],
                cache_read: usage[3],
                cache_write: usage[4],
                total: Some(999_999),
                ..Usage::default()
            },
            source: UsageSource::Provider,
        });
        let limits = limits(&[200_000, 32_000]);
        let pressure = Pressure {
            frame_tokens,
            view_tokens,
            since_answer,
            usage,
            ..Pressure::at(Moment::CallStart, limits)
        };
        let decision = strategy("opencode-2", "").overflow.unwrap().stage.decide(&pressure);
        assert_eq!(decision.count, count, "{id}: {}", decision.reason);
    }
}

#[test]
fn oc_v2_u4_the_estimate_of_parts() {
    let estimator = strategy("opencode-2", "").estimators[0].clone();
    let file = |mime: &str| Media { mime: mime.to_owned(), ..Media::default() };
    let result = ToolResult {
        text: "ok".to_owned(),
        media: vec![file("image/png"), file("image/png")],
        ..ToolResult::default()
    };
    for (part, tokens) in [
        // The name and the arguments are one text: 5 characters, not 3 and 2.
        (Part::call("c", "abc", "{}"), 1),
        (Part::call("c", "abcd", "{}"), 2),
        (Part::new(PartKind::File(file("image/png"))), 1_500),
        (Part::new(PartKind::Result(result)), 3_001),
        (Part::new(PartKind::Reasoning { text: "xxxxxx".to_owned(), opaque: None }), 2),
    ] {
        let message = Message::new("m", Role::Assistant, vec![part.clone()]);
        assert_eq!(estimator.count(&message).total(), tokens, "OCv2-U4: {part:?}");
    }
}

#[derive(Deserialize)]
struct Split {
    id: String,
    rows: Vec<(u64, String, bool, usize)>,
}

#[test]
fn splits() {
    for Split { id, rows } in rows("splits") {
        for (keep, entries, earlier, expect) in rows {
            let entry = |word: &str| Entry {
                tokens: word[1..].parse().unwrap(),
                user: word.starts_with('u'),
            };
            let parsed: Vec<Entry> = entries.split(' ').map(entry).collect();
            assert_eq!(start(&parsed, keep, earlier), Some(expect), "{id} {keep} {entries}");
        }
    }
    assert_eq!(start(&[], 100, true), None, "OCv2-K7");
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    id: String,
    given: Vec<Message>,
    text: Option<String>,
    #[serde(default)]
    user: bool,
}

#[test]
fn records() {
    for Record { id, given, text, user } in rows("records") {
        let given: Vec<Arc<Message>> = given.into_iter().map(Arc::new).collect();
        let expect = text.map(|text| Recorded { text, user });
        assert_eq!(recorded(&given, 2_000), expect, "{id}");
    }
}

const KEEP: &str = "[filter]\nkeep_tokens = 1_000\n[overflow]\nreserve = 3_000";

/// The text of the one message that is sent.
fn sent_alone(conversation: &foldback_core::conversation::Conversation) -> String {
    let sent = sent_texts(conversation);
    assert_eq!(sent.len(), 1, "{sent:?}");
    sent.concat()
}

#[test]
fn oc_v2_2_one_message_with_summary_and_the_prompt_word_for_word() {
    let summarizer = Scripted::in_turn([Ok("## Objective\n- mend it")]);
    let mut conversation = with("opencode-2", KEEP, &summarizer);
    append(&mut conversation, turn(1));
    conversation.append(prompt("u2", "and the lexer"));
    let reports = at(&mut conversation, Moment::CallStart, Some(usage(168_000, 0, 0)));
    assert!(reports.iter().any(|report| report.outcome.changed()), "OCv2-2");
    let sent = sent_alone(&conversation);
    assert!(sent.starts_with("<conversation-checkpoint>\n"), "OCv2-2: {sent}");
    assert!(
        sent.contains("\n<summary>\n## Objective\n- mend it\n</summary>\n\n"),
        "OCv2-2: {sent}"
    );
    let recent =
        "<recent-context>\n[User]: and the lexer\n</recent-context>\n</conversation-checkpoint>";
    assert!(sent.ends_with(recent), "OCv2-2: {sent}");
    assert_eq!(summarizer.shown(0), [long("turn 1"), "ok".to_owned()], "OCv2-2: the head alone");
    assert_eq!(summarizer.request(0).style, "opencode.checkpoint-2");
    assert_eq!(summarizer.request(0).previous, None);
    conversation.append(answer("a2", "done"));
    assert_eq!(
        sent_ids(&conversation).len(),
        2,
        "OCv2-2: checkpoint, answer; nothing prompts to go on"
    );
}

#[test]
fn oc_v2_3_the_next_summary_gets_the_last_one_and_what_was_kept() {
    let summarizer = Scripted::in_turn([Ok("summary one"), Ok("summary two"), Ok("summary three")]);
    let mut conversation = with("opencode-2", KEEP, &summarizer);
    append(&mut conversation, turn(1));
    conversation.append(prompt("u2", "and the lexer"));
    conversation.append(Message::new("sys", Role::System, vec![Part::text("be brief")]));
    append(&mut conversation, tools("a2", &[("bash", &"x".repeat(2_001))]));
    at(&mut conversation, Moment::Manual, None);
    append(&mut conversation, turn(3));
    conversation.append(prompt("u4", &long("and the rest")));
    at(&mut conversation, Moment::Manual, None);
    let request = summarizer.request(1);
    assert_eq!(request.previous.as_deref(), Some("summary one"), "OCv2-3");
    let shown = summarizer.shown(1);
    assert_eq!(shown[0], "and the lexer", "OCv2-3: what was kept");
    assert!(shown[2].ends_with("x\n[truncated]"), "OCv2-3: as it was kept");
    let ids: Vec<&str> = request.messages.iter().map(|message| &*message.id).collect();
    assert_eq!(ids, ["u2", "a2", "a2-result-0", "u3", "a3"], "OCv2-3: and what came since");
    let sent = sent_texts(&conversation).concat();
    assert!(sent.contains("summary two") && !sent.contains("summary one"), "OCv2-3: {sent}");
    assert!(sent.contains("[User]: and the rest") && !sent.contains("turn 3"), "OCv2-3: {sent}");
    // Once more: what the second kept is summarized, not what the first did.
    conversation.append(answer("a4", "done"));
    append(&mut conversation, turn(5));
    at(&mut conversation, Moment::Manual, None);
    let ids: Vec<String> =
        summarizer.request(2).messages.iter().map(|message| message.id.clone()).collect();
    assert_eq!(ids, ["u4", "a4"], "OCv2-3");
}

/// Where the checkpoint kept nothing, everything that came since is summarized.
#[test]
fn oc_v2_k5_one_exchange_is_summarized_whole() {
    let summarizer = Scripted::in_turn([Ok("one"), Ok("two")]);
    let mut conversation = with("opencode-2", KEEP, &summarizer);
    conversation.append(prompt("u1", &long("go")));
    conversation.append(answer("a1", &long("done")));
    at(&mut conversation, Moment::Manual, None);
    let sent = sent_alone(&conversation);
    assert!(sent.contains("<recent-context>\n\n</recent-context>"), "OCv2-K5: {sent}");
    conversation.append(prompt("u2", &long("more")));
    at(&mut conversation, Moment::Manual, None);
    assert_eq!(summarizer.shown(1), [long("more")], "OCv2-K5");
}

#[test]
fn oc_v2_k7_nothing_was_said_since() {
    let summarizer = Scripted::in_turn([Ok("one")]);
    let mut conversation = with("opencode-2", KEEP, &summarizer);
    append(&mut conversation, turn(1));
    append(&mut conversation, turn(2));
    at(&mut conversation, Moment::Manual, None);
    let before = sent_ids(&conversation);
    let reports = at(&mut conversation, Moment::Manual, None);
    assert!(!reports.iter().any(|report| report.outcome.changed()), "OCv2-K7");
    assert_eq!(sent_ids(&conversation), before);
}

#[test]
fn oc_v2_7_a_summary_that_fails_changes_nothing() {
    for text in [Err(SummaryError::Failed("503".into())), Ok(" ")] {
        let mut conversation = with("opencode-2", KEEP, &Scripted::in_turn([text]));
        append(&mut conversation, turn(1));
        append(&mut conversation, turn(2));
        let (sent, len) = (sent_ids(&conversation), conversation.history().len());
        let reports = at(&mut conversation, Moment::ProviderOverflow, None);
        assert!(matches!(reports.last().unwrap().outcome, Outcome::Failed(_)), "OCv2-7");
        assert_eq!((sent_ids(&conversation), conversation.history().len()), (sent, len), "OCv2-7");
    }
}

#[test]
fn oc_v2_5_refused_again_nothing_is_tried() {
    let summarizer = Scripted::in_turn([Ok("one")]);
    let mut conversation = with("opencode-2", KEEP, &summarizer);
    append(&mut conversation, turn(1));
    conversation.append(prompt("u2", &long("two")));
    at(&mut conversation, Moment::ProviderOverflow, None);
    at(&mut conversation, Moment::ProviderOverflow, None);
    assert_eq!((conversation.folds().len(), summarizer.asked().len()), (1, 1), "OCv2-5");
}

#[test]
fn what_is_still_to_come_is_waited_for() {
    let mut conversation = with("opencode-2", KEEP, &Scripted::in_turn([]));
    append(&mut conversation, turn(1));
    conversation.append(prompt("u2", &long("two")));
    let call = vec![Part::call("c", "bash", "{}")];
    conversation.append(assistant("a2", call, Finish::ToolCalls));
    at(&mut conversation, Moment::Manual, None);
    assert!(conversation.folds().is_empty());
}

/// A summary of another system has no kept text, and is the last summary all the same.
#[test]
fn a_summary_of_another_system() {
    let summarizer = Scripted::in_turn([Ok("two")]);
    let mut conversation = with("opencode-2", KEEP, &summarizer);
    let foreign = Message::user("s", "one, by another").as_entry(EntryKind::Summary);
    conversation.append(Message::new("sys", Role::System, vec![Part::text("be brief")]));
    conversation.append(foreign);
    append(&mut conversation, turn(1));
    append(&mut conversation, turn(2));
    at(&mut conversation, Moment::Manual, None);
    assert_eq!(summarizer.request(0).previous.as_deref(), Some("one, by another"));
    assert_eq!(summarizer.request(0).budget, 4_096);
    assert_eq!(summarizer.shown(0), [long("turn 1"), "ok".to_owned()]);
    assert_eq!(sent_texts(&conversation).len(), 2, "instructions stay in front");
    assert_eq!(sent_texts(&conversation)[0], "be brief");
}

#[test]
fn defaults() {
    let preset = include_str!("../presets/opencode-2.toml");
    let recent = talk::config::<RecentConfig>(&registry(), "opencode-2", "filter");
    assert_eq!((recent.keep_tokens, recent.tool_output_max), (15_000, 2_000));
    assert!(preset.contains("\nreserve = 20_000"), "OCv2-K8");
}

pub(crate) fn ids() -> BTreeSet<String> {
    let ceilings = rows::<Ceiling>("ceilings").into_iter().map(|row| row.id);
    let counts = rows::<Count>("counts").into_iter().map(|row| row.id);
    let splits = rows::<Split>("splits").into_iter().map(|row| row.id);
    let records = rows::<Record>("records").into_iter().map(|row| row.id);
    let others =
        ["OCv2-2", "OCv2-3", "OCv2-5", "OCv2-7", "OCv2-C5", "OCv2-U4", "OCv2-K7", "OCv2-K8"];
    ceilings.chain(counts).chain(splits).chain(records).chain(others.map(str::to_owned)).collect()
}
