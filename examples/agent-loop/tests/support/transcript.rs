//! What a run did, as a page: a line for every call at which something happened, then the totals.

use agent_loop::agent::{Agent, End};
use agent_loop::event::{Event, Sink};
use foldback::core::conversation::StageRole;
use foldback::core::provider::ErrorKind;
use foldback::live::Stopped;
use foldback::{Moment, Outcome, Report};
use foldback_fake_provider::Recorded;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

/// Lines of one kind that are listed one by one; more are summed up.
const LISTED: usize = 12;

/// Something that happened at a call.
#[derive(Clone, Debug)]
struct Line {
    /// At which call.
    call: u64,
    /// What is the same in all lines of its kind.
    kind: String,
    text: String,
    /// Tokens that it took off the view.
    off: u64,
}

#[derive(Debug, Default)]
struct Record {
    /// The call that was asked last, and the one that was answered last.
    call: u64,
    answered: u64,
    /// Call and messages of every request.
    asked: Vec<(u64, usize)>,
    lines: Vec<Line>,
    tools: BTreeMap<String, (u64, u64)>,
    waits: Vec<(ErrorKind, u64)>,
    folds: u64,
    prunings: u64,
    /// Folds since the last answer.
    since: u64,
    most_since: u64,
}

/// Collects what an agent tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript(Arc<Mutex<Record>>);

impl Transcript {
    /// What to give to the agent.
    pub(crate) fn sink(&self) -> Sink {
        let record = Arc::clone(&self.0);
        Box::new(move |event| record.lock().unwrap().event(&event))
    }

    /// Folds that were committed.
    pub(crate) fn folds(&self) -> u64 {
        self.0.lock().unwrap().folds
    }

    /// Prunings that changed something.
    pub(crate) fn prunings(&self) -> u64 {
        self.0.lock().unwrap().prunings
    }

    /// Most folds between two answers.
    pub(crate) fn most_folds_in_a_step(&self) -> u64 {
        self.0.lock().unwrap().most_since
    }

    /// What the agent waited for, and how many seconds it would have.
    pub(crate) fn waits(&self) -> Vec<(ErrorKind, u64)> {
        self.0.lock().unwrap().waits.clone()
    }

    /// Requests of the agent itself.
    pub(crate) fn asked(&self) -> usize {
        self.0.lock().unwrap().asked.len()
    }

    /// The page. `requests` is what the provider received.
    pub(crate) fn page(
        &self,
        title: &str,
        agent: &Agent,
        end: &End,
        requests: &[Arc<Recorded>],
    ) -> String {
        let record = self.0.lock().unwrap();
        let own = requests.iter().filter(|request| request.body.get("tools").is_some());
        let own: Vec<&Arc<Recorded>> = own.collect();
        assert_eq!(own.len(), record.asked.len(), "{title}: every request is the agent's");
        let mut page = format!("{title}\n\n");
        for line in record.listed() {
            page.push_str(&line);
        }
        let sent: u64 = own.iter().map(|request| request.tokens).sum();
        let largest = own.iter().map(|request| request.tokens).max().unwrap_or(0);
        let messages = record.asked.iter().map(|(_, messages)| *messages).max().unwrap_or(0);
        let _ = write!(
            page,
            "\nend: {}\nmodel calls {}, requests {}\nlargest request {largest} tokens, {messages} messages; sent in all {} thousand\nat the end the strategy counts {} tokens\nfolds {}, prunings {}\ntools:",
            self::end(end),
            agent.calls(),
            own.len(),
            sent / 1_000,
            agent.conversation().tokens(),
            record.folds,
            record.prunings,
        );
        for (tool, (runs, errors)) in &record.tools {
            let _ = write!(page, " {tool} {runs}");
            if *errors > 0 {
                let _ = write!(page, " ({errors} errors)");
            }
        }
        let summaries = requests.len() - own.len();
        if summaries > 0 {
            let _ = write!(page, "\nrequests for summaries {summaries}");
        }
        page.push('\n');
        page
    }
}

