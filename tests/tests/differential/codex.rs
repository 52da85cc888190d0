//! `codex` and `codex-remote` beside the released Codex: in each request of drawn turns, what is sent of what the user said, and where
//! a compaction comes.

use crate::differential::{ask, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::guard::Guards;
use foldback_core::log::{Message, Part, Role, Usage};
use foldback_core::moment::Moment;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde_json::{Value, json};

const WINDOW: u64 = 100_000;
/// From here on Codex compacts.
const LIMIT: u64 = 90_000;

/// What happens in a turn.
struct Turn {
    prompt: String,
    /// Tokens that the provider counts for the first answer.
    used: u64,
    /// Whether that answer runs a command.
    runs: bool,
}

/// The turns of a case: texts of several sizes in characters of one to four bytes, and usage on both sides of the limit. What Codex adds for a
/// command is an estimate of its own, so that usage is not near the limit there.
fn turns(case: usize) -> Vec<Turn> {
    let turn = |turn: usize| {
        let length = (case * 7_919 + turn * 10_473) % 48_000;
        let unit = ["x", "é", "😀", "word "][(case + turn) % 4];
        let text = unit.repeat(length / unit.len());
        let runs = (case + turn) % 4 == 1;
        let used = match ((case * 3 + turn * 5) % 7, runs) {
            (0 | 3, true) => LIMIT + 5_000,
            (0 | 3, false) => LIMIT,
            (_, true) => LIMIT - 5_000,
            (_, false) => LIMIT - 1,
        };
        Turn { prompt: format!("{turn} {text}."), used, runs }
    };
    (0..8).map(turn).collect()
}

/// The preset, driven as the script drives Codex.
struct Beside {
    talk: Conversation,
    messages: usize,
}

impl Beside {
    fn new(remote: bool) -> Self {
        let preset = if remote { "codex-remote" } else { "codex" };
        let mut strategy =
            (*strategy(&format!("name = \"here\"\nextends = \"{preset}\"\n"))).clone();
        // What the original does below the guard.
        strategy.guards = Guards { no_growth: false, ..strategy.guards };
        strategy.summarizer = Some(Scripted::always(Some("the summary")) as _);
        Self { talk: talk::conversation(strategy, Limits::new(WINDOW, 0)), messages: 0 }
    }

    fn append(&mut self, message: impl FnOnce(String) -> Message) {
        self.messages += 1;
        self.talk.append(message(self.messages.to_string()));
    }

    /// The end of a step; whether it compacts.
    fn compacts(&mut self, used: u64) -> bool {
        let folds = self.talk.folds().len();
        let usage = Usage { uncached: used, ..Usage::default() };
        talk::at_usage(&mut self.talk, Moment::StepEnd, Some(usage));
        self.talk.folds().len() > folds
    }

    /// What the user said, as a request holds it.
    fn said(&self) -> Value {
        let sent = self.talk.sent();
        let of_user = sent
            .iter()
            .filter(|shown| shown.message.role == Role::User && !shown.message.is_entry());
        of_user.map(|shown| shown.to_message().said()).collect()
    }

    /// The requests of each turn.
    fn requests(&mut self, turns: &[Turn]) -> Vec<Vec<Value>> {
        let mut compacted = false;
        let mut turn = |Turn { prompt, used, runs }: &Turn| {
            let mut requests = vec![json!("summary"); usize::from(compacted)];
            self.append(|id| Message::user(id, prompt));
            requests.push(self.said());
            if *runs {
                self.append(|id| {
                    Message::assistant(&id, vec![Part::call(&id, "exec_command", "{}")])
                });
                let call = self.messages.to_string();
                self.append(|id| Message::tool(id, call, "exec_command", "found"));
                requests.extend(self.compacts(*used).then(|| json!("summary")));
                requests.push(self.said());
            }
            self.append(|id| Message::assistant(id, vec![Part::text("said")]));
            compacted = self.compacts(if *runs { 10 } else { *used });
            requests
        };
        turns.iter().map(&mut turn).collect()
    }
}

#[test]
#[ignore = "runs the released program: cargo xtask test-external codex"]
fn on_drawn_turns() {
    let cases: Vec<(bool, Vec<Turn>)> =
        (0..60).map(|case| (case % 2 == 1, turns(case / 2))).collect();
    let asked = cases.iter().map(|(remote, turns)| {
        let turn = |Turn { prompt, used, runs }: &Turn| json!({ "prompt": prompt, "used": used, "runs": runs });
        let turns: Vec<Value> = turns.iter().map(turn).collect();
        json!({ "remote": remote, "window": WINDOW, "turns": turns })
    });
    let answers = ask("codex", &asked.collect::<Vec<_>>());
    let mut compactions = 0;
    for ((remote, turns), theirs) in cases.iter().zip(&answers) {
        let ours = Beside::new(*remote).requests(turns);
        for (number, (ours, theirs)) in ours.iter().zip(theirs.as_array().unwrap()).enumerate() {
            assert_eq!(Some(ours), theirs.as_array(), "remote: {remote}, turn {number}");
            compactions += ours.iter().filter(|request| request.is_string()).count();
        }
    }
    println!("{} cases, {compactions} compactions", cases.len());
    assert!(compactions > 100, "{compactions}");
}
