//! The checkpoint flow, end to end through a conversation: overflow, summary, view, continue.

use crate::support::*;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Finish, Marker, Media, Message, Part, PartKind};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::stage::{Summarizer, SummaryError};
use foldback_core::{Limits, Role};
use std::collections::BTreeSet;
use std::sync::Arc;

const LIMITS: Limits = Limits { context: 200_000, input: 0, output: 32_000 };

pub(crate) fn with(preset: &str, changes: &str, summarizer: &Arc<Scripted>) -> Conversation {
    let mut strategy = strategy(preset, changes);
    strategy.summarizer = Some(Arc::clone(summarizer) as Arc<dyn Summarizer>);
    conversation(strategy, LIMITS)
}

pub(crate) fn prompt(id: &str, text: &str) -> Message {
    Message::user(id, text).with_agent("build")
}

pub(crate) fn with_image(id: &str, text: &str, name: &str, url: &str) -> Message {
    let (mime, name, url) = ("image/png".to_owned(), Some(name.to_owned()), url.to_owned());
    let file = Part::new(PartKind::File(Media { mime, name, url }));
    prompt(id, "").with_parts(vec![Part::text(text), file])
}

/// Long enough that a summary makes the view smaller.
pub(crate) fn long(text: &str) -> String {
    format!("{text} {}", "and so on ".repeat(200))
}

/// A prompt that is long, and its answer.
pub(crate) fn turn(n: usize) -> [Message; 2] {
    [prompt(&format!("u{n}"), &long(&format!("turn {n}"))), answer(&format!("a{n}"), "ok")]
}

fn fill(conversation: &mut Conversation) {
    conversation.append(prompt("u1", &long("fix the parser")));
    append(conversation, tools("a1", &[("read", &"x".repeat(240_000))]));
    conversation.append(prompt("u2", "and the lexer"));
    append(conversation, tools("a2", &[("bash", "ok")]));
}

/// A conversation that was filled, and who writes its summaries.
fn filled<const N: usize>(
    preset: &str,
    changes: &str,
    answers: [Result<&str, SummaryError>; N],
) -> (Conversation, Arc<Scripted>) {
    let summarizer = Scripted::in_turn(answers);
    let mut conversation = with(preset, changes, &summarizer);
    fill(&mut conversation);
    (conversation, summarizer)
}

pub(crate) fn message(conversation: &Conversation, kind: EntryKind) -> Arc<Message> {
    let mut all = conversation.history().iter().rev();
    let found = all.find(|(_, message)| message.is_entry_of(kind));
    Arc::clone(found.unwrap_or_else(|| panic!("no {kind:?} entry")).1)
}

/// The one part of the last marker.
pub(crate) fn marker(conversation: &Conversation) -> Marker {
    let marker = message(conversation, EntryKind::Marker);
    let [Part { kind: PartKind::Marker(part), .. }] = &*marker.parts else {
        panic!("one compaction part");
    };
    part.clone()
}

fn has(conversation: &Conversation, kind: EntryKind) -> bool {
    let mut all = conversation.history().iter();
    all.any(|(_, message)| message.is_entry_of(kind))
}

