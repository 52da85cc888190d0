//! Rows, and conversations to run them on.

use async_trait::async_trait;
use foldback_core::conversation::{Conversation, Report};
use foldback_core::event::Event;
use foldback_core::frame::Frame;
use foldback_core::limits::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::moment::Moment;
use foldback_core::registry::Registry;
use foldback_core::services::{BeforeCompaction, FixedClock, Hook, Observer, Services, Verdict};
use foldback_core::stage::Summarizer;
use foldback_core::strategy::Strategy;
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use foldback_window::split::SessionMemory;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

pub(crate) const WINDOW: &str = "window";
pub(crate) const FAITHFUL: &str = "window-faithful";
pub(crate) const PRESETS: [&str; 2] = [WINDOW, FAITHFUL];

/// One row: what is given, and what is expected.
pub(crate) struct Row<G, E> {
    id: String,
    /// `upstream` (the original's own test), `reference` (read from its code), `ours`.
    origin: String,
    name: String,
    given: G,
    expect: E,
}

pub(crate) fn row<G, E>(id: &str, origin: &str, name: &str, given: G, expect: E) -> Row<G, E> {
    Row { id: id.to_owned(), origin: origin.to_owned(), name: name.to_owned(), given, expect }
}

/// The rows of a group of `rows.toml`.
pub(crate) fn rows<G: DeserializeOwned, E: DeserializeOwned>(group: &str) -> Vec<Row<G, E>> {
    let rows = table::rows(include_str!("../rows/rows.toml"), group).into_iter();
    rows.map(|(id, origin, name, given, expect)| Row { id, origin, name, given, expect }).collect()
}

/// Runs all rows and names every one that fails.
pub(crate) fn check<G, E: PartialEq + Debug>(rows: &[Row<G, E>], run: impl Fn(&G) -> E) {
    let failed: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let got = run(&row.given);
            let Row { id, origin, name, .. } = row;
            (got != row.expect)
                .then(|| format!("{id} ({origin}) {name}: {got:?} instead of {:?}", row.expect))
        })
        .collect();
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}

pub(crate) fn bytes(n: usize) -> String {
    "x".repeat(n)
}

/// A preset without its summarizer, some of its values replaced.
pub(crate) fn strategy(preset: &str, changes: &str) -> Strategy {
    talk::compiled(&registry(), &unsummarized(preset, "hide", changes))
}

/// The file of a preset without its summarizer, some of its values replaced.
pub(crate) fn unsummarized(preset: &str, on_failure: &str, changes: &str) -> String {
    format!(
        "name = \"here\"\nextends = \"{preset}\"\n[summarizer]\nuse = \"none\"\non_failure = \"{on_failure}\"\n{changes}\n"
    )
}

pub(crate) fn registry() -> Registry {
    talk::registry([&foldback_stages::REGISTRATION, &foldback_window::REGISTRATION])
}

/// Says this, or fails where it is nothing.
pub(crate) fn saying(text: &str) -> Arc<Scripted> {
    Scripted::always(Some(text))
}

/// Writes down what it is told, in order, and gives instructions.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    pub(crate) instructions: Option<String>,
    pub(crate) log: Mutex<Vec<String>>,
}

impl Witness {
    fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }
}

#[async_trait]
impl Hook for Witness {
    async fn before(&self, context: &BeforeCompaction) -> Result<Verdict, String> {
        self.note(format!("before {}", context.trigger.as_str()));
        Ok(self.instructions.clone().map_or(Verdict::Proceed, Verdict::Instruct))
    }

    async fn after(&self, _: &Event) {
        self.note("after".to_owned());
    }
}

impl Observer for Witness {
    fn observe(&self, event: &Event) {
        if let Event::Boundary { trigger, tokens_before, .. } = event {
            self.note(format!("boundary {} {tokens_before}", trigger.as_str()));
        }
    }
}

/// Notes of a fixed age.
#[derive(Debug)]
pub(crate) struct Notes(pub(crate) Option<(&'static str, i64)>);

impl SessionMemory for Notes {
    fn read(&self) -> Option<(String, i64)> {
        self.0.map(|(text, written)| (text.to_owned(), written))
    }
}

/// When every conversation of these tests takes place, in milliseconds.
pub(crate) const NOW: i64 = 1_770_000_000_000;

/// A conversation that can be asked for what it sends.
pub(crate) struct Talk {
    pub(crate) conversation: Conversation,
    pub(crate) witness: Arc<Witness>,
}

impl Talk {
    /// A conversation in a window of `context` tokens.
    pub(crate) fn new(
        mut strategy: Strategy,
        context: u64,
        summarizer: Option<Arc<Scripted>>,
        instructions: Option<&str>,
        notes: Notes,
    ) -> Self {
        strategy.summarizer = summarizer.map(|by| by as Arc<dyn Summarizer>);
        let witness = Arc::new(Witness {
            instructions: instructions.map(str::to_owned),
            ..Witness::default()
        });
        let mut services = Services::with_clock(Arc::new(FixedClock::at(NOW)));
        services.hooks.push(Arc::clone(&witness) as Arc<dyn Hook>);
        services.observers.push(Arc::clone(&witness) as Arc<dyn Observer>);
        services.extensions.insert(Arc::new(notes) as Arc<dyn SessionMemory>);
        let limits = Limits::new(context, 0);
        let conversation =
            Conversation::new(Arc::new(strategy), limits, Frame::default(), services);
        Self { conversation, witness }
    }

    /// The same with nothing injected but a summarizer.
    pub(crate) fn plain(
        strategy: Strategy,
        context: u64,
        summarizer: Option<Arc<Scripted>>,
    ) -> Self {
        Self::new(strategy, context, summarizer, None, Notes(None))
    }

    pub(crate) fn append(&mut self, messages: impl IntoIterator<Item = Message>) {
        talk::append(&mut self.conversation, messages);
    }

    pub(crate) fn at(&mut self, moment: Moment) -> Vec<Report> {
        talk::at(&mut self.conversation, moment)
    }

    /// What the model would be sent: `role: text`, one per message.
    pub(crate) fn sent(&self) -> Vec<String> {
        talk::sent_lines(&self.conversation)
    }
}

/// User and assistant in turn, `count` messages of `size` bytes each.
pub(crate) fn chat(count: usize, size: usize) -> Vec<Message> {
    (0..count)
        .map(|n| {
            let (id, text) = (format!("m{n}"), bytes(size));
            if n % 2 == 0 {
                Message::user(id, text)
            } else {
                Message::assistant(id, vec![Part::text(text)])
            }
        })
        .collect()
}

/// A user, then calls with their results, each of `result` bytes, then a final answer.
pub(crate) fn chain(calls: usize, result: usize, answer: usize) -> Vec<Message> {
    let mut messages = vec![Message::user("u", "please")];
    for n in 0..calls {
        messages.extend(step(n, &bytes(result)));
    }
    messages.push(Message::assistant("z", vec![Part::text(bytes(answer))]));
    messages
}

/// A call and its result.
pub(crate) fn step(n: usize, output: &str) -> [Message; 2] {
    talk::step(n, "bash", output)
}
