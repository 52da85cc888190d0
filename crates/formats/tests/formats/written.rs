//! What is written of views that a strategy changed, over the file that the session was read from. One
//! snapshot a row: what is lost, the lines that changed, and what is read from the file then.
use crate::common::{CLEARED, detected, edits, fixture, hide, is_tool, rewritten, sessions, write};
use crate::expected::{all_shown, check};
use foldback_core::log::{EntryKind, Finish, Marker, PartKind, Role};
use foldback_core::view::{EditKind, PartEdit, PartPos, ShownMessage, Stored};
use foldback_core::{Message, Part};
use foldback_formats::{Session, View};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which messages, by number and content.
type Which = fn(usize, &Message) -> bool;

/// Fixture, and what is done to the view of one of its sessions.
struct Row {
    format: &'static str,
    fixture: &'static str,
    /// The number of the session in its file.
    session: usize,
    what: &'static str,
    edit: Option<(EditKind, &'static str, Which)>,
    /// Entries that the strategy stored behind the others.
    entries: Vec<Arc<Message>>,
    /// Whether they are sent first.
    heads: bool,
    hidden: Which,
    /// Whether the recorder's own entries are taken out of the store.
    log_alone: bool,
    /// Messages that are sent and not stored, each in front of the place.
    put: Vec<(usize, Arc<Message>)>,
}

/// A place behind all messages.
const END: usize = usize::MAX;

fn row(format: &'static str, fixture: &'static str, what: &'static str) -> Row {
    let (entries, put) = (Vec::new(), Vec::new());
    let (hidden, heads, log_alone): (Which, _, _) = (|_, _| false, false, false);
    Row { format, fixture, session: 0, what, edit: None, entries, heads, hidden, log_alone, put }
}

impl Row {
    /// Of the session with this number in the file, not of the first.
    fn of(self, session: usize) -> Self {
        Self { session, ..self }
    }

    fn clear(self, which: Which) -> Self {
        self.edit(EditKind::Clear, CLEARED, which)
    }

    fn cut(self, text: &'static str, which: Which) -> Self {
        self.edit(EditKind::Truncate, text, which)
    }

    fn edit(self, kind: EditKind, text: &'static str, which: Which) -> Self {
        Self { edit: Some((kind, text, which)), ..self }
    }

    fn hide(self, hidden: Which) -> Self {
        Self { hidden, ..self }
    }

    fn put(mut self, place: usize, message: Message) -> Self {
        self.put.push((place, Arc::new(message)));
        self
    }

    fn store<const N: usize>(self, entries: [Message; N]) -> Self {
        Self { entries: entries.map(Arc::new).into(), ..self }
    }

    fn fold(self, summary: Message) -> Self {
        Self { heads: true, ..self.store([summary]) }
    }

    fn log_alone(self) -> Self {
        Self { log_alone: true, ..self }
    }

    fn check(&self) {
        let Self { format, fixture: name, what, .. } = self;
        let text = fixture(format, name);
        let mut others = sessions(&text, format);
        let session = others.remove(self.session);
        let edited = self.edit.map(|(kind, text, which)| edits(&session, kind, text, which));
        let edited = edited.unwrap_or_default();
        let mut view = View::recorded(&session, &edited);
        if self.log_alone {
            view.stored.retain(|item| !item.shown.message.is_entry());
        }
        for message in &self.entries {
            view.stored.push(Stored { shown: ShownMessage::plain(message), visible: true });
        }
        for (pos, item) in view.stored.iter_mut().enumerate() {
            item.shown.pos = Some(pos);
        }
        hide(&mut view, self.hidden);
        if self.heads {
            view.sent.rotate_right(self.entries.len());
        }
        for (place, message) in &self.put {
            view.sent.insert(view.sent.len().min(*place), ShownMessage::plain(message));
        }
        let outcome = write(&view, format);
        assert_eq!(write(&view, format).text, outcome.text, "{what}: the same again");
        assert_eq!(detected(&outcome.text), Some(*format), "{what}: found to be another format");
        let mut unchanged = sessions(&outcome.text, format);
        // The id of an only session may be made of its content.
        let place = unchanged.iter().position(|written| written.id == session.id);
        let again = [unchanged.remove(place.unwrap_or_default())];
        check(&format!("{format} {name}"), &again[0]);
        assert_eq!(rewritten(&again[0], format).text, *again[0].source.text, "{what}");
        let said = |sessions: &[Session]| sessions.iter().map(said).collect::<Vec<_>>();
        assert_eq!(said(&unchanged), said(&others), "{what}: the other sessions of the file");
        if *format == "claude-code" {
            is_chain(&outcome.text);
        }
        let lost: String = outcome.losses.iter().map(|loss| format!("lost: {loss}\n")).collect();
        let changed = changed(&text, &outcome.text);
        let shown = all_shown(&again);
        insta::assert_snapshot!(format!("{format} {name}, {what}"), lost + &changed + &shown);
    }
}

/// What a session is called, and what it says.
fn said(session: &Session) -> (String, Vec<(String, String)>) {
    let messages = session.messages.iter();
    (
        session.id.clone(),
        messages.map(|message| (message.id.clone(), message.shown_text())).collect(),
    )
}

/// Every line hangs on one before it, so that Claude Code finds the whole chain.
fn is_chain(text: &str) {
    let mut seen = BTreeSet::new();
    for line in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        assert!(line["parentUuid"].as_str().is_none_or(|parent| seen.contains(parent)), "{line}");
        seen.extend(line["uuid"].as_str().map(str::to_owned));
    }
}

