//! Lines at the beginning of a file of TOML, where they belong to no table, between marks that say which command wrote them.

use super::{Refusal, Settings};
use serde_json::Value;

/// Lines of a command.
pub(super) struct Block<'a> {
    /// The command.
    command: &'static str,
    /// The lines, with `{url}` for the proxy's address.
    lines: String,
    url: &'a str,
    /// What the lines set at places that no other line may set, with dots between their names.
    values: Vec<(String, Value)>,
}

impl<'a> Block<'a> {
    /// Lines for a provider that is the proxy at an address.
    pub(super) fn of_provider(lines: &str, url: &'a str) -> Self {
        let values = vec![("model_provider".to_owned(), "foldback".into())];
        Self { command: "setup", lines: lines.to_owned(), url, values }
    }

    /// Lines that set values.
    pub(super) fn of_values(values: &[(String, Value)]) -> Self {
        Self { command: "recommend", lines: lines(values), url: "", values: values.to_vec() }
    }

    fn begin(&self) -> String {
        format!("# foldback {}: begin\n", self.command)
    }

    fn text(&self, url: &str) -> String {
        let (begin, lines) = (self.begin(), self.lines.replace("{url}", url));
        format!("{begin}{lines}# foldback {}: end\n", self.command)
    }

    /// The text around the lines, which may be for another address.
    fn around<'t>(&self, text: &'t str) -> Result<Option<(&'t str, &'t str)>, Refusal> {
        let table = parsed(text)?;
        let written = value(&table, "model_providers.foldback.base_url");
        let written = written.as_ref().and_then(|url| url.as_str()?.strip_suffix("/v1"));
        match text.split_once(&self.text(written.unwrap_or_default())) {
            None if text.contains(&self.begin()) => {
                Err("what foldback wrote was changed; take it out by hand".to_owned())
            }
            around => Ok(around),
        }
    }
}

/// A line for each value.
pub(super) fn lines(values: &[(String, Value)]) -> String {
    values.iter().map(|(place, value)| format!("{place} = {value}\n")).collect()
}

/// The value at a place.
pub(super) fn value(table: &toml::Table, place: &str) -> Option<Value> {
    let mut names = place.split('.');
    let first = table.get(names.next()?)?;
    serde_json::to_value(names.try_fold(first, |value, name| value.get(name))?).ok()
}

impl Settings for Block<'_> {
    fn new_file(&self) -> &'static str {
        "\n\n"
    }

    fn set(&self, text: &str) -> Result<Option<String>, Refusal> {
        let block = self.text(self.url);
        if let Some((before, after)) = self.around(text)? {
            let set = format!("{before}{block}{after}");
            return Ok((set != text).then_some(set));
        }
        let table = parsed(text)?;
        let there = self.values.iter().find_map(|(place, _)| Some((place, value(&table, place)?)));
        if let Some((place, value)) = there {
            return Err(format!("it sets {place} to {value} already; foldback would hide that"));
        }
        let set = format!("{block}{text}");
        parsed(&set).map_err(|why| format!("with the lines of foldback, {why}"))?;
        Ok(Some(set))
    }

    fn unset(&self, text: &str) -> Result<Option<String>, Refusal> {
        Ok(self.around(text)?.map(|(before, after)| format!("{before}{after}")))
    }

    fn members(&self, text: &str, remove: bool) -> Vec<(String, Value)> {
        match text.contains(&self.begin()) == remove {
            true => self.values.clone(),
            false => Vec::new(),
        }
    }
}

pub(super) fn parsed(text: &str) -> Result<toml::Table, Refusal> {
    text.parse().map_err(|why: toml::de::Error| {
        let line =
            why.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
        format!("line {line}: it is no TOML: {}", why.message())
    })
}
