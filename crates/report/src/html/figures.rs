//! Shares, ratios and counts as the page writes them.

use foldback_replay::compare::Metric;

/// The sign for a value that does not apply.
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

/// A value with its interval, where that has two ends: `96% (91 to 99.3)`. Bounds without a value: `41 to 100%`.
pub(super) fn interval(metric: &Metric) -> String {
    let bare = |value: f64| share(value).trim_end_matches('%').to_owned();
    let ends = metric.lo.zip(metric.hi).map(|(lo, hi)| (bare(lo), bare(hi)));
    // A line may break before the interval and not within it.
    let within = |(lo, hi): (String, String)| format!(" ({lo}\u{a0}to\u{a0}{hi})");
    let ends = ends.filter(|(lo, hi)| lo != hi).map(within);
    if let (None, Some(lo), Some(hi)) = (metric.value, metric.lo, metric.hi) {
        return format!("{} to {}", bare(lo), share(hi));
    }
    or_dash(metric.value, |value| format!("{}{}", share(value), ends.clone().unwrap_or_default()))
}

/// A ratio in thousandths.
pub(super) fn per_mille(ratio: f64) -> u64 {
    (ratio.max(0.0) * 1000.0).round() as u64
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
    fn an_interval_without_width_is_left_out() {
        let written = |value, lo, hi| interval(&Metric { value, lo, hi, ..Metric::default() });
        assert_eq!(written(Some(0.96), Some(0.91), Some(0.993)), "96% (91\u{a0}to\u{a0}99.3)");
        assert_eq!(written(Some(0.5), Some(0.501), Some(0.502)), "50%");
        assert_eq!(written(Some(0.5), None, None), "50%");
        assert_eq!(written(None, Some(0.1), Some(1.0)), "10 to 100%");
        assert_eq!(written(None, None, None), "–");
    }
}
