//! The file of a trial: JSON lines, the first of which is its head.
//!
//! A conversation has one line, which is rewritten as it goes on. It holds counts, sums and names by [`assign`](super::assign),
//! and no text, key, path or name of the conversation.

use derive_more::AddAssign;
use foldback_core::log::Finish;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format.
pub const FORMAT: u32 = 1;

/// The first line: what all conversations of a trial share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialHead {
    /// Version of the format.
    pub foldback_trial: u32,
    /// Version of the program that began the file.
    pub version: String,
    /// The seed of the assignment and of the names.
    pub seed: u64,
    /// The arms, in the order in which they were given.
    pub arms: Vec<TrialArm>,
}

impl TrialHead {
    /// The arm that others are held against by the guard: the one that folds nothing, else the first.
    pub fn control(&self) -> &str {
        let none = self.arms.iter().find(|arm| arm.name == "none");
        none.or(self.arms.first()).map_or("", |arm| &arm.name)
    }

    /// Whether another file is of this trial.
    pub fn is_same_trial(&self, other: &Self) -> bool {
        (self.seed, &self.arms) == (other.seed, &other.arms)
    }
}

/// An arm of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialArm {
    /// Name of the preset, or of the file.
    pub name: String,
    /// Hash of its configuration.
    pub hash: String,
    /// Its share of new units is this of the sum of weights.
    pub weight: u32,
}

impl TrialArm {
    /// An arm with everything that its behavior depends on, as text.
    pub fn new(name: impl Into<String>, configuration: &str, weight: u32) -> Self {
        let hash = blake3::hash(configuration.as_bytes()).to_hex()[..20].to_owned();
        Self { name: name.into(), hash, weight }
    }
}

/// The line of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationLine {
    /// Name of the conversation, as `x-foldback-conversation` has it.
    pub conversation: String,
    /// Counts, sums and times.
    #[serde(flatten)]
    pub unit: UnitLine,
}

/// A unit, or what a conversation adds to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnitLine {
    /// Its name in the file.
    pub unit: String,
    /// Its arm.
    pub arm: String,
    /// The model of its first request.
    pub model: String,
    /// When its first request came, in milliseconds since 1970.
    pub first_ms: i64,
    /// When the latest answer ended, or the latest request was refused.
    pub last_ms: i64,
    /// What adds up.
    #[serde(flatten)]
    pub sums: TrialSums,
    /// Why the model stopped the last time, where it said so.
    pub stop: Option<Finish>,
}

impl UnitLine {
    /// Adds what another conversation of the unit adds.
    pub fn add(&mut self, other: &Self) {
        if other.first_ms < self.first_ms {
            (self.first_ms, self.model) = (other.first_ms, other.model.clone());
        }
        if other.last_ms >= self.last_ms {
            (self.last_ms, self.stop) = (other.last_ms, other.stop);
        }
        self.sums += other.sums;
    }
}

/// What adds up over the requests of a conversation, and over the conversations of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, AddAssign, Serialize, Deserialize)]
pub struct TrialSums {
    /// Answers.
    pub calls: u64,
    /// Input tokens that were neither read from nor written to the cache, as the provider counted them.
    pub uncached: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
    /// Output tokens.
    pub output: u64,
    /// Dollars for what was sent and answered, by the prices of each model.
    pub usd: f64,
    /// Answers of models whose price is not known.
    pub unpriced: u64,
    /// Folds.
    pub folds: u64,
    /// Requests that the provider refused as invalid or too large, or would have refused as they were folded.
    pub refusals: u64,
    /// Requests that got no answer: the provider was overloaded, failed, or was not reached.
    pub failures: u64,
    /// Reads and searches with the same tool and the same arguments as an earlier one, as messages show them.
    pub repeats: u64,
    /// Edits that a tool refused.
    pub refused_edits: u64,
    /// Messages of the user after the model had ended its turn.
    pub user_again: u64,
}

impl TrialSums {
    /// Takes over what messages show, unless more was seen before: a client that compacted shows less.
    pub fn show(&mut self, other: &Self) {
        self.repeats = self.repeats.max(other.repeats);
        self.refused_edits = self.refused_edits.max(other.refused_edits);
        self.user_again = self.user_again.max(other.user_again);
    }
}

/// What the guard looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// More than one request in twenty was refused than of the control.
    Refusals,
    /// More than one call in five repeated a lookup than of the control.
    Repeats,
    /// It has more than one and a half times the calls of the control.
    Calls,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Refusals, Self::Repeats, Self::Calls];

    /// What an arm that is stopped by it does.
    pub fn harm(self) -> &'static str {
        match self {
            Self::Refusals => "its requests are refused",
            Self::Repeats => "its agents look up again what they had",
            Self::Calls => "its agents need half as many calls again",
        }
    }
}

