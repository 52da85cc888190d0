//! Is an answer a usable summary?

use crate::prompt::{Prompt, Reminder, fill, list};
use foldback_core::log::Finish;
use foldback_core::provider::Completion;
use foldback_core::stage::{Estimator, SummaryError};

/// Lines that an answer must have as headings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Headings<'a> {
    /// The lines.
    pub lines: &'a [String],
    /// Whether one heading is enough.
    pub any: bool,
}

impl<'a> From<&'a Prompt> for Headings<'a> {
    fn from(prompt: &'a Prompt) -> Self {
        Self { lines: &prompt.headings, any: prompt.any_heading }
    }
}

impl Headings<'_> {
    /// Headings that a text lacks.
    fn missing(self, text: &str) -> Vec<String> {
        let has = |heading: &String| text.lines().any(|line| is_heading(line, heading));
        if self.any && self.lines.iter().any(has) {
            return Vec::new();
        }
        self.lines.iter().filter(|heading| !has(heading)).cloned().collect()
    }
}

/// What an answer must be like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demands<'a> {
    /// Which headings it must have.
    pub headings: Headings<'a>,
    /// Most tokens that it may have.
    pub budget: u64,
    /// What counts them.
    pub estimator: &'a dyn Estimator,
    /// The output limit of the request, in tokens of the model.
    pub max_output: u64,
}

/// The minimum of tokens that a summary has besides its headings.
const LEAST_TEXT: u64 = 16;

/// The smallest budget that a summary with these headings can keep. Below it no request is sent: the answer would
/// be too long, and the reminder for nothing.
pub(crate) fn least_budget(headings: Headings<'_>, estimator: &dyn Estimator) -> u64 {
    let needed = if headings.any { 1 } else { headings.lines.len() };
    let needed: Vec<&str> = headings.lines.iter().take(needed).map(String::as_str).collect();
    estimator.text(&needed.join("\n")) + LEAST_TEXT
}

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It has no text: nothing, white space, or reasoning alone.
    Empty,
    /// It called tools and has no text.
    Tools,
    /// It reached the output limit.
    Cut {
        /// The limit in tokens.
        max_output: u64,
    },
    /// These headings are missing.
    Headings(Vec<String>),
    /// It is over its budget.
    Long {
        /// Its size.
        tokens: u64,
        /// The budget.
        budget: u64,
    },
}

impl Fault {
    /// The fault in words for the model. `target` is the size in tokens that was asked for.
    pub(crate) fn describe(&self, wording: &Reminder, target: u64) -> String {
        match self {
            Self::Empty => wording.empty.clone(),
            Self::Tools => wording.tools.clone(),
            Self::Cut { .. } => fill(&wording.cut, &[("budget", &target.to_string())]),
            Self::Headings(missing) => fill(&wording.headings, &[("headings", &list(missing))]),
            Self::Long { tokens, budget } => fill(
                &wording.long,
                &[("tokens", &tokens.to_string()), ("budget", &budget.to_string())],
            ),
        }
    }
}

impl From<Fault> for SummaryError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Empty | Fault::Tools => Self::Empty,
            Fault::Long { tokens, budget } => Self::TooLong { tokens, budget },
            Fault::Cut { max_output } => Self::Failed(format!(
                "the summary was cut off at {max_output} tokens twice; raise max_output_tokens of the summarizer"
            )),
            Fault::Headings(missing) => Self::Failed(format!(
                "the summary lacks {} twice: {}; another model may keep to the form",
                if missing.len() == 1 { "a heading" } else { "headings" },
                list(&missing)
            )),
        }
    }
}

/// The summary in an answer, without a code fence around all of it, and its size.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn check(answer: &Completion, demands: &Demands<'_>) -> Result<(String, u64), Fault> {
    let text = unfenced(answer.text.trim());
    if text.is_empty() {
        return Err(match answer.finish {
            Finish::ToolCalls => Fault::Tools,
            Finish::Length => Fault::Cut { max_output: demands.max_output },
            _ => Fault::Empty,
        });
    }
    if answer.finish == Finish::Length {
        return Err(Fault::Cut { max_output: demands.max_output });
    }
    let missing = demands.headings.missing(text);
    if !missing.is_empty() {
        return Err(Fault::Headings(missing));
    }
    let (tokens, budget) = (demands.estimator.text(text), demands.budget);
    if tokens > budget {
        return Err(Fault::Long { tokens, budget });
    }
    Ok((text.to_owned(), tokens))
}

