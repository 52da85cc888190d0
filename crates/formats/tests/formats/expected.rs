//! What is read from every fixture, whole: one snapshot a file, and the facts that each must show.
//!
//! A line a message: who speaks (`u` begins a turn, `+` came mid-turn, `~` was written by the harness, `E`
//! by a compaction), then its parts. What is known of a model call stands behind it.

use crate::common;
use foldback_core::log::{Message, Part, PartKind};
use foldback_formats::Session;
use std::fmt::Write;

/// How much of a text is shown.
const WIDTH: usize = 60;

/// Files whose pointers lead to more, or to something else, than the part there: text and call share a
/// string, a text stands among the attachments, lines are damaged, or messages
/// are put together from spans.
const OTHERWISE: &[&str] = &[
    "claude-code damaged.jsonl",
    "inspect log.json",
    "mini-swe-agent bare-list.traj.json",
    "mini-swe-agent v1.traj.json",
    "otel agent.json",
    "otel langfuse.json",
    "otel langsmith.jsonl",
    "otel langfuse-sdk.jsonl",
    "otel openinference-anthropic.jsonl",
    "otel openinference-responses.jsonl",
    "otel openinference.jsonl",
    "otel openllmetry.jsonl",
    "otel otlp.json",
    "otel spans.jsonl",
    "roo-code condensed.json",
    "roo-code xml.json",
    "swe-agent steps-only.traj",
];

/// [`common::check`] of a session of a fixture, where its pointers are those of its parts.
pub fn check(fixture: &str, session: &Session) {
    if !OTHERWISE.contains(&fixture) {
        common::check(session);
    }
}

#[test]
fn what_is_read_from_every_fixture() {
    for (id, name, text) in common::fixtures() {
        let sessions = common::sessions(&text, &id);
        let name = format!("{id} {name}");
        sessions.iter().for_each(|session| check(&name, session));
        insta::assert_snapshot!(name, all_shown(&sessions));
    }
}

/// Every row of `facts.txt`.
#[test]
fn what_the_snapshots_show() {
    for (heading, pieces) in common::rows(include_str!("tables/facts.txt")) {
        let (fixture, _) = heading.split_once(": ").unwrap();
        let (id, name) = fixture.split_once(' ').unwrap();
        let whole = all_shown(&common::sessions(&common::fixture(id, name), id));
        let mut rest = &*whole;
        for piece in pieces.lines() {
            let at = rest.find(piece).unwrap_or_else(|| panic!("{heading}: {piece}\n{whole}"));
            rest = &rest[at + piece.len()..];
        }
    }
}

fn cut(text: &str) -> String {
    let mut out: String = text.chars().take(WIDTH).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out.replace('\\', "\\\\").replace('\n', "\\n")
}

/// Sessions as the snapshots have them.
pub fn all_shown(sessions: &[Session]) -> String {
    sessions.iter().map(shown).collect::<Vec<_>>().join("\n")
}

fn shown(session: &Session) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        let _ = writeln!(out, "{}", text.trim_end());
    };
    line(format!("session {} of {}", session.id, session.source.records.len()));
    line(format!(
        "model {:?}, cluster {:?}, limits {:?}",
        session.model, session.cluster, session.limits
    ));
    line(format!(
        "{} calls, {} turns, {} tool calls, counted {:?}, usage {:?}",
        session.calls(),
        session.turns(),
        session.tool_calls(),
        session.recorded,
        common::usage(session)
    ));
    for segment in session.frame.segments() {
        line(format!("frame {}: {}", segment.kind.as_str(), cut(&segment.text)));
    }
    for message in &session.messages {
        line(heading(message));
        for part in &message.parts {
            line(format!("    {}", described(part)));
        }
        if let Some(answer) = &message.answer {
            // Nearly all have none.
            line(
                format!("    = {answer:?}")
                    .replace(" compaction: None,", "")
                    .replace(" rounds: [],", "")
                    .replace(" service: Standard,", ""),
            );
        }
    }
    for answer in &session.unlogged {
        line(format!("unlogged {:?} {:?}", answer.model, answer.usage));
    }
    for cleared in &session.cleared {
        line(format!("cleared {cleared:?}"));
    }
    for boundary in &session.boundaries {
        line(format!("{boundary:?}"));
    }
    for warning in &session.warnings {
        line(format!("{} at {}: {}", warning.code, warning.place, warning.detail));
    }
    out
}

fn heading(message: &Message) -> String {
    let synthetic = |part: &Part| matches!(part.kind, PartKind::Text { synthetic: true, .. });
    let marks = [
        ("u", message.begins_turn()),
        ("+", message.mid_turn),
        ("~", message.parts.iter().any(synthetic)),
        ("E", message.is_entry()),
    ];
    let marks: String = marks.iter().filter(|(_, set)| *set).map(|(mark, _)| *mark).collect();
    format!(
        "{}{marks} {} at {:?}, record {:?}, {:?}, parent {:?}, agent {:?}",
        message.role.as_str(),
        message.id,
        message.at,
        message.record,
        message.origin,
        message.parent,
        message.agent
    )
}

fn described(part: &Part) -> String {
    let detail = match &part.kind {
        PartKind::Call(call) => format!(" {} {}", call.call_id, call.tool),
        PartKind::Result(result) => format!(
            " {} {} {:?} with {} files{}",
            result.call_id,
            result.tool,
            result.status,
            result.media.len(),
            result.structured.as_ref().map_or("", |_| " and structured content")
        ),
        PartKind::Reasoning { opaque, .. } => format!(" {opaque:?}"),
        PartKind::File(media) => format!(" {} {:?} {}", media.mime, media.name, cut(&media.url)),
        PartKind::Text { synthetic, ignored, .. } => match (synthetic, ignored) {
            (false, false) => String::new(),
            marks => format!(" {marks:?}"),
        },
        PartKind::Marker(marker) => format!(" {marker:?}"),
        _ => String::new(),
    };
    let place = part.pointer.as_deref().unwrap_or("-");
    let record = part.source_record.map_or(String::new(), |record| format!(" of {record}"));
    format!("{}{detail} at {place}{record}: {}", part.kind_name(), cut(&part.shown()))
}
