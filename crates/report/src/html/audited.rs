//! What recorders' own compactions did, as one HTML file: the tables, and the sessions call by call with their saw-teeth.

use super::Details;
use super::details::Walked;
use super::markup::{head, text};
use super::{reader, script};
use crate::audit::Audited;
use crate::terminal::Width;
use foldback_replay::setup::AS_RECORDED;
use std::fmt::Write as _;

/// Sessions that are shown call by call: more would be too much for one page.
const SHOWN: usize = 24;

/// The whole result as one file.
pub fn audited(audited: &Audited) -> String {
    let walks = audited.walks().take(SHOWN).cloned().enumerate();
    let walks = walks.map(|(session, walk)| Walked { session, walk }).collect();
    let details = Details { walks, ..Details::default() };
    let reader = reader::section(&details, Some(AS_RECORDED));
    let left = match audited.walks().count() {
        0..=SHOWN => String::new(),
        all => format!(
            "<p>The first {SHOWN} of {all} sessions with a compaction are below, call by call.</p>\n"
        ),
    };
    let script = [script::DOM, reader::SCRIPT, script::EXPORT].concat();
    let mut out = head("compactions of agents", &script, reader::STYLE);
    let _ = write!(
        out,
        "<header>\n<h1>What your agents' own compactions did</h1>\n<p class=\"verdict\">{}</p>\n</header>\n<main>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Compactions\"><pre>{}</pre></div>\n{left}{}</main>\n\
         <script>{script}</script>\n</body>\n</html>\n",
        text(&audited.sentence),
        text(&audited.tables(Width::terminal(110))),
        reader.section,
    );
    out
}
