//! What came of a trial, as one HTML file: the sentence, the tables, and what each unit cost and took, arm by arm.

use super::markup::{head, svg_text, text};
use crate::number::money;
use crate::terminal::Width;
use crate::trial::tables;
use foldback_replay::trial::{TrialResult, TrialUnit};
use std::fmt::Write as _;

/// Where the axis of a plot begins, its width, and the height of an arm.
const PLOT: (u64, u64, u64) = (150, 550, 44);

const STYLE: &str = ".unit{fill:currentColor;fill-opacity:.35}.unit.unsolved{fill:none;stroke:currentColor;stroke-opacity:.6}\
                     .mean{stroke:currentColor;stroke-width:2}svg text{fill:currentColor;font:13px system-ui,sans-serif}";

/// The whole result as one file.
pub fn trial(result: &TrialResult) -> String {
    let mut out = head("a trial", "", STYLE);
    let cautions = result.cautions.iter().map(|caution| format!("<p>{}</p>\n", text(caution)));
    let _ = write!(
        out,
        "<header>\n<h1>What came of the trial</h1>\n<p class=\"verdict\">{}</p>\n</header>\n<main>\n{}\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Arms\"><pre>{}</pre></div>\n",
        text(&result.sentence),
        cautions.collect::<String>(),
        text(&tables(result, Width::pipe())),
    );
    plot(&mut out, result, ["usd", "Dollars of each unit"], TrialUnit::usd, money);
    let calls = |unit: &TrialUnit| Some(unit.line.sums.calls as f64);
    plot(&mut out, result, ["calls", "Calls of each unit"], calls, |calls| format!("{calls:.0}"));
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A dot for each unit, hollow where it is known not to be solved, and a line at the mean of each arm.
fn plot(
    out: &mut String,
    result: &TrialResult,
    [name, title]: [&str; 2],
    figure: fn(&TrialUnit) -> Option<f64>,
    form: fn(f64) -> String,
) {
    let (left, width, row) = PLOT;
    let values = result.units.iter().filter_map(figure);
    let most = values.fold(f64::MIN_POSITIVE, f64::max);
    let x = |value: f64| left + (value / most * width as f64) as u64;
    let bottom = row * result.arms.len() as u64;
    let (right, height) = (left + width, bottom + 24);
    let _ = write!(
        out,
        "<h2>{title}</h2>\n<svg viewBox=\"0 0 {0} {height}\" width=\"{0}\" role=\"img\" aria-label=\"{title}\">\n",
        right + 60
    );
    for (arm, top) in result.arms.iter().zip((0..).step_by(row as usize)) {
        let middle = top + row / 2;
        svg_text(out, 0, middle + 4, "start", text(&arm.arm.name));
        let units = result.units.iter().filter(|unit| unit.line.arm == arm.arm.name);
        let units = units.filter_map(|unit| Some((unit, figure(unit)?)));
        for (number, (unit, value)) in (0..).zip(units) {
            let class = if unit.solved == Some(0.0) { "unit unsolved" } else { "unit" };
            let name = text(unit.name.as_deref().unwrap_or(&unit.line.unit));
            // Dots that would hide each other are spread.
            let (x, y) = (x(value), middle - 10 + number * 7 % 5 * 5);
            let value = form(value);
            let _ = writeln!(
                out,
                "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"4\"><title>{name}: {value}</title></circle>"
            );
        }
        if let Some(mean) = arm.figures[name].value {
            let (x, y, mean) = (x(mean), middle - 18, form(mean));
            let _ = writeln!(
                out,
                "<path class=\"mean\" d=\"M{x} {y}v36\"><title>mean {mean}</title></path>"
            );
        }
    }
    svg_text(out, left, bottom + 18, "start", 0);
    svg_text(out, right, bottom + 18, "middle", form(most));
    out.push_str("</svg>\n");
}
