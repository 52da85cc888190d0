//! A placeholder that says how much was cleared.

use foldback_core::log::ToolResult;
use foldback_core::stage::StageContext;
use foldback_core::view::PartPos;
use std::borrow::Cow;
use std::sync::Arc;

/// Stands for the number of lines of a text.
const LINES: &str = "{lines}";
/// Stands for the number of images.
const IMAGES: &str = "{images}";

/// A placeholder with what it says of the result that it replaces.
#[derive(Clone, Debug)]
pub(super) struct Placeholder {
    text: Arc<str>,
    images: Arc<str>,
    shortest: Arc<str>,
}

impl Placeholder {
    /// `images` ends the placeholder of a result that has images.
    pub(super) fn new(text: &str, images: &str) -> Self {
        Self { text: text.into(), images: images.into(), shortest: text.replace(LINES, "0").into() }
    }

    /// No placeholder is shorter.
    pub(super) fn shortest(&self) -> &str {
        &self.shortest
    }

    /// The placeholder of a result.
    pub(super) fn text(&self, context: &StageContext<'_>, at: PartPos) -> Cow<'_, Arc<str>> {
        if !self.text.contains(LINES) && self.images.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        let Some(result) = result(context, at) else {
            return Cow::Borrowed(&self.text);
        };
        let mut placeholder = self.text.replace(LINES, &lines(&result.text).to_string());
        let images = result.media.iter().filter(|media| media.mime.starts_with("image/")).count();
        if images > 0 {
            placeholder.push_str(&self.images.replace(IMAGES, &images.to_string()));
        }
        Cow::Owned(placeholder.into())
    }

    /// Whether a result is such a placeholder, of a session that was written after it was cleared.
    pub(super) fn stands_for(&self, context: &StageContext<'_>, at: PartPos) -> bool {
        result(context, at).is_some_and(|result| self.is(&result.text))
    }

    fn is(&self, text: &str) -> bool {
        let rest = behind(text, &self.text, LINES);
        let images = |rest| behind(rest, &self.images, IMAGES).is_some_and(str::is_empty);
        rest.is_some_and(|rest| rest.is_empty() || !self.images.is_empty() && images(rest))
    }
}

fn result<'t>(context: &StageContext<'t>, at: PartPos) -> Option<&'t ToolResult> {
    context.history.message(at.item).parts.get(at.part)?.as_result()
}

/// What follows a placeholder in a text that begins with it, whatever the number in it.
fn behind<'t>(text: &'t str, placeholder: &str, number: &str) -> Option<&'t str> {
    let Some((before, after)) = placeholder.split_once(number) else {
        return text.strip_prefix(placeholder);
    };
    let rest = text.strip_prefix(before)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[end..].strip_prefix(after).filter(|_| end > 0)
}

/// Lines of a text as Python's `splitlines` counts them: more characters than a line feed end one.
fn lines(text: &str) -> usize {
    let text = text.replace("\r\n", "\n");
    let ends = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let ended = text.chars().filter(|c| ends(*c)).count();
    ended + usize::from(text.chars().next_back().is_some_and(|c| !ends(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_known_again() {
        let plain = Placeholder::new("[gone]", "");
        let counted = Placeholder::new("(… {lines} lines)", " ({images} images)");
        for (placeholder, text, is) in [
            (&plain, "[gone]", true),
            (&plain, "[gone] not", false),
            (&counted, "(… 12 lines)", true),
            (&counted, "(… 12 lines) (1 images)", true),
            (&counted, "(…  lines)", false),
            (&counted, "(… {lines} lines)", false),
            (&counted, "(… 12 lines) more", false),
            (&counted, "12 lines", false),
        ] {
            assert_eq!(placeholder.is(text), is, "{text}");
        }
    }
}