#[test]
fn br_5_overflow_compaction_summary_filter_continue() {
    let (mut conversation, summarizer) = filled("brutus", "", [Ok("parser fixed, lexer next")]);
    let below = at(&mut conversation, Moment::StepEnd, Some(usage(150_000, 18_000, 0)));
    assert!(!below.iter().any(|r| r.outcome.changed()), "168000 is not above 168000");
    let reports = at(&mut conversation, Moment::StepEnd, Some(usage(150_000, 18_001, 0)));
    let changed: Vec<&str> =
        reports.iter().filter(|r| r.outcome.changed()).map(|r| &*r.stage).collect();
    assert_eq!(changed, ["opencode.prune", "opencode.checkpoint"], "prune, then summary");
    assert_eq!(cleared(&conversation), ["a1-call-0"]);
    assert!(
        summarizer.shown(0).contains(&"[Old tool result content cleared]".to_owned()),
        "the summarizer sees the cleared output"
    );
    assert_eq!(
        sent_texts(&conversation),
        ["What did we do so far?", "parser fixed, lexer next", "Continue if you have next steps"]
    );
    // OpenCode says the same; it clears when a turn ends.
    let (mut january, _) = filled("opencode", "", [Ok("parser fixed, lexer next")]);
    at(&mut january, Moment::StepEnd, Some(usage(150_000, 18_001, 0)));
    assert_eq!(sent_texts(&january), sent_texts(&conversation));
    conversation.append(answer("a3", "done"));
    assert_eq!(sent_ids(&conversation).len(), 4, "the loop goes on behind the continue message");
    let counters = conversation.counters();
    assert_eq!((counters.overflow_detections, counters.prune_operations), (1, 1));
    assert_eq!((counters.tokens_pruned, counters.summaries), (60_000, 1));
    assert!(counters.tokens_before_total > 0);
}

/// What the clearing leaves is less than a summary: the fold is both, and is smaller than the view that it began with.
#[test]
fn br_5_a_summary_may_be_larger_than_what_the_clearing_leaves() {
    let summarizer = Scripted::always(Some("parser fixed, lexer next"));
    let mut conversation = with("brutus", "", &summarizer);
    conversation.append(prompt("u1", "go"));
    append(&mut conversation, tools("a1", &[("read", &"x".repeat(240_000))]));
    conversation.append(prompt("u2", "on"));
    let before = conversation.tokens();
    let reports = at(&mut conversation, Moment::StepEnd, Some(usage(190_000, 0, 0)));
    let [pruned, folded] = &*reports else { panic!("{reports:?}") };
    assert!(pruned.outcome.changed() && folded.outcome.changed(), "{reports:?}");
    assert!(pruned.tokens_after < folded.tokens_after, "{reports:?}");
    assert_eq!((pruned.tokens_before, folded.tokens_before), (before, before));
    assert_eq!(cleared(&conversation), ["a1-call-0"]);
    assert_eq!(
        sent_texts(&conversation),
        ["What did we do so far?", "parser fixed, lexer next", "Continue if you have next steps"]
    );
    conversation.undo();
    assert_eq!(cleared(&conversation), ["a1-call-0"], "each is undone by itself");
}

#[test]
fn br_an_error_of_the_agent_saves_nothing() {
    let summarizer = Scripted::in_turn([Err(SummaryError::Failed("503".into()))]);
    // Beneath the guard that takes them back.
    let changes = "[guards]\natomic = false";
    let mut conversation = with("brutus", changes, &summarizer);
    fill(&mut conversation);
    let before = conversation.history().len();
    let reports = at(&mut conversation, Moment::StepEnd, Some(usage(190_000, 0, 0)));
    assert!(matches!(reports.last().unwrap().outcome, Outcome::Failed(_)));
    assert_eq!(conversation.history().len(), before, "no marker, no summary, no continue message");
    assert_eq!(
        cleared(&conversation),
        ["a1-call-0"],
        "the marks of the prune were persisted before"
    );
}

#[test]
fn january_checkpoint() {
    let (mut conversation, summarizer) = filled("opencode", "", [Ok("all of it")]);
    at(&mut conversation, Moment::StepEnd, Some(usage(168_001, 0, 0)));

    let marker = message(&conversation, EntryKind::Marker);
    let summary = message(&conversation, EntryKind::Summary);
    let goes_on = message(&conversation, EntryKind::Continue);
    let written = [&*marker.id, &*summary.id, &*goes_on.id];
    assert_eq!(sent_ids(&conversation), written, "OC1-S2: nothing but the checkpoint");
    assert_eq!(summary.parent.as_deref(), Some(&*marker.id));
    assert_eq!(summary.agent.as_deref(), Some("compaction"));
    assert_eq!(summary.answer.as_ref().unwrap().finish, Some(Finish::Stop));
    for entry in [&marker, &goes_on] {
        assert_eq!(entry.role, Role::User);
        assert_eq!(entry.agent.as_deref(), Some("build"), "agent of the last user message");
        let model = entry.answer.as_ref().unwrap();
        assert_eq!(model.model.as_deref(), Some("big"));
        assert_eq!(model.provider.as_deref(), Some("maker"));
    }
    let part = self::marker(&conversation);
    assert!(part.auto && !part.overflow);
    assert!(matches!(&goes_on.parts[0].kind, PartKind::Text { synthetic: true, .. }));

    let shown = summarizer.shown(0);
    assert_eq!(shown.len(), 7, "the whole view and the marker");
    assert_eq!(shown[2].len(), 240_000, "nothing is cut, nothing cleared before the summary");
    assert_eq!(shown.last().unwrap(), "What did we do so far?");
    assert_eq!(summarizer.request(0).previous, None);
}