/// The line of an arm that gets no new units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopLine {
    /// The arm.
    pub stopped: String,
    /// By which measure it does harm.
    pub measure: Measure,
    /// Units of the arm that the test had seen.
    pub units: usize,
    /// When it was stopped, in milliseconds since 1970.
    pub at_ms: i64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Conversation(ConversationLine),
    Stop(StopLine),
}

/// A trial as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The first line.
    pub head: TrialHead,
    /// A line for each conversation.
    pub conversations: Vec<ConversationLine>,
    /// Arms that were stopped.
    pub stops: Vec<StopLine>,
}

impl Trial {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The number of the first line that is wrong, and why it is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (head, lines) = text.split_once('\n').unwrap_or((text, ""));
        let head: TrialHead = serde_json::from_str(head).map_err(|_| {
            "1: this is no file of a trial; `foldback serve --trial A,B,none --trial-file FILE` writes one"
        })?;
        let found = head.foldback_trial;
        if found != FORMAT {
            return Err(format!(
                "1: the format of the file is {found}, and this program reads {FORMAT}"
            ));
        }
        let mut trial = Self { head, conversations: Vec::new(), stops: Vec::new() };
        for (number, line) in (2..).zip(lines.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let line = serde_json::from_str(line);
            let line = line.map_err(|_| format!("{number}: this is no line of a trial"))?;
            let (Line::Conversation(ConversationLine { unit: UnitLine { arm, .. }, .. })
            | Line::Stop(StopLine { stopped: arm, .. })) = &line;
            if trial.head.arms.iter().all(|known| known.name != *arm) {
                return Err(format!("{number}: the trial has no arm `{arm}`"));
            }
            match line {
                Line::Conversation(line) => trial.conversations.push(line),
                Line::Stop(line) => trial.stops.push(line),
            }
        }
        Ok(trial)
    }

    /// The units, those first that began first.
    pub fn units(&self) -> Vec<UnitLine> {
        let mut units: BTreeMap<&str, UnitLine> = BTreeMap::new();
        for ConversationLine { unit: line, .. } in &self.conversations {
            let unit = units.entry(&line.unit).and_modify(|unit| unit.add(line));
            unit.or_insert_with(|| line.clone());
        }
        let mut units: Vec<UnitLine> = units.into_values().collect();
        units.sort_by_key(|unit| unit.first_ms);
        units
    }

    /// Whether an arm gets new units.
    pub fn is_open(&self, arm: &str) -> bool {
        !self.stops.iter().any(|stop| stop.stopped == arm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: &[&str]) -> String {
        let arms = vec![TrialArm::new("a", "x", 1), TrialArm::new("none", "y", 1)];
        let head = TrialHead { foldback_trial: FORMAT, version: "1".into(), seed: 1, arms };
        let head = serde_json::to_string(&head).unwrap();
        [&[&*head], lines].concat().join("\n")
    }

    fn line(conversation: &str, unit: &str, first_ms: i64, usd: f64) -> String {
        let sums = TrialSums { calls: 2, usd, ..TrialSums::default() };
        let (conversation, unit, arm) = (conversation.into(), unit.into(), "a".into());
        let model = format!("model of {first_ms}");
        let unit = UnitLine { unit, arm, model, first_ms, sums, ..UnitLine::default() };
        let line = ConversationLine { conversation, unit };
        serde_json::to_string(&line).unwrap()
    }

    #[test]
    fn conversations_of_a_unit_are_added_up() {
        let lines = [line("c1", "u2", 9, 1.0), line("c2", "u1", 5, 2.0), line("c3", "u2", 3, 0.5)];
        let trial = Trial::parse(&file(&lines.each_ref().map(|line| &**line))).unwrap();
        let found: Vec<(String, f64, u64, String)> = trial
            .units()
            .into_iter()
            .map(|unit| (unit.unit, unit.sums.usd, unit.sums.calls, unit.model))
            .collect();
        let expected = [("u2", 1.5, 4, "model of 3"), ("u1", 2.0, 2, "model of 5")];
        let expected =
            expected.map(|(unit, usd, calls, model)| (unit.into(), usd, calls, model.into()));
        assert_eq!(found, expected);
        assert_eq!(trial.head.control(), "none");
    }

    #[test]
    fn a_wrong_line_is_named() {
        let stray = r#"{"conversation": 1}"#;
        let unknown = line("c", "u", 1, 1.0).replace(r#""arm":"a""#, r#""arm":"b""#);
        let stopped = r#"{"stopped":"b","measure":"calls","units":9,"at_ms":1}"#;
        for (text, expected) in [
            ("{}".to_owned(), "1: this is no file of a trial"),
            (file(&[]).replace(r#"trial":1"#, r#"trial":9"#), "1: the format of the file is 9"),
            (file(&[&line("c", "u", 1, 1.0), stray]), "3: this is no line"),
            (file(&[&unknown]), "2: the trial has no arm `b`"),
            (file(&[stopped]), "2: the trial has no arm `b`"),
        ] {
            let error = Trial::parse(&text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
