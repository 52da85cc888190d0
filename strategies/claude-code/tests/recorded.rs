//! Recorded sessions: their boundaries say when Claude Code compacted, at which size, and which results it cleared.

use crate::rows::strategy;
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Usage};
use foldback_core::moment::Moment;
use foldback_formats::session::Boundary;
use foldback_formats::{Session, read};
use foldback_test_support::sessions;
use foldback_testkit::talk;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a preset does in a part of a session, between two summaries.
#[derive(Debug, Default)]
pub(crate) struct Acts {
    /// Number of calls before the one at which it compacts, and the tokens it counted there.
    pub(crate) folds: Option<(usize, u64)>,
    /// Ids of the logged messages that stand behind that summary.
    pub(crate) kept: Vec<String>,
    /// Times that it clears results.
    pub(crate) clears: Vec<Clear>,
    /// Tokens of the request of each call, as recorded.
    pub(crate) requests: Vec<u64>,
}

/// Results that are cleared at one time.
#[derive(Debug, Default)]
pub(crate) struct Clear {
    /// Number of calls before it.
    calls: usize,
    pub(crate) ids: BTreeSet<String>,
    tokens: u64,
}

impl Acts {
    /// Whether a request at a clearing, or the one after, is smaller than the one before it, by half of what was cleared at least.
    fn in_usage(&self, clear: &Clear) -> bool {
        let before = self.requests[clear.calls - 1] - clear.tokens / 2;
        self.requests[clear.calls..].iter().take(2).any(|request| *request < before)
    }

    fn before_call(&mut self, talk: &mut Conversation, moment: Moment, usage: Option<Usage>) {
        if self.folds.is_some() {
            return;
        }
        let reports = talk::at_usage(talk, moment, usage);
        for report in &reports {
            let fold = report.fold.and_then(|id| talk.folds().iter().find(|fold| fold.id == id));
            let edits = fold.iter().flat_map(|fold| &fold.plan.edits);
            let mut clear = Clear { calls: self.requests.len(), ..Clear::default() };
            for edit in edits {
                clear.ids.insert(result_id(talk.history().message(edit.at.item), edit.at.part));
                clear.tokens += edit.before;
            }
            if !clear.ids.is_empty() {
                self.clears.push(clear);
            }
        }
        let decision = reports.iter().find_map(|report| report.decision.as_ref());
        let folds = decision.filter(|decision| decision.fold);
        self.folds = folds.map(|decision| (self.requests.len(), decision.count));
        if self.folds.is_some() {
            let sent = talk.sent();
            let logged = sent.iter().filter(|shown| !shown.message.is_entry());
            self.kept = logged.map(|shown| shown.message.id.clone()).collect();
        }
    }
}

fn result_id(message: &Message, part: usize) -> String {
    message.parts[part].as_result().unwrap().call_id.clone()
}

/// Goes through a part of a session, call by call, with the usage that was recorded. `kept` are messages from before it that stand still,
/// `ends` says at what moment the recorder wrote the summary that ends it.
pub(crate) fn acts(
    preset: &str,
    window: u64,
    kept: &[Arc<Message>],
    part: &[Arc<Message>],
    ends: Option<Moment>,
) -> Acts {
    let mut talk = talk::conversation(strategy(preset), Limits::new(window, 0));
    for message in kept {
        talk.append(Arc::clone(message));
    }
    let (mut acts, mut last) = (Acts::default(), None);
    for message in part {
        let usage = message.answer.as_ref().and_then(|answer| answer.usage);
        if message.is_answer() {
            acts.before_call(&mut talk, Moment::CallStart, last);
            let known = acts.requests.last().copied().unwrap_or(0);
            acts.requests.push(usage.map_or(known, |usage| usage.input_total()));
        }
        talk.append(Arc::clone(message));
        last = usage.or(last);
    }
    if let Some(moment) = ends {
        acts.before_call(&mut talk, moment, last);
    }
    acts
}

/// The preset for the version that a session names.
fn preset(session: &Session) -> &'static str {
    let lines = session.source.text.lines();
    let mut lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let version = lines.find_map(|line| Some(line["version"].as_str()?.to_owned())).unwrap();
    let version: Vec<u64> = version.split('.').map(|number| number.parse().unwrap()).collect();
    if version < vec![2, 1, 25] { "claude-code-2.1.17" } else { "claude-code" }
}

