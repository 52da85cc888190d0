//! `chars`: characters divided by a number.
//!
//! The systems differ in what a character is, how they round, what a message costs besides its
//! content, and which parts of a message they count. A row of this table is a system and its configuration:
//!
//! | system | configuration |
//! |---|---|
//! | OpenCode 1 | `utf16`, `half-up` |
//! | OpenCode 2 | the same, `calls = "joined"`, `per_file = 1500` |
//! | BRUTUS | `bytes`, `ceil` |
//! | tunacode 0.1.40 | `code-points`, `floor` |
//! | tunacode 0.1.78 | the same, `rounds = "message"`, `calls = "python"`, `per_file = 2` |
//! | tunacode 0.2.3 | the same with `rounds = "spaced"`, `calls = "none"` |
//! | window compactor | `bytes`, `floor`, `per_message = 4`, `calls = "none"`, `reasoning = false` |
//! | its loop's second estimator | the same with `structured = false` |
//! | MXF `TokenEstimator` | `utf16`, `ceil`, `minimum = 1`, `whitespace_discount = 0.5`, `bracket_surcharge = 0.2`, `per_message = 4`, `calls = "json"`, `metadata_per_token = 6` |
//! | MXF's older engine | `utf16`, `ceil` |
//! | pi | `utf16`, `ceil`, `rounds = "message"`, `per_file = 1200` |
//! | DeepSeek Harness | `utf16`, `ceil`, `per_message = 4`, `per_part = 4`, `per_file = 60` |
//! | Kimi Code | `ascii-or-four`, `ceil`, `roles = true`, `per_file = 2000`, `calls = "quoted"` |
//!
//! MXF's estimator caches under the model's name and the first 100 characters of a text, so two long
//! texts with one opening share a count, and it stores the count before raising it to the minimum, so
//! that a second look may find zero or less. Neither is reproduced: the same text always has the same
//! count here.

use super::scope::{Calls, Scope, metadata};
use super::unit::{Unit, is_js_whitespace};
use foldback_core::log::{Counts, Message, Part, PartKind, Role};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::Estimator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What happens to the remainder of the division.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// It is dropped.
    Floor,
    /// It counts as one.
    Ceil,
    /// From one half on it counts as one (JavaScript's `Math.round`).
    #[default]
    HalfUp,
}

impl Rounding {
    fn as_str(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::HalfUp => "half-up",
        }
    }

    fn divide(self, n: u64, by: u64) -> u64 {
        match self {
            Self::Floor => n / by,
            Self::Ceil => n.div_ceil(by),
            Self::HalfUp => n / by + u64::from(n % by >= by.div_ceil(2)),
        }
    }
}

/// What is divided, and so rounded, at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rounds {
    /// Each text.
    #[default]
    Text,
    /// All texts of a message together; its parts then share what rounding adds or drops.
    Message,
    /// The same, with a space between two texts. What stands for a call or a file has none.
    Spaced,
}

impl Rounds {
    /// What the id of an estimator says of it.
    fn describe(self) -> &'static str {
        match self {
            Self::Text => "",
            Self::Message => " by message",
            Self::Spaced => " by spaced message",
        }
    }
}

/// Configuration of [`Chars`]. The default is OpenCode's estimator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CharsConfig {
    /// What a character is.
    pub unit: Unit,
    /// Characters per token.
    pub per_token: u64,
    /// What happens to the remainder.
    pub rounding: Rounding,
    /// What is divided, and so rounded, at once.
    pub rounds: Rounds,
    /// Least tokens of a text that is not empty.
    pub minimum: u64,
    /// Tokens taken off per white space character (JavaScript's `\s`), the sum rounded down.
    pub whitespace_discount: f64,
    /// Tokens added per character of `{ } ( ) ; = > < [ ]`, the sum rounded down.
    pub bracket_surcharge: f64,
    /// Tokens that every message costs besides its content.
    pub per_message: u64,
    /// Whether the name of a message's role counts, as a text of its own.
    pub roles: bool,
    /// Tokens that every part costs besides its content; a result costs them twice, for itself and for its text.
    pub per_part: u64,
    /// Tokens that every file or image costs.
    pub per_file: u64,
    /// How much of a tool call counts.
    pub calls: Calls,
    /// Whether reasoning counts.
    pub reasoning: bool,
    /// Whether content that is not a string counts: structured tool results, parts of unknown kind.
    pub structured: bool,
    /// Characters of a message's metadata (agent and annotations, as JSON) per token, rounded up; 0: it does not count.
    pub metadata_per_token: u64,
    /// Whether only what the person, the model and the tools said counts: no messages of the harness, and none that a fold wrote.
    pub spoken_only: bool,
}

impl Default for CharsConfig {
    fn default() -> Self {
        let Scope { per_message, per_part, per_file, calls, reasoning, structured } =
            Scope::default();
        Self {
            unit: Unit::Utf16,
            per_token: 4,
            rounding: Rounding::HalfUp,
            rounds: Rounds::Text,
            minimum: 0,
            whitespace_discount: 0.0,
            bracket_surcharge: 0.0,
            per_message,
            roles: false,
            per_part,
            per_file,
            calls,
            reasoning,
            structured,
            metadata_per_token: 0,
            spoken_only: false,
        }
    }
}

impl CharsConfig {
    fn scope(&self) -> Scope {
        Scope {
            per_message: self.per_message,
            per_part: self.per_part,
            per_file: self.per_file,
            calls: self.calls,
            reasoning: self.reasoning,
            structured: self.structured,
        }
    }

    /// Whether the characters of a text are all that counts of it.
    fn is_plain(&self) -> bool {
        self.whitespace_discount == 0.0 && self.bracket_surcharge == 0.0
    }

