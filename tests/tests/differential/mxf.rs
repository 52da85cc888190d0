//! `mxf` beside MXF's own services, from its source: before each call both strip old results, and both recover from two refusals.

use crate::differential::{Case, ask, before_calls, generated, recorded, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Message, Role};
use foldback_core::moment::Moment;
use foldback_core::stage::Estimator;
use foldback_core::strategy::Strategy;
use foldback_testkit::talk;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lines in place of results, by the number of the message in MXF's history.
type Lines = BTreeMap<usize, String>;

/// What MXF's services make of a history.
#[derive(Debug, Deserialize)]
struct Theirs {
    /// What stands in place of a message before a call, and after the first refusal.
    micro: Pairs,
    stripped: Pairs,
    /// Tokens of the history, of the request that was refused, of what is left of it, and of the second refused one.
    tokens: [u64; 4],
    /// Whether the recovery after the first, second and third refusal is one.
    success: [bool; 3],
    /// Messages that stay after the second.
    kept: usize,
    /// The summary, with as many messages kept as the preset keeps, and characters that a cut divided in it.
    summary: Option<String>,
    halves: usize,
    /// Whether anything was stripped, and `success`, with the counts that the estimator remembers.
    cached: [bool; 4],
}

type Pairs = Vec<(usize, String)>;

/// What the preset does.
#[derive(Debug, Default)]
struct Ours {
    /// Messages of the history up to here.
    length: usize,
    tokens: u64,
    micro: Lines,
    stripped: Lines,
    /// The summary after the second refusal, and how many messages stay below it.
    summary: Option<(String, usize)>,
}

/// A message as MXF keeps it; none of the harness and none that a compaction wrote.
fn kept_by_mxf(message: &Message) -> bool {
    message.role != Role::System && !message.is_entry()
}

/// The message as MXF has it.
fn told(message: &Message) -> Value {
    let calls: Vec<Value> = message
        .parts
        .iter()
        .filter_map(|part| part.as_call())
        .map(|call| {
            let function = json!({ "name": call.tool, "arguments": call.arguments });
            json!({ "id": call.call_id, "type": "function", "function": function })
        })
        .collect();
    let mut told = json!({ "role": message.role.as_str(), "content": message.said() });
    if !calls.is_empty() {
        told["tool_calls"] = calls.into();
    }
    if let [result] =
        message.parts.iter().filter_map(|part| part.as_result()).collect::<Vec<_>>()[..]
    {
        told["content"] = result.text.clone().into();
        let name = if result.tool.is_empty() { "unknown" } else { &result.tool };
        told["metadata"] = json!({ "toolName": name });
    }
    told
}

/// The lines in a view, by the number of the message in MXF's history.
fn lines(talk: &Conversation) -> Lines {
    let history = talk.history();
    let index: BTreeMap<usize, usize> = history
        .iter()
        .filter(|(_, message)| kept_by_mxf(message))
        .enumerate()
        .map(|(index, (pos, _))| (pos, index))
        .collect();
    let edits = talk.view().edits().iter();
    edits.map(|(at, edit)| (index[&at.item], edit.text.to_string())).collect()
}

fn looked(talk: &Conversation, estimator: &dyn Estimator) -> Ours {
    let messages = talk.history().iter().map(|(_, message)| message);
    let mut ours = Ours { micro: lines(talk), ..Ours::default() };
    for message in messages.filter(|message| kept_by_mxf(message)) {
        ours.length += 1;
        ours.tokens += estimator.count(message).total();
    }
    let mut refused = talk.clone();
    talk::at(&mut refused, Moment::ProviderOverflow);
    ours.stripped = lines(&refused);
    talk::at(&mut refused, Moment::ProviderOverflow);
    let sent = refused.sent();
    let is_summary = |message: &Message| message.is_entry_of(EntryKind::Summary);
    let summary = sent
        .iter()
        .find(|shown| refused.folds().len() > talk.folds().len() && is_summary(shown.message));
    ours.summary = summary.map(|summary| {
        let kept = sent.iter().filter(|shown| kept_by_mxf(shown.message)).count();
        (summary.message.said(), kept)
    });
    ours
}

/// What was compared.
#[derive(Debug, Default)]
struct Found {
    looks: usize,
    stripped: usize,
    recovered: usize,
    summarized: usize,
    /// Results that a line would not make smaller, which stay.
    short: usize,
    /// Cuts between a call and its result, which move, and those where another decision comes of it.
    moved: usize,
    moved_otherwise: usize,
    /// Summaries in which the original halves a character.
    halves: usize,
    /// Decisions that counts of other texts change.
    cached: usize,
}

