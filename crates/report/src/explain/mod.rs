//! What presets did with one session, in words: the size of the requests over the calls, every firing,
//! and the worst of what later calls needed and no longer had.

mod saw;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod words;

use crate::number::{count, grouped, percent};
use crate::terminal::{Width, wrap};
use foldback_replay::walk::{NeedKind, Track, TrackFiring, Walk, worst};
use std::fmt::Write as _;

/// Firings that are told one by one; of more, the middle is left out.
const FIRINGS: usize = 24;

/// One section per preset of the walk, with the `top` worst of what was forgotten.
pub fn explain(walk: &Walk, width: Width, top: usize) -> String {
    let mut out = String::new();
    for track in &walk.tracks {
        if !out.is_empty() {
            out.push('\n');
        }
        preset(&mut out, walk, track, width, top);
    }
    out
}

fn preset(out: &mut String, walk: &Walk, track: &Track, width: Width, top: usize) {
    let mut say = |indent: &str, text: &str| wrap(out, indent, "  ", text, width);
    say("", &format!("{} under {}", walk.path, track.preset));
    if track.fault.is_some() {
        track.idle.iter().for_each(|why| say("", why));
        return;
    }
    say("", &sizes(walk, track));
    out.push('\n');
    saw::draw(out, walk, track, width);
    out.push('\n');
    firings(out, track, width);
    repeated(out, walk, track, width);
    for failure in &track.failures {
        wrap(out, "", "  ", failure, width);
    }
    broken(out, track, width);
    out.push('\n');
    forgotten(out, walk, track, width, top);
}

fn sizes(walk: &Walk, track: &Track) -> String {
    let calls = track.tokens.len() as u64;
    let turns = walk.calls.last().map_or(0, |call| call.turn) as u64;
    let sent: u64 = track.tokens.iter().sum();
    let plain: u64 = walk.calls.iter().map(|call| call.plain_tokens).sum();
    let peak = track.tokens.iter().copied().max().unwrap_or(0);
    let mut out = format!(
        "{} in {}; window {}; requests of {} tokens at most, {} in the mean",
        count(calls, "call"),
        count(turns, "turn"),
        grouped(track.limits.context),
        grouped(peak),
        grouped(sent.checked_div(calls).unwrap_or(0)),
    );
    if plain > 0 {
        let share = percent(sent as f64 / plain as f64);
        let _ = write!(out, ", {share} of the input without compaction");
    }
    let _ = write!(out, " ({})", walk.measure);
    if !track.overflows.is_empty() {
        let refused = count(track.overflows.len() as u64, "request");
        let first = track.overflows[0];
        let _ = write!(out, "; {refused} refused as too large, the first at call {first}");
    }
    out
}

fn firings(out: &mut String, track: &Track, width: Width) {
    if track.firings.is_empty() {
        out.push_str("Nothing fired:\n");
        for why in &track.idle {
            wrap(out, "  ", "  ", &with_grouped_numbers(why), width);
        }
        return;
    }
    let total = track.firings.len();
    let times = count(total as u64, "time");
    let head = format!(
        "Fired {times} (view before → after, by the preset's own {}, frame not included)",
        track.estimator
    );
    wrap(out, "", "  ", &head, width);
    let (first, last) = if total > FIRINGS { (FIRINGS * 3 / 4, FIRINGS / 4) } else { (total, 0) };
    let calls = track.tokens.len();
    for fired in &track.firings[..first] {
        firing(out, fired, calls, width);
    }
    if first + last < total {
        let _ = writeln!(out, "  … {} more", total - first - last);
    }
    for fired in &track.firings[total - last..] {
        firing(out, fired, calls, width);
    }
}

fn firing(out: &mut String, fired: &TrackFiring, calls: usize, width: Width) {
    let at = match fired.call < calls {
        true => format!("before call {}", fired.call),
        false => "after the last call".to_owned(),
    };
    let mut text = format!(
        "{at}, {}: {} {} → {}",
        fired.moment,
        fired.stage,
        grouped(fired.own_before),
        grouped(fired.own_after),
    );
    if !fired.reason.is_empty() {
        let _ = write!(text, "; {}", with_grouped_numbers(&fired.reason));
    }
    if let Some(why) = &fired.degraded {
        let _ = write!(text, "; degraded: {why}");
    }
    wrap(out, "  ", "    ", &text, width);
}

