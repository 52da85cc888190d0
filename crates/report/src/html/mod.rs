//! The comparison as one HTML file that asks for nothing over the network: no script, no font, no image. Its
//! content security policy says so to the browser too. The drawings are inline SVG in whole numbers, so the
//! same comparison gives the same bytes.
//!
//! Paths, reasons, names and assumptions are data: they pass through [`markup::text`] on their way in.

mod chart;
mod headline;
mod idle;
mod markup;
mod notes;
pub mod reader;
mod sawtooth;
mod scatter;
mod sessions;

#[cfg(test)]
mod tests;

pub use sessions::{Drawn, to_draw};

use foldback_replay::Comparison;

const STYLE: &str = include_str!("style.css");

/// The whole report as one file.
pub fn comparison(comparison: &Comparison, drawn: &[Drawn]) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>foldback: strategies compared</title>\n<style>\n",
    );
    out.push_str(STYLE);
    out.push_str(
        "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#presets\">To the table</a>\n",
    );
    headline::header(&mut out, comparison);
    out.push_str("<main>\n");
    headline::section(&mut out, &comparison.presets);
    scatter::section(&mut out, &comparison.presets);
    sessions::table(&mut out, comparison, drawn);
    sessions::drawings(&mut out, comparison, drawn);
    idle::section(&mut out, &comparison.presets);
    out.push_str("</main>\n");
    notes::footer(&mut out, comparison);
    out.push_str("</body>\n</html>\n");
    out
}
