//! Progressive disclosure: a system prompt of segments, of which only those that apply are sent.
//!
//! A registry holds named segments with a priority, a category and a condition on the situation. Of
//! those that apply, the most important ones that fit a token budget are taken; they stand in the
//! order of their categories. A segment that is too large for what is left is passed over, and a
//! smaller one behind it may still fit.
//!
//! The registry is a value, not a process-wide singleton as in the original: two agents in one process
//! may have different prompts.

use foldback_core::stage::Estimator;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Token budget of a system prompt unless another is given.
pub const DEFAULT_BUDGET: u64 = 2_500;

/// The situation that a prompt is built for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    /// The agent has the tools of a control loop (observe, reason, plan, act, reflect).
    pub has_control_loop_tools: bool,
    /// Several agents share the channel.
    pub is_multi_agent_channel: bool,
    /// An error has occurred.
    pub has_error_occurred: bool,
    /// Messages go through the exchange protocol.
    pub is_mxp_enabled: bool,
    /// Short forms are wanted.
    pub condensed_mode: bool,
    /// Number of agents in the channel.
    pub channel_agent_count: u32,
}

/// What a segment is about; also the order in which segments stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// What every agent needs.
    Core,
    /// The control loop.
    Orpar,
    /// Working with other agents.
    Collaboration,
    /// Using tools.
    Tools,
    /// The exchange protocol.
    Mxp,
    /// What to do after an error.
    ErrorHandling,
    /// Everything else.
    Optional,
}

/// Whether a segment applies. A condition that fails counts as one that does not hold.
pub type Condition = Arc<dyn Fn(&Situation) -> Result<bool, String> + Send + Sync>;

/// A segment of a system prompt.
#[derive(Clone)]
pub struct PromptSegment {
    /// Its name; unique in a registry.
    pub id: String,
    /// What it is about.
    pub category: Category,
    /// The higher, the more important.
    pub priority: i32,
    /// What is sent.
    pub text: String,
    /// Its size; 0 lets the registry count it.
    pub tokens: u64,
    /// When it applies; `None` for always.
    pub condition: Option<Condition>,
}

impl fmt::Debug for PromptSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptSegment")
            .field("id", &self.id)
            .field("category", &self.category)
            .field("priority", &self.priority)
            .field("tokens", &self.tokens)
            .field("conditional", &self.condition.is_some())
            .finish_non_exhaustive()
    }
}

impl PromptSegment {
    /// A segment that always applies and is counted when it is registered.
    pub fn new(
        id: impl Into<String>,
        category: Category,
        priority: i32,
        text: impl Into<String>,
    ) -> Self {
        Self { id: id.into(), category, priority, text: text.into(), tokens: 0, condition: None }
    }

    /// This segment with a known size.
    #[must_use]
    pub fn sized(mut self, tokens: u64) -> Self {
        self.tokens = tokens;
        self
    }

    /// This segment for some situations only.
    #[must_use]
    pub fn when(mut self, holds: impl Fn(&Situation) -> bool + Send + Sync + 'static) -> Self {
        self.condition = Some(Arc::new(move |situation| Ok(holds(situation))));
        self
    }

    /// This segment with a condition that may fail.
    #[must_use]
    pub fn when_checked(
        mut self,
        holds: impl Fn(&Situation) -> Result<bool, String> + Send + Sync + 'static,
    ) -> Self {
        self.condition = Some(Arc::new(holds));
        self
    }

    fn applies(&self, situation: &Situation) -> bool {
        self.condition.as_ref().is_none_or(|holds| holds(situation).unwrap_or(false))
    }
}

/// A system prompt, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SystemPrompt {
    /// The text; blank lines between segments.
    pub text: String,
    /// Its size: the sum of the segments'.
    pub tokens: u64,
    /// Segments in it, in order.
    pub included: Vec<String>,
    /// Segments that apply but did not fit, by priority.
    pub too_large: Vec<String>,
}

/// The segments that a system prompt is made from.
#[derive(Clone, Debug)]
pub struct PromptSegmentRegistry {
    /// In the order of registration, on which the order of equals depends.
    segments: Vec<PromptSegment>,
    estimator: Arc<dyn Estimator>,
}

impl PromptSegmentRegistry {
    /// An empty registry that counts with `estimator`.
    pub fn empty(estimator: Arc<dyn Estimator>) -> Self {
        Self { segments: Vec::new(), estimator }
    }

