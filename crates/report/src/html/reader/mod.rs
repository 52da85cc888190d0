//! The reader: a session walked call by call, what a preset showed of each message, and what the calls needed
//! that the view no longer had.
//!
//! The walks are in the page as JSON in blocks that no browser runs; the page's only script reads them. Sessions for
//! which a page has no room have pages of their own beside it ([`page`]): a page that was opened as a file may not load
//! another, but a link leads there.

mod data;
#[cfg(test)]
pub(crate) mod tests;

use super::Details;
use super::markup::{END_FOLD, encoded, head, open_unfolded, text};
use super::script;
use foldback_replay::walk::{Track, Walk};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Rules of the reader; they come after those of the page.
pub const STYLE: &str = include_str!("reader.css");

/// The script, model before view.
pub(super) const SCRIPT: &str = concat!(include_str!("model.js"), include_str!("view.js"));

/// Bytes of walks in one page by default.
pub const ROOM: usize = 3_500_000;

/// The reader of a page.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Its section; nothing where there is no walk.
    pub(super) section: String,
    /// The sessions of the reader, in the order of its numbers.
    pub(super) walked: Vec<usize>,
    /// By preset, where it shows the call at which that preset had forgotten most of what was needed.
    pub(super) of_presets: BTreeMap<String, String>,
}

/// The address in a page at which the reader shows its session of that number.
pub(super) fn address(number: usize) -> String {
    format!("#session={number}")
}

/// A session under a preset.
pub(super) fn address_under(session: &str, preset: &str) -> String {
    format!("{session}&preset={}", encoded(preset))
}

/// By preset, the address of its worst call among these walks: of the session in which it forgot most.
fn worst_calls(taken: &[(&Walk, String)]) -> BTreeMap<String, String> {
    let mut worst: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for (number, (walk, _)) in taken.iter().enumerate() {
        for track in &walk.tracks {
            let Some(call) = worst_call(walk, track) else { continue };
            let forgotten = track.forgotten.len();
            if worst.get(&*track.preset).is_none_or(|(most, _)| forgotten > *most) {
                let under = address_under(&address(number), &track.preset);
                worst.insert(&track.preset, (forgotten, format!("{under}&call={call}")));
            }
        }
    }
    worst.into_iter().map(|(preset, (_, address))| (preset.to_owned(), address)).collect()
}

/// The call that needed most of what a preset had forgotten, else the first at which the preset fired.
fn worst_call(walk: &Walk, track: &Track) -> Option<usize> {
    let mut missed: BTreeMap<usize, usize> = BTreeMap::new();
    for need in track.forgotten.iter().filter_map(|forgotten| walk.needs.get(forgotten.need)) {
        *missed.entry(need.call).or_default() += 1;
    }
    let most = missed.into_iter().max_by_key(|(call, count)| (*count, Reverse(*call)));
    most.map(|(call, _)| call).or_else(|| track.firings.first().map(|fired| fired.call))
}

/// The reader as a section of a page that has [`STYLE`] and [`SCRIPT`]. Walks are taken in their order as long as
/// they fit. The section names the sessions that are neither in it nor have a page of their own. It opens on this preset.
pub(super) fn section(details: &Details, preset: Option<&str>) -> Reader {
    let room = details.room.unwrap_or(usize::MAX);
    let mut reader = Reader::default();
    let mut taken: Vec<(&Walk, String)> = Vec::new();
    let mut left: Vec<&str> = Vec::new();
    let mut size = 0;
    for walked in &details.walks {
        let json = data::json(&walked.walk);
        if size + json.len() > room {
            left.push(&walked.walk.path);
        } else {
            size += json.len();
            reader.walked.push(walked.session);
            taken.push((&walked.walk, json));
        }
    }
    left.extend(details.not_walked.iter().map(String::as_str));
    if !taken.is_empty() {
        let left = if details.pages.is_empty() { &left[..] } else { &[] };
        reader.of_presets = worst_calls(&taken);
        open_unfolded(&mut reader.section, "session", "A session, call by call");
        write(&mut reader.section, &taken, left, preset);
        reader.section.push_str(END_FOLD);
    }
    reader
}

/// The reader with these walks, naming those that it leaves out.
fn write(out: &mut String, taken: &[(&Walk, String)], left: &[&str], preset: Option<&str>) {
    let _ = writeln!(
        out,
        "<div id=\"reader\" data-preset=\"{}\">\n<div id=\"reader-app\" hidden></div>\n<noscript><p \
         class=\"small\">Walking takes JavaScript. <code>foldback explain FILE --preset P</code> says what a preset \
         forgot.</p>",
        text(preset.unwrap_or_default())
    );
    // Where links of the table lead without script.
    for index in 0..taken.len() {
        let _ = write!(out, "<span id=\"{}\"></span>", address(index).trim_start_matches('#'));
    }
    out.push_str("</noscript>\n");
    omitted(out, taken.len(), left);
    for (index, (_, json)) in taken.iter().enumerate() {
        out.push_str(&script::data(&format!("walk-{index}"), json));
    }
    out.push_str("</div>\n");
}

/// A page with one session, which leads back to the address of the report beside it.
pub fn page(walk: &Walk, report: &str) -> String {
    let script = [script::DOM, SCRIPT, script::EXPORT].concat();
    let mut out = head(&walk.path, &script, STYLE);
    let _ = writeln!(
        out,
        "<nav><a href=\"{}#sessions\">All sessions</a></nav>\n<main>\n<h1>A session, call by call</h1>",
        text(report)
    );
    write(&mut out, &[(walk, data::json(walk))], &[], None);
    let _ = writeln!(out, "</main>\n<script>{script}</script>\n</body>\n</html>");
    out
}

/// Which sessions can't be walked here.
fn omitted(out: &mut String, taken: usize, left: &[&str]) {
    if left.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<details class=\"small\">\n<summary>{taken} of {} sessions in which a preset acted are in this page; all of \
         them: <code>--reader all</code>, or one: <code>foldback explain FILE --preset P</code></summary>\n<ul>",
        taken + left.len()
    );
    for path in left {
        let _ = writeln!(out, "<li class=\"path\">{}</li>", text(path));
    }
    out.push_str("</ul>\n</details>\n");
}