/// The lines that only one of two texts has, each with its sign.
fn changed(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    // How many lines the rests of both have in common, in order.
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = match old[i] == new[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, String::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] {
            out += &format!("- {}\n", old[i].trim_end());
            i += 1;
        } else {
            out += &format!("+ {}\n", new[j].trim_end());
            j += 1;
        }
    }
    out
}

fn summary() -> Message {
    Message::user("summary-1", "What went before.").as_entry(EntryKind::Summary)
}

fn note() -> Message {
    Message::user("note-1", "A note.")
}

/// A compaction as OpenCode stores one: marker, summary, and the message that lets the model go on.
fn compaction() -> [Message; 3] {
    let tail_start = Some("prt_002_3".to_owned());
    let marker = Marker { auto: true, tail_start, ..Marker::default() };
    let marker = vec![Part::new(PartKind::Marker(marker))];
    let mut summary = Message::assistant("entry-2", vec![Part::text("The summary.")]);
    summary.parent = Some("entry-1".into());
    if let Some(answer) = &mut summary.answer {
        answer.finish = Some(Finish::Stop);
    }
    let go_on = vec![Part::synthetic("Continue if you have next steps")];
    let entry = |kind, message: Message| message.as_entry(kind);
    [
        entry(EntryKind::Marker, Message::new("entry-1", Role::User, marker)),
        entry(EntryKind::Summary, summary),
        entry(EntryKind::Continue, Message::new("entry-3", Role::User, go_on)),
    ]
}

