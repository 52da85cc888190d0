//! What each preset did, with the columns of the terminal's table.

use super::markup::text;
use crate::number::{grouped, percent, short};
use foldback_core::strategy::Kind;
use foldback_replay::compare::PresetLine;
use std::fmt::Write as _;

/// Name of a column and what it means.
const COLUMNS: [(&str, &str); 11] = [
    ("preset", "strategy, and who wrote its summaries"),
    ("acted", "sessions in which it changed something"),
    ("input", "all requests together, of those without compaction"),
    ("peak", "the largest request"),
    ("mean", "the mean request"),
    ("over", "requests over the window"),
    ("folds", "summaries or drops"),
    ("prunes", "clearings"),
    ("cleared", "tokens taken out, net, by the preset's own estimator"),
    ("cache", "share of the input read from a simulated prompt cache"),
    ("broken", "provider rules broken by the preset"),
];

/// The table and what its columns mean.
pub(super) fn section(out: &mut String, presets: &[PresetLine]) {
    out.push_str(
        "<section id=\"activity\">\n<h2>What each preset did</h2>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"What each preset did\">\n<table>\n<thead><tr>",
    );
    for (name, meaning) in COLUMNS {
        let _ = write!(out, "<th scope=\"col\" title=\"{}\">{name}</th>", text(meaning));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for line in presets {
        row(out, line);
    }
    out.push_str("</tbody>\n</table>\n</div>\n<dl class=\"meanings\">\n");
    for (name, meaning) in &COLUMNS[1..] {
        let _ = writeln!(out, "<div><dt>{name}</dt> <dd>{}</dd></div>", text(meaning));
    }
    out.push_str("</dl>\n");
    for line in presets.iter().filter(|line| !line.guards_off.is_empty()) {
        let _ = writeln!(
            out,
            "<p class=\"small\">{} runs without the guards {}.</p>",
            text(&line.preset),
            text(&line.guards_off.join(", "))
        );
    }
    out.push_str("</section>\n");
}

fn row(out: &mut String, line: &PresetLine) {
    let kind = if line.kind == Kind::Control { " <small>control</small>" } else { "" };
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{}{kind}</th><td>{}/{}</td><td class=\"bar\" style=\"--part:{}\">{}</td>\
         <td>{}</td><td>{}</td>",
        text(&line.preset),
        line.triggered,
        line.sessions,
        percent(line.input_ratio.clamp(0.0, 1.0)),
        percent(line.input_ratio),
        short(line.peak_tokens),
        short(line.mean_tokens),
    );
    count(out, line.overflow_calls, "bad");
    count(out, line.compactions - line.prune_operations, "");
    count(out, line.prune_operations, "");
    let _ = write!(
        out,
        "<td>{}</td><td>{}</td>",
        short(line.tokens_reclaimed),
        percent(line.cache_hit_rate)
    );
    count(out, line.strategy_violations, "bad");
    out.push_str("</tr>\n");
}

/// A count; zero steps back, and where a count is a fault it stands out.
fn count(out: &mut String, number: u64, class: &str) {
    let class = if number == 0 { "zero" } else { class };
    if class.is_empty() {
        let _ = write!(out, "<td>{}</td>", grouped(number));
    } else {
        let _ = write!(out, "<td class=\"{class}\">{}</td>", grouped(number));
    }
}