#[test]
fn finish_stop_above_the_limit_compacts_before_the_next_request() {
    // A stored history whose last answer was above the limit.
    let summarizer = Scripted::in_turn([Ok("short")]);
    let mut conversation = with("opencode", "", &summarizer);
    conversation.append(prompt("u1", &long("go")));
    conversation.append(answer("a1", &long("done")));
    at(&mut conversation, Moment::TurnEnd, None);
    assert!(!has(&conversation, EntryKind::Summary));
    conversation.append(prompt("u2", "more"));
    at(&mut conversation, Moment::CallStart, Some(usage(170_000, 0, 0)));
    assert_eq!(sent_texts(&conversation)[..2], ["What did we do so far?", "short"]);
}

#[test]
fn a_manual_compaction_does_not_go_on() {
    for (preset, auto) in
        [("opencode", false), ("opencode-1.17", false), ("opencode-1.18", false), ("brutus", false)]
    {
        let (mut conversation, _) = filled(preset, "", [Ok("short")]);
        at(&mut conversation, Moment::Manual, None);
        assert!(has(&conversation, EntryKind::Summary), "{preset}");
        assert!(!has(&conversation, EntryKind::Continue), "{preset}");
        assert_eq!(marker(&conversation).auto, auto, "{preset}");
    }
}

#[test]
fn going_on_is_a_decision_of_its_own() {
    let ended = || vec![answer("a9", "all done")];
    let calls = || tools("a9", &[("bash", "ok")]);
    for (policy, last, goes_on) in [
        ("auto", ended(), true),
        ("auto", calls(), true),
        ("never", calls(), false),
        ("unfinished", ended(), false),
        ("unfinished", calls(), true),
        ("unfinished", vec![assistant("a9", vec![Part::text("cut")], Finish::Length)], true),
        ("unfinished", vec![prompt("u9", "more")], true),
    ] {
        let changes = format!("[guards]\ncontinuation = false\n[filter]\ncontinue = \"{policy}\"");
        let (mut conversation, _) = filled("opencode", &changes, [Ok("short")]);
        let case = format!("{policy} after {}", last[0].shown_text());
        append(&mut conversation, last);
        at(&mut conversation, Moment::StepEnd, Some(usage(190_000, 0, 0)));
        assert_eq!(has(&conversation, EntryKind::Continue), goes_on, "{case}");
    }
}

#[test]
fn what_a_compaction_writes() {
    let cost = usage(100, 10, 0);
    let changes = "[guards]\nno-growth = false";
    let mut conversation = with("opencode-1.17", changes, &Scripted::costing("short", cost));
    fill(&mut conversation);
    at(&mut conversation, Moment::StepEnd, Some(usage(190_000, 0, 0)));
    let go_on = message(&conversation, EntryKind::Continue).shown_text();
    assert!(
        go_on.starts_with("Continue if you have next steps, or stop"),
        "no media went: {go_on}"
    );
    let summary = message(&conversation, EntryKind::Summary);
    let answer = summary.answer.as_ref().unwrap();
    let now = summary.at;
    assert!(now.is_some());
    assert_eq!((answer.usage, answer.started, answer.ended), (Some(cost), now, now));
}