fn rows() -> Vec<Row> {
    let is_answer: Which = |_, message| message.role == Role::Assistant;
    vec![
        row("anthropic", "plain.json", "a cleared result").clear(is_tool),
        row("anthropic", "parallel.json", "clearing takes files along").edit(
            EditKind::Clear,
            "cut",
            is_tool,
        ),
        row("anthropic", "parallel.json", "cutting keeps files").cut("cut", is_tool),
        row("anthropic", "parallel.json", "half hidden messages")
            .hide(|i, _| [2, 4, 8].contains(&i)),
        row("atif", "plain.json", "a cleared result").clear(is_tool),
        row("atif", "plain.json", "a summary of all but the last")
            .fold(summary())
            .hide(|i, m| i < 3 && !m.is_entry()),
        row("atif", "parallel.json", "a summary of all but the last")
            .fold(summary())
            .hide(|i, m| i < 11 && !m.is_entry()),
        row("atif", "compaction.json", "the log alone").log_alone(),
        row("atif", "plain.json", "a hidden call whose result is shown").hide(|i, _| i < 2),
        row("atif", "plain.json", "a note in between").put(1, note()),
        row("claude-code", "plain.jsonl", "cleared results").clear(|i, _| i == 2 || i == 8),
        row("claude-code", "parallel.jsonl", "a summary in front, a note behind")
            .hide(|i, _| i < 4)
            .put(0, summary())
            .put(END, note()),
        row("claude-code", "compaction.jsonl", "a boundary goes with its summary")
            .hide(|_, m| m.is_entry()),
        row("claude-code", "branches.jsonl", "a summary in front of a subagent, a note behind")
            .of(1)
            .hide(|i, _| i < 3)
            .put(0, summary())
            .put(END, note()),
        row("claude-code", "unnamed.jsonl", "a summary in front of a subagent without a name")
            .of(1)
            .hide(|i, _| i < 2)
            .put(0, summary())
            .put(2, note()),
        row("claude-code", "unnamed.jsonl", "a subagent without a name loses its first lines")
            .of(1)
            .hide(|i, _| i < 2),
        row("codex", "plain.jsonl", "a cleared result").clear(|i, _| i == 3),
        row("codex", "compaction.jsonl", "a summary in front")
            .hide(|i, m| i < 4 || m.is_entry())
            .put(0, summary()),
        row("gemini", "bare.json", "cleared results").clear(|i, _| i == 4 || i == 6),
        row("gemini", "body.json", "a cleared result").clear(|i, _| i == 2),
        row("gemini", "body.json", "cleared answers").edit(EditKind::Clear, "[gone]", is_answer),
        row("gemini", "bare.json", "a summary in front of hidden parts")
            .hide(|i, _| i < 4 || i == 5)
            .put(0, summary()),
        row("mini-swe-agent", "v1.traj.json", "a cleared result").clear(|i, _| i == 2),
        row("mini-swe-agent", "bare-list.traj.json", "a cleared result").clear(|i, _| i == 2),
        row("mini-swe-agent", "v2.traj.json", "a cleared result").clear(|i, _| i == 4),
        row("mini-swe-agent", "v1.traj.json", "an edited text leaves the command")
            .cut("Lo…", |i, _| i == 1),
        row("mini-swe-agent", "v1.traj.json", "a note in front").hide(|i, _| i < 3).put(0, note()),
        row("mini-swe-agent", "v2.traj.json", "a note in front").hide(|i, _| i < 3).put(0, note()),
        row("mini-swe-agent", "bare-list.traj.json", "a note in front")
            .hide(|i, _| i < 3)
            .put(0, note()),
        row("openai-chat", "plain.json", "a cleared result").clear(is_tool),
        row("openai-chat", "parallel.json", "a cut result").cut("B", |_, m| m.record == Some(2)),
        row("openai-chat", "plain.json", "a note in front, the prompts stay")
            .hide(|i, _| i < 3)
            .put(0, note()),
        row("openai-responses", "parallel.json", "cleared results").clear(is_tool),
        row("openai-responses", "both.json", "a changed response is one list")
            .hide(|i, _| i < 3)
            .put(0, note()),
        row("openai-responses", "output-first.json", "a hidden request").hide(|i, _| i == 0),
        row("openai-responses", "both.json", "reasoning goes with its call")
            .hide(|i, _| i == 1 || i == 2),
        row("opencode", "plain.json", "clearing sets the mark and keeps the output").clear(is_tool),
        row("opencode", "parallel.json", "marks without an edit are taken out"),
        row("opencode", "parallel.json", "a cut result is not a cleared one")
            .cut("a", |_, message| message.id == "prt_002_2"),
        row("opencode", "plain.json", "a compaction as OpenCode stores it")
            .store(compaction())
            .hide(|i, _| i < 2),
        row("opencode", "compaction.json", "the log alone").log_alone(),
        row("opencode", "plain.json", "an inserted message").put(1, note()),
        row("opencode", "plain.json", "a cut result").cut("fn", is_tool),
        row("opencode", "plain.json", "hidden messages").hide(|i, _| i == 1 || i == 2),
        row("opencode", "parallel.json", "half hidden records").hide(|i, _| (4..=6).contains(&i)),
        row("pi", "plain.jsonl", "a cleared result").clear(|i, _| i == 2),
        row("pi", "compaction.jsonl", "a cleared result").clear(|i, _| i == 4),
        row("pi", "damaged.jsonl", "a cleared result").clear(|i, _| i == 2),
        row("pi", "plain.jsonl", "what the user ran becomes a message").clear(|i, _| i == 5),
        row("pi", "compaction.jsonl", "a summary in front")
            .hide(|i, m| i < 6 || m.is_entry())
            .put(0, summary()),
        row("pi", "tree.jsonl", "a summary in front")
            .hide(|i, m| i < 6 || m.is_entry())
            .put(0, summary()),
        // Entries that hung on one that is gone hang on the one before it; a kept compaction still names the
        // first entry that it kept.
        row("pi", "compaction.jsonl", "numbers follow what was taken out").hide(|i, _| i < 2),
        row("pi", "tree.jsonl", "references follow what was taken out")
            .hide(|i, _| i == 6 || i == 7),
        row("pydantic-ai", "plain.json", "a cleared result").clear(is_tool),
        row("pydantic-ai", "parallel.json", "cut results, other escapes stay").cut("é", is_tool),
        row("pydantic-ai", "plain.json", "the system prompt stays").hide(|i, _| i < 4),
        row("pydantic-ai", "parallel.json", "half hidden requests").hide(|i, _| i == 2 || i == 4),
        row("pydantic-ai", "plain.json", "an insert has a fixed time").put(1, note()),
        row("roo-code", "xml.json", "a cleared result").clear(|i, _| i == 2),
        row("roo-code", "xml.json", "a cleared result behind its announcement")
            .clear(|i, _| i == 5),
        row("roo-code", "native.json", "a cleared result").clear(|i, _| i == 3),
        // Words and calls of one text are edited each by itself.
        row("roo-code", "xml.json", "an edit of words leaves the call beside them").edit(
            EditKind::Clear,
            "[gone]",
            is_answer,
        ),
        row("roo-code", "xml.json", "a summary in front is marked")
            .hide(|i, _| i < 7)
            .put(0, summary()),
        row("swe-agent", "text-actions.traj", "a cleared result").clear(|i, _| i == 2),
        row("swe-agent", "function-calls.traj", "a cleared result").clear(|i, _| i == 4),
        row("swe-agent", "text-actions.traj", "an edited thought leaves the action")
            .cut("Op…", |i, _| i == 1),
        row("swe-agent", "text-actions.traj", "a note in front").hide(|i, _| i < 3).put(0, note()),
        row("swe-agent", "function-calls.traj", "a note in front")
            .hide(|i, _| i < 3)
            .put(0, note()),
    ]
}

