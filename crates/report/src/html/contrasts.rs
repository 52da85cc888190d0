//! Which pairs of strategies can be distinguished, by their bills and by what they keep.

use super::figures::{change, or_dash, share};
use super::markup::{
    BODY, END_TABLE, breakable, col_heads, named_td, open_section, open_table, row_head,
};
use foldback_replay::Comparison;
use foldback_replay::compare::{Cheaper, Contrast, Difference, Primary};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Both matrices and the table of all pairs.
pub(super) fn section(out: &mut String, comparison: &Comparison) {
    let contrasts = &comparison.contrasts;
    if contrasts.is_empty() {
        return;
    }
    let ranked = comparison.ranked().into_iter();
    let names: Vec<&str> = ranked.map(|at| comparison.presets[at].preset.as_str()).collect();
    open_section(out, "contrasts");
    summary(out, comparison);
    if matrix(out, "By the bill", "its bill", &names, contrasts, cost) {
        out.push_str(
            "<p class=\"key\">The row against the column. <strong>▼ cheaper</strong>, <strong>▲ costlier</strong>: \
             significant, even if everything that the cheaper one forgot were read again. <strong>▽ less</strong>, \
             <strong>△ more</strong>: the bills are told apart, but re-reading could turn it. <strong>· tie</strong>: \
             not told apart.</p>\n",
        );
    }
    matrix(out, "By what is kept (kept)", "what it keeps", &names, contrasts, kept);
    pairs(out, contrasts);
    out.push_str("</section>\n");
}