#[test]
fn empty_summaries_and_failures_leave_nothing() {
    let failures = || {
        [
            ("empty", Ok("")),
            ("white space", Ok(" \n")),
            ("failed", Err(SummaryError::Failed("503".into()))),
        ]
    };
    let presets = [
        ("OC1-S1", "opencode"),
        ("OC17-S3", "opencode-1.17"),
        ("OC18-S4", "opencode-1.18"),
        ("BR-6", "brutus"),
    ];
    for (id, preset, (case, text)) in
        presets.iter().flat_map(|(id, preset)| failures().map(|failure| (id, preset, failure)))
    {
        let case = format!("{id}, {preset}: {case}");
        let (mut conversation, _) = filled(preset, "", [text]);
        let (sent, len) = (sent_ids(&conversation), conversation.history().len());
        let reports = at(&mut conversation, Moment::StepEnd, Some(usage(190_000, 0, 0)));
        assert!(matches!(reports.last().unwrap().outcome, Outcome::Failed(_)), "{case}");
        assert_eq!((sent_ids(&conversation), conversation.history().len()), (sent, len), "{case}");
    }
}

#[test]
fn auto_off_is_off_at_every_moment() {
    for preset in ["opencode", "opencode-1.17", "opencode-1.18", "opencode-2", "brutus"] {
        let (mut conversation, _) = filled(preset, "[overflow]\nauto = false", []);
        for &moment in Moment::ALL {
            if moment != Moment::Manual {
                at(&mut conversation, moment, Some(usage(199_000, 0, 0)));
            }
        }
        let written = [EntryKind::Marker, EntryKind::Summary];
        assert!(!written.iter().any(|kind| has(&conversation, *kind)), "{preset}: OC17-L1");
    }
}

#[test]
fn oc17_c1_one_marker_with_both_flags() {
    let (mut conversation, _) = filled("opencode-1.17", "", [Ok("short")]);
    at(&mut conversation, Moment::ProviderOverflow, None);
    let markers = conversation.history().iter().filter(|(_, m)| m.is_entry_of(EntryKind::Marker));
    assert_eq!(markers.count(), 1);
    let part = marker(&conversation);
    assert!(part.auto && part.overflow);
}

/// Tail selection of 1.17: what is given, where the tail starts. Rows OC17-S5 to S9 in so far as they
/// need no model.
#[test]
fn kept_tail() {
    let x = |n: usize| "x".repeat(n);
    let image = || with_image("u3", "look", "big.png", &x(4_000));
    let older = || vec![prompt("u1", &long("first")), answer("a1", "ok")];
    // 122 characters of JSON in 1.17, which leaves out the text that is empty: 31 tokens.
    let exact = || {
        let parts = vec![Part::text("turn 2"), Part::text("")];
        vec![prompt("u1", &long("first")), prompt("u2", "").with_parts(parts), answer("a2", "ok")]
    };
    let row = |id, budget, turns, given: Vec<Message>, tail| (id, budget, turns, given, tail);
    let join = |mut a: Vec<Message>, b: Vec<Message>| {
        a.extend(b);
        a
    };
    for (id, budget, turns, given, tail) in [
        row(
            "OC17-S5",
            10_000,
            2,
            join(older(), vec![prompt("u2", "two"), answer("a2", "ok"), prompt("u3", "three")]),
            Some("u2"),
        ),
        row(
            "OC17-S6",
            100,
            2,
            vec![prompt("u1", "first"), prompt("u2", &x(2_000)), prompt("u3", "tiny")],
            Some("u3"),
        ),
        row("OC17-S7", 20, 1, vec![prompt("u1", "first"), prompt("u2", &x(2_000))], None),
        row("OC17-S8", 100, 1, join(older(), vec![image()]), None),
        row(
            "OC17-S9",
            100,
            1,
            vec![prompt("u1", &x(2_000)), answer("a1", &x(2_000)), answer("a2", "short")],
            Some("a2"),
        ),
        row("OC17-S6, exactly", 31, 1, exact(), Some("u2")),
        row("OC17-S9, not quite", 30, 1, exact(), Some("a2")),
    ] {
        let summarizer = Scripted::in_turn([Ok("short")]);
        let changes = format!(
            "[filter]\ntail_turns = {turns}\npreserve_recent_tokens = {budget}\n[guards]\nno-growth = false"
        );
        let mut conversation = with("opencode-1.17", &changes, &summarizer);
        append(&mut conversation, given);
        at(&mut conversation, Moment::Manual, None);
        assert_eq!(marker(&conversation).tail_start.as_deref(), tail, "{id}");
        let sent = sent_ids(&conversation);
        assert_eq!(
            sent.get(2).map(String::as_str),
            tail,
            "{id}: the tail stands behind the summary"
        );
        let request = summarizer.shown(0).join("\n");
        assert!(!request.contains("What did we do so far?"), "{id}: OC17-S17");
        match id {
            "OC17-S7" => assert!(request.contains(&x(2_000)), "{id}"),
            "OC17-S8" => {
                assert!(request.contains("look\n[Attached image/png: big.png]"), "{id}: {request}")
            }
            "OC17-S9" => assert!(request.contains(&x(2_000)) && !request.contains("short"), "{id}"),
            _ => {}
        }
    }
}

