//! The page of a proxy: its conversations with their saw-tooth, and what they saved. One answer without a script, which
//! loads nothing and asks for itself again every few seconds.

pub(crate) mod metrics;

use crate::bill::Sums;
use crate::bill::course::Course;
use crate::fold::Id;
use crate::outcome::protocol;
use crate::trial::arms::Arms;
use crate::trial::log::TrialLog;
use foldback_live::trial::guard;
use foldback_live::trial::record::{TrialArm, TrialSums};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Most conversations on the page, those of the latest requests.
const MOST: usize = 100;

/// Width and height of a saw-tooth.
const PLOT: (f64, f64) = (240.0, 36.0);

/// What the page may do: show itself.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = "body{font:14px/1.5 system-ui,sans-serif;margin:2em;max-width:100em;color:#222;background:#fff}\
table{border-collapse:collapse}th,td{padding:.3em .8em;text-align:right;border-bottom:1px solid #ddd}\
th{font-weight:600}td:nth-child(-n+3),th:nth-child(-n+3){text-align:left}td,th{white-space:nowrap}td:nth-child(3){white-space:normal;overflow-wrap:anywhere;min-width:10em}svg{display:block}\
.sent{fill:none;stroke:#0a6;stroke-width:1.5}.received{fill:none;stroke:#bbb}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}th,td{border-color:#444}.received{stroke:#666}}";

/// The page now.
pub(crate) fn page(arms: &Arms) -> String {
    let shadow = arms.first().folding.shadow;
    let (kept, _, _) = arms.count();
    let preset = match &arms.trial {
        Some(_) => "a trial".to_owned(),
        None => escaped(&arms.first().folding.strategy.label()),
    };
    let sums = arms.sums().values().fold(Sums::default(), |mut all, sums| {
        all += *sums;
        all
    });
    let does = match shadow {
        true => "changes nothing and shows what it would send",
        false => "sends what the view shows",
    };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"5\">\
         <title>foldback: {preset}</title><style>{STYLE}</style></head><body>\n<h1>{preset}</h1>\n\
         <p>This proxy {does}. It keeps {}; the latest come first. Sizes are tokens by the preset's \
         estimator. <a href=\"/metrics\">All counters</a></p>\n",
        count(kept, "conversation"),
    );
    out.push_str(&in_all(&sums, shadow));
    if let Some(log) = &arms.trial {
        out.push_str(&trial(log));
    }
    for (at, arm) in arms.all.iter().enumerate() {
        if let Some(log) = &arms.trial {
            let _ = writeln!(out, "<h2>{}</h2>", escaped(&log.head.arms[at].name));
        }
        out.push_str(&conversations(&arm.courses(MOST / arms.all.len())));
    }
    out.push_str("</body></html>\n");
    out
}

/// The arms of a trial side by side, by its file.
fn trial(log: &TrialLog) -> String {
    let Some((trial, units, evidence)) = log.now() else {
        return "<p>The file of the trial can't be read.</p>\n".to_owned();
    };
    let limit = guard::limit(trial.head.arms.len());
    let mut out = "<table>\n<tr><th>arm</th><th>new units</th><th>model</th><th>units</th><th>calls a unit</th><th>dollars a unit</th>\
                   <th>repeats a unit</th><th>refused</th><th>failed</th><th>harm</th></tr>\n"
        .to_owned();
    for TrialArm { name, .. } in &trial.head.arms {
        let (mut models, mut units_of_arm, mut all) = (BTreeSet::new(), 0, TrialSums::default());
        for unit in units.iter().filter(|unit| unit.arm == *name) {
            models.insert(&*unit.model);
            units_of_arm += 1;
            all += unit.sums;
        }
        let each = |total: f64| total / f64::from(units_of_arm.max(1));
        let harm = evidence.get(name).map(|it| format!("{:.0} of {limit:.0}", it.amount));
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{units_of_arm}</td><td>{:.1}</td><td>{}</td><td>{:.1}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(name),
            if trial.is_open(name) { "yes" } else { "stopped" },
            escaped(&models.into_iter().collect::<Vec<_>>().join(", ")),
            each(all.calls as f64),
            usd(each(all.usd)),
            each(all.repeats as f64),
            all.refusals,
            all.failures,
            harm.as_deref().unwrap_or("control"),
        );
    }
    out + "</table>\n"
}

