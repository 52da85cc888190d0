//! Shares, ratios and counts as the page writes them, and the small bars of intervals next to them.

use super::chart::position;
use foldback_replay::compare::Metric;
use std::fmt::Write as _;

/// What stands where a value does not apply.
pub(super) const NONE: &str = "–";

/// A share or ratio in whole percent; with one decimal near 100 % and below 1 %, so that only what is whole
/// says 100 % and only nothing says 0 %.
pub(super) fn share(value: f64) -> String {
    let percent = value * 100.0;
    match percent {
        _ if value == 1.0 => "100%".to_owned(),
        99.0..=101.0 => {
            // Rounding must not reach what was not reached.
            let tenths = (percent * 10.0).round();
            let tenths = match tenths == 1000.0 {
                true if value < 1.0 => 999.0,
                true => 1001.0,
                false => tenths,
            };
            format!("{:.1}%", tenths / 10.0)
        }
        _ if value > 0.0 && percent < 0.95 => format!("{:.1}%", percent.max(0.1)),
        _ => format!("{percent:.0}%"),
    }
}

/// A value by `write`, or a dash.
pub(super) fn or_dash(value: Option<f64>, write: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), write)
}

/// The interval of a metric without the sign: `97–115`; `None` if there is none.
pub(super) fn range(metric: &Metric) -> Option<String> {
    let (lo, hi) = (share(metric.lo?), share(metric.hi?));
    let bare = |text: &str| text.trim_end_matches('%').to_owned();
    (lo != hi).then(|| format!("{}–{}", bare(&lo), bare(&hi)))
}

/// A ratio in thousandths.
pub(super) fn per_mille(ratio: f64) -> u64 {
    (ratio.max(0.0) * 1000.0).round() as u64
}

/// A ratio less one, with its sign: `−20%`, `+3%`, `0`.
pub(super) fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    match format!("{:.0}", percent.abs()).as_str() {
        "0" if percent.abs() < 0.05 => "0".to_owned(),
        "0" if percent < 0.0 => format!("−{:.1}%", -percent),
        "0" => format!("+{percent:.1}%"),
        whole if percent < 0.0 => format!("−{whole}%"),
        whole => format!("+{whole}%"),
    }
}

/// The ends of an axis of small bars, in thousandths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) from: u64,
    pub(super) to: u64,
}

// A small bar, in pixels.
const LENGTH: u64 = 76;
const INSET: u64 = 4;

impl Axis {
    /// The round axis that holds all values and 100 %. Intervals that reach further are cut off.
    pub(super) fn over<'a>(metrics: impl Iterator<Item = &'a Metric>) -> Self {
        let values: Vec<u64> = metrics.filter_map(|metric| metric.value.map(per_mille)).collect();
        let least = values.iter().copied().min().unwrap_or(0).min(1000);
        let most = values.iter().copied().max().unwrap_or(0).max(1000);
        let room = (most - least) / 10;
        Self {
            from: least.saturating_sub(room) / 50 * 50,
            to: if most == 1000 { 1000 } else { (most + room).next_multiple_of(50) },
        }
    }

    fn x(self, ratio: f64) -> u64 {
        let along = per_mille(ratio).clamp(self.from, self.to) - self.from;
        INSET + position(along, self.to - self.from, LENGTH)
    }
}

/// A cell with a value, its interval in figures, and both as a bar.
pub(super) fn measured(out: &mut String, metric: &Metric, axis: Axis) {
    let Some(value) = metric.value else {
        let why = metric.why.unwrap_or("does not apply");
        let _ = write!(out, "<td class=\"zero\" title=\"{why}\">{NONE}</td>");
        return;
    };
    let _ = write!(out, "<td class=\"measured\" title=\"{} sessions\">{}", metric.n, share(value));
    if let Some(range) = range(metric) {
        let _ = write!(out, " <small>{range}</small>");
    }
    let whole = axis.x(1.0);
    let _ = write!(
        out,
        "<svg class=\"interval\" viewBox=\"0 0 84 10\" aria-hidden=\"true\"><path class=\"whole\" \
         d=\"M{whole} 0v10\"/>"
    );
    if let (Some(lo), Some(hi)) = (metric.lo, metric.hi) {
        let (lo, hi) = (axis.x(lo), axis.x(hi));
        let _ = write!(out, "<path class=\"span\" d=\"M{lo} 5H{hi}\"/>");
    }
    let _ = write!(out, "<circle cx=\"{}\" cy=\"5\" r=\"3\"/></svg></td>", axis.x(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_whole_or_nothing_says_so() {
        let cases = [
            (1.0, "100%"),
            (0.999_99, "99.9%"),
            (1.000_01, "100.1%"),
            (0.996, "99.6%"),
            (0.984, "98%"),
            (1.154, "115%"),
            (0.0, "0%"),
            (0.000_1, "0.1%"),
            (0.004, "0.4%"),
            (0.012, "1%"),
        ];
        for (given, expect) in cases {
            assert_eq!(share(given), expect, "{given}");
        }
    }

    #[test]
    fn changes_carry_their_sign() {
        let cases = [
            (1.0, "0"),
            (0.8, "−20%"),
            (1.03, "+3%"),
            (0.997, "−0.3%"),
            (1.002, "+0.2%"),
            (2.5, "+150%"),
        ];
        for (given, expect) in cases {
            assert_eq!(change(given), expect, "{given}");
        }
    }

    #[test]
    fn bars_stay_on_their_axis() {
        let metric = |value, lo, hi| Metric {
            value: Some(value),
            lo: Some(lo),
            hi: Some(hi),
            n: 3,
            why: None,
        };
        let metrics = [metric(0.5, 0.1, 0.7), metric(1.1, 0.9, 9.0)];
        let axis = Axis::over(metrics.iter());
        assert_eq!((axis.from, axis.to), (400, 1200));
        let mut out = String::new();
        measured(&mut out, &metrics[1], axis);
        assert!(out.contains("M52 5H80"), "{out}");
        assert!(out.contains("110% <small>90–900</small>"), "{out}");
    }
}