#[test]
fn oc17_s18_s19_two_compactions_in_a_row() {
    let summarizer = Scripted::in_turn([Ok("summary one"), Ok("summary two")]);
    let mut conversation = with("opencode-1.17", "", &summarizer);
    append(&mut conversation, (1..=3).flat_map(turn));
    at(&mut conversation, Moment::Manual, None);
    let marker = message(&conversation, EntryKind::Marker).id.clone();
    let summary = message(&conversation, EntryKind::Summary).id.clone();
    assert_eq!(sent_ids(&conversation), [&*marker, &*summary, "u2", "a2", "u3", "a3"]);
    append(&mut conversation, turn(4));
    at(&mut conversation, Moment::Manual, None);
    let request = summarizer.request(1);
    assert_eq!(request.previous.as_deref(), Some("summary one"), "OC17-S18");
    assert!(!summarizer.shown(1).join("\n").contains("summary one"), "OC17-S18: exactly once");
    // The tail begins before the older checkpoint, which therefore stays in it, as in the original.
    assert_eq!(
        sent_ids(&conversation)[2..],
        ["u3", "a3", &*marker, &*summary, "u4", "a4"],
        "OC17-S19"
    );
    let third = Scripted::in_turn([Ok("summary three")]);
    let mut strategy = conversation.strategy().as_ref().clone();
    strategy.summarizer = Some(Arc::clone(&third) as Arc<dyn Summarizer>);
    let mut loaded = crate::support::conversation(strategy, LIMITS);
    append(&mut loaded, conversation.history().iter().map(|(_, message)| Arc::clone(message)));
    loaded.restore();
    loaded.append(prompt("u5", "turn 5"));
    at(&mut loaded, Moment::Manual, None);
    let previous = third.request(0).previous;
    // `completedCompactions` goes through the view: the older checkpoint in the tail is its last.
    assert_eq!(previous.as_deref(), Some("summary one"), "OC17-S21: the last in the view");
}