/// The latest conversations of an arm.
fn conversations(courses: &[(Id, Course)]) -> String {
    let mut out = String::new();
    if courses.is_empty() {
        out.push_str("<p>No conversation went through yet.</p>\n");
    } else {
        out.push_str(
            "<table>\n<tr><th>conversation</th><th>protocol</th><th>model</th><th>requests</th><th>messages</th>\
             <th>received</th><th>sent</th><th>folds</th><th>tokens saved</th><th>dollars saved</th><th>sent, and received in gray</th></tr>\n",
        );
        courses.iter().for_each(|(id, course)| row(&mut out, *id, course));
        out.push_str("</table>\n");
    }
    out
}

fn row(out: &mut String, id: Id, course: &Course) {
    let latest = course.latest();
    let saved = course.received.saturating_sub(course.sent);
    let share = (saved as f64 * 100.0 / course.received.max(1) as f64).round();
    let bill = dollars(&course.bill.sums);
    // Writing to a string can't fail.
    let _ = writeln!(
        out,
        "<tr><td>{id}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{saved} ({share} %)</td><td>{bill}</td><td>{}</td></tr>",
        protocol(course.dialect),
        escaped(&course.model),
        course.requests,
        course.messages,
        latest.received,
        latest.sent,
        latest.folds,
        plot(course),
    );
}

/// What was saved since the start by all conversations, and how it was priced.
fn in_all(sums: &Sums, shadow: bool) -> String {
    let mut out = String::new();
    if sums.priced() > 0 {
        let (received, sent) = (usd(sums.received), usd(sums.sent));
        let (saved, of) = match shadow {
            true => (
                "Would have been saved",
                format!(
                    "What was sent cost {received}; what the view shows would have cost {sent}"
                ),
            ),
            false => (
                "Saved",
                format!(
                    "The clients' own requests would have cost {received}; what was sent cost {sent}"
                ),
            ),
        };
        let by = match (sums.reported, sums.estimated) {
            (reported, 0) => format!("Usage was reported with {}", count(reported, "answer")),
            (0, _) => "No answer reported usage, so both are estimates".to_owned(),
            (reported, estimated) => format!(
                "Usage was reported with {}; both are estimates for {estimated} more",
                count(reported, "answer")
            ),
        };
        // Writing to a string can't fail.
        let _ = writeln!(
            out,
            "<p>{saved} since the start, by estimate: <b>{}</b>. {of}. {by}.</p>",
            dollars(sums)
        );
    }
    if sums.outgrown > 0 {
        let _ = writeln!(
            out,
            "<p>{} more could only be given because of folds: the client's own request would have been larger than the window. \
             They are in none of these sums.</p>",
            count(sums.outgrown, "answer")
        );
    }
    if sums.unpriced > 0 {
        let _ = writeln!(
            out,
            "<p>No price for {}: the table of models does not have their model. <code>--models FILE</code> names a table \
             that does, <code>--model NAME</code> a model whose prices count for all.</p>",
            count(sums.unpriced, "answer")
        );
    }
    out
}

/// A number of things.
fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Dollars saved, and their share of what requests would have cost.
fn dollars(sums: &Sums) -> String {
    match (sums.priced(), sums.unpriced) {
        (0, 0) => "–".to_owned(),
        (0, _) => "no price".to_owned(),
        _ => {
            let share = if sums.received > 0.0 { sums.saved() / sums.received } else { 0.0 };
            format!("{} ({} %)", usd(sums.saved()), (share * 100.0).round() as i64)
        }
    }
}

/// Dollars to the cent; less than ten to the hundredth of a cent.
fn usd(dollars: f64) -> String {
    let amount = match dollars.abs() {
        nothing if nothing < 5e-5 => return "$0".to_owned(),
        small if small < 10.0 => format!("{small:.4}"),
        large => format!("{large:.2}"),
    };
    format!("{}${amount}", if dollars < 0.0 { "−" } else { "" })
}

/// The sizes of the latest requests as two lines.
fn plot(course: &Course) -> String {
    let (width, height) = PLOT;
    let top = course.sizes.iter().map(|sizes| sizes.received.max(sizes.sent)).max().unwrap_or(0);
    let step = width / (course.sizes.len().max(2) - 1) as f64;
    let line = |of: fn(&foldback_live::follow::Sizes) -> u64| {
        let points = course.sizes.iter().map(of).enumerate().map(|(index, tokens)| {
            let y = height - height * tokens as f64 / top.max(1) as f64;
            format!("{:.1},{y:.1}", index as f64 * step)
        });
        points.collect::<Vec<_>>().join(" ")
    };
    format!(
        "<svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"sizes of the latest requests\">\
         <polyline class=\"received\" points=\"{}\"/><polyline class=\"sent\" points=\"{}\"/></svg>",
        line(|sizes| sizes.received),
        line(|sizes| sizes.sent),
    )
}

/// A text of a client's, which may hold anything, cut to what fits.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars().take(80) {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