    fn describe(&self) -> String {
        let Self { unit, per_token, rounding, rounds, .. } = self;
        let (unit, rounding, rounds) = (unit.as_str(), rounding.as_str(), rounds.describe());
        let mut out = format!("chars({unit})/{per_token} {rounding}{rounds}");
        if self.minimum > 0 {
            out += &format!(" min {}", self.minimum);
        }
        if self.whitespace_discount != 0.0 {
            out += &format!(" -{}/space", self.whitespace_discount);
        }
        if self.bracket_surcharge != 0.0 {
            out += &format!(" +{}/bracket", self.bracket_surcharge);
        }
        if self.roles {
            out += " roles";
        }
        if self.metadata_per_token > 0 {
            out += &format!(" metadata/{}", self.metadata_per_token);
        }
        if self.spoken_only {
            out += " spoken";
        }
        out + &self.scope().describe()
    }

    /// Checks the values and makes the estimator.
    ///
    /// # Errors
    ///
    /// `per_token` of zero; a discount or surcharge that is negative or not a number; texts adjusted one by one where
    /// messages are divided whole.
    pub fn estimator(self) -> Result<Chars, Invalid> {
        if self.per_token == 0 {
            return Err(Invalid::new("per_token", "must be 1 or more"));
        }
        for (name, value) in [
            ("whitespace_discount", self.whitespace_discount),
            ("bracket_surcharge", self.bracket_surcharge),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Invalid::new(name, "must be 0 or more"));
            }
        }
        if self.rounds != Rounds::Text && (self.minimum > 0 || !self.is_plain()) {
            return Err(Invalid::new(
                "rounds",
                "`message` and `spaced` go with none of `minimum`, `whitespace_discount` and `bracket_surcharge`, which adjust single texts",
            ));
        }
        Ok(Chars::new(self))
    }
}

impl StageConfig<dyn Estimator> for CharsConfig {
    fn build(self) -> Result<Arc<dyn Estimator>, Invalid> {
        Ok(Arc::new(self.estimator()?))
    }
}

/// Characters divided by a number.
#[derive(Clone, Debug)]
pub struct Chars {
    config: CharsConfig,
    id: Arc<str>,
}

/// Characters of `unit` divided by four, the remainder by `rounding`, everything that is sent counted.
pub fn chars(unit: Unit, rounding: Rounding) -> Chars {
    Chars::new(CharsConfig { unit, rounding, ..CharsConfig::default() })
}

impl Chars {
    fn new(config: CharsConfig) -> Self {
        let id = config.describe().into();
        Self { config, id }
    }

    fn adjusted(&self, text: &str, base: u64) -> u64 {
        let config = &self.config;
        let (mut spaces, mut brackets) = (0_u64, 0_u64);
        for c in text.chars() {
            spaces += u64::from(is_js_whitespace(c));
            brackets +=
                u64::from(matches!(c, '{' | '}' | '(' | ')' | ';' | '=' | '>' | '<' | '[' | ']'));
        }
        // Doubles multiplied and rounded down, as the original does; counts are far below 2^53.
        let rounded = |count: u64, each: f64| (count as f64 * each).floor() as u64;
        (base + rounded(brackets, config.bracket_surcharge))
            .saturating_sub(rounded(spaces, config.whitespace_discount))
    }
}

impl Chars {
    /// Tokens of parts that are divided together: each has what it adds to those before it.
    fn shares<'p, C: FromIterator<u64>>(&self, parts: impl Iterator<Item = &'p Part>) -> C {
        let CharsConfig { unit, per_token, rounding, rounds, .. } = self.config;
        let scope = self.config.scope();
        let in_characters = Scope {
            per_part: scope.per_part * per_token,
            per_file: scope.per_file * per_token,
            ..scope
        };
        let (mut characters, mut tokens, mut follows) = (0, 0, false);
        let share = |part: &Part| {
            let is_text = !matches!(part.kind, PartKind::Call(_) | PartKind::File(_));
            characters += u64::from(rounds == Rounds::Spaced && is_text && follows);
            follows |= is_text;
            characters += in_characters.part(part, &part.shown(), |text| unit.len(text));
            let before = tokens;
            tokens = rounding.divide(characters, per_token);
            tokens - before
        };
        parts.map(share).collect()
    }
}

impl Estimator for Chars {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        let config = &self.config;
        let base = config.rounding.divide(config.unit.len(text), config.per_token);
        let tokens = if config.is_plain() { base } else { self.adjusted(text, base) };
        tokens.max(config.minimum)
    }

    fn part(&self, part: &Part, shown: &str) -> u64 {
        self.config.scope().part(part, shown, |text| self.text(text))
    }

    fn result(&self, shown: &str) -> Option<u64> {
        Some(self.config.scope().around_result() + self.text(shown))
    }

    fn overhead(&self, message: &Message) -> u64 {
        let metadata = match self.config.metadata_per_token {
            0 => 0,
            per_token => {
                metadata(message).map_or(0, |json| self.config.unit.len(&json).div_ceil(per_token))
            }
        };
        let role = if self.config.roles { self.text(message.role.as_str()) } else { 0 };
        self.config.per_message + role + metadata
    }

    fn count(&self, message: &Message) -> Counts {
        let parts = message.parts.iter();
        if self.config.spoken_only && (message.role == Role::System || message.is_entry()) {
            return Counts { parts: parts.map(|_| 0).collect(), overhead: 0 };
        }
        let parts = match self.config.rounds {
            Rounds::Text => parts.map(|part| self.part(part, &part.shown())).collect(),
            Rounds::Message | Rounds::Spaced => self.shares(parts),
        };
        Counts { parts, overhead: self.overhead(message) }
    }
}
