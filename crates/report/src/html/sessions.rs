//! The sessions: one table of all of them under all presets, and the saw-teeth of those in which something
//! acted.

use super::details::Drawn;
use super::markup::{
    BODY, END_TABLE, breakable, col_heads, open_section, open_table, row_head, td, text,
};
use super::sawtooth::{self, Scale};
use crate::columns::unit;
use crate::number::{grouped, percent, short};
use foldback_replay::Comparison;
use foldback_replay::compare::Score;
use std::fmt::Write as _;

/// One row per session, one column per preset that compacts: the input of that without compaction.
pub(super) fn table(out: &mut String, comparison: &Comparison, drawn: &[Drawn]) {
    open_section(out, "sessions");
    out.push_str(
        "<p>Input of that without compaction. A dash: the preset did nothing. Red: it sent requests over \
         the window or broke provider rules.</p>\n",
    );
    open_table(out, "Sessions", "matrix");
    let compacts = |at: &usize| *at != comparison.baseline;
    let presets = (0..comparison.presets.len()).filter(compacts);
    let names = presets.map(|at| text(&comparison.presets[at].preset).to_string());
    col_heads(
        out,
        ["session", "format", "calls", "turns"].map(str::to_owned).into_iter().chain(names),
    );
    out.push_str(BODY);
    for (number, session) in comparison.corpus.sessions.iter().enumerate() {
        let path = breakable(&session.path);
        match drawn.iter().any(|drawn| drawn.session == number) {
            true => row_head(out, format_args!("<a href=\"#session-{}\">{path}</a>", number + 1)),
            false => row_head(out, path),
        }
        td(out, "word", text(&session.format));
        td(out, "", grouped(session.calls as u64));
        td(out, "", grouped(session.turns as u64));
        for score in comparison.scores_of(number).iter().filter(|score| compacts(&score.preset)) {
            let metrics = &score.metrics;
            let class = match metrics.compactions {
                _ if metrics.sent_over + metrics.strategy_violations > 0 => "bad",
                0 => "zero",
                _ => "",
            };
            td(out, class, input(comparison, score));
        }
        out.push_str("</tr>\n");
    }
    out.push_str(END_TABLE);
    out.push_str("</section>\n");
}

/// The input of a session under a preset, of that without compaction.
fn input(comparison: &Comparison, score: &Score) -> String {
    let input = score.metrics.input_tokens;
    let plain = comparison.scores_of(score.session).get(comparison.baseline);
    match plain.map_or(0, |plain| plain.metrics.input_tokens) {
        _ if score.metrics.compactions == 0 => "–".to_owned(),
        0 => short(input),
        plain => percent(input as f64 / plain as f64),
    }
}

/// What presets that changed something did with a session.
fn acted(comparison: &Comparison, session: usize) -> impl Iterator<Item = &Score> {
    comparison.scores_of(session).iter().filter(|score| score.metrics.compactions > 0)
}

/// Bytes of drawings that one page takes, at most.
const BUDGET: usize = 1_200_000;

/// The saw-teeth, one collapsed block per session; the first stands open. Returns how many there was
/// room for.
pub(super) fn drawings(out: &mut String, comparison: &Comparison, drawn: &[Drawn]) -> usize {
    if drawn.is_empty() {
        return 0;
    }
    open_section(out, "size");
    let _ = writeln!(
        out,
        "<p class=\"key\">Size of each request in {}, over the number of the call. <span class=\"k size\">under the preset</span> <span class=\"k \
         plain\">without compaction</span> <span class=\"k ceiling\">window</span> <span class=\"k \
         prune\">pruned</span> <span class=\"k fold\">folded</span> <span class=\"k over\">refused as too \
         large</span> <span class=\"k recorder\">behind a compaction of the recorder</span></p>",
        text(&unit(&comparison.reporting.estimator))
    );
    let sessions = 0..comparison.corpus.sessions.len();
    let acted = sessions.filter(|at| acted(comparison, *at).next().is_some()).count();
    let mut blocks: Vec<String> = Vec::new();
    let mut size = 0;
    for session in drawn {
        let mut block = String::new();
        draw(&mut block, session, comparison, blocks.is_empty());
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

fn draw(out: &mut String, drawn: &Drawn, comparison: &Comparison, open: bool) {
    let line = &comparison.corpus.sessions[drawn.session];
    let scores = comparison.scores_of(drawn.session);
    let scale = Scale {
        tokens: scores.iter().map(|score| score.metrics.peak_tokens).max().unwrap_or(0),
        last: line.calls.saturating_sub(1) as u64,
    };
    let plain = drawn.records.get(comparison.baseline).map(|record| record.rows.as_slice());
    let _ = writeln!(
        out,
        "<details{}>\n<summary>{} <small>{}, {} calls, {} of {} presets acted</small></summary>\n\
         <div class=\"grid\" id=\"session-{}\">",
        if open { " open" } else { "" },
        text(&line.path),
        text(&line.format),
        grouped(line.calls as u64),
        acted(comparison, drawn.session).count(),
        scores.len(),
        drawn.session + 1
    );
    for score in acted(comparison, drawn.session) {
        let Some(record) = drawn.records.get(score.preset) else {
            continue;
        };
        let preset = &comparison.presets[score.preset].preset;
        let share = input(comparison, score);
        let _ = writeln!(
            out,
            "<figure>\n<figcaption><strong>{}</strong> input {share}, peak {}</figcaption>",
            text(preset),
            short(score.metrics.peak_tokens)
        );
        let label = format!("Size of the requests under {preset}");
        sawtooth::draw(out, &label, &record.rows, plain, scale);
        let _ = writeln!(
            out,
            "<p class=\"small\">{}</p>\n</figure>",
            text(&sawtooth::firings(&record.rows))
        );
    }
    out.push_str("</div>\n</details>\n");
}
