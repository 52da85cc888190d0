//! Sentences about what was forgotten, the same in the terminal and on the page.

use crate::number::{count, grouped};
use foldback_core::log::Role;
use foldback_replay::identifiers::Class;
use foldback_replay::totals::BrokenRule;
use foldback_replay::walk::{Missed, NeedKind, Walk, worst};

/// ``call 212 edits src/auth/token.rs; `fn token() {` left the view at call 140 (opencode.prune); last seen
/// 72 calls ago in message 301 (read result); reading message 301 again: 4,120 tokens``.
pub(crate) fn sentence(walk: &Walk, missed: &Missed<'_>) -> String {
    let need = missed.need;
    let what = match (need.kind, &need.file) {
        (NeedKind::Edit, Some(file)) => {
            format!("call {} edits {file}; `{}`", need.call, need.text)
        }
        (NeedKind::Edit, None) => format!("call {} edits `{}`, which", need.call, need.text),
        (NeedKind::Piece, _) => format!("call {} repeats `{}`, which", need.call, need.text),
        (NeedKind::Reference(class), _) => {
            format!("call {} names {} ({}), which", need.call, need.text, class_name(class))
        }
    };
    what + &lost(walk, missed)
}

/// The same without anything that the session says: neither the text of the need nor the name of a file.
pub(crate) fn without_text(walk: &Walk, missed: &Missed<'_>) -> String {
    let need = missed.need;
    let what = match need.kind {
        NeedKind::Edit => format!("call {} edits a text that", need.call),
        NeedKind::Piece => format!("call {} repeats a text that", need.call),
        NeedKind::Reference(class) => {
            format!("call {} names something ({}) that", need.call, class_name(class))
        }
    };
    what + &lost(walk, missed)
}

/// How a need was lost, and what having it again costs.
fn lost(walk: &Walk, missed: &Missed<'_>) -> String {
    let need = missed.need;
    let mut out = format!(" left the view at call {}", missed.left_view_at);
    if let Some(stage) = missed.by {
        out.push_str(&format!(" ({stage})"));
    }
    out.push_str(&format!(
        "; last seen {} ago in message {}",
        count(need.distance as u64, "call"),
        need.seen
    ));
    if let Some(line) = walk.messages.get(need.seen) {
        let who = match line.role {
            Role::Tool if !line.name.is_empty() => format!("{} result", line.name),
            role => role.as_str().to_owned(),
        };
        out.push_str(&format!(" ({who})"));
    }
    if let Some(source) = need.source {
        let tokens = count(source.tokens, "token");
        out.push_str(&format!("; reading message {} again: {tokens}", source.message));
    }
    if missed.more > 0 {
        let more = grouped(missed.more as u64);
        out.push_str(&format!("; {more} more of what calls needed was there"));
    }
    out
}

/// `from call 8 on, anthropic call-unanswered: message m17: the call c4 has no result in the user turn after it`.
pub(crate) fn broken(call: usize, broken: &BrokenRule) -> String {
    let BrokenRule { dialect, rule, message, detail } = broken;
    format!("from call {call} on, {dialect} {rule}: message {message}: {detail}")
}

/// The worst of what a preset, or any, forgot over all walks, at most `count`.
pub(crate) fn worst_of<'a>(
    walks: impl IntoIterator<Item = &'a Walk>,
    preset: Option<&str>,
    count: usize,
) -> Vec<(&'a Walk, Missed<'a>)> {
    let tracks =
        walks.into_iter().flat_map(|walk| walk.tracks.iter().map(move |track| (walk, track)));
    let mut all: Vec<(&Walk, Missed<'_>)> = tracks
        .filter(|(_, track)| preset.is_none_or(|preset| track.preset == preset))
        .flat_map(|(walk, track)| worst(walk, track, count).into_iter().map(move |one| (walk, one)))
        .collect();
    all.sort_by(|(_, a), (_, b)| a.severity().cmp(&b.severity()));
    all.truncate(count);
    all
}

/// The word for a class of identifiers.
pub(crate) fn class_name(class: Class) -> &'static str {
    match class {
        Class::Path => "path",
        Class::Url => "URL",
        Class::Symbol => "symbol",
        Class::Error => "error",
        Class::Hash => "hash",
        Class::Number => "number",
        Class::Quoted => "string",
        Class::Flag => "flag",
    }
}