impl Record {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Asking { call, messages } => {
                self.call = *call;
                self.asked.push((*call, *messages));
            }
            Event::Answered(_) => {
                self.answered = self.call;
                self.since = 0;
            }
            Event::Ran { call, result } => {
                let runs = self.tools.entry(call.tool.clone()).or_default();
                runs.0 += 1;
                runs.1 += u64::from(result.failed);
            }
            Event::Failed { error, wait } => {
                self.waits.extend(wait.map(|wait| (error.kind, wait.as_secs())));
                let then = wait
                    .map_or_else(String::new, |wait| format!("; again in {} s", wait.as_secs()));
                let status = error.status.map_or_else(String::new, |status| format!(" ({status})"));
                let message = match error.kind.is_overflow() {
                    true => format!(": {}", error.message),
                    false => String::new(),
                };
                let text = format!("{}{status}{message}{then}", error.kind);
                self.line(self.call, error.kind.to_string(), text, 0);
            }
            Event::Compaction(report) => self.report(report),
            Event::Task(_) => {}
        }
    }

    fn report(&mut self, report: &Report) {
        let code = report.outcome.why().map_or("", |why| &why.code);
        match (report.role, report.outcome.changed()) {
            (StageRole::Fold, true) => {
                self.folds += 1;
                self.since += 1;
                self.most_since = self.most_since.max(self.since);
            }
            (_, true) => self.prunings += 1,
            _ => {}
        }
        let nothing = match report.outcome {
            Outcome::Unchanged(_) => report.role == StageRole::Pruner || code == "below-threshold",
            _ => false,
        };
        if nothing {
            return;
        }
        let kind = format!("{} {} {} {code}", report.moment, report.stage, report.outcome.name());
        let mut text = format!("{} {}: {}", report.moment, report.stage, report.outcome);
        if report.outcome.changed() {
            let _ = write!(text, ", {} -> {} tokens", report.tokens_before, report.tokens_after);
        }
        if let Some(decision) = &report.decision {
            let _ = write!(text, " ({})", decision.reason);
        }
        let off = report.tokens_before.saturating_sub(report.tokens_after);
        let call = match report.moment {
            Moment::TurnStart | Moment::CallStart => self.answered + 1,
            _ => self.call,
        };
        self.line(call, kind, text, off);
    }

    fn line(&mut self, call: u64, kind: String, text: String, off: u64) {
        self.lines.push(Line { call, kind, text, off });
    }

    /// The lines, those of a frequent kind as one.
    fn listed(&self) -> Vec<String> {
        let mut kinds: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
        for line in &self.lines {
            kinds.entry(&line.kind).or_default().push(line);
        }
        let frequent = |line: &Line| kinds[line.kind.as_str()].len() > LISTED;
        let rare = self.lines.iter().filter(|line| !frequent(line));
        let mut listed: Vec<String> =
            rare.map(|line| format!("call {:>3}  {}\n", line.call, line.text)).collect();
        for (kind, lines) in kinds.iter().filter(|(_, lines)| lines.len() > LISTED) {
            let off: u64 = lines.iter().map(|line| line.off).sum();
            let (first, last) = (lines[0].call, lines[lines.len() - 1].call);
            listed.push(format!(
                "calls {first} to {last}  {}: {} times, {off} tokens taken off\n",
                kind.trim_end(),
                lines.len()
            ));
        }
        listed
    }
}

/// The end without the provider's words.
fn end(end: &End) -> String {
    match end {
        End::Finished => "all tasks are done".to_owned(),
        End::OutOfCalls => "the agent's own limit of calls".to_owned(),
        End::Stopped(Stopped::Overflow { why, .. }) => {
            format!("stopped, too large: {} ({why})", why.code)
        }
        End::Stopped(Stopped::Length { why }) => {
            format!("stopped, out of room: {} ({why})", why.code)
        }
        End::Stopped(Stopped::Provider(error)) => format!("stopped, refused: {error}"),
    }
}