    /// A registry with the segments that the document names. Their wording is ours.
    pub fn new(estimator: Arc<dyn Estimator>) -> Self {
        let mut registry = Self::empty(estimator);
        registry.reset();
        registry
    }

    /// Adds a segment; one of the same id is replaced in its place. A size of 0 is counted.
    pub fn register(&mut self, mut segment: PromptSegment) {
        if segment.tokens == 0 {
            segment.tokens = self.estimator.text(&segment.text);
        }
        match self.segments.iter_mut().find(|s| s.id == segment.id) {
            Some(known) => *known = segment,
            None => self.segments.push(segment),
        }
    }

    /// The segment of this id.
    pub fn get(&self, id: &str) -> Option<&PromptSegment> {
        self.segments.iter().find(|segment| segment.id == id)
    }

    /// All segments, in the order of registration.
    pub fn segments(&self) -> &[PromptSegment] {
        &self.segments
    }

    /// Takes every segment out.
    pub fn clear(&mut self) {
        self.segments.clear();
    }

    /// Back to the segments that the document names.
    pub fn reset(&mut self) {
        self.clear();
        for segment in defaults() {
            self.register(segment);
        }
    }

    /// The system prompt for a situation, within `budget` tokens.
    pub fn build(&self, situation: &Situation, budget: u64) -> SystemPrompt {
        let mut applicable: Vec<&PromptSegment> =
            self.segments.iter().filter(|segment| segment.applies(situation)).collect();
        applicable.sort_by_key(|segment| std::cmp::Reverse(segment.priority));
        let mut tokens = 0;
        let (mut included, mut too_large) = (Vec::new(), Vec::new());
        for segment in applicable {
            if tokens + segment.tokens <= budget {
                tokens += segment.tokens;
                included.push(segment);
            } else {
                too_large.push(segment.id.clone());
            }
        }
        // Nothing fits in nothing, not even a segment without text.
        if budget == 0 {
            included.clear();
        }
        included.sort_by_key(|segment| segment.category);
        let texts: Vec<&str> = included.iter().map(|s| s.text.as_str()).collect();
        SystemPrompt {
            text: texts.join("\n\n"),
            tokens,
            included: included.iter().map(|s| s.id.clone()).collect(),
            too_large,
        }
    }
}

fn defaults() -> [PromptSegment; 7] {
    [
        PromptSegment::new(
            "core-framework",
            Category::Core,
            10,
            "You are an agent that works with tools and reports what it did. Say what you know, say \
             what you assume, and finish the task you were given before you take up another.",
        ),
        PromptSegment::new(
            "orpar-cycle",
            Category::Orpar,
            8,
            "Work in a loop: observe the state, reason about it, plan the next step, act on the plan, \
             reflect on the result. Take one step at a time and let each result change the plan.",
        )
        .when(|situation| situation.has_control_loop_tools),
        PromptSegment::new(
            "collaboration-patterns",
            Category::Collaboration,
            7,
            "Other agents share this channel. Address the one you need by name, hand over whole pieces \
             of work with their context, and announce what you have finished.",
        )
        .when(|situation| situation.is_multi_agent_channel),
        PromptSegment::new(
            "tool-guidelines-full",
            Category::Tools,
            6,
            "Before a tool call, check that its arguments are complete. Prefer the most specific tool. \
             Read a result before the next call, quote the part you rely on, and do not repeat a call \
             whose arguments have not changed. Ask before anything that can't be undone.",
        )
        .when(|situation| !situation.condensed_mode),
        PromptSegment::new(
            "tool-guidelines-condensed",
            Category::Tools,
            6,
            "Use the most specific tool, check its arguments, read its result.",
        )
        .when(|situation| situation.condensed_mode),
        PromptSegment::new(
            "error-handling",
            Category::ErrorHandling,
            5,
            "An error has occurred. Find its cause before you try again, change something before you \
             repeat a step, and report an error that you can't resolve.",
        )
        .when(|situation| situation.has_error_occurred),
        PromptSegment::new(
            "mxp-protocol",
            Category::Mxp,
            4,
            "Messages to other agents go through the exchange protocol: state the operation, its \
             arguments and what you expect back.",
        )
        .when(|situation| situation.is_mxp_enabled),
    ]
}
