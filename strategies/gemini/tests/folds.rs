//! The conformance rows of folds and masks, and what follows a failure.

use crate::rows::{PRESET, changed, registry, rows, strategy};
use foldback_core::Limits;
use foldback_core::conversation::{Conversation, Report};
use foldback_core::log::{Message, Part, PartKind, ResultStatus, Usage};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::registry::StageConfig as _;
use foldback_core::services::Services;
use foldback_core::stage::{Estimator as _, SummaryError};
use foldback_gemini::{Count, CountUnit, SnapshotConfig};
use foldback_testkit::stand_in::{Asking, Scripted};
use foldback_testkit::talk;
use std::sync::Arc;

const WINDOW: u64 = 1_048_576;
const REPLY: &str = "Thank you, I go on from this snapshot now.";

fn conversation(summaries: &Arc<Scripted>, window: u64) -> Conversation {
    let mut strategy = strategy(PRESET);
    strategy.summarizer = Some(Arc::new(Asking(Arc::clone(summaries))));
    talk::conversation(strategy, Limits::new(window, 0))
}

/// The user speaks, the model calls once for each result, and ends its turn; then the user speaks again, and there is an answer.
fn said(talk: &mut Conversation, tool: &str, results: &[usize]) {
    talk.append(Message::user("u0", "Read all of them."));
    for (at, length) in results.iter().enumerate() {
        let call = Part::call(format!("c{at}"), tool, "{}");
        talk.append(Message::assistant(format!("a{at}"), vec![call]));
        talk.append(Message::tool(format!("t{at}"), format!("c{at}"), tool, "x".repeat(*length)));
    }
    talk.append(Message::assistant("a", vec![Part::text("Read.")]));
}

fn ask(talk: &mut Conversation, tokens: u64) -> Report {
    let usage = Usage { uncached: tokens, ..Usage::default() };
    talk::at_usage(talk, Moment::StepEnd, Some(usage)).pop().unwrap()
}

#[test]
fn budgets() {
    for (id, tokens, results, shown) in rows::<(String, u64, Vec<usize>, Vec<usize>)>("budgets") {
        let summaries = Scripted::always(Some("s"));
        // A limit below the results, so that the summarizer is given them as they are cut.
        let mut talk = conversation(&summaries, WINDOW);
        said(&mut talk, "read", &results);
        talk.append(Message::user("u", "y".repeat(4_000_000)));
        talk.append(Message::assistant("b", vec![Part::text("So it is.")]));
        ask(&mut talk, tokens);
        let given = summaries.request(0).messages;
        let length = |at: usize| {
            let id = format!("t{at}");
            let message = given.iter().find(|message| message.id == id).unwrap();
            let text = &message.parts[0].as_result().unwrap().text;
            match text.contains(" characters omitted] ...") {
                // Where nothing is shown, it is cut all the same.
                true => text.matches('x').count().max(1),
                false => 0,
            }
        };
        let lengths: Vec<usize> = (0..results.len()).map(length).collect();
        assert_eq!(lengths, shown, "{id} {results:?}");
    }
}

#[test]
fn masks() {
    for (id, tokens, masked) in rows::<(String, Vec<usize>, Vec<usize>)>("masks") {
        let mut talk = conversation(&Scripted::always(None), WINDOW);
        // read, {"output":""}
        let lengths: Vec<usize> =
            tokens.iter().map(|tokens| (tokens * 4).saturating_sub(17)).collect();
        said(&mut talk, "read", &lengths);
        // The request that is about to be sent is not looked at.
        talk.append(Message::user("u", "x".repeat(1_000_000)));
        talk::at(&mut talk, Moment::CallStart);
        let is_masked = |at: &usize| {
            let of = format!("t{at}");
            let shown = talk.sent().into_iter().find(|shown| shown.message.id == of).unwrap();
            shown.text_of(0).contains("<tool_output_masked>")
        };
        let found: Vec<usize> = (0..tokens.len()).filter(is_masked).collect();
        assert_eq!(found, masked, "{id} {tokens:?}");
        // What was masked is not masked again.
        let folds = talk.folds().len();
        talk::at(&mut talk, Moment::CallStart);
        assert_eq!(talk.folds().len(), folds, "{id}");
    }
}

const NOTE: &str = "\n\nThe rest of it was too long to be kept here.\n</tool_output_masked>";

