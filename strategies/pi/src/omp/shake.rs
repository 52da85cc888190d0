//! `oh-my-pi.shake`: at pressure, heavy content before the newest messages gives way to short lines: results of tools, and long
//! fenced or tagged blocks in what was said.

use super::{calls, paths, stays};
use foldback_core::log::PartKind;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::{EditKind, PartPos, Place, Pos};
use foldback_core::{Part, Role};
use foldback_stages::estimator::is_js_whitespace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// What a line in place of content is taken to cost.
const LINE_TOKENS: u64 = 16;

/// Configuration of [`Shake`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShakeConfig {
    /// Tokens of the newest messages that stay.
    pub protect_tokens: u64,
    /// Tokens that must go, or nothing does.
    pub minimum_tokens: u64,
    /// Tokens that a block in a text has at least.
    pub block_tokens: u64,
}

impl StageConfig<dyn Pruner> for ShakeConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(Shake(self)))
    }
}

/// Puts short lines in place of heavy content.
#[derive(Clone, Debug)]
pub struct Shake(ShakeConfig);

fn line(tokens: u64) -> String {
    format!("[shaken ~{tokens} tokens]")
}

impl Shake {
    /// The messages behind which the protected tokens stand, oldest first.
    fn old(&self, context: &StageContext<'_>) -> Vec<Pos> {
        let mut behind = 0;
        let mut old: Vec<Pos> = context
            .items()
            .rev()
            .filter(|pos| {
                let is_old = behind >= self.0.protect_tokens;
                behind += context.tokens(Place::Item(*pos));
                is_old
            })
            .collect();
        old.reverse();
        old
    }

    /// A part with lines in place of its content, and the tokens of what went, each apart.
    fn part(&self, context: &StageContext<'_>, part: &Part, at: PartPos) -> (String, Vec<u64>) {
        let estimator = context.estimator();
        let edit = context.view.edit(at);
        if let Some(result) = part.as_result() {
            return match edit.is_none() && !result.text.is_empty() {
                true => {
                    let tokens = estimator.text(&result.text);
                    (line(tokens), vec![tokens])
                }
                false => (String::new(), Vec::new()),
            };
        }
        let PartKind::Text { text, .. } = &part.kind else { return (String::new(), Vec::new()) };
        let text = edit.map_or(text.as_str(), |edit| &*edit.text);
        let (mut out, mut gone, mut from) = (String::new(), Vec::new(), 0);
        for range in blocks(text) {
            let tokens = estimator.text(&text[range.clone()]);
            if tokens >= self.0.block_tokens && !range.is_empty() {
                out += &text[from..range.start];
                out += &line(tokens);
                from = range.end;
                gone.push(tokens);
            }
        }
        (out + &text[from..], gone)
    }

    fn edits(&self, context: &StageContext<'_>) -> (Vec<Edit>, u64) {
        let calls = calls(context, context.items());
        let (mut edits, mut saved) = (Vec::new(), 0);
        for pos in self.old(context) {
            let message = context.history.message(pos);
            if message.role == Role::System || message.is_entry() {
                continue;
            }
            for (part, content) in message.parts.iter().enumerate() {
                let mut kind = EditKind::Truncate;
                if let Some(result) = content.as_result() {
                    kind = EditKind::Clear;
                    let call = calls.get(&*result.call_id).filter(|call| call.tool == result.tool);
                    let path = call.and_then(|call| paths::path(call));
                    if stays(&result.tool, path.as_deref(), &["skill://", "artifact://"]) {
                        continue;
                    }
                }
                let at = PartPos { item: pos, part };
                let (text, gone) = self.part(context, content, at);
                saved += gone.iter().map(|tokens| tokens.saturating_sub(LINE_TOKENS)).sum::<u64>();
                if !gone.is_empty() {
                    edits.push(context.edit(pos, part, kind, text.into(), "heavy"));
                }
            }
        }
        (edits, saved)
    }
}

impl Pruner for Shake {
    fn moment(&self) -> Moment {
        Moment::BeforeSummary
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let (edits, saved) = self.edits(context);
        let least = self.0.minimum_tokens;
        if edits.is_empty() || saved < least {
            return Pruning::Nothing(Why::new("too-little", format!("{saved} < {least}")));
        }
        let protected = self.0.protect_tokens;
        Pruning::from_edits(
            edits,
            format!("{saved} >= {least}, before the newest {protected} tokens"),
        )
    }
}

/// The fenced blocks and the outermost elements that begin and end on lines of their own. What does not end is none.
pub fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut fence = None;
    let (mut open, mut element): (Vec<&str>, usize) = (Vec::new(), 0);
    let mut start = 0;
    for line in text.split('\n') {
        let end = start + line.len();
        let inner = line.trim_start_matches(is_js_whitespace);
        if inner.starts_with("```") || inner.starts_with("~~~") {
            match fence.take() {
                Some(from) => found.push(from..end),
                None => fence = Some(start),
            }
        } else if fence.is_none() {
            if let Some(name) = opened(inner).filter(|_| inner.len() == line.len()) {
                if open.is_empty() {
                    element = start;
                }
                open.push(name);
            } else if closed(inner).is_some_and(|name| open.last() == Some(&name)) {
                open.pop();
                if open.is_empty() {
                    found.push(element..end);
                }
            }
        }
        start = end + 1;
    }
    found.sort_by_key(|range| range.start);
    let mut last = 0;
    found.retain(|range| {
        let outside = range.start >= last;
        last = if outside { range.end } else { last };
        outside
    });
    found
}

fn opened(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('<')?.strip_suffix('>')?;
    let end = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
    let rest = &inside[end..];
    let attributes = rest.is_empty() || rest.starts_with(is_js_whitespace) && !rest.contains('>');
    (end > 0 && attributes).then(|| &inside[..end])
}

fn closed(line: &str) -> Option<&str> {
    let name = line.strip_prefix("</")?.strip_suffix('>')?;
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

fn is_name(c: char) -> bool {
    c.is_ascii_lowercase() || c == '_' || c == '-'
}
