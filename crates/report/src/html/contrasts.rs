//! Which pairs of strategies can be distinguished, by their bills and by what they keep.

use super::figures::share;
use super::markup::{BODY, END_FOLD, END_TABLE, name, open_fold, open_table, row_head};
use crate::number::count;
use foldback_replay::Comparison;
use foldback_replay::compare::{Contrast, Difference, PresetLine, Primary};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Both grids of all pairs.
pub(super) fn section(out: &mut String, comparison: &Comparison) {
    if comparison.contrasts.is_empty() {
        return;
    }
    open_fold(out, "contrasts", "Which pairs can be told apart");
    summary(out, comparison);
    out.push_str("<div class=\"grids\">\n");
    grid(out, comparison, "By the bill", &COST, cost);
    grid(out, comparison, "By what is kept", &KEPT, kept);
    out.push_str("</div>\n");
    out.push_str(END_FOLD);
}

fn summary(out: &mut String, comparison: &Comparison) {
    let [apart, kept] =
        [Primary::Net, Primary::FrrObsFar].map(|metric| comparison.told_apart(metric));
    let _ = write!(
        out,
        "<p>Of {}, {} are ties by their bills and {} by what they keep: paired sign-flip \
         test, Holm's adjustment over all pairs for each question.",
        count(apart.pairs as u64, "pair"),
        apart.ties,
        kept.ties,
    );
    if let Some((least, most)) = apart.detectable {
        let (least, most) = (share(least), share(most));
        let by =
            if least == most { least } else { format!("{least} to {most}, depending on the pair") };
        let _ = write!(
            out,
            " More than one in five such comparisons would miss bills that differ by less than {by}."
        );
    }
    out.push_str("</p>\n");
}

/// The cell of a pair, first against second: a sign, its class, and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sign(&'static str, &'static str, &'static str);

const TIE: Sign = Sign("=", "zero", "not told apart");
const COST: [Sign; 3] = [Sign("▼", "less2", "cheaper"), Sign("▲", "more2", "costs more"), TIE];
const KEPT: [Sign; 3] = [Sign("▲", "less2", "keeps more"), Sign("▼", "more2", "keeps less"), TIE];

/// Which way a pair that is told apart goes.
fn way(difference: &Difference, null: f64) -> Option<Ordering> {
    difference.value.filter(|_| !difference.tie)?.partial_cmp(&null)
}

fn cost(contrast: &Contrast) -> Sign {
    match way(&contrast.net, 1.0) {
        Some(Ordering::Less) => COST[0],
        Some(Ordering::Greater) => COST[1],
        _ => TIE,
    }
}

fn kept(contrast: &Contrast) -> Sign {
    match way(&contrast.frr_obs_far, 0.0) {
        Some(Ordering::Greater) => KEPT[0],
        Some(Ordering::Less) => KEPT[1],
        _ => TIE,
    }
}

/// The grid of all pairs by one measure, or one sentence where it tells nothing apart.
fn grid(
    out: &mut String,
    comparison: &Comparison,
    title: &str,
    signs: &[Sign],
    sign: fn(&Contrast) -> Sign,
) {
    let contrasts = &comparison.contrasts;
    let lines: Vec<&PresetLine> =
        comparison.ranked().into_iter().map(|at| &comparison.presets[at]).collect();
    let _ = writeln!(out, "<div>\n<h3>{title}</h3>");
    if contrasts.iter().all(|contrast| sign(contrast) == TIE) {
        out.push_str("<p>All strategies tie.</p>\n</div>\n");
        return;
    }
    open_table(out, title, "pairs");
    out.push_str("<td></td>");
    for (at, line) in lines.iter().enumerate() {
        let _ = write!(
            out,
            "<th scope=\"col\" title=\"{}\">{}</th>",
            name(comparison, line).replace("<wbr>", ""),
            at + 1
        );
    }
    out.push_str(BODY);
    let mut shown: Vec<Sign> = Vec::new();
    for (at, row) in lines.iter().enumerate() {
        row_head(out, format_args!("{} {}", at + 1, name(comparison, row)));
        for column in &lines {
            let pair = |contrast: &Contrast| contrast.between(&row.preset, &column.preset);
            match contrasts.iter().find_map(pair).as_ref().map(sign) {
                Some(sign @ Sign(mark, class, meaning)) => {
                    shown.push(sign);
                    let _ = write!(out, "<td class=\"{class}\" title=\"{meaning}\">{mark}</td>");
                }
                None => out.push_str("<td></td>"),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str(END_TABLE);
    let legend = signs.iter().filter(|sign| shown.contains(sign));
    let legend: Vec<String> =
        legend.map(|Sign(mark, _, meaning)| format!("{mark} {meaning}")).collect();
    let _ = writeln!(
        out,
        "<p class=\"key\">The row against the column: {}.</p>\n</div>",
        legend.join(" · ")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contrast(net: f64, tie: bool) -> Contrast {
        Contrast {
            first: "a".to_owned(),
            second: "b".to_owned(),
            net: Difference { value: Some(net), tie, ..Difference::default() },
            frr_obs_far: Difference { value: Some(-0.1), tie, ..Difference::default() },
        }
    }

    #[test]
    fn signs_are_those_of_both_sides() {
        for (ratio, tie, forward, backward) in
            [(0.8, false, "▼", "▲"), (1.2, false, "▲", "▼"), (0.8, true, "=", "=")]
        {
            let contrast = contrast(ratio, tie);
            let turned = contrast.between("b", "a").unwrap();
            assert_eq!((cost(&contrast).0, cost(&turned).0), (forward, backward), "{ratio}");
        }
        let apart = contrast(0.8, false);
        assert_eq!(kept(&apart).0, "▼");
        assert_eq!(kept(&apart.between("b", "a").unwrap()).0, "▲");
    }
}
