//! The comparison as one HTML file that loads nothing over the network: no font, no image, and one script, which
//! the content security policy allows by its hash. Without it the page has the same tables and drawings. The drawings
//! are inline SVG in whole numbers, so the same comparison gives the same bytes.
//!
//! First what a decision needs: the verdict, the bill against what is kept, one table. All else is folded away, a module
//! per section. Paths, reasons, names and assumptions are data: they pass through `markup::text` on their way in.

mod audited;
mod chart;
mod details;
mod distance;
mod figures;
mod header;
mod labels;
mod markup;
mod presets;
mod probed;
pub mod reader;
mod regimes;
mod script;
mod sessions;
mod trade;
mod trial;

#[cfg(test)]
pub(crate) mod tests;

pub use audited::audited;
pub use details::{Details, Most, Walked, to_walk};
pub use markup::encoded;
pub use probed::probed;
pub use trial::trial;

use foldback_replay::Comparison;

const STYLE: &str = concat!(include_str!("style.css"), include_str!("charts.css"));

/// The whole report as one file.
pub fn comparison(comparison: &Comparison, details: &Details) -> String {
    let opening = details::opening(comparison);
    let reader = reader::section(details, opening.map(|at| &*comparison.presets[at].preset));
    let (own, style) = match reader.walked.is_empty() {
        true => ("", ""),
        false => (reader::SCRIPT, reader::STYLE),
    };
    let script = [script::DOM, script::TABLES, script::SESSIONS, own, script::EXPORT].concat();
    let mut out = markup::head("strategies compared", &script, style);
    header::header(&mut out, comparison);
    out.push_str("<main>\n");
    trade::section(&mut out, comparison, &reader.of_presets);
    presets::section(&mut out, comparison, &reader.of_presets);
    out.push_str(&reader.section);
    let places = sessions::places(details, &reader.walked);
    sessions::table(&mut out, comparison, &places, opening);
    presets::controls(&mut out, comparison, &reader.of_presets);
    presets::figures(&mut out, comparison);
    presets::activity(&mut out, comparison);
    presets::idle(&mut out, comparison);
    distance::section(&mut out, comparison);
    regimes::section(&mut out, comparison);
    header::outcomes(&mut out, comparison);
    header::notes(&mut out, comparison);
    header::cautions(&mut out, comparison);
    out.push_str("</main>\n");
    out.push_str(&format!("<script>{script}</script>\n"));
    out.push_str("</body>\n</html>\n");
    out
}
