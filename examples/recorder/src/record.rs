//! Runs a script and keeps what happened, with times and usage, in a form that every format can write.

use crate::formats::Format;
use crate::script::{Script, Tool};
use crate::seed::{Seed, time};
use crate::tokens;
use crate::tools::{Outcome, Workspace};

/// Tokens that every message costs beside its text.
const PER_MESSAGE: u64 = 4;

/// A prompt cache forgets after this many milliseconds.
const CACHE_LIFE: u64 = 300_000;

/// A session as it happened.
#[derive(Debug)]
pub struct Recording<'a> {
    /// The script that was run.
    pub script: &'a Script,
    /// The turns.
    pub turns: Vec<Turn>,
}

impl Recording<'_> {
    /// What a file draws its ids from: another series than what the session itself was drawn from.
    pub fn seed(&self) -> Seed {
        Seed::new(self.script.header("seed").parse::<u64>().unwrap_or_default() + 1)
    }
}

/// A user message and the calls that it led to.
#[derive(Debug)]
pub struct Turn {
    /// When the user sent it, in milliseconds since 1970.
    pub at: u64,
    /// What the user wrote.
    pub text: String,
    /// Calls of the model.
    pub calls: Vec<Call>,
}

/// One call of the model with its answer and the results of the tools that it asked for.
#[derive(Debug)]
pub struct Call {
    /// When the request was sent.
    pub started: u64,
    /// When the answer was complete.
    pub ended: u64,
    /// Summary of a compaction made just before; empty when there was none.
    pub compacted: String,
    /// Reasoning.
    pub thought: String,
    /// Text.
    pub text: String,
    /// Tool calls with their results.
    pub actions: Vec<Action>,
    /// What the provider counted.
    pub usage: Usage,
}

impl Call {
    /// When the last tool was done.
    pub fn done(&self) -> u64 {
        self.actions.iter().map(|action| action.ended).max().unwrap_or(self.ended)
    }
}

/// One tool call with its result.
#[derive(Debug)]
pub struct Action {
    /// What was called.
    pub tool: Tool,
    /// Its result; none when the session ended first.
    pub outcome: Option<Outcome>,
    /// The result as the model was shown it.
    pub shown: String,
    /// When the tool began.
    pub started: u64,
    /// When it ended.
    pub ended: u64,
}

/// Tokens of one call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Everything that was sent, cached or not.
    pub input: u64,
    /// The part of it that was read from the cache.
    pub cache_read: u64,
    /// The answer, reasoning included.
    pub output: u64,
    /// The reasoning alone.
    pub reasoning: u64,
}

/// Runs all steps of a script on the workspace.
pub fn run<'a>(
    script: &'a Script,
    format: &Format,
    workspace: &Workspace,
) -> Result<Recording<'a>, String> {
    let header = |key: &str| script.header.get(key).ok_or(format!("the script has no `{key}:`"));
    let number = |key: &str| -> Result<u64, String> {
        header(key)?.parse().map_err(|_| format!("`{key}:` is no number"))
    };
    let mut seed = Seed::new(number("seed")?);
    let mut clock = time::parse(header("start")?).ok_or("`start:` is no time")?;
    let frame = number("frame")?;
    let mut context = frame;
    // What the user wrote; a compaction keeps it.
    let mut said = 0;
    let mut sent_before = 0;
    let mut last_call = 0;
    let mut turns = Vec::new();
    for turn in &script.turns {
        if !turns.is_empty() {
            clock +=
                turn.pause.unwrap_or_else(|| seed.between(25, 150)) * 1000 + seed.between(0, 999);
        }
        let at = clock;
        said += PER_MESSAGE + tokens::count(&turn.text);
        context += PER_MESSAGE + tokens::count(&turn.text);
        clock += seed.between(15, 60);
        let mut calls = Vec::new();
        for step in &turn.steps {
            if !step.compacted.is_empty() {
                clock += seed.between(9_000, 16_000);
                context = frame + said + PER_MESSAGE + tokens::count(&step.compacted);
                sent_before = frame;
            }
            let started = clock;
            let reasoning = tokens::count(&step.thought);
            let mut output = reasoning + tokens::count(&step.text);
            for call in &step.calls {
                output += PER_MESSAGE + format.call_tokens(&call.tool);
            }
            let warm = started - last_call < CACHE_LIFE;
            let usage = Usage {
                input: context,
                cache_read: if warm { sent_before } else { 0 },
                output,
                reasoning,
            };
            sent_before = context;
            last_call = started;
            clock += 1_100 + output * seed.between(11, 17) + seed.between(0, 1_500);
            let ended = clock;
            // Reasoning of earlier answers is not sent again.
            context += PER_MESSAGE + output - reasoning;
            let mut actions = Vec::new();
            for call in &step.calls {
                let begun = ended + seed.between(4, 40);
                let outcome = if call.interrupted {
                    None
                } else {
                    Some(workspace.run(&call.tool).map_err(|error| error.to_string())?)
                };
                let shown = outcome
                    .as_ref()
                    .map(|outcome| format.shown(&call.tool, outcome))
                    .unwrap_or_default();
                if outcome.is_some() {
                    context += PER_MESSAGE + tokens::count(&shown);
                }
                let lasted = match call.tool {
                    Tool::Run { .. } => seed.between(180, 900),
                    _ => seed.between(6, 70),
                };
                clock = clock.max(begun + lasted);
                actions.push(Action {
                    tool: call.tool.clone(),
                    outcome,
                    shown,
                    started: begun,
                    ended: begun + lasted,
                });
            }
            clock += seed.between(8, 45);
            calls.push(Call {
                started,
                ended,
                compacted: step.compacted.clone(),
                thought: step.thought.clone(),
                text: step.text.clone(),
                actions,
                usage,
            });
        }
        turns.push(Turn { at, text: turn.text.clone(), calls });
    }
    Ok(Recording { script, turns })
}