/// Masks a text of a tool behind one that takes all of the protected tokens.
fn masked(tool: &str, text: &str) -> String {
    masked_as(ResultStatus::Completed, tool, text)
}

fn masked_as(status: ResultStatus, tool: &str, text: &str) -> String {
    let mut talk = conversation(&Scripted::always(None), WINDOW);
    talk.append(Message::user("u0", "Run it."));
    for (at, text) in [text.to_owned(), "x".repeat(200_004)].into_iter().enumerate() {
        let call = format!("c{at}");
        talk.append(Message::assistant(format!("a{at}"), vec![Part::call(&call, tool, "{}")]));
        let mut result = Message::tool(format!("t{at}"), call, tool, text);
        if let PartKind::Result(result) = &mut result.parts[0].kind {
            result.status = status;
        }
        talk.append(result);
    }
    talk.append(Message::assistant("a", vec![Part::text("Done.")]));
    talk::at(&mut talk, Moment::CallStart);
    let shown = talk.sent()[2].text_of(0).into_owned();
    let inner = shown.strip_prefix("<tool_output_masked>\n").unwrap_or(&shown);
    inner.strip_suffix(NOTE).unwrap_or(inner).to_owned()
}

#[test]
fn shown_of_what_is_masked() {
    for (id, tool, text, shown) in rows::<(String, String, String, String)>("shown") {
        let long = text.clone() + &" \n".repeat(400);
        let text = if tool == "read" { text } else { long };
        let found = masked(&tool, &text);
        match tool.as_str() {
            "read" => assert_eq!(found, text, "{id}: a preview would be longer"),
            _ => assert!(found.starts_with(&shown) || found.contains(&shown), "{id} {found}"),
        }
    }
    let failed = masked_as(ResultStatus::Error, "run_shell_command", &"no\n".repeat(900));
    assert_eq!(failed, "", "GC-M7: nothing is shown of a command that failed");
    // Some tools are exempt, and what was recorded as masked is not masked again.
    for (tool, text) in
        [("ask_user", "yes ".repeat(900)), ("read", "<tool_output_masked>".repeat(99))]
    {
        assert_eq!(masked(tool, &text), text, "{tool}");
    }
    // As many tokens as the preview has: it stays. 17 characters are around a text.
    let preview = masked("read", &"x".repeat(9_000));
    let part = Part::result("c", "read", format!("<tool_output_masked>\n{preview}{NOTE}"));
    let tokens = Count::new(CountUnit::Tokens).part(&part, &part.shown()) as usize;
    for (length, stays) in [(4 * tokens - 17 + 3, true), (4 * tokens - 17 + 4, false)] {
        let text = "x".repeat(length);
        assert_eq!(masked("read", &text) == text, stays, "GC-M6 {length}");
    }
    // The ends of a long text, as JSON, and of many lines.
    let found = masked("read", &"0123456789".repeat(100));
    let (head, tail) = found.split_once("\n... [TRUNCATED] ...\n").unwrap();
    assert_eq!((head.len(), tail.len()), (250, 250));
    assert!(head.starts_with("{\n  \"output\": \"01234") && tail.ends_with("56789\"\n}"));
    let lines = |count: usize| (0..count).map(|at| format!("{at:0400}\n")).collect::<String>();
    let found = masked("run_shell_command", &format!("Output: {}\nExit Code: 1", lines(21)));
    assert!(found.contains("\n\n... [1 lines omitted] ...\n\n"), "{found}");
    assert!(found.ends_with(&format!("{:0400}\nExit Code: 1", 20)), "{found}");
    let found = masked("run_shell_command", &format!("{}\nOutput: {}", lines(30), lines(20)));
    assert_eq!(found.matches("lines omitted").count(), 1, "{found}");
    let found = masked("run_shell_command", &format!("Error: {}", lines(30)));
    assert!(!found.contains("omitted"), "{found}");
    let found = masked("run_shell_command", &format!("{}Output: short", lines(21)));
    assert!(found.contains("... [1 lines omitted] ...") && found.ends_with("\nOutput: short"));
}

/// A conversation whose first turn goes and whose second one stays.
fn two_turns(summaries: &Arc<Scripted>) -> Conversation {
    let mut talk = conversation(summaries, 10_000);
    for (turn, length) in [(0, 9_000), (1, 3_000)] {
        talk.append(Message::user(format!("u{turn}"), "x".repeat(length)));
        talk.append(Message::assistant(format!("a{turn}"), vec![Part::text("y".repeat(100))]));
    }
    talk
}

