//! One test a promise. Where a guard keeps it, the same scene without the guard shows what would happen.

use super::faults::{Fault, Faulty, Plan};
use super::world::{agent, answer, is_automatic_fold, is_try, view, with_model};
use async_trait::async_trait;
use foldback_core::Limits;
use foldback_core::conversation::StageRole;
use foldback_core::event::{Event, StartSource};
use foldback_core::log::{EntryKind, Finish, Message, Part};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::provider::{ErrorKind, ProviderError};
use foldback_core::services::{BeforeCompaction, Hook, Observer, Verdict};
use foldback_live::{AgentLoop, Next, Stopped};
use std::sync::{Arc, Mutex};

const SUMMARISING: [&str; 5] = ["opencode", "opencode-1.17", "brutus", "window", "tiered"];

fn model(fault: Fault) -> Arc<Faulty> {
    Arc::new(Faulty::new(Plan::Always(fault)))
}

fn overflow() -> ProviderError {
    ProviderError::new(ErrorKind::ContextOverflow, "prompt is too long")
}

fn limits() -> Limits {
    Limits::new(6_000, 600)
}

/// An agent under a preset with changes, whose summaries are written by a model that fails like this.
fn scene(preset: &str, changes: &str, fault: Fault) -> (AgentLoop, Arc<Faulty>) {
    let model = model(fault);
    (agent(&with_model(preset, changes), Some(&model), limits()), model)
}

/// What is to be seen and what is stored.
fn state(agent: &AgentLoop) -> (String, usize) {
    (view(agent.conversation()), agent.conversation().history().len())
}

/// Some words, about this many tokens.
fn words(tokens: usize) -> String {
    "word ".repeat(tokens * 4 / 5)
}

/// A turn of tool calls that fills the window, ended by an answer where `finish` says so. Every answer
/// reports the view as it is.
async fn fill(agent: &mut AgentLoop, tokens: usize, finish: bool) {
    agent.user(Message::user("u1", "Mend the parser in src/parse.rs.")).await;
    let rounds = tokens / 450;
    for n in 0..rounds {
        round(agent, n).await;
    }
    if finish {
        end(agent).await;
    }
}

async fn round(agent: &mut AgentLoop, n: usize) -> Next {
    let input = super::world::size(agent.conversation());
    round_at(agent, n, input).await
}

/// A call and its result; the model reports that its request had this many tokens.
async fn round_at(agent: &mut AgentLoop, n: usize, input: u64) -> Next {
    let call = (format!("c{n}"), format!("{{\"path\":\"f{n}\"}}"));
    let asks = answer(&format!("a{n}"), "", &[call], Finish::ToolCalls, input);
    assert_eq!(agent.answered(asks).await, Next::Tools);
    let result = Message::tool(format!("t{n}"), format!("c{n}"), "read", words(440));
    agent.results(vec![result]).await
}

async fn end(agent: &mut AgentLoop) -> Next {
    let input = super::world::size(agent.conversation());
    end_at(agent, input).await
}

/// The model ends its turn and reports that its request had this many tokens.
async fn end_at(agent: &mut AgentLoop, input: u64) -> Next {
    let last = answer("end", "Mended.", &[], Finish::Stop, input);
    agent.answered(last).await
}

/// Everything that ran since the agent last told something, of the automatic folds.
fn folds(agent: &AgentLoop) -> usize {
    agent.reports().iter().filter(|report| is_automatic_fold(report)).count()
}

