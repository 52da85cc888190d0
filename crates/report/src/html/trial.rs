//! What came of a trial, as one HTML file: the sentence, the tables, and what each unit cost and took, arm by arm.

use super::markup::{head, text};
use crate::number::{decimals, dollars};
use crate::terminal::Width;
use crate::trial::tables;
use foldback_replay::trial::{TrialResult, TrialUnit};
use std::fmt::Write as _;

/// Width of a plot, height of an arm in it, and where its axis begins.
const PLOT: (f64, f64, f64) = (760.0, 44.0, 150.0);

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
    plot(
        &mut out,
        result,
        "Dollars of each unit",
        |unit| (unit.sums.unpriced == 0).then_some(unit.sums.usd),
        |usd| dollars(usd, decimals(usd)),
    );
    plot(
        &mut out,
        result,
        "Calls of each unit",
        |unit| Some(unit.sums.calls as f64),
        |calls| format!("{calls:.0}"),
    );
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A dot for each unit, hollow where it is known not to be solved, and a line at the mean of each arm.
fn plot(
    out: &mut String,
    result: &TrialResult,
    title: &str,
    figure: fn(&TrialUnit) -> Option<f64>,
    form: fn(f64) -> String,
) {
    let (width, row, left) = PLOT;
    let most = result.units.iter().filter_map(figure).fold(0.0, f64::max);
    let x = |value: f64| left + (width - left - 60.0) * value / most.max(f64::MIN_POSITIVE);
    let height = row * result.arms.len() as f64 + 24.0;
    let _ = write!(
        out,
        "<h2>{title}</h2>\n<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"{title}\">\n"
    );
    for (at, arm) in result.arms.iter().enumerate() {
        let middle = row * (at as f64 + 0.5);
        let _ =
            writeln!(out, "<text x=\"0\" y=\"{:.1}\">{}</text>", middle + 4.0, text(&arm.arm.name));
        let units = result.units.iter().filter(|unit| unit.arm == arm.arm.name);
        let units: Vec<(&TrialUnit, f64)> =
            units.filter_map(|unit| Some((unit, figure(unit)?))).collect();
        for (number, (unit, value)) in units.iter().enumerate() {
            let unsolved = unit.outcome.as_ref().is_some_and(|outcome| outcome.solved == Some(0.0));
            // Dots that would hide each other are spread.
            let y = middle + ((number * 7) % 5) as f64 * 5.0 - 10.0;
            let _ = writeln!(
                out,
                "<circle class=\"unit{}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}: {}</title></circle>",
                if unsolved { " unsolved" } else { "" },
                x(*value),
                text(unit.name.as_deref().unwrap_or(&unit.unit)),
                form(*value),
            );
        }
        let mean = units.iter().map(|(_, value)| value).sum::<f64>() / units.len().max(1) as f64;
        let _ = writeln!(
            out,
            "<line class=\"mean\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\"><title>mean {3}</title></line>",
            x(mean),
            middle - 18.0,
            middle + 18.0,
            form(mean),
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{left}\" y=\"{0:.1}\">0</text>\n<text x=\"{1:.1}\" y=\"{0:.1}\">{2}</text>\n</svg>",
        height - 6.0,
        x(most) - 30.0,
        form(most)
    );
}