#[test]
fn a_fold_and_the_next() {
    // GC-S1: snapshot, reply, and the newest content of the user with all behind it; what came since is not looked at.
    let summaries = Scripted::by(|request| Ok(format!(" <state_snapshot>{}", request.style)));
    let mut talk = two_turns(&summaries);
    talk.append(Message::user("u2", "z".repeat(60_000)));
    ask(&mut talk, 5_000);
    let texts = talk::sent_texts(&talk);
    assert_eq!(texts[..2], ["<state_snapshot>gemini.verify", REPLY]);
    assert_eq!(talk::sent_ids(&talk)[2..], ["u1", "a1", "u2"]);
    // GC-S2: the second request has the first answer.
    let [first, second] = [summaries.request(0), summaries.request(1)];
    assert_eq!((first.previous, second.messages), (None, first.messages.clone()));
    assert_eq!(second.previous.as_deref(), Some(" <state_snapshot>gemini.snapshot"));
    assert_eq!(first.messages.len(), 2);
    // GC-S3: the earlier snapshot goes into the next.
    talk.append(Message::assistant("a2", vec![Part::text("y")]));
    ask(&mut talk, 9_000);
    let third = summaries.request(2);
    assert_eq!(third.previous.as_deref(), Some("<state_snapshot>gemini.verify"));
    assert_eq!(
        third.messages.iter().map(|message| &*message.id).collect::<Vec<_>>(),
        ["u1", "a1", "u2", "a2"]
    );
    assert_eq!(talk::sent_ids(&talk).len(), 2);
}

#[test]
fn second_answers() {
    let cases = [
        // GC-V1: it counts; GC-V2: unless it is empty; GC-V3: also where the first was.
        ("GC-V1", ["one", " two "], Some("two")),
        ("GC-V2", ["one", " "], Some("one")),
        ("GC-V3", ["", "two"], Some("two")),
        ("GC-V4", ["", ""], None),
    ];
    for (id, answers, taken) in cases {
        let summaries = Scripted::in_turn(answers.map(Ok));
        let mut talk = two_turns(&summaries);
        let report = ask(&mut talk, 5_000);
        let found = report.outcome.changed().then(|| talk::sent_texts(&talk).remove(0));
        assert_eq!(found.as_deref(), taken, "{id}");
        assert_eq!(summaries.asked().len(), 2, "{id}");
    }
}

/// A summary is asked for again where a model writes it; both answers cost.
#[test]
fn what_two_answers_cost() {
    let cost = |tokens| Usage { uncached: tokens, ..Usage::default() };
    let summaries = Scripted::always(Some("s"));
    ask(&mut two_turns(&summaries), 5_000);
    let request = summaries.request(0);
    let filter =
        talk::config::<SnapshotConfig>(&registry(), "gemini-cli", "filter").build().unwrap();
    let twice = filter.summarizer(Arc::new(Asking(Scripted::costing(" s ", cost(7)))));
    assert_eq!((twice.id(), twice.asks().len()), ("scripted", 1));
    let summary = talk::block_on(twice.summarize(&request, &Services::fixed())).unwrap();
    assert_eq!((&*summary.text, summary.usage), ("s", Some(cost(14))), "GC-V5");
    let first = Scripted::in_turn([Ok(" one "), Err(SummaryError::Empty)]);
    let twice = filter.summarizer(Arc::new(Asking(first)));
    let summary = talk::block_on(twice.summarize(&request, &Services::fixed())).unwrap();
    assert_eq!(&*summary.text, "one", "GC-V2");
    // One that asks no model would say the same again.
    for answer in [" once ", ""] {
        let once = Scripted::always(Some(answer));
        let asked = filter.summarizer(once.clone());
        let text = talk::block_on(asked.summarize(&request, &Services::fixed()));
        assert_eq!((text.unwrap().text.as_str(), once.asked().len()), (answer, 1));
    }
    let once = Scripted::in_turn([Err(SummaryError::Empty), Ok("two")]);
    let asked = filter.summarizer(once.clone());
    let text = talk::block_on(asked.summarize(&request, &Services::fixed()));
    assert_eq!((text, once.asked().len()), (Err(SummaryError::Empty), 1));
}

