//! What recorders' own compactions did, as one HTML file: the tables, and the sessions call by call with their saw-teeth.

use super::Details;
use super::details::Walked;
use super::markup::{head, text};
use super::{reader, script};
use crate::audit::Audited;
use crate::terminal::Width;
use foldback_replay::setup::AS_RECORDED;
use foldback_replay::walk::Walk;
use std::cmp::Reverse;
use std::fmt::Write as _;

/// Sessions that are shown call by call: more would be too much for one page.
const SHOWN: usize = 24;

/// The whole result as one file.
pub fn audited(audited: &Audited) -> String {
    // It opens on the session whose compactions took most of what calls needed.
    let mut walks: Vec<&Walk> = audited.walks().collect();
    walks.sort_by_key(|walk| Reverse(walk.tracks.first().map_or(0, |own| own.forgotten.len())));
    let walks = walks.into_iter().take(SHOWN).cloned().enumerate();
    let walks = walks.map(|(session, walk)| Walked { session, walk }).collect();
    let details = Details { walks, ..Details::default() };
    let reader = reader::section(&details, Some(AS_RECORDED));
    let left = match audited.walks().count() {
        0..=SHOWN => String::new(),
        all => format!(
            "<p>The {SHOWN} of {all} sessions whose compactions took most of what calls needed are below, call by call.</p>\n"
        ),
    };
    let script = [script::DOM, reader::SCRIPT, script::EXPORT].concat();
    let mut closing = audited.closing();
    let first = closing.next().unwrap_or_default();
    let (verdict, rest) = match first.split_once(". ") {
        Some((verdict, rest)) => (format!("{verdict}."), Some(rest.to_owned())),
        None => (first, None),
    };
    let rest = rest.into_iter().chain(closing);
    let rest: String = rest.map(|sentence| format!("<p>{}</p>\n", text(&sentence))).collect();
    let mut out = head("compactions of agents", &script, reader::STYLE);
    let _ = write!(
        out,
        "<header>\n<h1>What your agents' own compactions did</h1>\n<p class=\"verdict\">{}</p>\n{rest}</header>\n<main>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Compactions\"><pre>{}</pre></div>\n{left}{}</main>\n\
         <script>{script}</script>\n</body>\n</html>\n",
        text(&verdict),
        text(&audited.tables(Width::pipe())),
        reader.section,
    );
    out
}