#[test]
fn oc17_s20_an_older_summary_does_not_eat_the_budget() {
    let first = "s".repeat(6_400);
    let summarizer = Scripted::in_turn([Ok(&*first), Ok("two")]);
    let changes = "[filter]\npreserve_recent_tokens = 500";
    let mut conversation = with("opencode-1.17", changes, &summarizer);
    conversation.append(prompt("u1", &"x".repeat(9_000)));
    conversation.append(answer("a1", &"x".repeat(9_000)));
    conversation.append(prompt("u2", "small"));
    at(&mut conversation, Moment::Manual, None);
    conversation.append(prompt("u3", "small too"));
    at(&mut conversation, Moment::Manual, None);
    // Everything but the older checkpoint fits, so there is nothing to summarize besides it.
    let request = summarizer.request(1);
    assert_eq!(request.messages.len(), 2, "{:?}", summarizer.shown(1));

    let summarizer = Scripted::in_turn([Ok(&*first), Ok("two")]);
    let mut conversation = with("opencode-1.17", changes, &summarizer);
    conversation.append(prompt("u1", &"x".repeat(9_000)));
    conversation.append(prompt("u2", "before it"));
    conversation.append(answer("a2", &"x".repeat(900)));
    conversation.append(prompt("u3", "small"));
    at(&mut conversation, Moment::Manual, None);
    conversation.append(prompt("u4", "small too"));
    at(&mut conversation, Moment::Manual, None);
    let tail = marker(&conversation).tail_start;
    assert_eq!(tail.as_deref(), Some("u3"), "OC17-S20: the turn before the old summary");
}

#[test]
fn oc17_s11_s12_the_prompt_is_repeated_without_its_media() {
    let with_image = |id| with_image(id, "image", "cat.png", "data:,x");
    let summarizer = Scripted::in_turn([Ok("short")]);
    let mut conversation = with("opencode-1.17", "", &summarizer);
    conversation.append(prompt("u1", &long("root")));
    conversation.append(with_image("u2"));
    at(&mut conversation, Moment::ProviderOverflow, None);
    let last = message(&conversation, EntryKind::Continue);
    assert_eq!(last.shown_text(), "image\n[Attached image/png: cat.png]", "OC17-S11");
    assert!(last.parts.iter().all(|part| !matches!(part.kind, PartKind::File(_))), "OC17-S11");
    assert_eq!(summarizer.shown(0).len(), 1, "OC17-S11: the request ends before the prompt");
    assert_eq!(sent_ids(&conversation).len(), 3, "OC17-S11: the original is hidden");

    let summarizer = Scripted::in_turn([Ok("short")]);
    let mut conversation = with("opencode-1.17", "[guards]\nno-growth = false", &summarizer);
    conversation.append(with_image("u1"));
    at(&mut conversation, Moment::ProviderOverflow, None);
    let last = message(&conversation, EntryKind::Continue).shown_text();
    assert!(last.contains("larger than the provider accepts"), "OC17-S12: {last}");
    assert!(last.contains("Continue if you have next steps, or stop"), "OC17-S12: {last}");
}

/// A fold, and the same from a stored history: instructions stay in front, a late result behind what was said before it
/// came, and what is appended stands last.
#[test]
fn a_stored_checkpoint_is_restored() {
    let shown = [
        ("opencode", "sys marker summary u9"),
        ("opencode-1.17", "sys marker summary u2 a2 u3 a2-result-0 a3 u9"),
    ];
    for (preset, expect) in shown {
        let summarizer = Scripted::in_turn([Ok("short")]);
        let mut first = with(preset, "", &summarizer);
        first.append(Message::new("sys", Role::System, vec![Part::text("be brief")]));
        append(&mut first, turn(1));
        first.append(prompt("u2", &long("turn 2")));
        let [call, result] = tools("a2", &[("read", "ok")]).try_into().unwrap();
        append(&mut first, [call, prompt("u3", &long("turn 3")), result, answer("a3", "ok")]);
        at(&mut first, Moment::Manual, None);
        let mut again = with(preset, "", &summarizer);
        append(&mut again, first.history().iter().map(|(_, message)| Arc::clone(message)));
        assert_ne!(sent_ids(&again), sent_ids(&first), "{preset}");
        again.restore();
        for mut conversation in [first, again] {
            conversation.append(prompt("u9", "and now"));
            let ids: Vec<String> = conversation
                .sent()
                .iter()
                .map(|shown| match shown.message {
                    marker if marker.is_entry_of(EntryKind::Marker) => "marker".to_owned(),
                    summary if summary.is_entry_of(EntryKind::Summary) => "summary".to_owned(),
                    other => other.id.clone(),
                })
                .collect();
            assert_eq!(ids.join(" "), expect, "{preset}");
        }
    }
}