/// A reason as a policy states it, its numbers written like those beside it.
fn with_grouped_numbers(reason: &str) -> String {
    let word = |word: &str| match word.trim_end_matches([',', ';', ':', ')']) {
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => match number.parse() {
            Ok(value) => grouped(value) + &word[number.len()..],
            Err(_) => word.to_owned(),
        },
        _ => word.to_owned(),
    };
    reason.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Tokens that fold after fold freed and left, whether folds go on helping, and which needed results outlived them.
fn repeated(out: &mut String, walk: &Walk, track: &Track, width: Width) {
    let told = track.repeated();
    let ([first, .., last], [floor, .., end]) = (&*told.freed, &*told.left) else {
        return;
    };
    let mut sorted = told.freed.clone();
    sorted.sort_unstable();
    let what = if told.folds { "fold" } else { "pruning" };
    let mut text = format!("The first {what} freed {} tokens", grouped(*first));
    if sorted.len() > 2 {
        let _ = write!(text, ", the median one {}", grouped(sorted[sorted.len() / 2]));
    }
    let [last, floor, end] = [*last, *floor, *end].map(grouped);
    let _ = write!(text, ", the last {last}; the view had {floor} at first and {end} at last");
    match track.stuck {
        Some(call) => {
            let _ = write!(text, ". Folds had no effect from call {call} on");
        }
        None if told.folds => text.push_str(". Folds went on having an effect"),
        None => {}
    }
    wrap(out, "", "  ", &(text + "."), width);
    let counts = ["one", "two", "three", "more"].iter().zip(walk.by_generation(track));
    let counts = counts.filter(|(_, kept)| kept.needed > 0);
    let kept: Vec<String> = counts
        .map(|(times, kept)| {
            let (held, needed) = (grouped(kept.kept), grouped(kept.needed));
            format!("{held} of {needed} after {times}")
        })
        .collect();
    if !kept.is_empty() {
        let least = if track.sealed { "at least " } else { "" };
        let text = format!(
            "Of the names of files, functions, errors and the like that calls needed again after a {what}, it had kept {least}{}.",
            kept.join(", ")
        );
        wrap(out, "", "  ", &text, width);
    }
}

/// Rules that are told one by one.
const RULES: usize = 12;

fn broken(out: &mut String, track: &Track, width: Width) {
    let total = track.broken.len();
    if total == 0 {
        return;
    }
    let head = format!("Broke {} that the recording keeps", count(total as u64, "provider rule"));
    wrap(out, "", "  ", &head, width);
    for (call, rule) in track.broken.iter().take(RULES) {
        wrap(out, "  ", "    ", &words::broken(*call, rule), width);
    }
    if total > RULES {
        let _ = writeln!(out, "  … {} more", total - RULES);
    }
}

fn forgotten(out: &mut String, walk: &Walk, track: &Track, width: Width, top: usize) {
    let missed = || track.forgotten.iter().filter_map(|missed| walk.needs.get(missed.need));
    let lost = |kind| missed().filter(|need| need.kind == kind).count() as u64;
    let needed = |kind| walk.needs.iter().filter(|need| need.kind == kind).count() as u64;
    let all = worst(walk, track, usize::MAX);
    let head = format!(
        "Forgotten{}: calls needed {} of edits and {} of results, word for word, that had stood in the log before; of these it had \
         removed {} and {}{}",
        if track.sealed { ", unless a sealed summary holds it" } else { "" },
        count(needed(NeedKind::Edit), "old text"),
        count(needed(NeedKind::Piece), "piece"),
        grouped(lost(NeedKind::Edit)),
        grouped(lost(NeedKind::Piece)),
        if all.len() > 1 { ". Edits come first, then what is dearest to read again" } else { "" },
    );
    wrap(out, "", "  ", &head, width);
    for (index, missed) in all.iter().take(top).enumerate() {
        let text = words::sentence(walk, missed);
        wrap(out, &format!("{:>3}. ", index + 1), "     ", &text, width);
    }
    if all.len() > top {
        let more = grouped((all.len() - top) as u64);
        let _ = writeln!(out, "  … {more} more; --count {} lists all", all.len());
    }
}
