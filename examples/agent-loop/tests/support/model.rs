//! The scripted model: what it answers follows from which call it is and from what it is shown.

use super::project::{self, PARTS};
use foldback_fake_provider::{Answer, Call, Recorded, Reply, Script};
use serde_json::{Value, json};

/// Model calls of a user turn; the last one ends it.
pub(crate) const TURN: u64 = 20;

/// What is sent instead of an answer.
type Mishap = fn(&Reply) -> Reply;

/// What goes wrong with the provider, by the number of the call: each once, then the call is answered.
const MISHAPS: [(u64, Mishap); 4] = [
    (27, |_| {
        Reply::status(429, r#"{"error":{"message":"Rate limit reached for requests","type":"requests","code":"rate_limit_exceeded"}}"#)
            .header("retry-after", "2")
    }),
    (74, |answer| answer.clone().cut(400)),
    (113, |_| {
        Reply::status(
            503,
            r#"{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error"}}"#,
        )
    }),
    (151, |answer| answer.clone().cut(0)),
];

/// A model that works through the parts of the project: looks, searches, edits what it has in sight,
/// runs something, and says what it did at the end of every turn.
pub(crate) fn script() -> Script {
    let mut model = Model::default();
    Script::answer(move |request| model.answer(request))
}

/// The task of a turn.
pub(crate) fn task(turn: u64) -> String {
    format!(
        "Task {turn}: raise the revision of the parts from {:02} on, and see that the ledger stays whole. \
         Keep the numbering of the steps.",
        turn * 3 % PARTS
    )
}

#[derive(Default)]
struct Model {
    /// Calls answered so far.
    calls: u64,
    /// The mishap that the current call has had.
    mishap: Option<u64>,
    /// The revision that each part is at, as far as the model remembers.
    revisions: [u64; PARTS as usize],
}

impl Model {
    fn answer(&mut self, request: &Recorded) -> Reply {
        if request.body.get("tools").is_none() {
            return summary(request);
        }
        let call = self.calls + 1;
        let reply = self.reply(call, request);
        let mishap = MISHAPS.iter().find(|(at, _)| *at == call);
        if let (Some((_, mishap)), true) = (mishap, self.mishap != Some(call)) {
            self.mishap = Some(call);
            return mishap(&reply);
        }
        self.calls = call;
        self.remember(&reply);
        reply
    }

    fn reply(&self, call: u64, request: &Recorded) -> Reply {
        let turn = (call - 1) / TURN;
        if call.is_multiple_of(TURN) {
            return Reply::text(format!(
                "Turn {turn} is done: the parts were looked through and raised, and the ledger is whole."
            ));
        }
        // Two parts of every six calls; the second is edited right after.
        let part = (call / 6 * 2) % PARTS;
        let other = (part + 1) % PARTS;
        let said = format!(
            "Step {call}: on with part {part:02} and its neighbour {other:02}. The ledger numbers of both have to \
             stay as they are, and so does the numbering of the steps; only the revision in the first line is \
             raised, once the whole of the part was in sight."
        );
        let calls = match call % 6 {
            0 => vec![("read", json!({"path": project::path(part)}))],
            1 => vec![("search", json!({"text": format!("step_0{:02}", call % 60)}))],
            2 => vec![("read", json!({"path": project::path(other)}))],
            3 => vec![self.edit(other, request, None)],
            4 => vec![(
                "run",
                json!({"command": "cat src/*.rs | grep -c ledger; grep -n revision src/*.rs"}),
            )],
            // What it read first in this round.
            _ => vec![
                self.edit(part, request, (call > 6).then(|| format!("call_{}_0", call - 5))),
                ("read", json!({"path": project::path(other), "from": 1, "lines": 12})),
            ],
        };
        let calls = calls.into_iter().enumerate().map(|(index, (name, arguments))| {
            Call::new(format!("call_{call}_{index}"), name, arguments)
        });
        Reply::answer(Answer { text: said, calls: calls.collect(), ..Answer::default() })
    }

    /// An edit of a part that is in sight. Else it asks for what it had read with that call, or reads
    /// the part again.
    fn edit(
        &self,
        part: u64,
        request: &Recorded,
        earlier: Option<String>,
    ) -> (&'static str, Value) {
        let path = project::path(part);
        let ending = project::ending(part);
        let shown = |message: &Value| {
            let content = message["content"].as_str();
            content.is_some_and(|text| text.contains(&ending))
        };
        if !request.messages().iter().any(shown) {
            if let Some(reference) = earlier {
                return ("recall", json!({"reference": reference}));
            }
            return ("read", json!({"path": path, "from": 1}));
        }
        let now = self.revisions[part as usize];
        let old = project::opening(part, now);
        let new = project::opening(part, now + 1);
        ("edit", json!({"path": path, "old": old, "new": new}))
    }

    /// The revisions that its own edits make.
    fn remember(&mut self, reply: &Reply) {
        for call in reply.called() {
            let edited = call.arguments["new"].as_str();
            let edited = edited.and_then(|line| line.strip_prefix("// part ")?.split_once(','));
            if let Some((part, _)) = edited
                && let Ok(part) = part.parse::<usize>()
            {
                self.revisions[part] += 1;
            }
        }
    }
}

/// A model that writes summaries: it is asked without tools.
fn summary(request: &Recorded) -> Reply {
    let headings = [
        "Goal",
        "Constraints & Preferences",
        "Progress",
        "Key Decisions",
        "Next Steps",
        "Critical Context",
        "Relevant Files",
    ];
    let mut text = String::new();
    for heading in headings {
        text.push_str(&format!(
            "## {heading}\n- The conversation of {} messages was about the ledger.\n\n",
            request.messages().len()
        ));
    }
    Reply::text(text)
}
