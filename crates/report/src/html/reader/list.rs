//! The worst of what each preset forgot, as a list, for paper and without script.

use super::super::markup::text;
use crate::explain::words::{sentence, worst_of};
use foldback_replay::walk::Walk;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Needs that are told per preset, over all sessions.
const LISTED: usize = 10;

/// A list per preset, in the order in which the walks first have them.
pub(super) fn list(out: &mut String, walks: &[&Walk]) {
    out.push_str("<div class=\"rd-static\">\n<h3>The worst of what was forgotten</h3>\n");
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let presets: Vec<&str> = walks
        .iter()
        .flat_map(|walk| &walk.tracks)
        .map(|track| track.preset.as_str())
        .filter(|preset| seen.insert(preset))
        .collect();
    let mut nothing = Vec::new();
    for preset in presets {
        let worst = worst_of(walks.iter().copied(), Some(preset), LISTED);
        if worst.is_empty() {
            nothing.push(preset);
            continue;
        }
        let _ = writeln!(out, "<h4>{}</h4>\n<ol>", text(preset));
        for (walk, missed) in worst {
            let _ = writeln!(
                out,
                "<li>{} <small class=\"path\">{}</small></li>",
                text(&sentence(walk, &missed)),
                text(&walk.path)
            );
        }
        out.push_str("</ol>\n");
    }
    if !nothing.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"small\">Nothing was forgotten under {}.</p>",
            text(&nothing.join(", "))
        );
    }
    out.push_str("</div>\n");
}
