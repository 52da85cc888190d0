//! The filter as agents and replays meet it: through a conversation, moment by moment.

use crate::support::{
    Answer, asked, conversation, filler, fillers, names, sent, step, strategy, that, torn,
    with_frame,
};
use foldback_core::conversation::{Conversation, Report, Signals};
use foldback_core::event::Event;
use foldback_core::log::{EntryKind, ResultStatus, Usage};
use foldback_core::moment::{Moment, Trigger};
use foldback_core::outcome::Outcome;
use foldback_core::plan::Plan;
use foldback_core::services::Services;
use foldback_core::stage::{Filter as _, Summarizer as _};
use foldback_core::view::PartPos;
use foldback_core::{Frame, Message, PartKind, Role, SegmentKind};
use foldback_testkit::stand_in::{Asking, Events, Scripted};
use foldback_testkit::talk::append;
use foldback_tiered::TieredConfig;
use foldback_tiered::reference::id_of;
use std::sync::Arc;

async fn at(conversation: &mut Conversation, moment: Moment) -> Report {
    let mut reports = conversation.at(moment, Signals::default()).await;
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

fn last_plan(conversation: &Conversation) -> &Plan {
    &conversation.folds().last().expect("a fold").plan
}

fn summary(conversation: &Conversation) -> String {
    conversation
        .sent()
        .iter()
        .find(|shown| shown.message.is_entry())
        .map_or(String::new(), |shown| shown.message.said())
}

fn important(id: &str) -> Message {
    Message::user(id, "We decided.").annotated("importance", "high")
}

/// Sixty messages of 100 tokens, m0 to m59, around a system message in front.
fn sixty(strategy: &Arc<foldback_core::strategy::Strategy>) -> Conversation {
    let mut conversation = conversation(strategy, 7_000);
    conversation.append(Message::new("sys", Role::System, filler("", 10).parts));
    append(&mut conversation, fillers("m", 0..60));
    conversation
}

#[tokio::test]
async fn summaries_stand_in_one_message_oldest_first_and_the_last_ten_stay() {
    let fake = names();
    let mut conversation = sixty(&strategy("tiered", "", &fake));
    let report = at(&mut conversation, Moment::CallStart).await;
    assert_eq!(report.outcome, Outcome::Changed, "{report:?}");
    let expect: Vec<String> = ["sys", "<user summary>"]
        .into_iter()
        .map(str::to_owned)
        .chain((50..60).map(|n| format!("m{n}")))
        .collect();
    assert_eq!(sent(&conversation), expect);
    let text = summary(&conversation);
    let places: Vec<usize> = [
        "# Long ago (10 messages)\n\nsum of 10",
        "# Earlier (25 messages)\n\nsum of 25",
        "# Recently (15 messages)\n\nsum of 15",
    ]
    .into_iter()
    .map(|section| text.find(section).unwrap_or_else(|| panic!("{section} in {text}")))
    .collect();
    assert!(places.is_sorted(), "{text}");
    let asked = asked(&fake);
    let names: Vec<&str> = asked.iter().map(|(name, _, _)| name.as_str()).collect();
    assert_eq!(names, ["tier-3", "tier-2", "tier-1"]);
    assert_eq!(asked[0].1, "m0");
    assert_eq!(asked[2].2, "m49");
    let reasons = last_plan(&conversation).reasons.join("\n");
    assert!(
        reasons.contains("\n60 messages: 0 residual (at most 12; 0 demoted), tiers 10/15/25/10")
    );
    assert!(!reasons.contains("above its budget"), "{reasons}");
}

/// Tokens of a request in a window of 100,000, whether it folds.
#[test]
fn mx_14_above_80_percent_down_to_half() {
    let strategy = strategy("tiered", "", &names());
    let policy = &strategy.overflow.as_ref().unwrap();
    assert_eq!(policy.when, [Moment::CallStart], "MX-14");
    for (tokens, fold) in [(80_000, false), (80_001, true)] {
        let limits = foldback_core::Limits::new(100_000, 8_000);
        let pressure = foldback_core::stage::Pressure {
            view_tokens: tokens - 1_000,
            frame_tokens: 1_000,
            ..foldback_core::stage::Pressure::at(Moment::CallStart, limits)
        };
        let decision = policy.stage.decide(&pressure);
        assert_eq!((decision.fold, decision.target), (fold, Some(50_000)), "MX-14: {tokens}");
    }
}

/// Reasoning and files of messages that are summarized go with them; those of the newest ten stay.
#[tokio::test]
async fn mx_17_reasoning_and_files() {
    let mut conversation = conversation(&strategy("tiered", "", &names()), 7_000);
    for n in 0..30 {
        let parts = vec![
            foldback_core::Part::new(PartKind::Reasoning { text: format!("r{n}"), opaque: None }),
            foldback_core::Part::new(PartKind::File(foldback_core::log::Media::default())),
            foldback_core::Part::text("y".repeat(1_000)),
        ];
        conversation.append(Message::new(format!("m{n}"), Role::Assistant, parts));
    }
    let report = at(&mut conversation, Moment::CallStart).await;
    assert_eq!(report.outcome, Outcome::Changed, "{report:?}");
    let sent = conversation.sent();
    let parts = || sent.iter().flat_map(|shown| &shown.message.parts);
    let reasoning = parts().filter(|part| matches!(part.kind, PartKind::Reasoning { .. }));
    let files = parts().filter(|part| matches!(part.kind, PartKind::File(_)));
    assert_eq!((reasoning.count(), files.count()), (10, 10), "MX-17");
}

#[tokio::test]
async fn below_the_threshold_nothing_happens() {
    let fake = names();
    let mut conversation = conversation(&strategy("tiered", "", &fake), 100_000);
    append(&mut conversation, fillers("m", 0..60));
    let report = at(&mut conversation, Moment::CallStart).await;
    assert!(matches!(report.outcome, Outcome::Unchanged(_)), "{report:?}");
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn residuals_stay_in_original_order_with_their_groups() {
    let fake = names();
    let mut conversation = conversation(&strategy("tiered", "", &fake), 7_000);
    conversation.append(important("r0"));
    append(&mut conversation, fillers("a", 0..30));
    let [call, mut result] = step("s", 20);
    if let PartKind::Result(result) = &mut result.parts[0].kind {
        result.status = ResultStatus::Error;
        result.text = "no such task".to_owned();
    }
    append(&mut conversation, [call, result]);
    append(&mut conversation, fillers("b", 0..30));
    at(&mut conversation, Moment::CallStart).await;
    let expect: Vec<String> = ["<user summary>", "r0", "s-call", "s-result"]
        .into_iter()
        .map(str::to_owned)
        .chain((20..30).map(|n| format!("b{n}")))
        .collect();
    assert_eq!(sent(&conversation), expect);
    assert!(torn(&conversation).is_empty());
    let rows = &last_plan(&conversation).tables["residuals"];
    assert_eq!(rows[0]["message"], "r0", "{rows}");
    assert_eq!(rows[0]["score"], 90, "{rows}");
    assert_eq!(
        rows[0]["factors"],
        serde_json::json!(["decision_language", "explicit_high_importance"])
    );
}

#[tokio::test]
async fn mx_6_without_the_flag_there_are_no_residuals() {
    for (flag, messages) in [("false", 11), ("\"yes\"", 11), ("1", 11), ("\"true\"", 12)] {
        let filter = format!("residuals = {flag}");
        let mut conversation = conversation(&strategy("tiered", &filter, &names()), 7_000);
        conversation.append(important("r0"));
        append(&mut conversation, fillers("m", 0..60));
        at(&mut conversation, Moment::CallStart).await;
        assert_eq!(sent(&conversation).len(), messages, "MX-6: {flag}");
    }
}

#[tokio::test]
async fn each_fold_is_cut_from_the_originals_and_replaces_the_one_before() {
    let fake = names();
    let mut conversation = sixty(&strategy("tiered", "", &fake));
    at(&mut conversation, Moment::CallStart).await;
    // An answer lets the next one be made.
    let answer = Message::assistant("m60", filler("", 100).parts);
    conversation.append(answer);
    append(&mut conversation, fillers("m", 61..120));
    at(&mut conversation, Moment::CallStart).await;
    assert_eq!(conversation.folds().len(), 2);
    let asked = asked(&fake);
    assert_eq!(asked.len(), 6);
    assert_eq!((asked[3].1.as_str(), asked[3].2.as_str()), ("m0", "m69"));
    let sent = sent(&conversation);
    assert_eq!(sent[..3], ["sys", "<user summary>", "m110"]);
    assert!(summary(&conversation).contains("sum of 70"), "{}", summary(&conversation));
    conversation.undo();
    conversation.undo();
    assert_eq!(conversation.sent().len(), 121);
}

#[tokio::test]
async fn the_same_content_is_summarised_once() {
    let fake = names();
    let filter = Arc::new(TieredConfig::default().filter().unwrap());
    let mut strategy = (*strategy("tiered", "", &fake)).clone();
    strategy.filter.as_mut().unwrap().stage = filter.clone();
    let mut conversation = sixty(&Arc::new(strategy));
    let preview = conversation.preview(Moment::CallStart, Signals::default()).await;
    assert_eq!(fake.asked().len(), 3);
    at(&mut conversation, Moment::CallStart).await;
    assert_eq!(fake.asked().len(), 3, "the second fold asks for nothing");
    let statistics = filter.cache_statistics();
    assert_eq!((statistics.hits, statistics.misses), (3, 3));
    let strategy = conversation.strategy().filter.clone().unwrap();
    let reported = strategy.stage.report();
    assert_eq!(reported["summary-cache"]["hit_rate"], 0.5);
    // What comes out does not tell whether a summary was kept.
    let committed = last_plan(&conversation);
    assert_eq!(preview[0].summaries, committed.summaries);
    assert_eq!(preview[0].tables, committed.tables);
    assert_eq!(preview[0].tokens_after, committed.tokens_after);
}

#[tokio::test]
async fn a_cache_tells_apart_what_a_summary_depends_on() {
    let fake = names();
    let filter = TieredConfig::default().filter().unwrap();
    let cache = Arc::new(foldback_tiered::cache::SummaryCache::new(
        std::num::NonZeroUsize::new(99).unwrap(),
    ));
    let filter = Arc::new(filter.with_cache(Arc::clone(&cache)));
    let mut base = (*strategy("tiered", "", &fake)).clone();
    base.filter.as_mut().unwrap().stage = filter;
    let base = Arc::new(base);
    // what differs, the last message, instructions, how many requests are not in the cache
    let rows = [
        ("nothing yet", "m59", None, 3),
        ("nothing", "m59", None, 0),
        ("tier 0 alone", "other", None, 0),
        ("the instructions", "m59", Some("keep the paths"), 3),
    ];
    for (name, last, instructions, misses) in rows {
        let mut conversation = conversation(&base, 7_000);
        append(&mut conversation, fillers("m", 0..59));
        conversation.append(filler(last, 100));
        let before = cache.statistics().misses;
        let signals =
            Signals { instructions: instructions.map(str::to_owned), ..Signals::default() };
        conversation.at(Moment::CallStart, signals).await;
        assert_eq!(cache.statistics().misses - before, misses, "{name}");
    }
}

#[tokio::test]
async fn observers_are_told_tokens_and_ratio() {
    let diary = Arc::new(Events::default());
    let strategy = strategy("tiered", "", &names());
    let mut services = foldback_core::services::Services::fixed();
    services.observers.push(diary.clone());
    let mut conversation = Conversation::new(
        strategy,
        foldback_core::Limits::new(7_000, 0),
        Frame::default(),
        services,
    );
    append(&mut conversation, fillers("m", 0..60));
    let before = conversation.tokens();
    at(&mut conversation, Moment::CallStart).await;
    let after = conversation.tokens();
    let events = diary.all();
    let boundary = events.iter().find(|event| matches!(event, Event::Boundary { .. })).unwrap();
    let Event::Boundary { tokens_before, tokens_after, .. } = boundary else { unreachable!() };
    assert_eq!((*tokens_before, *tokens_after), (before, after));
    let ratio = boundary.ratio().unwrap();
    assert!((ratio - after as f64 / before as f64).abs() < 1e-12);
    assert!(ratio < 0.2, "{ratio}");
}

#[tokio::test]
async fn a_tier_without_a_summary_is_cut_to_sentences() {
    for answer in [Answer::Fails, Answer::TooLong, Answer::Empty] {
        let fake = that(answer);
        let mut conversation = conversation(&strategy("tiered", "", &fake), 7_000);
        for n in 0..60 {
            let text =
                format!("Step {n} passed. We must keep file{n}.rs here. {}", "y".repeat(400));
            conversation.append(Message::user(format!("m{n}"), text));
        }
        let report = at(&mut conversation, Moment::CallStart).await;
        assert!(matches!(report.outcome, Outcome::Degraded(_)), "{answer:?}: {report:?}");
        let plan = last_plan(&conversation);
        for tier in [1, 2, 3] {
            let said = format!("tier {tier} has no summary");
            assert!(
                plan.reasons.iter().any(|reason| reason.starts_with(&said)),
                "{answer:?}: {:?}",
                plan.reasons
            );
        }
        let text = summary(&conversation);
        assert!(text.contains("We must keep file40.rs here."), "MX-16, {answer:?}: {text}");
        let rows = plan.tables["tiers"].as_array().unwrap();
        for (row, budgeted) in rows.iter().zip(fake.asked().iter()) {
            assert_eq!(row["by"], "sentences");
            assert!(row["tokens_after"].as_u64().unwrap() <= budgeted.budget, "{answer:?}: {row}");
        }
    }
}

/// The request is all of tier 3, and 15 % of it would be two words.
#[tokio::test]
async fn a_tier_that_fits_its_budget_stays_whole() {
    const REQUEST: &str =
        "Read all parts of this folder, one after the other, and say that you are done.";
    for (request, whole) in [(REQUEST.to_owned(), true), (REQUEST.repeat(7), false)] {
        let mut conversation = conversation(&strategy("tiered", "", &names()), 6_000);
        conversation.append(Message::user("request", &request));
        append(&mut conversation, fillers("m", 0..50));
        let report = at(&mut conversation, Moment::CallStart).await;
        assert_eq!(report.outcome, Outcome::Changed, "{report:?}");
        let text = summary(&conversation);
        assert_eq!(text.contains(&request), whole, "{text}");
        let plan = last_plan(&conversation);
        assert_eq!(plan.tables["tiers"][0]["by"], "sentences");
    }
}

#[tokio::test]
async fn summaries_are_asked_for_within_budget_and_ratio() {
    let fake = names();
    let mut frame = Frame::default();
    frame.push_tokens(SegmentKind::System, 500);
    frame.push_tokens(SegmentKind::Tools, 250);
    let strategy = strategy("tiered", "budget_tokens = 4_000", &fake);
    let mut conversation = with_frame(&strategy, 7_000, frame);
    append(&mut conversation, fillers("m", 0..60));
    at(&mut conversation, Moment::CallStart).await;
    let budgets: Vec<u64> = fake.asked().iter().map(|r| r.budget).collect();
    // 4,000 - 500 - 250 - 50 - 100 = 3,100; tier 3 gets 3 % of it and is raised to the least useful
    // size, tier 2 gets 7 %, tier 1 20 %: all below what the ratios would allow.
    assert_eq!(budgets, [93, 217, 620]);
    let table = &last_plan(&conversation).tables["budget"];
    assert_eq!(table["total"], 4_000);
    assert_eq!(table["allocated"]["fixed"]["unlisted"], 250);
    let tiers: Vec<u64> = table["allocated"]["tiers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tokens| tokens.as_u64().unwrap())
        .collect();
    // The fake's summaries are short: what they leave over is tier 0's.
    assert_eq!(tiers.iter().sum::<u64>(), 2_170 + 620 + 217 + 93);
    assert!(tiers[0] > 3_000, "{tiers:?}");
    assert_eq!(table["remaining"], 100);
    assert_eq!(table["utilization_percent"], 97.5);
}

#[tokio::test]
async fn the_ratios_bound_summaries_where_no_budget_does() {
    // 104 tokens a message: 15 % of 10, 40 % of 25, 70 % of 15. What is less than a summary has to be is none.
    for (least, expect) in [(156, vec![156, 1_040, 1_092]), (157, vec![1_040, 1_092])] {
        let fake = names();
        let filter = format!("budget = false\nmin_summary_tokens = {least}");
        let mut conversation = sixty(&strategy("tiered", &filter, &fake));
        at(&mut conversation, Moment::CallStart).await;
        let budgets: Vec<u64> = fake.asked().iter().map(|r| r.budget).collect();
        assert_eq!(budgets, expect);
        assert!(!last_plan(&conversation).tables.contains_key("budget"));
    }
}

#[tokio::test]
async fn a_tier_0_above_its_budget_has_its_oldest_tool_results_cut() {
    let fake = names();
    let strategy = strategy("tiered", "residuals = false\nbudget_tokens = 3_000", &fake);
    let mut conversation = conversation(&strategy, 5_000);
    append(&mut conversation, (0..5).flat_map(|n| step(&n.to_string(), 1_000)));
    let ids = sent(&conversation);
    let report = at(&mut conversation, Moment::CallStart).await;
    assert_eq!(report.outcome, Outcome::Changed, "{report:?}");
    assert_eq!(sent(&conversation), ids, "no message is dropped");
    assert!(fake.asked().is_empty(), "nothing to summarise");
    let plan = last_plan(&conversation);
    let cut: Vec<usize> = plan.edits.iter().map(|edit| edit.at.item).collect();
    // Ten messages of about 5,060 tokens have to fit 3,000 - 150: three results of 1,000 lose 800, or
    // what is still missing.
    assert_eq!(cut, [1, 3, 5]);
    assert!(plan.edits.iter().all(|edit| edit.after >= 190), "{:?}", plan.edits);
    assert!(plan.tokens_after <= 2_850, "{}", plan.tokens_after);
    assert!(plan.reasons.last().unwrap().ends_with("3 tool results cut, 0 tokens still above"));
    let shown = conversation.sent();
    assert!(shown[1].text_of(0).contains("characters cut"));
    assert!(!shown[9].text_of(0).contains("characters cut"), "the newest stays");
}

#[tokio::test]
async fn a_fold_that_changes_nothing_says_so() {
    let fake = names();
    let mut conversation = sixty(&strategy("tiered", "", &fake));
    at(&mut conversation, Moment::Manual).await;
    let before = sent(&conversation);
    let report = at(&mut conversation, Moment::Manual).await;
    let Outcome::Unchanged(why) = &report.outcome else { panic!("{report:?}") };
    assert_eq!(why.code, "nothing-to-fold");
    assert_eq!(sent(&conversation), before);
    assert_eq!(conversation.folds().len(), 1);

    let mut empty = crate::support::conversation(conversation.strategy(), 7_000);
    let report = at(&mut empty, Moment::Manual).await;
    assert!(matches!(report.outcome, Outcome::Unchanged(_)), "{report:?}");
}

#[tokio::test]
async fn switched_off_means_off() {
    let mut conversation = sixty(&strategy("tiered", "tiered = false", &names()));
    for moment in [Moment::CallStart, Moment::Manual] {
        let report = at(&mut conversation, moment).await;
        let Outcome::Unchanged(why) = report.outcome else {
            panic!("{moment}: {:?}", report.outcome)
        };
        assert_eq!(why.code, "off", "{moment}");
    }
    assert_eq!(conversation.sent().len(), 61);
}

#[tokio::test]
async fn references_lead_back_to_the_originals() {
    let fake = names();
    let config = TieredConfig { references: true, ..TieredConfig::default() };
    let filter = Arc::new(config.filter().unwrap());
    let mut strategy = (*strategy("tiered", "", &fake)).clone();
    strategy.filter.as_mut().unwrap().stage = filter.clone();
    let mut conversation = sixty(&Arc::new(strategy));
    at(&mut conversation, Moment::CallStart).await;
    let rows = last_plan(&conversation).tables["references"].clone();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for (row, (first, count)) in rows.iter().zip([("m0", 10), ("m10", 25), ("m35", 15)]) {
        let id = row["id"].as_str().unwrap();
        assert!(summary(&conversation).contains(id), "{id}");
        let stored = filter.references().lookup(id).unwrap();
        assert_eq!(stored.at, 1_000_000);
        assert_eq!(stored.id, id_of(&stored.json));
        assert_eq!(row["size"], stored.size);
        let messages: Vec<Message> = serde_json::from_str(&stored.json).unwrap();
        assert_eq!((messages[0].id.as_str(), messages.len()), (first, count));
    }
}

#[tokio::test]
async fn the_document_to_the_letter_loses_what_the_cap_sends_away_and_sorts_by_score() {
    let fake = names();
    let filter = "residual_max_percent = 0.03";
    let run = |preset: &'static str| {
        let strategy = strategy(preset, filter, &fake);
        async move {
            let mut conversation = conversation(&strategy, 7_000);
            for (n, text) in
                ["We decided.", "We decided on the task.", "We agreed."].into_iter().enumerate()
            {
                let message = Message::user(format!("r{n}"), text);
                conversation.append(message.annotated("importance", "high"));
            }
            append(&mut conversation, fillers("m", 0..60));
            at(&mut conversation, Moment::CallStart).await;
            let kept: Vec<String> =
                sent(&conversation).into_iter().filter(|id| id.starts_with('r')).collect();
            let summarised: u64 = last_plan(&conversation).tables["tiers"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["messages"].as_u64().unwrap())
                .sum();
            (kept, summarised)
        }
    };
    // ceil(63 * 0.03) = 2 of the scores 90, 110, 90.
    assert_eq!(run("tiered-doc-exact").await, (vec!["r1".into(), "r0".into()], 50));
    assert_eq!(run("tiered").await, (vec!["r1".into(), "r2".into()], 51));
}

#[tokio::test]
async fn the_document_to_the_letter_tears_groups_and_the_preset_does_not() {
    for (preset, whole) in [("tiered", true), ("tiered-doc-exact", false)] {
        let mut conversation = conversation(&strategy(preset, "", &names()), 9_000);
        append(&mut conversation, (0..40).flat_map(|n| step(&n.to_string(), 180)));
        // One more message shifts the edge between a call and its result.
        conversation.append(filler("last", 100));
        let report = at(&mut conversation, Moment::CallStart).await;
        assert!(report.outcome.changed(), "{preset}: {report:?}");
        assert_eq!(torn(&conversation).is_empty(), whole, "{preset}");
    }
}

#[tokio::test]
async fn a_fold_that_frees_next_to_nothing_is_not_made_unless_asked_for() {
    let fake = names();
    let mut conversation = conversation(&strategy("tiered", "", &fake), 7_000);
    conversation.append(filler("small", 100));
    for n in 0..10 {
        conversation.append(filler(&format!("m{n}"), 600));
    }
    let report = at(&mut conversation, Moment::CallStart).await;
    let Outcome::Unchanged(why) = &report.outcome else { panic!("{report:?}") };
    assert_eq!(why.code, "not-worthwhile", "MX-15");
    assert!(fake.asked().is_empty(), "no summary is requested in vain");
    let report = at(&mut conversation, Moment::Manual).await;
    assert_eq!(report.outcome, Outcome::Changed, "{report:?}");
}

/// What could go is added up before anybody is asked, and what went before anything is changed.
#[tokio::test]
async fn the_gain_is_what_would_go() {
    let results = |tokens: usize| (0..3).flat_map(move |n| step(&n.to_string(), tokens));
    let rest = || (0..4).map(|n| filler(&format!("m{n}"), 1_300));
    // Some 200 tokens of 6,000 could be summarized; results just above the floor of 200 lose next to nothing, and so do larger ones
    // where none is cut.
    for (name, filter, tokens) in [
        ("results at the floor", "residuals = false", 210),
        ("no result is cut", "residuals = false\ncut_tool_results = false", 400),
    ] {
        let fake = names();
        let mut conversation = conversation(&strategy("tiered", filter, &fake), 7_000);
        conversation.append(filler("old", 200));
        append(&mut conversation, results(tokens).chain(rest()));
        let report = at(&mut conversation, Moment::CallStart).await;
        assert_eq!(report.outcome.why().unwrap().code, "not-worthwhile", "{name}");
        assert!(fake.asked().is_empty(), "{name}");
    }
    // Summaries as long as what they stand for free nothing.
    let echo = Scripted::by(|request| Ok("y".repeat(4 * request.budget as usize)));
    let filter = "budget = false\npreserve = [100, 100, 100]\nresiduals = false";
    let mut conversation = sixty(&strategy("tiered", filter, &echo));
    let report = at(&mut conversation, Moment::CallStart).await;
    assert_eq!(report.outcome.why().unwrap().code, "not-worthwhile");
    assert_eq!(echo.asked().len(), 3);
    // Three results of 1,000 tokens lose 800: 44 % of all.
    for (percent, folds) in [(40, 1), (50, 0)] {
        let filter =
            format!("residuals = false\nbudget_tokens = 3_000\nmin_gain_percent = {percent}");
        let mut conversation =
            crate::support::conversation(&strategy("tiered", &filter, &names()), 5_000);
        append(&mut conversation, (0..5).flat_map(|n| step(&n.to_string(), 1_000)));
        at(&mut conversation, Moment::CallStart).await;
        assert_eq!(conversation.folds().len(), folds, "{percent} %");
    }
}

#[tokio::test]
async fn a_residual_above_the_tokens_of_residuals_goes_to_the_tiers() {
    for (tokens, stays) in [(100, true), (2_000, false)] {
        let strategy = strategy("tiered", "budget_tokens = 4_000", &names());
        let mut conversation = conversation(&strategy, 7_000);
        let mut important = important("r0");
        important.parts.extend(filler("", tokens).parts);
        conversation.append(important);
        append(&mut conversation, fillers("m", 0..60));
        at(&mut conversation, Moment::CallStart).await;
        assert_eq!(sent(&conversation).contains(&"r0".to_owned()), stays, "{tokens}");
    }
}

#[tokio::test]
async fn an_empty_summary_is_none_where_no_guard_refuses_it() {
    let strategy = strategy("tiered-doc-exact", "", &that(Answer::Empty));
    let mut conversation = conversation(&strategy, 7_000);
    append(&mut conversation, (0..20).flat_map(|n| step(&n.to_string(), 1)));
    append(&mut conversation, fillers("m", 0..60));
    at(&mut conversation, Moment::CallStart).await;
    let plan = last_plan(&conversation);
    let rows = plan.tables["tiers"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["by"] == "sentences"), "{rows:?}");
    let text = summary(&conversation);
    assert!(text.contains("assistant: read {}\ntool: yyyy"), "calls and results are told: {text}");
}

/// What was paid for once costs nothing again; whom the summarizer asks is known all the same.
#[tokio::test]
async fn a_kept_summary_has_no_cost() {
    let fake = names();
    let mut conversation = sixty(&strategy("tiered", "", &fake));
    at(&mut conversation, Moment::CallStart).await;
    let (request, services) = (fake.request(0), Services::fixed());
    let cost = Usage { uncached: 7, ..Usage::default() };
    let asking = Arc::new(Asking(Scripted::costing("sum", cost)));
    let cached = TieredConfig::default().filter().unwrap().summarizer(asking.clone());
    assert_eq!(cached.asks(), asking.asks());
    for usage in [Some(cost), None] {
        let summary = cached.summarize(&request, &services).await.unwrap();
        assert_eq!((&*summary.text, summary.usage), ("sum", usage));
    }
}

#[tokio::test]
async fn a_residual_among_the_newest_stands_in_its_place_unless_to_the_letter() {
    let first = |n: usize| ["<user summary>", "m51", "r", "m52"][n].to_owned();
    for (preset, places) in [("tiered", [0, 1, 2, 3]), ("tiered-doc-exact", [0, 2, 1, 3])] {
        let mut conversation = conversation(&strategy(preset, "", &names()), 6_500);
        for n in 0..61 {
            if n == 52 {
                conversation.append(important("r"));
            }
            conversation.append(filler(&format!("m{n}"), 100));
        }
        let report = at(&mut conversation, Moment::CallStart).await;
        assert_eq!(report.outcome, Outcome::Changed, "{preset}: {report:?}");
        assert_eq!(sent(&conversation)[..4], places.map(first), "{preset}");
    }
}

#[tokio::test]
async fn a_summary_that_is_too_long_is_cut_where_no_guard_refuses_it() {
    let fake = that(Answer::TooLong);
    let mut conversation = sixty(&strategy("tiered-doc-exact", "", &fake));
    let report = at(&mut conversation, Moment::CallStart).await;
    assert_eq!(report.outcome, Outcome::Changed, "{report:?}");
    let plan = last_plan(&conversation);
    let asked = fake.asked();
    for (row, request) in plan.tables["tiers"].as_array().unwrap().iter().zip(asked.iter()) {
        let tokens = row["tokens_after"].as_u64().unwrap();
        assert!(0 < tokens && tokens <= request.budget, "{row}");
        assert_eq!(row["by"], "scripted");
    }
    let cut = plan.reasons.iter().filter(|reason| reason.contains("is cut to"));
    assert_eq!(cut.count(), 3, "{:?}", plan.reasons);
}

/// What an undo takes back refers to nothing any more.
#[tokio::test]
async fn references_of_an_entry_end_with_it() {
    let mut conversation = conversation(&strategy("tiered", "", &names()), 7_000);
    conversation.append(important("msg-123"));
    conversation.append(Message::user("m", "see msg-123"));
    append(&mut conversation, fillers("m", 0..60));
    let mut plan = conversation.draft("test", Moment::Manual, Trigger::Manual);
    plan.entries = vec![Message::user("e", "and msg-123").as_entry(EntryKind::Continue)];
    conversation.commit(plan).unwrap();
    let fields = ["decision_language", "explicit_high_importance", "referenced"];
    for factors in [&fields[..], &fields[..2]] {
        at(&mut conversation, Moment::Manual).await;
        let row = last_plan(&conversation).tables["residuals"][0].clone();
        assert_eq!((&row["message"], &row["factors"]), (&"msg-123".into(), &factors.into()));
        conversation.undo();
        conversation.undo();
    }
}

#[tokio::test]
async fn age_is_measured_from_the_newest_message_or_the_clock() {
    // The clock of these tests shows 1,000,000; the newest message is from 600,000.
    for (from, factor) in [("newest", "very_recent"), ("clock", "recent")] {
        let filter = format!("age_from = \"{from}\"");
        let mut conversation = conversation(&strategy("tiered", &filter, &names()), 7_000);
        let dated = |message: Message| message.with_time(600_000);
        conversation.append(dated(important("r")));
        for n in 0..60 {
            conversation.append(dated(filler(&format!("m{n}"), 100)));
        }
        at(&mut conversation, Moment::CallStart).await;
        let factors = &last_plan(&conversation).tables["residuals"][0]["factors"];
        let expect = ["decision_language", "explicit_high_importance", factor];
        assert_eq!(*factors, serde_json::json!(expect), "{from}");
    }
}

#[tokio::test]
async fn a_result_that_was_cleared_is_not_cut() {
    let strategy = strategy("tiered", "residuals = false\nbudget_tokens = 3_000", &names());
    let mut conversation = conversation(&strategy, 5_000);
    append(&mut conversation, (0..5).flat_map(|n| step(&n.to_string(), 1_000)));
    let placeholder = "z".repeat(1_200);
    let cleared = PartPos { item: 1, part: 0 };
    conversation.mark_cleared(cleared, placeholder.as_str().into(), 0);
    at(&mut conversation, Moment::CallStart).await;
    assert!(!last_plan(&conversation).edits.is_empty());
    assert_eq!(conversation.sent()[1].text_of(0), placeholder);
}
