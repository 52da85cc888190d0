//! `hermes.lines`: before a summary, the older of two equal results becomes a note, old results a line, and long texts in the arguments of
//! old calls their beginnings.

use super::cut::Messages;
use super::{cut_to, line, tail_tokens};
use foldback_core::Role;
use foldback_core::config::Share;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::EditKind;
use foldback_stages::filter::{Spoken, shown};
use foldback_stages::python::repr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Serializer, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// Stands in place of the older of two equal results.
const REPEATED: &str = "[Duplicate tool output — same content as a more recent call]";

/// What ends a text of an argument that was cut.
const CUT: &str = "...[truncated]";

/// Configuration of [`Lines`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinesConfig {
    /// Share of the threshold that the newest messages have, in which nothing changes.
    pub tail_share: Share,
    /// Messages that they are at least.
    pub keep_last: usize,
    /// Characters above which an old result becomes a line; results of so many are looked at for equal ones.
    pub result_chars: usize,
    /// Characters of arguments above which their texts are cut.
    pub argument_chars: usize,
    /// Characters to which they are cut.
    pub text_chars: usize,
}

impl StageConfig<dyn Pruner> for LinesConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(Lines(self)))
    }
}

/// Lines in place of old results.
#[derive(Clone, Debug)]
pub struct Lines(LinesConfig);

impl Lines {
    /// How many of the messages are old.
    fn old(&self, context: &StageContext<'_>, shown: &Messages) -> usize {
        let most = tail_tokens(context, self.0.tail_share.number());
        let least = self.0.keep_last.min(shown.0.len());
        // The message that is over the budget stays, too.
        shown.over(0, most, least).unwrap_or(0).min(shown.0.len() - least)
    }

    /// Long arguments as Python writes them, with every text cut to its beginning, if that is another text.
    fn shortened(&self, arguments: &str) -> Option<String> {
        if arguments.chars().count() <= self.0.argument_chars {
            return None;
        }
        let mut value: Value = serde_json::from_str(arguments).ok()?;
        cut(&mut value, self.0.text_chars);
        as_python_writes(&value).filter(|written| written != arguments)
    }

    fn edits(&self, context: &StageContext<'_>) -> Vec<Edit> {
        let spoken = Spoken::in_view(context);
        let shown = Messages(shown(context, &spoken.messages));
        let calls = shown.0.iter().flat_map(|message| &message.parts);
        let calls: BTreeMap<&str, _> =
            calls.filter_map(|part| part.as_call()).map(|call| (&*call.call_id, call)).collect();
        let old = self.old(context, &shown);
        let (mut edits, mut newer) = (Vec::new(), BTreeSet::new());
        for (at, (pos, message)) in spoken.messages.iter().zip(&shown.0).enumerate().rev() {
            for (part, content) in message.parts.iter().enumerate().rev() {
                if let Some(result) = content.as_result() {
                    let length = result.text.chars().count();
                    let text = if !result.media.is_empty() {
                        continue;
                    } else if length >= self.0.result_chars && !newer.insert(&*result.text) {
                        REPEATED.to_owned()
                    } else if at < old && length > self.0.result_chars {
                        let call = calls.get(&*result.call_id);
                        let (tool, arguments) =
                            call.map_or(("unknown", ""), |call| (&*call.tool, &*call.arguments));
                        line(tool, arguments, &result.text)
                    } else {
                        continue;
                    };
                    let reason = "an old result, or one that came again";
                    edits.push(context.edit(*pos, part, EditKind::Clear, text.into(), reason));
                } else if at < old
                    && message.role == Role::Assistant
                    && let Some(call) = content.as_call()
                    && let Some(text) = self.shortened(&call.arguments)
                {
                    let reason = "a long argument of an old call";
                    edits.push(context.edit(*pos, part, EditKind::Truncate, text.into(), reason));
                }
            }
        }
        edits.reverse();
        edits
    }
}

impl Pruner for Lines {
    fn moment(&self) -> Moment {
        Moment::BeforeSummary
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let edits = self.edits(context);
        if edits.is_empty() {
            let why = "no old result or argument is long, and no result came twice";
            return Pruning::Nothing(Why::new("nothing-to-cut", why));
        }
        let reason = format!("{} results and arguments", edits.len());
        Pruning::from_edits(edits, reason)
    }
}

/// Cuts every text in a value.
fn cut(value: &mut Value, most: usize) {
    match value {
        Value::String(text) => {
            if let Some(shorter) = cut_to(text, most, most, CUT) {
                *text = shorter;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, most)),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, item)| cut(item, most)),
        _ => {}
    }
}

/// JSON with a space behind commas and colons, and Python's numbers.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn write_f64<W: io::Write + ?Sized>(&mut self, out: &mut W, number: f64) -> io::Result<()> {
        out.write_all(repr(&Value::from(number)).as_bytes())
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

fn as_python_writes(value: &Value) -> Option<String> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Spaced)).ok()?;
    String::from_utf8(out).ok()
}