/// What a text lacks of the form that was asked for, as a sentence.
pub(crate) fn lacks(text: &str, headings: Headings<'_>) -> Option<String> {
    let missing = headings.missing(text);
    (!missing.is_empty())
        .then(|| format!("even after a reminder, the model's summary lacks {}", list(&missing)))
}

/// Whether a line is this heading, whatever its level, case and decoration: models write `### Goal`,
/// `**Goal**` and `## Goal:` where they were asked for `## Goal`.
fn is_heading(line: &str, heading: &str) -> bool {
    let words = |text: &str| -> String {
        text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | ':' | '_'))
            .to_lowercase()
    };
    let line = line.trim();
    let marked = line.starts_with('#') || line.starts_with("**");
    marked && words(line) == words(heading)
}

/// The text without a code fence that stands around all of it.
fn unfenced(text: &str) -> &str {
    let inside = || {
        let rest = text.strip_prefix("```")?;
        let (language, rest) = rest.split_once('\n')?;
        let inside = rest.strip_suffix("```")?;
        let own_line = inside.is_empty() || inside.ends_with('\n');
        let word = language.trim().chars().all(char::is_alphanumeric);
        // Fences with a language open a block, bare ones close the innermost: the first one must stay
        // open to the end, or the text only begins and ends with blocks of its own.
        let mut open = 1_u32;
        for fence in inside.lines().filter_map(|line| line.strip_prefix("```")) {
            if fence.trim().is_empty() {
                open -= 1;
            } else {
                open += 1;
            }
            if open == 0 {
                return None;
            }
        }
        (own_line && word).then(|| inside.trim())
    };
    inside().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::registry::StageConfig;
    use foldback_stages::estimator::CharsConfig;

    fn answer(text: &str, finish: Finish) -> Completion {
        Completion { text: text.to_owned(), finish, usage: None, model: None }
    }

    #[test]
    fn answers_as_a_table() {
        let headings = ["## Goal".to_owned(), "## Next Steps".to_owned()];
        let config = CharsConfig { per_token: 1, ..CharsConfig::default() };
        let estimator = config.build().unwrap();
        let all = Headings { lines: &headings, any: false };
        let demands = Demands { headings: all, budget: 40, estimator: &*estimator, max_output: 99 };
        let good = "## Goal\nx\n## Next Steps\ny";
        let fenced = format!("```markdown\n{good}\n```");
        let long = format!("{good}{}", "y".repeat(40));
        let missing =
            |names: &[&str]| Fault::Headings(names.iter().map(|name| (*name).to_owned()).collect());
        let cut = Fault::Cut { max_output: 99 };
        use Finish::{Length, Other, Stop, ToolCalls};
        let cases = [
            (good, Stop, Ok(good)),
            (good, Other, Ok(good)),
            (good, ToolCalls, Ok(good)),
            ("  \n", Stop, Err(Fault::Empty)),
            ("", ToolCalls, Err(Fault::Tools)),
            ("", Length, Err(cut.clone())),
            ("```\n```", Stop, Err(Fault::Empty)),
            (good, Length, Err(cut)),
            (&fenced, Stop, Ok(good)),
            ("**Goal:**\n### next steps ##", Stop, Ok("**Goal:**\n### next steps ##")),
            ("Goal\nNext Steps", Stop, Err(missing(&["## Goal", "## Next Steps"]))),
            ("## Goal\n## Next", Stop, Err(missing(&["## Next Steps"]))),
            (&long, Stop, Err(Fault::Long { tokens: 65, budget: 40 })),
        ];
        for (text, finish, expected) in cases {
            let found = check(&answer(text, finish), &demands);
            let expected = expected.map(|text| (text.to_owned(), estimator.text(text)));
            assert_eq!(found, expected, "{text:?} {finish:?}");
        }
        let demands = Demands { headings: Headings { any: true, ..all }, ..demands };
        for (text, usable) in [("## Next Steps\ny", true), ("## Goal\nx", true), ("Goal", false)] {
            assert_eq!(check(&answer(text, Stop), &demands).is_ok(), usable, "{text:?}");
        }
    }

    #[test]
    fn fences_as_a_table() {
        let cases = [
            ("```\na\n```", "a"),
            ("```md\na\n```rs\nb\n```\nc\n```", "a\n```rs\nb\n```\nc"),
            ("```rs\na\n```\nb\n```rs\nc\n```", "```rs\na\n```\nb\n```rs\nc\n```"),
            ("```a```", "```a```"),
            ("a\n```\nb\n```", "a\n```\nb\n```"),
        ];
        for (given, expected) in cases {
            assert_eq!(unfenced(given), expected, "{given:?}");
        }
    }
}