fn last_why(agent: &AgentLoop) -> String {
    let why = agent.reports().iter().rev().find_map(|report| report.outcome.why());
    why.map(|why| why.code.to_string()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn one_automatic_compaction_between_two_answers() {
    for (guard, expected) in [("", 1), ("[guards]\nrepeat = false\n", 2)] {
        let (mut agent, _) = scene(
            "window",
            &format!(
                "{guard}[overflow]\nwhen = [\"call-start\", \"provider-overflow\"]\nthreshold = 0.1\n[filter]\npreserve = 0.05\nbelow_trigger = false\n"
            ),
            Fault::None,
        );
        fill(&mut agent, 3_000, false).await;
        agent.before_call().await;
        let first = folds(&agent);
        assert_eq!(first, 1, "{:?}", agent.reports());
        // The user interrupts with a long message; the model has not answered since the fold.
        for n in 0..4 {
            agent.user(Message::user(format!("more{n}"), words(400))).await;
        }
        agent.before_call().await;
        assert_eq!(first + folds(&agent), expected, "{guard:?}: {:?}", agent.reports());
        if expected == 1 {
            assert_eq!(last_why(&agent), "no-model-step");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_refusal_is_the_end() {
    let (mut agent, _) = scene("opencode-1.17", "", Fault::None);
    fill(&mut agent, 1_500, false).await;
    assert_eq!(agent.refused(&overflow()).await, Next::Call);
    agent.before_call().await;
    let Next::Stopped(Stopped::Overflow { why, error }) = agent.refused(&overflow()).await else {
        panic!("{:?}", agent.reports());
    };
    assert_eq!((why.code.as_ref(), error), ("nothing-appended", overflow()));
}

#[tokio::test(start_paused = true)]
async fn what_is_of_no_use_is_not_tried_for_ever() {
    // Few enough that a summary still fits one request.
    let rounds = 8;
    for (guard, tries) in
        [("", 3), ("[guards]\nbreaker = 5\n", 5), ("[guards]\nbreaker = 0\n", rounds)]
    {
        let (mut agent, model) = scene("opencode", guard, Fault::Refused);
        fill(&mut agent, 6_500, false).await;
        let (before, mut tried) = (model.billed(), 0);
        // Fill has tried already; the user's next word lets it be tried again.
        agent.user(Message::user("again", "Go on.")).await;
        for n in 100..100 + rounds {
            round(&mut agent, n).await;
            tried += agent.reports().iter().filter(|report| is_try(report)).count();
        }
        assert_eq!(tried, tries, "{guard:?}: {:?}", agent.reports());
        assert_eq!(model.billed() - before, tries, "{guard:?}: one request a try");
        if tries < rounds {
            assert_eq!(last_why(&agent), "breaker-open");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_compaction_that_changes_nothing_for_the_policy_is_of_no_use() {
    // The frame alone is over the threshold: every fold succeeds, and none helps.
    let (mut agent, _) = scene(
        "window",
        "[overflow]\nthreshold = 0.2\n[filter]\nbelow_trigger = false\npreserve = 0.2\n",
        Fault::None,
    );
    agent.user(Message::user("u1", "Go.")).await;
    let mut folds = 0;
    for n in 0..20 {
        round(&mut agent, n).await;
        agent.before_call().await;
        folds += agent.reports().iter().filter(|report| is_automatic_fold(report)).count();
    }
    assert_eq!(folds, 3, "{:?}", agent.reports());
    assert_eq!(last_why(&agent), "breaker-open");
    agent.user(Message::user("u2", "Go on.")).await;
    agent.before_call().await;
    assert_ne!(last_why(&agent), "breaker-open", "the user's next word ends it");
}

#[tokio::test(start_paused = true)]
async fn off_means_never() {
    for preset in ["opencode", "opencode-1.17", "brutus"] {
        let (mut agent, model) = scene(preset, "[overflow]\nauto = false\n", Fault::None);
        fill(&mut agent, 6_000, false).await;
        let next = agent.refused(&overflow()).await;
        assert!(matches!(next, Next::Stopped(Stopped::Overflow { .. })), "{preset}: {next:?}");
        end(&mut agent).await;
        assert_eq!((model.billed(), agent.conversation().counters().folds), (0, 0), "{preset}");
        // A person's wish is something else.
        agent.compact(None).await;
        assert_eq!(agent.conversation().counters().folds, 1, "{preset}");
    }
    for preset in SUMMARISING {
        let (mut agent, _) = scene(preset, "", Fault::None);
        agent.conversation_mut().set_automatic(false);
        fill(&mut agent, 6_000, false).await;
        agent.before_call().await;
        agent.refused(&overflow()).await;
        end(&mut agent).await;
        let conversation = agent.conversation();
        assert!(conversation.folds().is_empty(), "{preset}: switched off for a sub-agent");
        assert!(
            agent.reports().iter().all(|report| matches!(&report.outcome, Outcome::Skipped(why) if why.code == "switched-off")),
            "{preset}: {:?}",
            agent.reports()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_fails_changes_nothing() {
    for preset in SUMMARISING {
        for fault in Fault::ALL {
            // Too large a request is not a failure: something smaller is asked for, at last without a model.
            // Nor is text in another form: it is a summary all the same.
            let answered = [Fault::None, Fault::Overflow, Fault::TooLarge, Fault::Headless];
            if answered.contains(&fault) {
                continue;
            }
            let strategy = with_model(preset, "");
            let mut strategy = (*strategy).clone();
            strategy.on_failure = foldback_core::strategy::OnFailure::Keep;
            strategy.pruners.retain(|pruner| pruner.when.contains(&Moment::BeforeSummary));
            let mut agent = agent(&Arc::new(strategy), Some(&model(fault)), limits());
            agent.conversation_mut().set_automatic(false);
            fill(&mut agent, 5_000, false).await;
            let before = state(&agent);
            let reports = agent.compact(None).await.to_vec();
            let last = reports.last().unwrap();
            assert!(
                matches!(&last.outcome, Outcome::Failed(why) if why.code == "summary-failed"),
                "{preset}, {fault:?}: {reports:?}"
            );
            let after = state(&agent);
            assert_eq!(before, after, "{preset}, {fault:?}");
            assert!(agent.conversation().folds().is_empty(), "{preset}, {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_cleared_for_a_summary_is_taken_back_with_it() {
    for (guard, cleared) in [("", false), ("[guards]\natomic = false\n", true)] {
        let changes = format!(
            "{guard}[[pruner]]\nuse = \"opencode.prune\"\nwhen = \"before-summary\"\nprotect_tokens = 100\nminimum_tokens = 100\n"
        );
        let (mut agent, _) = scene("brutus", &changes, Fault::Refused);
        agent.conversation_mut().set_automatic(false);
        fill(&mut agent, 3_000, true).await;
        for n in 0..3 {
            agent.user(Message::user(format!("v{n}"), "And then?")).await;
            end(&mut agent).await;
        }
        let before = view(agent.conversation());
        let reports = agent.compact(None).await.to_vec();
        assert!(reports.iter().any(|report| report.role == StageRole::Pruner), "{reports:?}");
        assert_eq!(view(agent.conversation()) != before, cleared, "{guard:?}: {reports:?}");
        assert_eq!(agent.conversation().counters().prune_operations, u64::from(cleared));
    }
}

#[tokio::test(start_paused = true)]
async fn a_compaction_that_is_given_up_leaves_nothing() {
    for preset in SUMMARISING {
        let changes = if preset == "brutus" {
            "[[pruner]]\nuse = \"opencode.prune\"\nwhen = \"before-summary\"\nprotect_tokens = 100\nminimum_tokens = 100\n"
        } else {
            ""
        };
        let (mut agent, model) = scene(preset, changes, Fault::Hangs);
        agent.conversation_mut().set_automatic(false);
        fill(&mut agent, 5_000, false).await;
        let before = state(&agent);
        tokio::select! {
            biased;
            _ = agent.compact(None) => panic!("{preset}: no answer came"),
            () = async { while model.billed() == 0 { tokio::task::yield_now().await } } => {}
        }
        let after = state(&agent);
        assert_eq!(before, after, "{preset}");
        assert!(agent.conversation().folds().is_empty(), "{preset}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_compaction_does_not_hold_up_the_request() {
    let strategy = with_model("window", "[overflow]\nthreshold = 0.4\n");
    let mut failing = (*strategy).clone();
    failing.on_failure = foldback_core::strategy::OnFailure::Keep;
    let mut agent = agent(&Arc::new(failing), Some(&model(Fault::ServerError)), limits());
    fill(&mut agent, 5_400, false).await;
    agent.before_call().await;
    let reports = agent.reports();
    assert!(
        reports.iter().any(|report| matches!(report.outcome, Outcome::Failed(_))),
        "{reports:?}"
    );
    // The agent sends all the same, and goes on.
    assert_eq!(end(&mut agent).await, Next::Finished);
}

#[tokio::test(start_paused = true)]
async fn nobody_tells_a_model_to_go_on_that_had_finished() {
    for (guard, finish, told) in
        [("", true, false), ("", false, true), ("[guards]\ncontinuation = false\n", true, true)]
    {
        for preset in ["opencode", "opencode-1.17", "brutus"] {
            let (mut agent, _) = scene(preset, guard, Fault::None);
            fill(&mut agent, 4_900, false).await;
            let next = if finish {
                end_at(&mut agent, 5_600).await
            } else {
                round_at(&mut agent, 99, 5_600).await
            };
            let conversation = agent.conversation();
            let history = conversation.history().iter();
            let entries = history.filter(|(_, message)| message.is_entry_of(EntryKind::Continue));
            assert_eq!(
                conversation.counters().folds,
                1,
                "{preset} {guard:?}: {:?}",
                agent.reports()
            );
            assert_eq!(entries.count() > 0, told, "{preset} {guard:?} {finish}");
            assert_eq!(next, if finish { Next::Finished } else { Next::Call });
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_user_said_the_open_plan_and_pins_survive() {
    let carry = "[carry]\nuser = \"all\"\nplan = true\n";
    for preset in SUMMARISING {
        for (changes, survives) in [(carry, true), ("", false)] {
            let (mut agent, _) = scene(preset, changes, Fault::None);
            agent.conversation_mut().set_automatic(false);
            agent.user(Message::user("u0", "Never touch the GENERATED files.")).await;
            let todo = r#"{"todos":[{"content":"mend the lexer","status":"completed"},{"content":"write UNWRITTEN test","status":"pending"}]}"#;
            let plan = Message::assistant("plan", vec![Part::call("p", "TodoWrite", todo)]);
            agent.answered(plan).await;
            agent.results(vec![Message::tool("pr", "p", "TodoWrite", "ok")]).await;
            agent.user(Message::user("u00", "The PINNED fact is 42.")).await;
            let pos = agent.conversation().history().position("u00").unwrap();
            fill(&mut agent, 5_000, true).await;
            if survives {
                assert!(agent.conversation_mut().pin(pos));
            }
            for round in 0..3 {
                agent.compact(None).await;
                let folds = agent.conversation().counters().folds;
                assert_eq!(folds, round + 1, "{preset}: {:?}", agent.reports());
                let sent = view(agent.conversation());
                for word in ["GENERATED", "UNWRITTEN", "PINNED"] {
                    if !survives && preset == "tiered" {
                        // Short groups stand in its summaries as they are.
                        continue;
                    }
                    assert_eq!(
                        sent.contains(word),
                        survives,
                        "{preset}, fold {round}: {word}\n{sent}"
                    );
                }
                assert_eq!(
                    sent.matches("[Carried over").count(),
                    usize::from(survives),
                    "{preset}"
                );
                agent.user(Message::user(format!("next{round}"), "And now the other one.")).await;
                for n in 0..9 {
                    self::round(&mut agent, 1_000 * (round as usize + 1) + n).await;
                }
                end(&mut agent).await;
            }
        }
    }
}

/// Says no, or something.
#[derive(Debug)]
struct Says(Result<Verdict, String>);

#[async_trait]
impl Hook for Says {
    async fn before(&self, _: &BeforeCompaction) -> Result<Verdict, String> {
        tokio::task::yield_now().await;
        self.0.clone()
    }
}

#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn observe(&self, event: &Event) {
        let note = match event {
            Event::PreCompact { trigger, .. } => format!("pre-compact {}", trigger.as_str()),
            Event::Boundary { trigger, .. } => format!("boundary {}", trigger.as_str()),
            Event::SessionStart { source: StartSource::Compact } => {
                "session-start compact".to_owned()
            }
            Event::SessionStart { source: StartSource::Undo } => "session-start undo".to_owned(),
            Event::Progress { name, .. } => format!("progress {name}"),
            Event::Outcome { stage, outcome, .. } => format!("{stage} {}", outcome.name()),
            Event::Breaker { open, .. } => format!("breaker {open}"),
            Event::HookFailed { error } => format!("hook failed: {error}"),
            _ => return,
        };
        self.0.lock().unwrap().push(note);
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_may_say_no_and_everything_is_told() {
    let folded =
        ["progress summary", "boundary auto", "session-start compact", "window.split changed"];
    let behind = |first: &[&'static str]| [first, &folded].concat();
    let instructs = Verdict::Instruct("Mind the tests.".to_owned());
    let table: [(Result<Verdict, String>, bool, Vec<&str>); 4] = [
        (Ok(Verdict::Proceed), true, behind(&["pre-compact auto"])),
        (Ok(instructs.clone()), true, behind(&["pre-compact auto"])),
        (
            Ok(Verdict::Veto("a deploy is running".to_owned())),
            false,
            vec!["pre-compact auto", "window.split skipped"],
        ),
        (
            Err("no such file".to_owned()),
            true,
            behind(&["pre-compact auto", "hook failed: no such file"]),
        ),
    ];
    for (verdict, folds, events) in table {
        let strategy = with_model("window", "[overflow]\nthreshold = 0.4\n");
        let model = model(Fault::None);
        let notes = Arc::new(Notes::default());
        let services = foldback_core::services::Services::fixed()
            .with_model(Arc::clone(&model) as _)
            .with_hook(Arc::new(Says(verdict.clone())))
            .with_observer(Arc::clone(&notes) as _);
        let conversation = foldback_core::conversation::Conversation::new(
            strategy,
            limits(),
            foldback_core::Frame::default(),
            services,
        );
        let mut agent = AgentLoop::new(conversation);
        fill(&mut agent, 5_400, false).await;
        notes.0.lock().unwrap().clear();
        agent.before_call().await;
        assert_eq!(
            agent.conversation().folds().iter().any(|fold| fold.plan.layout.is_some()),
            folds,
            "{verdict:?}"
        );
        assert_eq!(*notes.0.lock().unwrap(), events, "{verdict:?}");
        if verdict == Ok(instructs.clone()) {
            let requests = model.requests();
            assert!(requests.iter().any(|r| format!("{r:?}").contains("Mind the tests.")));
        }
        if let Ok(Verdict::Veto(_)) = verdict {
            agent.compact(None).await;
            let changed = agent.reports().iter().any(|report| report.outcome.changed());
            assert!(changed, "a person's own wish can't be vetoed");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn previews_diffs_and_undo_of_any_fold() {
    for preset in SUMMARISING {
        let (mut agent, _) = scene(preset, "", Fault::None);
        agent.conversation_mut().set_automatic(false);
        fill(&mut agent, 5_000, true).await;
        let whole = view(agent.conversation());
        let plans = agent.conversation().preview(Moment::Manual, Default::default()).await;
        assert_eq!(view(agent.conversation()), whole, "{preset}: a preview changes nothing");
        let previewed = agent.conversation().diff_plan(plans.last().unwrap());
        agent.compact(None).await;
        let first = agent.conversation().folds().last().unwrap().id;
        let diff = agent.conversation().diff(first).unwrap();
        assert!(!diff.hidden.is_empty() && !diff.added.is_empty(), "{preset}: {diff}");
        assert_eq!(diff.hidden, previewed.hidden, "{preset}");
        assert_eq!(diff.tokens, previewed.tokens, "{preset}");
        let folded = view(agent.conversation());
        agent.user(Message::user("u2", "And the lexer?")).await;
        for n in 50..58 {
            round(&mut agent, n).await;
        }
        end(&mut agent).await;
        agent.compact(None).await;
        assert!(agent.conversation().folds().last().unwrap().id > first, "{preset}");
        let undone = agent.conversation_mut().undo_to(first);
        assert_eq!(undone.last(), Some(&first), "{preset}");
        let now = view(agent.conversation());
        assert!(now.starts_with(&whole) && now != folded, "{preset}: everything is back");
        assert!(agent.conversation_mut().undo_to(first).is_empty(), "{preset}");
    }
}