#[test]
fn instructions_of_the_harness_stay_in_front() {
    let summarizer = Scripted::in_turn([Ok("short")]);
    let mut conversation = with("opencode", "", &summarizer);
    conversation.append(Message::new("sys", Role::System, vec![Part::text("be brief")]));
    fill(&mut conversation);
    at(&mut conversation, Moment::Manual, None);
    assert_eq!(sent_texts(&conversation), ["be brief", "What did we do so far?", "short"]);
    assert!(!summarizer.shown(0).contains(&"be brief".to_owned()));
}

/// What is sent of reasoning and files after a fold, and how the summarizer is shown a file that goes: id, preset, reasoning
/// that is still sent, files that are still sent, the texts of the prompt that goes, whether its file goes along.
#[test]
fn reasoning_and_files() {
    let described = "look\n[Attached image/png: one.png]";
    for (id, preset, reasoning, files, prompt_shown, file_shown) in [
        ("OC1-Q1", "opencode", vec![], 0, "look", true),
        ("BR-7", "brutus", vec![], 0, "look", true),
        ("OC17-Q1", "opencode-1.17", vec!["two"], 1, described, false),
        ("OC18-Q1", "opencode-1.18", vec!["two"], 1, described, false),
        ("OCv2-Q1", "opencode-2", vec![], 0, "look", true),
    ] {
        let summarizer = Scripted::in_turn([Ok("short")]);
        let changes = match preset {
            "opencode-1.17" => "[filter]\ntail_turns = 1",
            "opencode-1.18" => "[filter]\ntail_turns = 1",
            _ => "",
        };
        let mut conversation = with(preset, changes, &summarizer);
        for (n, name) in [(1, "one"), (2, "two")] {
            let thought = PartKind::Reasoning { text: name.to_owned(), opaque: None };
            let image = with_image(&format!("u{n}"), "look", &format!("{name}.png"), "data:,x");
            let parts = vec![Part::new(thought), Part::text(long("seen"))];
            append(&mut conversation, [image, assistant(&format!("a{n}"), parts, Finish::Stop)]);
        }
        at(&mut conversation, Moment::Manual, None);
        let sent = conversation.sent();
        let parts = || sent.iter().flat_map(|shown| &shown.message.parts);
        let thoughts: Vec<&str> = parts()
            .filter_map(|part| match &part.kind {
                PartKind::Reasoning { text, .. } => Some(&**text),
                _ => None,
            })
            .collect();
        let is_file = |part: &&Part| matches!(part.kind, PartKind::File(_));
        assert_eq!(thoughts, reasoning, "{id}");
        assert_eq!(parts().filter(is_file).count(), files, "{id}");
        let request = summarizer.request(0);
        assert_eq!(request.messages[0].shown_text(), prompt_shown, "{id}");
        assert_eq!(request.messages[0].parts.iter().any(|part| is_file(&part)), file_shown, "{id}");
        if preset == "opencode-2" {
            let text = sent_texts(&conversation).concat();
            assert!(text.contains("[Assistant reasoning]: two"), "{id}: {text}");
            assert!(text.contains("[Attached image/png: two.png]"), "{id}: {text}");
        }
    }
}

#[test]
fn undo_brings_everything_back() {
    let (mut conversation, _) = filled("opencode", "", [Ok("short")]);
    let before = sent_ids(&conversation);
    at(&mut conversation, Moment::Manual, None);
    conversation.undo();
    assert_eq!(sent_ids(&conversation), before);
}

pub(crate) fn ids() -> BTreeSet<String> {
    let others =
        ["OC1-S1", "OC1-S2", "OC1-Q1", "OC17-Q1", "OC18-S4", "OC18-Q1", "OCv2-Q1", "BR-6", "BR-7"];
    ["BR-5", "OC17-C1", "OC17-L1"].into_iter().chain(others).map(str::to_owned).collect()
}
