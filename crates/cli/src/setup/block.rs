//! Lines at the beginning of a file of TOML, where they belong to no table.

use super::{Refusal, Settings};

const BEGIN: &str = "# foldback setup: begin\n";
const END: &str = "# foldback setup: end\n";

/// The lines.
pub(super) struct Block(pub(super) String);

impl Block {
    fn text(&self) -> String {
        format!("{BEGIN}{}{END}", self.0)
    }
}

impl Settings for Block {
    const NEW: &'static str = "\n\n";

    fn set(&self, text: &str) -> Result<Option<String>, Refusal> {
        let table = parsed(text)?;
        let block = self.text();
        if text.starts_with(&block) {
            return Ok(None);
        }
        if text.contains(BEGIN) {
            return Err(
                "it has been set up in another way; take that out with --remove, or by hand"
                    .to_owned(),
            );
        }
        if let Some(value) = table.get("model_provider") {
            return Err(format!(
                "it sets model_provider to {value} already; foldback would hide that"
            ));
        }
        let set = format!("{block}{text}");
        parsed(&set).map_err(|why| format!("with the lines of foldback, {why}"))?;
        Ok(Some(set))
    }

    fn unset(&self, text: &str) -> Result<Option<String>, Refusal> {
        if let Some(rest) = text.strip_prefix(&self.text()) {
            return Ok(Some(rest.to_owned()));
        }
        if text.contains(BEGIN) {
            return Err(
                "what foldback wrote was changed, or is for another --url; take it out by hand"
                    .to_owned(),
            );
        }
        Ok(None)
    }
}

fn parsed(text: &str) -> Result<toml::Table, Refusal> {
    text.parse().map_err(|why: toml::de::Error| {
        let line =
            why.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
        format!("line {line}: it is no TOML: {}", why.message())
    })
}
