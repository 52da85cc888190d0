//! The comparison as one HTML file that loads nothing over the network: no font, no image, and one script, which
//! the content security policy allows by its hash. Without it the page has the same tables and drawings. The drawings
//! are inline SVG in whole numbers, so the same comparison gives the same bytes.
//!
//! One module per section. Paths, reasons, names and assumptions are data: they pass through
//! [`markup::text`] on their way in.

mod chart;
mod contrasts;
mod details;
mod distance;
mod figures;
mod header;
mod labels;
mod markup;
mod presets;
pub mod reader;
mod regimes;
mod sawtooth;
mod script;
mod sessions;
mod trade;

#[cfg(test)]
pub(crate) mod tests;

pub use details::{Details, Drawn, Most, Walked, to_draw, to_walk};

use foldback_replay::Comparison;

const STYLE: &str = concat!(include_str!("style.css"), include_str!("charts.css"));

/// Sections by their ids. Not every page has all of them.
const SECTIONS: [(&str, &str); 12] = [
    ("trade", "Cost against retention"),
    ("presets", "Costs and what is kept"),
    ("distance", "Retention over distance"),
    ("regimes", "The bill under every price regime"),
    ("contrasts", "Which pairs can be told apart"),
    ("activity", "What each preset did"),
    ("size", "Context over the calls"),
    ("sessions", "Sessions"),
    ("reader", "A session, call by call"),
    ("idle", "Idle"),
    ("notes", "Notes"),
    ("skipped", "Skipped files"),
];

/// The whole report as one file.
pub fn comparison(comparison: &Comparison, details: &Details) -> String {
    let mut main = String::new();
    trade::section(&mut main, comparison);
    presets::headlines(&mut main, comparison);
    distance::section(&mut main, comparison);
    regimes::section(&mut main, comparison);
    contrasts::section(&mut main, comparison);
    presets::activity(&mut main, comparison);
    let drawn = sessions::drawings(&mut main, comparison, &details.drawn);
    let reader = reader::section(details);
    let places = sessions::Places::of(details, drawn, &reader.walked);
    sessions::table(&mut main, comparison, &places);
    main.push_str(&reader.section);
    presets::idle(&mut main, comparison);
    let mut foot = String::new();
    header::footer(&mut foot, comparison);
    let there: Vec<(&str, &str)> = SECTIONS
        .into_iter()
        .filter(|(id, _)| {
            let mark = format!(" id=\"{id}\"");
            main.contains(&mark) || foot.contains(&mark)
        })
        .collect();

    let (own, style) = match reader.walked.is_empty() {
        true => ("", ""),
        false => (reader::SCRIPT, reader::STYLE),
    };
    let script = [script::DOM, script::SESSIONS, own, script::EXPORT].concat();
    let mut out = markup::head("strategies compared", &script, style);
    out.push_str("<a class=\"skip\" href=\"#presets\">To the table</a>\n");
    header::header(&mut out, comparison, &there);
    out.push_str("<main>\n");
    out.push_str(&main);
    out.push_str("</main>\n");
    out.push_str(&foot);
    out.push_str(&format!("<script>{script}</script>\n"));
    out.push_str("</body>\n</html>\n");
    out
}
