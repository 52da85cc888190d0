//! An agent's loop around a preset, in one expression.

use crate::{
    ConfigErrors, Conversation, Frame, Limits, RegistryError, SegmentKind, Services, Strategy,
};
use foldback_core::provider::Model;
use foldback_core::services::{Clock, Hook, Observer};
use foldback_live::{AgentLoop, SystemClock};
use foldback_providers::prices::cache_prices;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Begins an agent's loop under a preset, by its name or one of its aliases.
///
/// ```
/// use foldback::Message;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut agent = foldback::agent("opencode-1.17")
///     .window(200_000)
///     .max_output(32_000)
///     .system("You fix builds.")
///     .tools(r#"[{"name": "bash", "input_schema": {"type": "object"}}]"#)
///     .build()?;
/// agent.user(Message::user("m1", "Why does the build fail?")).await;
/// agent.before_call().await;
/// assert_eq!(agent.conversation().sent().len(), 1);
/// # Ok(())
/// # }
/// ```
pub fn agent(preset: impl Into<String>) -> AgentBuilder {
    AgentBuilder::new(Source::Preset(preset.into()))
}

/// Where the strategy comes from.
#[derive(Debug)]
enum Source {
    Preset(String),
    Strategy(Arc<Strategy>),
}

/// What an agent's loop is made of. [`agent`] begins one; [`build`](Self::build) says what is missing.
#[derive(Debug)]
#[must_use = "nothing is built before `build`"]
pub struct AgentBuilder {
    source: Source,
    window: u64,
    max_output: u64,
    system: Option<String>,
    tools: Option<String>,
    model_name: Option<String>,
    services: Services,
}

impl AgentBuilder {
    fn new(source: Source) -> Self {
        Self {
            source,
            window: 0,
            max_output: 0,
            system: None,
            tools: None,
            model_name: None,
            services: Services::with_clock(Arc::new(SystemClock)),
        }
    }

    /// Begins an agent's loop under a strategy of your own, such as one compiled from a file
    /// ([`config`](crate::config)).
    pub fn with_strategy(strategy: impl Into<Arc<Strategy>>) -> Self {
        Self::new(Source::Strategy(strategy.into()))
    }

    /// The model's context window in tokens, input and output together. Required.
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = tokens;
        self
    }

    /// The most tokens that the model may answer with; strategies keep that much of the window free.
    pub fn max_output(mut self, tokens: u64) -> Self {
        self.max_output = tokens;
        self
    }

    /// The system prompt, as it is sent. It is counted with every request and never changed.
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.system = Some(prompt.into());
        self
    }

    /// There is no system prompt.
    pub fn no_system(self) -> Self {
        self.system("")
    }

    /// The definitions of the tools as JSON text, as they are sent. They are counted with every request.
    pub fn tools(mut self, definitions: impl Into<String>) -> Self {
        self.tools = Some(definitions.into());
        self
    }

    /// There are no tools.
    pub fn no_tools(self) -> Self {
        self.tools("")
    }

    /// Name of the model in force, for policies that depend on it.
    pub fn model_name(mut self, name: impl Into<String>) -> Self {
        self.model_name = Some(name.into());
        self
    }

    /// Who writes summaries, where the strategy has a model write them. Without it, nothing leaves the program.
    pub fn summaries_by(mut self, model: Arc<dyn Model>) -> Self {
        self.services.model = Some(model);
        self
    }

    /// A hook, which is called before and after every compaction.
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.services.hooks.push(hook);
        self
    }

    /// An observer, which is notified of everything that happens.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.services.observers.push(observer);
        self
    }

    /// Another clock than that of the machine, for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.services.clock = clock;
        self
    }

    /// Everything that is injected, in place of what was given before.
    pub fn services(mut self, services: Services) -> Self {
        self.services = services;
        self
    }

    /// The loop, with an empty conversation.
    ///
    /// # Errors
    ///
    /// All missing values at once; an unknown preset; a window that is too small for the strategy to work in.
    pub fn build(self) -> Result<AgentLoop, AgentError> {
        let said = [
            (Missing::Window, self.window > 0),
            (Missing::System, self.system.is_some()),
            (Missing::Tools, self.tools.is_some()),
        ];
        let missing: Vec<Missing> =
            said.into_iter().filter(|(_, said)| !said).map(|(what, _)| what).collect();
        if !missing.is_empty() {
            return Err(AgentError::Missing(missing));
        }
        let limits = Limits::new(self.window, self.max_output);
        let strategy = match self.source {
            Source::Preset(name) => Arc::new(crate::preset(&crate::registry()?, &name)?),
            Source::Strategy(strategy) => strategy,
        };
        if let Some(why) = strategy.refuses(limits) {
            return Err(AgentError::Window { strategy: strategy.name.clone(), limits, why });
        }
        let mut frame = Frame::default();
        let segments = [(SegmentKind::System, self.system), (SegmentKind::Tools, self.tools)];
        for (kind, text) in segments {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                frame.push_text(kind, text);
            }
        }
        let prices = cache_prices(&strategy, self.model_name.as_deref());
        let conversation = Conversation::new(strategy, limits, frame, self.services);
        let mut conversation = conversation.with_model(self.model_name);
        conversation.set_prices(prices);
        Ok(AgentLoop::new(conversation))
    }
}

/// Something that only the author of the agent can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// The window.
    Window,
    /// The system prompt, or that there is none.
    System,
    /// The tools, or that there are none.
    Tools,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Window => {
                "`window(tokens)`: strategies decide by the share of the window that is full"
            }
            Self::System => {
                "`system(prompt)` or `no_system()`: it is part of every request; left out, every threshold comes too \
                 late by its size"
            }
            Self::Tools => {
                "`tools(json)` or `no_tools()`: their definitions are part of every request; left out, every \
                 threshold comes too late by their size"
            }
        })
    }
}

/// An agent's loop that can't be built.
#[derive(Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Something was not said.
    #[error("say {}", in_words(.0))]
    Missing(Vec<Missing>),
    /// What is linked in does not fit together.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// There is no such preset, or it is wrong.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The strategy would compact before every request and gain nothing.
    #[error("{strategy} can't work in a window of {} tokens with {} of output: {why}", .limits.context, .limits.output)]
    Window {
        /// Its name.
        strategy: String,
        /// The limits that were given.
        limits: Limits,
        /// Why, in words.
        why: String,
    },
}

/// As it is displayed: a `main` that returns it prints a sentence.
impl fmt::Debug for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn in_words(missing: &[Missing]) -> String {
    missing.iter().map(Missing::to_string).collect::<Vec<_>>().join("; ")
}
