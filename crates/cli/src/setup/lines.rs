//! Settings at the beginning of a file of TOML, between marks, each on a line of its own with its whole place.

use super::block::{self, parsed};
use super::{Refusal, Settings};
use serde_json::Value;

const BEGIN: &str = "# foldback recommend: begin\n";
const END: &str = "# foldback recommend: end\n";

/// The places, with dots between their names, and the values.
pub(super) struct Lines<'v>(pub(super) &'v [(String, Value)]);

impl Lines<'_> {
    fn text(&self) -> String {
        format!("{BEGIN}{}{END}", self.plain())
    }

    /// The lines without marks.
    pub(super) fn plain(&self) -> String {
        let line = |(place, value): &(String, Value)| format!("{place} = {value}\n");
        self.0.iter().map(line).collect()
    }
}

/// The value at a place.
pub(super) fn value(table: &toml::Table, place: &str) -> Option<Value> {
    let (above, last) =
        place.rsplit_once('.').map_or((None, place), |(above, last)| (Some(above), last));
    let table = above.map_or(Some(table), |above| {
        above.split('.').try_fold(table, |table, name| table.get(name)?.as_table())
    });
    serde_json::to_value(table?.get(last)?).ok()
}

impl Settings for Lines<'_> {
    const NEW: &'static str = "\n\n";

    fn set(&self, text: &str) -> Result<Option<String>, Refusal> {
        let table = parsed(text)?;
        if text.contains(&self.text()) {
            return Ok(None);
        }
        let there = self.0.iter().find_map(|(place, _)| Some((place, value(&table, place)?)));
        if let Some((place, value)) = there {
            return Err(format!("it sets {place} to {value} already; foldback would hide that"));
        }
        // Behind the lines of `setup`, which finds its own at the beginning.
        let own = text.find(block::END).filter(|_| text.starts_with(block::BEGIN));
        let (before, after) = text.split_at(own.map_or(0, |at| at + block::END.len()));
        let set = format!("{before}{}{after}", self.text());
        parsed(&set).map_err(|why| format!("with the lines of foldback, {why}"))?;
        Ok(Some(set))
    }

    fn unset(&self, text: &str) -> Result<Option<String>, Refusal> {
        parsed(text)?;
        let lines = self.text();
        match text.find(&lines) {
            Some(at) => Ok(Some(format!("{}{}", &text[..at], &text[at + lines.len()..]))),
            None if text.contains(BEGIN) => Err(block::CHANGED.to_owned()),
            None => Ok(None),
        }
    }

    fn members(&self, text: &str, remove: bool) -> Vec<(String, Value)> {
        match text.contains(&self.text()) == remove {
            true => self.0.to_vec(),
            false => Vec::new(),
        }
    }
}