/// Trigger and summaries that small histories reach.
fn inflating() -> (Conversation, Arc<Scripted>) {
    // With what stands around it and the reply, 12,000 tokens.
    let summaries = Scripted::always(Some(&"x".repeat(48_000 - REPLY.len())));
    let mut strategy =
        strategy(&changed("[overflow]\nshare = 0.01\n[filter]\nsummary_tokens = 20_000\n"));
    strategy.summarizer = Some(Arc::new(Asking(Arc::clone(&summaries))));
    let mut talk = talk::conversation(strategy, Limits::new(WINDOW, 0));
    talk.append(Message::user("u", "x".repeat(80_000)));
    talk.append(Message::assistant("a", vec![Part::text("Yes.")]));
    (talk, summaries)
}

fn code(report: &Report) -> String {
    report.outcome.why().map(|why| why.code.to_string()).unwrap_or_default()
}

#[test]
fn a_summary_that_inflates() {
    // GC-F1: the new history is compared with what the provider counted.
    let (mut talk, _) = inflating();
    assert!(ask(&mut talk, 12_000).outcome.changed());
    let (mut talk, summaries) = inflating();
    assert_eq!(code(&ask(&mut talk, 11_999)), "inflated");
    // GC-F2: from then on results are cut and nothing else.
    said(&mut talk, "read", &[300_000]);
    assert_eq!(code(&ask(&mut talk, 30_000)), "refused-before", "GC-F3: no fewer tokens");
    assert!(ask(&mut talk, 30_100).outcome.changed());
    let cut = talk.sent()[4].text_of(0).into_owned();
    assert_eq!(cut.matches('x').count(), 40_000);
    assert_eq!((talk.sent().len(), summaries.asked().len()), (6, 2));
    talk.append(Message::user("v", "And now?"));
    talk.append(Message::assistant("b", vec![Part::text("Nothing.")]));
    assert_eq!(code(&ask(&mut talk, 30_100)), "refused-before");
    // GC-F3: 4 quarters of "Yes.", 17 and 5 of what is said around the result, 52 of the call, 17 around the result, whose lines end in
    // two units each.
    let quarters = 80_000 + 4 + 17 + 5 + 52 + 17 + cut.len() + cut.matches('\n').count();
    for (more, changes) in [(0, false), (1, true)] {
        let (mut talk, _) = inflating();
        assert_eq!(code(&ask(&mut talk, 11_999)), "inflated");
        said(&mut talk, "read", &[300_000]);
        let report = ask(&mut talk, quarters as u64 / 4 + more);
        assert_eq!(report.outcome.changed(), changes, "GC-F3 {more}");
    }
    // GC-F4: a person who compresses with success ends that.
    talk::at(&mut talk, Moment::Manual);
    assert_eq!((talk.sent().len(), summaries.asked().len()), (4, 4));
    talk.append(Message::user("w", "x".repeat(60_000)));
    talk.append(Message::assistant("c", vec![Part::text("Nothing.")]));
    ask(&mut talk, 30_100);
    assert_eq!(summaries.asked().len(), 6);
}

#[test]
fn an_empty_summary_is_no_reason_to_stop() {
    // GC-F5: the next request has a summary asked for again.
    let summaries = Scripted::always(Some(" "));
    let mut talk = two_turns(&summaries);
    for asked in [2, 4] {
        assert!(matches!(ask(&mut talk, 5_000).outcome, Outcome::Failed(_)));
        assert_eq!(summaries.asked().len(), asked);
    }
}

#[test]
fn what_the_summarizer_is_given() {
    // GC-S4: results as they were where all has fewer tokens than the window, as they are cut where it has not.
    for (window, cut) in [(140_001, false), (140_000, true)] {
        let summaries = Scripted::always(Some("s"));
        let mut talk = conversation(&summaries, window);
        // 560,000 quarters: 51 of the call, 17 around the result, 4 of the last answer.
        talk.append(Message::user("u", "x".repeat(160_000 - 51 - 17 - 4)));
        talk.append(Message::assistant("a", vec![Part::call("c", "read", "{}")]));
        talk.append(Message::tool("t", "c", "read", "x".repeat(400_000)));
        talk.append(Message::assistant("b", vec![Part::text("Yes.")]));
        ask(&mut talk, window - 20_000);
        let given = summaries.request(0).messages;
        let text = &given[2].parts[0].as_result().unwrap().text;
        assert_eq!(text.contains("characters omitted"), cut, "{window}");
    }
}

