//! `gemini.mask`: before a request, old tool results become previews, once enough of them can.

use crate::count::pretty;
use crate::preview::{first_units, last_units, lines};
use crate::standing::{Standing, TAG};
use foldback_core::log::ToolResult;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::{EditKind, PartPos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// Units of each end of a result that are shown. The original shows one of up to 500 whole, which is never shorter.
const END: usize = 250;

/// Lines above which the output of a shell is shown by its ends, and lines of each end.
const WHOLE_LINES: usize = 20;
const END_LINES: usize = 10;

/// The sections of a shell's output; only the first of them is shortened.
const SECTIONS: [&str; 6] =
    ["Output", "Error", "Exit Code", "Signal", "Background PIDs", "Process Group PGID"];

/// Configuration of [`Mask`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaskConfig {
    /// Tokens of the newest results that stay; the one that exceeds them goes.
    pub protect_tokens: u64,
    /// Tokens that have to go at least; below that nothing does.
    pub minimum_tokens: u64,
    /// Tools whose results stay.
    pub exempt: Vec<String>,
    /// Tools whose results have the sections of a shell's output.
    pub shells: Vec<String>,
    /// Line below what is shown of a result.
    pub note: String,
}

impl StageConfig<dyn Pruner> for MaskConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(Mask(self)))
    }
}

/// Puts previews in the place of old tool results.
#[derive(Clone, Debug)]
pub struct Mask(MaskConfig);

impl From<MaskConfig> for Mask {
    fn from(config: MaskConfig) -> Self {
        Self(config)
    }
}

impl Mask {
    /// What is shown instead of a result.
    fn masked(&self, result: &ToolResult, shown: &str) -> String {
        let preview = match self.0.shells.contains(&result.tool) {
            true if pretty(result, shown).starts_with("{\n  \"error\"") => String::new(),
            true => of_shell(shown),
            false => {
                let text = pretty(result, shown);
                let (head, tail) = (first_units(&text, END), last_units(&text, END));
                format!("{head}\n... [TRUNCATED] ...\n{tail}")
            }
        };
        format!("{TAG}>\n{preview}\n\n{}\n</tool_output_masked>", self.0.note)
    }

    fn edit(&self, context: &StageContext<'_>, at: PartPos) -> Option<Edit> {
        let message = context.history.message(at.item);
        let result = message.parts.get(at.part)?.as_result()?;
        let edit = context.view.edit(at);
        let shown = edit.map_or(&*result.text, |edit| &*edit.text);
        let text = self.masked(result, shown).into();
        let reason = "an old result";
        let edit = context.edit(at.item, at.part, EditKind::Truncate, text, reason);
        (edit.after < edit.before).then_some(edit)
    }
}

/// The output of a shell: its sections in full, but of what was printed only the ends.
fn of_shell(text: &str) -> String {
    let ends = |text: &str| lines(text, WHOLE_LINES, END_LINES);
    let mut begins: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let of_line = SECTIONS
            .iter()
            .find(|name| line.strip_prefix(**name).is_some_and(|rest| rest.starts_with(": ")));
        begins.extend(of_line.map(|name| (at, *name)));
        at += line.len();
    }
    let Some((first, _)) = begins.first() else { return ends(text) };
    let mut parts = Vec::new();
    let before = text[..*first].trim();
    if !before.is_empty() {
        parts.push(ends(before));
    }
    let next = begins.iter().skip(1).map(|(at, _)| *at).chain([text.len()]);
    for ((at, name), end) in begins.iter().zip(next) {
        let content = text[at + name.len() + 2..end].trim();
        let content = if *name == "Output" { ends(content) } else { content.to_owned() };
        parts.push(format!("{name}: {content}"));
    }
    parts.join("\n")
}

impl Pruner for Mask {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let MaskConfig { protect_tokens, minimum_tokens, .. } = self.0;
        let nothing = |tokens: u64| {
            let why = format!("{tokens} < {minimum_tokens} behind the newest {protect_tokens}");
            Pruning::Nothing(Why::new("below-minimum", why))
        };
        if context.view_tokens() <= protect_tokens {
            return nothing(0);
        }
        let standing: &Mutex<Standing> = context.history.derived().get_or(Mutex::default);
        let mut standing = standing.lock().unwrap_or_else(PoisonError::into_inner);
        standing.follow(context, &self.0.exempt);
        let (prunable, tokens) = standing.behind(context, protect_tokens);
        if tokens < minimum_tokens {
            return nothing(tokens);
        }
        let mut edits: Vec<Edit> = Vec::new();
        for index in prunable {
            match self.edit(context, context.meter.results()[index].at) {
                Some(edit) => edits.push(edit),
                None => standing.keep(context, index),
            }
        }
        if edits.is_empty() {
            return Pruning::Nothing(Why::new("nothing-to-mask", "no preview would be shorter"));
        }
        let reason = format!("{tokens} >= {minimum_tokens}: {} results are masked", edits.len());
        let prunable = edits.iter().map(|edit| edit.before).sum();
        Pruning::Edits { edits, prunable, reason }
    }
}
