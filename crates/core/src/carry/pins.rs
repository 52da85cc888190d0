//! Pins: texts of the log that stand word for word in every view.
//!
//! - A user pins a text by writing it between `<pin>` and `</pin>` in a message, and unpins it by writing it, or how it begins,
//!   between `<unpin>` and `</unpin>`. Marks count in messages of the user alone: no file that an agent reads can pin anything.
//! - A model pins a text with a call of foldback's tool `pin`, and unpins it with `unpin`; see the MCP server.
//! - The patterns of `[carry] pins` pin the sentences in which they occur, of the user's messages without marks.
//! - An agent's own code pins what any message says.
//!
//! All but the last follow from the log alone. They survive a restart, a change of format and a second compaction without
//! being stored anywhere else.

use crate::history::History;
use crate::log::{Message, PartKind, Role, ToolCall, sentences};
use crate::position::PartPos;
use crate::view::{Pos, View};
use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// The marks around a pinned text.
const PIN: (&str, &str) = ("<pin>", "</pin>");
/// The marks around a text that is pinned no longer.
const UNPIN: (&str, &str) = ("<unpin>", "</unpin>");
/// Sentences that forbid or demand something for the time to come. "Don't" counts where it is an order, and not in "I don't know".
const RULES: &str = r"(?i)\b(?:never|always|must not|mustn['’]t|may not|from now on)\b|(?:^|[^\w\s]|\b(?:please|and|but|or|also|just|then|so))\s*\b(?:do not|don['’]t)\b";

/// A pattern of `[carry] pins`: a regular expression, or `rules` for sentences such as "Never push to main".
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PinPattern {
    name: String,
    regex: Regex,
}

impl PinPattern {
    /// The pattern of that name.
    pub const RULES: &str = "rules";

    /// The sentences of a text in which it occurs.
    pub fn sentences<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        sentences(text).filter(|sentence| self.regex.is_match(sentence))
    }
}

impl TryFrom<String> for PinPattern {
    type Error = regex::Error;

    fn try_from(name: String) -> Result<Self, regex::Error> {
        let regex = Regex::new(if name == Self::RULES { RULES } else { &name })?;
        Ok(Self { name, regex })
    }
}

impl From<PinPattern> for String {
    fn from(pattern: PinPattern) -> Self {
        pattern.name
    }
}

impl PartialEq for PinPattern {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PinPattern {}

impl JsonSchema for PinPattern {
    fn schema_name() -> Cow<'static, str> {
        "PinPattern".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// A pinned text, and where the log says it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pin {
    /// Position of the message.
    pub pos: Pos,
    /// The text, without white space around.
    pub text: Arc<str>,
}

impl Pin {
    /// The text within its marks, so that whoever reads it back pins it again.
    pub(super) fn marked(&self) -> String {
        format!("{}{}{}", PIN.0, self.text, PIN.1)
    }

    /// Whether a view shows the text where the log says it, if it shows the message at all.
    pub(super) fn is_shown(&self, history: &History, view: &View) -> bool {
        let Some(message) = history.get(self.pos) else { return false };
        !view.has_edit(self.pos) || {
            let unedited =
                |part: &usize| view.edit(PartPos { item: self.pos, part: *part }).is_none();
            let mut parts = (0..message.parts.len()).filter(unedited);
            parts.any(|part| message.parts[part].shown().contains(&*self.text))
        }
    }
}

/// The texts that are pinned, in the order in which they were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins(Vec<Pin>);

impl Pins {
    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Pin> {
        self.0.iter()
    }

    /// Whether nothing is pinned.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in a message that was appended.
    pub(crate) fn read(&mut self, pos: Pos, message: &Message, patterns: &[PinPattern]) {
        match message.role {
            Role::User if !message.is_entry() => {
                // Nearly no message has marks, so the texts are not put together to look for one.
                let has_mark = message.parts.iter().any(|part| match &part.kind {
                    PartKind::Text { text, ignored: false, .. } => {
                        text.contains(PIN.1) || text.contains(UNPIN.1)
                    }
                    _ => false,
                });
                if has_mark {
                    self.read_marks(pos, &message.said());
                } else if !patterns.is_empty() {
                    let said = message.said();
                    let found =
                        |sentence: &&str| patterns.iter().any(|it| it.regex.is_match(sentence));
                    sentences(&said).filter(found).for_each(|sentence| _ = self.add(pos, sentence));
                }
            }
            Role::Assistant => {
                for call in message.parts.iter().filter_map(|part| part.as_call()) {
                    self.read_call(pos, call);
                }
            }
            _ => {}
        }
    }

    fn read_marks(&mut self, pos: Pos, said: &str) {
        let mut rest = said;
        while let Some(at) = rest.find('<') {
            rest = &rest[at..];
            let mut read = 1;
            for (marks, is_pin) in [(PIN, true), (UNPIN, false)] {
                let inside = rest.strip_prefix(marks.0);
                let Some((text, behind)) = inside.and_then(|text| text.split_once(marks.1)) else {
                    continue;
                };
                if is_pin {
                    self.add(pos, text);
                } else {
                    self.remove(text);
                }
                read = rest.len() - behind.len();
            }
            rest = &rest[read..];
        }
    }

    /// `pin` and `unpin` of the MCP server `foldback`, whose names agents put in front: `mcp__foldback__pin`.
    fn read_call(&mut self, pos: Pos, call: &ToolCall) {
        let Some((server, tool)) = call.tool.rsplit_once(|c: char| !c.is_ascii_alphanumeric())
        else {
            return;
        };
        if !server.contains("foldback") || !matches!(tool, "pin" | "unpin") {
            return;
        }
        let arguments = call.arguments_value();
        let Some(text) = arguments.get("text").and_then(|text| text.as_str()) else { return };
        if tool == "pin" {
            self.add(pos, text);
        } else {
            self.remove(text);
        }
    }

    /// Pins what a message says. `false` where there is no text, or one that would end its own mark.
    pub(crate) fn add(&mut self, pos: Pos, text: &str) -> bool {
        let text = text.trim();
        if text.is_empty() || text.contains(PIN.1) {
            return false;
        }
        self.0.retain(|pin| *pin.text != *text);
        self.0.push(Pin { pos, text: text.into() });
        true
    }

    /// Unpins a text, or all that begin with it. `false` where none does.
    pub(crate) fn remove(&mut self, text: &str) -> bool {
        let (text, before) = (text.trim(), self.0.len());
        self.0.retain(|pin| text.is_empty() || !pin.text.starts_with(text));
        self.0.len() < before
    }
}