fn summary(out: &mut String, comparison: &Comparison) {
    let [apart, kept] =
        [Primary::Cost, Primary::FrrObsFar].map(|metric| comparison.told_apart(metric));
    let _ = write!(
        out,
        "<p>Of {} pairs, {} are ties by their bills and {} by what they keep: paired cluster \
         bootstrap, Holm's adjustment over all pairs for each question.",
        apart.pairs, apart.ties, kept.ties,
    );
    if apart.unresolved + kept.unresolved > 0 {
        let _ = write!(
            out,
            " {} and {} of them are below the resolution of the test: all draws agree, and for so many pairs that is \
             not enough. Compare fewer presets.",
            apart.unresolved, kept.unresolved,
        );
    }
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

/// What a cell says of a pair, the first against the second; the sign that stands for it where the screen is narrow;
/// and its class.
type Word = (&'static str, &'static str, &'static str);

const TIE: Word = ("tie", "·", "zero");

/// Which way a pair that is told apart goes.
fn way(difference: &Difference, null: f64) -> Option<Ordering> {
    difference.value.filter(|_| !difference.tie)?.partial_cmp(&null)
}

fn cost(contrast: &Contrast) -> Word {
    let certain = contrast.cheaper;
    match way(&contrast.cost, 1.0) {
        Some(Ordering::Less) if certain == Cheaper::First => ("cheaper", "▼", "less2"),
        Some(Ordering::Less) => ("less", "▽", "less1"),
        Some(Ordering::Greater) if certain == Cheaper::Second => ("costlier", "▲", "more2"),
        Some(Ordering::Greater) => ("more", "△", "more1"),
        _ => TIE,
    }
}

fn kept(contrast: &Contrast) -> Word {
    match way(&contrast.frr_obs_far, 0.0) {
        Some(Ordering::Greater) => ("keeps more", "▲", "less2"),
        Some(Ordering::Less) => ("less", "▼", "more2"),
        _ => TIE,
    }
}

/// The grid of all pairs by one measure, or one sentence where it tells nothing apart; says which.
fn matrix(
    out: &mut String,
    title: &str,
    measure: &str,
    names: &[&str],
    contrasts: &[Contrast],
    word: fn(&Contrast) -> Word,
) -> bool {
    let _ = writeln!(out, "<h3>{title}</h3>");
    if contrasts.iter().all(|contrast| word(contrast) == TIE) {
        let _ = writeln!(out, "<p>All strategies tie by {measure}.</p>");
        return false;
    }
    open_table(out, title, "matrix pairs");
    out.push_str("<td></td>");
    col_heads(out, names.iter().map(|name| breakable(name)));
    out.push_str(BODY);
    for row in names {
        row_head(out, breakable(row));
        for column in names {
            let contrast = contrasts.iter().find_map(|contrast| contrast.between(row, column));
            let (word, sign, class) = contrast.as_ref().map_or(("", "", ""), word);
            let _ = write!(out, "<td class=\"{class}\" data-sign=\"{sign}\">{word}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str(END_TABLE);
    true
}

/// Every pair with its numbers.
fn pairs(out: &mut String, contrasts: &[Contrast]) {
    out.push_str(
        "<details>\n<summary>The numbers of all pairs</summary>\n<p class=\"small\">Bill: the first against the \
         second. Kept: the first minus the second, in points. In brackets 95% intervals; Holm: p-value after \
         adjustment; Wilcoxon: signed-rank p-value over sessions; MDD: the smallest difference that four in five \
         such comparisons would find.</p>\n",
    );
    open_table(out, "All pairs", "matrix cards all-pairs");
    out.push_str(
        "<td></td><td></td><th scope=\"colgroup\" colspan=\"4\">bill</th><th scope=\"colgroup\" \
         colspan=\"4\">kept</th></tr>\n<tr>",
    );
    let tests = ["Holm", "Wilcoxon", "MDD"];
    col_heads(out, ["first", "second", "first of second"].into_iter().chain(tests));
    col_heads(out, ["difference"].into_iter().chain(tests));
    out.push_str(BODY);
    for contrast in contrasts {
        row_head(out, breakable(&contrast.first));
        named_td(out, "against", "word", breakable(&contrast.second));
        numbers(out, "bill", contrast, Primary::Cost, change);
        numbers(out, "kept", contrast, Primary::FrrObsFar, points);
        out.push_str("</tr>\n");
    }
    out.push_str(END_TABLE);
    out.push_str("</details>\n");
}

fn numbers(
    out: &mut String,
    of: &str,
    contrast: &Contrast,
    metric: Primary,
    write: fn(f64) -> String,
) {
    let difference = contrast.by(metric);
    let value = or_dash(difference.value, write);
    let range = match (difference.lo, difference.hi) {
        (Some(lo), Some(hi)) => format!(" <small>({} to {})</small>", write(lo), write(hi)),
        _ => String::new(),
    };
    let class = if difference.tie { "zero" } else { "" };
    named_td(out, of, class, format_args!("{value}{range}"));
    let tests = [
        ("Holm", or_dash(difference.p_holm, p_value)),
        ("Wilcoxon", or_dash(difference.wilcoxon_p, p_value)),
        ("MDD", or_dash(contrast.detectable(metric), share)),
    ];
    for (test, value) in tests {
        named_td(out, &format!("{of}, {test}"), "", value);
    }
}

fn p_value(p: f64) -> String {
    match p {
        ..0.001 => "&lt; 0.001".to_owned(),
        ..0.1 => format!("{p:.3}"),
        _ => format!("{p:.2}"),
    }
}

/// A difference of shares, in points.
fn points(difference: f64) -> String {
    match format!("{:.1}", (difference * 100.0).abs()).as_str() {
        "0.0" => "0".to_owned(),
        points if difference < 0.0 => format!("−{points}"),
        points => format!("+{points}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contrast(cost: f64, tie: bool, cheaper: Cheaper) -> Contrast {
        Contrast {
            first: "a".to_owned(),
            second: "b".to_owned(),
            cost: Difference { value: Some(cost), tie, ..Difference::default() },
            frr_obs_far: Difference { value: Some(-0.1), tie, ..Difference::default() },
            cheaper,
        }
    }

    #[test]
    fn cheaper_is_only_said_when_re_reading_cannot_turn_it() {
        let cases = [
            (0.8, false, Cheaper::First, "cheaper", "costlier"),
            (0.8, false, Cheaper::Depends, "less", "more"),
            // By the bounds the other one, by the bills this one: then it is not certain.
            (0.8, false, Cheaper::Second, "less", "more"),
            (1.2, false, Cheaper::Second, "costlier", "cheaper"),
            (0.8, true, Cheaper::First, "tie", "tie"),
        ];
        for (ratio, tie, cheaper, forward, backward) in cases {
            let contrast = contrast(ratio, tie, cheaper);
            assert_eq!(cost(&contrast).0, forward, "{ratio} {cheaper:?}");
            let turned = contrast.between("b", "a").unwrap();
            assert_eq!(cost(&turned).0, backward, "{ratio} {cheaper:?}");
        }
        let apart = contrast(0.8, false, Cheaper::First);
        assert_eq!(kept(&apart).0, "less");
        assert_eq!(kept(&apart.between("b", "a").unwrap()).0, "keeps more");
    }
}
