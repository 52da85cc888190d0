//! Sessions in which a preset did nothing, and why. A strategy that rarely acts looks cheap to run and saves
//! nothing, so its silence is part of the result.

use super::markup::text;
use crate::number::{grouped, percent};
use foldback_core::strategy::Kind;
use foldback_replay::compare::{Idle, PresetLine};
use std::fmt::Write as _;

/// One collapsed list per preset; controls are left out, they do nothing on purpose.
pub(super) fn section(out: &mut String, presets: &[PresetLine]) {
    let idle: Vec<&PresetLine> =
        presets.iter().filter(|line| line.kind != Kind::Control && !line.idle.is_empty()).collect();
    if idle.is_empty() {
        return;
    }
    out.push_str("<section id=\"idle\">\n<h2>Idle</h2>\n");
    for line in idle {
        let acted = match line.triggered_input_ratio {
            Some(ratio) => format!("where it acted, input was {}", percent(ratio)),
            None => "it acted nowhere".to_owned(),
        };
        let _ = writeln!(
            out,
            "<details>\n<summary>{} <small>idle in {} of {} sessions; {acted}</small></summary>\n<ul>",
            text(&line.preset),
            line.idle.len(),
            line.sessions
        );
        // Those that would act at the largest window came nearest.
        let mut nearest: Vec<&Idle> = line.idle.iter().collect();
        nearest.sort_by_key(|idle| std::cmp::Reverse(idle.window));
        for idle in nearest {
            let _ = write!(
                out,
                "<li><span class=\"path\">{}</span> {}",
                text(&idle.path),
                text(&idle.why)
            );
            if let Some(window) = idle.window {
                let _ = write!(out, "; it would act with a window of {} tokens", grouped(window));
            }
            out.push_str("</li>\n");
        }
        out.push_str("</ul>\n</details>\n");
    }
    out.push_str("</section>\n");
}