#[test]
fn what_is_written_of_changed_views() {
    rows().iter().for_each(Row::check);
}

/// Words and calls that share a text are each written as they were edited.
#[test]
fn what_shares_a_text_is_edited_together() {
    for (format, name) in [
        ("roo-code", "xml.json"),
        ("mini-swe-agent", "v1.traj.json"),
        ("swe-agent", "text-actions.traj"),
    ] {
        let session = &sessions(&fixture(format, name), format)[0];
        let both = |message: &Message| {
            message.parts.iter().any(|part| part.as_call().is_some())
                && message.parts.iter().any(|part| matches!(part.kind, PartKind::Text { .. }))
        };
        let mut edits = Vec::new();
        for (item, message) in session.messages.iter().enumerate().filter(|(_, m)| both(m)) {
            for (part, found) in message.parts.iter().enumerate() {
                let text = match &found.kind {
                    PartKind::Text { .. } => "New words.".to_owned(),
                    PartKind::Call(call) => {
                        let value = call.arguments_value();
                        let (key, _) = value.as_object().unwrap().iter().next().unwrap();
                        format!("{{\"{key}\":\"new\"}}")
                    }
                    _ => continue,
                };
                let edit = PartEdit { kind: EditKind::Truncate, text: text.into(), at: 7 };
                edits.push((PartPos { item, part }, edit));
            }
        }
        assert!(edits.len() >= 2, "{format}");
        let written = write(&View::recorded(session, &edits), format).text;
        let again = &sessions(&written, format)[0];
        for (at, edit) in &edits {
            let part = &again.messages[at.item].parts[at.part];
            let text = part.shown();
            assert_eq!(text.trim(), &*edit.text, "{format}, message {}, part {}", at.item, at.part);
        }
    }
}

/// OpenCode orders messages by their ids: those of new messages sort between those around them, also where the export was written
/// here and has such ids already.
#[test]
fn new_ids_of_opencode_are_in_order() {
    let other = &sessions(&fixture("claude-code", "parallel.jsonl"), "claude-code")[0];
    let export = rewritten(other, "opencode").text;
    let session = &sessions(&export, "opencode")[0];
    for places in [vec![0], vec![0, 0], vec![1], vec![4, 4, 0]] {
        let mut view = View::recorded(session, &[]);
        let new: Vec<_> = (0..places.len())
            .map(|number| Arc::new(Message::user(format!("new-{number}"), "A note.")))
            .collect();
        for (place, message) in places.iter().zip(&new) {
            view.sent.insert(*place, ShownMessage::plain(message));
        }
        let written: Value = serde_json::from_str(&write(&view, "opencode").text).unwrap();
        let messages = written["messages"].as_array().unwrap();
        let ids: Vec<&str> = messages.iter().map(|m| m["info"]["id"].as_str().unwrap()).collect();
        assert!(ids.is_sorted_by(|one, next| one < next), "at {places:?}: {ids:#?}");
    }
}
