//! The sessions: one table of all of them under all presets, and the saw-teeth of those in which something
//! acted.

use super::details::Drawn;
use super::markup::text;
use super::order::breakable;
use super::sawtooth::{self, Scale};
use crate::number::{grouped, percent, short};
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::Score;
use std::fmt::Write as _;

/// The results of one session, in the order of the presets.
struct Group<'a> {
    session: usize,
    results: Vec<&'a Score>,
}

impl Group<'_> {
    /// What the session is without compaction: the control's result, else that of any preset that changed
    /// nothing, which sent the same.
    fn plain(&self, comparison: &Comparison) -> Option<&Score> {
        let untouched = |result: &&&Score| result.metrics.compactions == 0;
        let is_control = |result: &&&Score| comparison.presets[result.preset].kind == Kind::Control;
        let mut candidates = self.results.iter().filter(untouched);
        let control = self.results.iter().filter(untouched).find(is_control);
        control.or_else(|| candidates.next()).copied()
    }

    fn acted(&self) -> impl Iterator<Item = &Score> {
        self.results.iter().copied().filter(|result| result.metrics.compactions > 0)
    }
}

fn groups(comparison: &Comparison) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = (0..comparison.corpus.sessions.len())
        .map(|session| Group { session, results: Vec::new() })
        .collect();
    for result in &comparison.scores {
        groups[result.session].results.push(result);
    }
    groups
}

/// One row per session, one column per preset: the input of that without compaction.
pub(super) fn table(out: &mut String, comparison: &Comparison, drawn: &[Drawn]) {
    let groups = groups(comparison);
    out.push_str(
        "<section id=\"sessions\">\n<h2>Sessions</h2>\n<p>Input of that without compaction, or in tokens \
         where no preset left the session as it was. A dash: the preset did nothing. Red: it left requests \
         over the window or broke provider rules.</p>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Sessions\">\n\
         <table class=\"matrix\">\n<thead><tr><th scope=\"col\">session</th><th scope=\"col\">format</th>\
         <th scope=\"col\">calls</th><th scope=\"col\">turns</th>",
    );
    for line in &comparison.presets {
        let _ = write!(out, "<th scope=\"col\">{}</th>", breakable(&line.preset));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for group in &groups {
        let session = &comparison.corpus.sessions[group.session];
        let path = breakable(&session.path);
        out.push_str("<tr><th scope=\"row\">");
        if drawn.iter().any(|drawn| drawn.session == group.session) {
            let _ = write!(out, "<a href=\"#session-{}\">{path}</a>", group.session + 1);
        } else {
            out.push_str(&path);
        }
        let _ = write!(
            out,
            "</th><td class=\"word\">{}</td><td>{}</td><td>{}</td>",
            text(&session.format),
            grouped(session.calls as u64),
            grouped(session.turns as u64)
        );
        let plain = group.plain(comparison).map(|plain| plain.metrics.input_tokens);
        for result in &group.results {
            let metrics = &result.metrics;
            let class = if metrics.overflow_calls + metrics.strategy_violations > 0 {
                " class=\"bad\""
            } else if metrics.compactions == 0 {
                " class=\"zero\""
            } else {
                ""
            };
            let _ = write!(out, "<td{class}>{}</td>", input(result, plain));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn input(result: &Score, plain: Option<u64>) -> String {
    let input = result.metrics.input_tokens;
    match plain {
        _ if result.metrics.compactions == 0 => "–".to_owned(),
        Some(plain @ 1..) => percent(input as f64 / plain as f64),
        _ => short(input),
    }
}

/// Bytes of drawings that one page takes, at most.
const BUDGET: usize = 1_200_000;

/// The saw-teeth, one collapsed block per session; the first stands open. Returns how many there was
/// room for.
pub(super) fn drawings(out: &mut String, comparison: &Comparison, drawn: &[Drawn]) -> usize {
    if drawn.is_empty() {
        return 0;
    }
    out.push_str(
        "<section id=\"size\">\n<h2>Context over the calls</h2>\n<p class=\"key\">Size of each request in \
         tokens, over the number of the call. <span class=\"k size\">under the preset</span> <span class=\"k \
         plain\">without compaction</span> <span class=\"k ceiling\">window</span> <span class=\"k \
         prune\">pruned</span> <span class=\"k fold\">folded</span> <span class=\"k over\">over the \
         window</span> <span class=\"k recorder\">behind a compaction of the recorder</span></p>\n",
    );
    let groups = groups(comparison);
    let acted = groups.iter().filter(|group| group.acted().next().is_some()).count();
    let mut blocks: Vec<String> = Vec::new();
    let mut size = 0;
    for session in drawn {
        let mut block = String::new();
        let group = &groups[session.session];
        draw(&mut block, group, session, comparison, blocks.is_empty());
        size += block.len();
        if size > BUDGET && !blocks.is_empty() {
            break;
        }
        blocks.push(block);
    }
    if acted > blocks.len() {
        let _ = writeln!(
            out,
            "<p>Something acted in {acted} sessions; {} of the longest are drawn.</p>",
            blocks.len()
        );
    }
    let room = blocks.len();
    out.extend(blocks);
    out.push_str("</section>\n");
    room
}

fn draw(out: &mut String, group: &Group<'_>, drawn: &Drawn, comparison: &Comparison, open: bool) {
    let line = &comparison.corpus.sessions[group.session];
    let scale = Scale {
        tokens: group.results.iter().map(|result| result.metrics.peak_tokens).max().unwrap_or(0),
        last: line.calls.saturating_sub(1) as u64,
    };
    let plain = group.plain(comparison);
    let plain_rows = plain
        .and_then(|plain| drawn.records.get(plain.preset))
        .map(|record| record.rows.as_slice());
    let _ = writeln!(
        out,
        "<details{}>\n<summary>{} <small>{}, {} calls, {} of {} presets acted</small></summary>\n\
         <div class=\"grid\" id=\"session-{}\">",
        if open { " open" } else { "" },
        text(&line.path),
        text(&line.format),
        grouped(line.calls as u64),
        group.acted().count(),
        group.results.len(),
        group.session + 1
    );
    for result in group.acted() {
        let Some(record) = drawn.records.get(result.preset) else {
            continue;
        };
        let preset = &comparison.presets[result.preset].preset;
        let share = input(result, plain.map(|plain| plain.metrics.input_tokens));
        let _ = writeln!(
            out,
            "<figure>\n<figcaption><strong>{}</strong> input {share}, peak {}</figcaption>",
            text(preset),
            short(result.metrics.peak_tokens)
        );
        let label = format!("Size of the requests under {preset}");
        sawtooth::draw(out, &label, &record.rows, plain_rows, scale);
        let _ = writeln!(
            out,
            "<p class=\"small\">{}</p>\n</figure>",
            text(&sawtooth::firings(&record.rows))
        );
    }
    out.push_str("</div>\n</details>\n");
}