impl Found {
    /// Takes out what a line does not make smaller.
    fn smaller(&mut self, case: &Case, estimator: &dyn Estimator, theirs: Pairs) -> Lines {
        let messages: Vec<_> = case.log.iter().filter(|message| kept_by_mxf(message)).collect();
        let all = theirs.len();
        let smaller = theirs.into_iter().filter(|(index, line)| {
            let result = &messages[*index].parts[0];
            estimator.part(result, line) < estimator.part(result, &result.shown())
        });
        let smaller: Lines = smaller.collect();
        self.short += all - smaller.len();
        smaller
    }

    fn compare(&mut self, case: &Case, estimator: &dyn Estimator, ours: Ours, theirs: Theirs) {
        let place = format!("{} before message {}", case.name, ours.length);
        self.looks += 1;
        let decided =
            [!theirs.micro.is_empty(), theirs.success[0], theirs.success[1], theirs.success[2]];
        self.cached += usize::from(theirs.cached != decided);
        assert_eq!(ours.tokens, theirs.tokens[0], "{place}");
        assert_eq!(theirs.tokens[2], theirs.tokens[3], "{place}");
        assert!(!theirs.success[2], "{place}");
        self.stripped += usize::from(!theirs.micro.is_empty());
        let micro = self.smaller(case, estimator, theirs.micro);
        assert_eq!(ours.micro, micro, "{place}");
        if !theirs.success[0] {
            assert_eq!(
                (ours.stripped, ours.summary),
                (micro, None),
                "{place}: {:?}",
                theirs.tokens
            );
            return;
        }
        self.recovered += 1;
        assert_eq!(ours.stripped, self.smaller(case, estimator, theirs.stripped), "{place}");
        let Some((summary, kept)) = ours.summary else {
            // Nothing is hidden where no cut is left that keeps pairs.
            self.moved_otherwise += usize::from(theirs.success[1]);
            return;
        };
        assert_eq!(Some(&summary), theirs.summary.as_ref(), "{place}");
        self.summarized += 1;
        self.halves += usize::from(theirs.halves > 0);
        if kept == theirs.kept {
            assert!(theirs.success[1], "{place}");
        } else {
            self.moved += 1;
            self.moved_otherwise += usize::from(!theirs.success[1]);
        }
    }
}

fn preset(threshold: u64) -> Arc<Strategy> {
    strategy(&format!(
        "name = \"t\"\nextends = \"mxf\"\n[[pruner]]\nuse = \"mxf.microcompact\"\nthreshold = {threshold}\n\
         [filter]\nuse = \"mxf.recover\"\nmicrocompaction = {{ threshold = {threshold}, keep = 10 }}\n"
    ))
}

fn compare(threshold: u64, cases: &[Case]) -> Found {
    let strategy = preset(threshold);
    let estimator = &**strategy.estimator();
    let mut found = Found::default();
    // A few at a time: some are large.
    for cases in cases.chunks(20) {
        let (mut all, mut asked) = (Vec::new(), Vec::new());
        for case in cases {
            let mut looks = Vec::new();
            before_calls(&strategy, Limits::default(), &case.log, &mut |messages, talk| {
                if case.at.contains(&messages) {
                    looks.push(looked(talk, estimator));
                }
            });
            let messages = case.log.iter().filter(|message| kept_by_mxf(message));
            let keeps = |ours: &Ours| ours.summary.as_ref().map_or(3, |(_, kept)| *kept);
            asked.push(json!({
                "messages": messages.map(|message| told(message)).collect::<Vec<_>>(),
                "looks": looks.iter().map(|ours| (ours.length, keeps(ours))).collect::<Vec<_>>(),
                "threshold": threshold,
            }));
            all.push(looks);
        }
        for ((case, looks), answers) in cases.iter().zip(all).zip(ask("mxf", &asked)) {
            let answers: Vec<Theirs> = serde_json::from_value(answers).unwrap();
            assert_eq!(looks.len(), answers.len(), "{}", case.name);
            for (ours, theirs) in looks.into_iter().zip(answers) {
                found.compare(case, estimator, ours, theirs);
            }
        }
    }
    println!("{} sessions, threshold {threshold}: {found:?}", cases.len());
    found
}

#[test]
#[ignore = "needs the source of MXF: cargo xtask test-external mxf"]
fn mxf_on_recorded_sessions() {
    let cases = recorded();
    assert!(cases.len() >= 20, "{} sessions", cases.len());
    for threshold in [50_000, 5_000] {
        let found = compare(threshold, &cases);
        assert!(found.stripped > 100 && found.summarized > 100, "{found:?}");
    }
}

#[test]
#[ignore = "needs the source of MXF: cargo xtask test-external mxf"]
fn mxf_on_drawn_sessions() {
    let cases = generated(500);
    for threshold in [1_000, 5_000] {
        let found = compare(threshold, &cases);
        assert!(found.stripped > 100 && found.summarized > 100, "{found:?}");
    }
}