/// What is recorded in a folder, and what the presets make of it.
#[derive(Debug, Default, PartialEq)]
struct Found {
    sessions: usize,
    /// Automatic summaries.
    summaries: usize,
    /// Those that are met within one call.
    met: usize,
    /// Those that are met with the number of tokens that is recorded.
    met_exactly: usize,
    /// Summaries where there was none, or one by hand.
    false_alarms: usize,
    /// Times that results were cleared.
    cleared: usize,
    /// Times that these very results are cleared.
    cleared_alike: usize,
    /// Times that results are cleared and nothing is recorded, but the next requests are smaller.
    cleared_in_usage: usize,
    /// Times that results are cleared for which nothing speaks.
    false_clears: usize,
    /// Sessions that hold their requests; `oracle` compares the folds of those.
    with_requests: usize,
}

impl Found {
    fn add(&mut self, session: &Session) {
        self.sessions += 1;
        self.with_requests += usize::from(!session.sent.is_empty());
        let usages = session.messages.iter().filter_map(|message| message.answer.as_ref()?.usage);
        let largest = usages.map(|usage| usage.input_total()).max().unwrap_or(0);
        let window = if largest > 200_000 { 1_000_000 } else { 200_000 };
        let summaries = session.boundaries.iter().filter(|boundary| boundary.kind == "summary");
        let ends = summaries.map(|boundary| (boundary.before, Some(boundary)));
        let recorded = recorded_clears(session);
        self.cleared += recorded.len();
        let mut from = 0;
        for (to, end) in ends.chain([(session.messages.len(), None)]) {
            let part = &session.messages[from..to];
            from = to;
            let acts = acts(preset(session), window, &[], part, end.map(|_| Moment::CallStart));
            self.add_summary(end.filter(|end| end.trigger == "auto"), &acts);
            for clear in &acts.clears {
                let count = match recorded.contains(&clear.ids) {
                    true => &mut self.cleared_alike,
                    false if acts.in_usage(clear) => &mut self.cleared_in_usage,
                    false => &mut self.false_clears,
                };
                *count += 1;
            }
        }
    }

    fn add_summary(&mut self, recorded: Option<&Boundary>, acts: &Acts) {
        let Some(recorded) = recorded else {
            self.false_alarms += usize::from(acts.folds.is_some());
            return;
        };
        let met = acts.folds.filter(|(call, _)| call.abs_diff(acts.requests.len()) <= 1);
        self.summaries += 1;
        self.met += usize::from(met.is_some());
        let exact = met.is_some_and(|(_, count)| recorded.tokens_before == Some(count));
        self.met_exactly += usize::from(exact);
    }
}

/// The results that were cleared, one set for each time.
fn recorded_clears(session: &Session) -> Vec<BTreeSet<String>> {
    let mut sets: BTreeMap<i64, BTreeSet<String>> = BTreeMap::new();
    for cleared in &session.cleared {
        let id = result_id(&session.messages[cleared.at.item], cleared.at.part);
        sets.entry(cleared.time).or_default().insert(id);
    }
    sets.into_values().collect()
}

fn found(folder: &str) -> Found {
    let mut found = Found::default();
    for entry in std::fs::read_dir(sessions().join(folder)).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap();
        found.add(&read(&bytes, Some("claude-code")).unwrap().remove(0));
    }
    found
}

#[foldback_needs::sessions]
#[test]
fn acts_where_claude_code_did() {
    let fitted = Found {
        sessions: 44,
        summaries: 7,
        met: 5,
        met_exactly: 3,
        false_alarms: 0,
        cleared: 1,
        cleared_alike: 1,
        cleared_in_usage: 2,
        false_clears: 0,
        with_requests: 0,
    };
    let rest = Found {
        sessions: 8,
        summaries: 4,
        met: 3,
        met_exactly: 2,
        false_alarms: 0,
        cleared: 2,
        cleared_alike: 2,
        cleared_in_usage: 1,
        false_clears: 0,
        with_requests: 0,
    };
    assert_eq!(found("../training/claude-code"), fitted);
    assert_eq!(found("claude-code"), rest);
}