/// Messages in short, each with a length: `u` of the user, `m` of the model, `h` its reasoning alone, `c` with a call, `t` the result of the
/// call before.
fn short(words: &str) -> impl Iterator<Item = Message> {
    words.split(' ').enumerate().map(|(at, word)| {
        let (kind, length) = word.split_at(1);
        let text = "x".repeat(length.parse().unwrap());
        let id = format!("{kind}{at}");
        match kind {
            "u" => Message::user(id, text),
            "m" => Message::assistant(id, vec![Part::text(text)]),
            "h" => {
                let thought = PartKind::Reasoning { text, opaque: None };
                Message::assistant(id, vec![Part::new(thought)])
            }
            "c" => Message::assistant(id, vec![Part::text(text), Part::call("c", "read", "{}")]),
            _ => Message::tool(id, "c", "read", text),
        }
    })
}

#[test]
fn where_it_is_cut() {
    // id, messages, what is kept, whether a result of it is cut.
    for (id, words, kept, is_cut) in [
        // As JSON the contents have 400, 300, 100 and 200 units, and one more; or 700 in six contents, and 300, where a unit less around
        // each would be too few.
        ("GC-S5", "u363 m262 u63 m162", "u2 m3", false),
        ("GC-S5", "u363 m262 u63 m163", "", false),
        ("GC-S5", "u63 m62 u63 m112 u63 m112 u63 m162", "u6 m7", false),
        // What the user says twice in a row is one content: 400 units, 300, 100 and 200, and one more; 400, 250, 200 and 150.
        ("GC-S6", "u180 u171 m262 u63 m162", "u3 m4", false),
        ("GC-S6", "u180 u171 m262 u63 m163", "", false),
        ("GC-S6", "u363 m212 u63 u88 m112", "", false),
        // Reasoning is no content, so that it does not part two.
        ("GC-S7", "u363 m212 u63 h9 u88 m112", "", false),
        // A result that is over the budget counts as it is cut.
        ("GC-S8", "u9 c0 t300000 m9 u9 m100000", "", false),
        ("GC-S8", "u9 m400000 u9 c0 t300000 m9", "u2 c3 t4 m5", true),
    ] {
        let mut talk = conversation(&Scripted::always(Some("s")), WINDOW);
        talk::append(&mut talk, short(words));
        ask(&mut talk, 600_000);
        assert_eq!(talk::sent_ids(&talk)[2..].join(" "), kept, "{id} {words}");
        let texts = talk::sent_texts(&talk);
        let cut = texts.iter().any(|text| text.contains("characters omitted"));
        assert_eq!(cut, is_cut, "{id} {words}");
    }
    // The cut moves back to the call whose result came late, and nothing is in front of it.
    let mut talk = conversation(&Scripted::always(Some("s")), WINDOW);
    talk::append(&mut talk, short("c900 u9 m9 u9 t9 m9"));
    assert_eq!(code(&ask(&mut talk, 600_000)), "all-fits");
}

#[test]
fn shares_at_the_edge_of_what_is_allowed() {
    for (keep, fits) in [(0.0, false), (0.01, true), (0.99, true), (1.0, false)] {
        let toml = changed(&format!("[filter]\nkeep = {keep:?}"));
        assert_eq!(talk::try_compile(&registry(), &toml).is_ok(), fits, "{keep}");
    }
}

#[test]
fn what_would_not_get_smaller() {
    // Of what the original would summarize, the summary alone is left.
    let summaries = Scripted::always(Some("s"));
    let mut talk = two_turns(&summaries);
    assert!(ask(&mut talk, 5_000).outcome.changed());
    talk.append(Message::assistant("b", vec![Part::call("c", "read", "{}")]));
    talk.append(Message::tool("t", "c", "read", "short"));
    assert_eq!(code(&ask(&mut talk, 5_000)), "already-compacted");
    // A summary longer than what it replaces is refused, and the next request has one asked for again.
    let summaries = Scripted::always(Some(&"x".repeat(12_000)));
    let mut talk = two_turns(&summaries);
    for asked in [2, 4] {
        assert_eq!(code(&ask(&mut talk, 5_000)), "no-gain");
        assert_eq!(summaries.asked().len(), asked);
    }
}
