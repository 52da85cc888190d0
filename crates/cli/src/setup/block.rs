//! Lines at the beginning of a file of TOML, where they belong to no table.

use super::{Refusal, Settings};
use serde_json::Value;

pub(super) const BEGIN: &str = "# foldback setup: begin\n";
pub(super) const END: &str = "# foldback setup: end\n";

/// Why lines between marks are left.
pub(super) const CHANGED: &str = "what foldback wrote was changed; take it out by hand";

/// The lines, with `{url}` for the proxy's address.
pub(super) struct Block<'a> {
    pub(super) lines: &'static str,
    pub(super) url: &'a str,
}

impl Block<'_> {
    fn text(&self, url: &str) -> String {
        format!("{BEGIN}{}{END}", self.lines.replace("{url}", url))
    }

    /// The text behind the lines, which may be for another address.
    fn rest<'t>(&self, text: &'t str, table: &toml::Table) -> Option<&'t str> {
        let url = table.get("model_providers")?.get("foldback")?.get("base_url")?.as_str()?;
        text.strip_prefix(&self.text(url.strip_suffix("/v1")?))
    }
}

impl Settings for Block<'_> {
    const NEW: &'static str = "\n\n";

    fn set(&self, text: &str) -> Result<Option<String>, Refusal> {
        let table = parsed(text)?;
        let block = self.text(self.url);
        if let Some(rest) = self.rest(text, &table) {
            let set = format!("{block}{rest}");
            return Ok((set != text).then_some(set));
        }
        if text.contains(BEGIN) {
            return Err(CHANGED.to_owned());
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
        match self.rest(text, &parsed(text)?) {
            Some(rest) => Ok(Some(rest.to_owned())),
            None if text.contains(BEGIN) => Err(CHANGED.to_owned()),
            None => Ok(None),
        }
    }

    fn members(&self, _: &str, _: bool) -> Vec<(String, Value)> {
        Vec::new()
    }
}

pub(super) fn parsed(text: &str) -> Result<toml::Table, Refusal> {
    text.parse().map_err(|why: toml::de::Error| {
        let line =
            why.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
        format!("line {line}: it is no TOML: {}", why.message())
    })
}
