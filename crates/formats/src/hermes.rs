//! `hermes`: a session of Hermes Agent, as a line of `hermes sessions export` or, as its store gives it, in `state.db`.
//!
//! An export has what the model sees; the store has what a compaction took out, too, and what the user took back. The
//! format is only read. `docs/hermes.md` has the mapping.

use crate::chat;
use crate::prelude::*;
use std::ops::Range;

pub(crate) const FORMAT: Format =
    Format::new("hermes", "Hermes Agent sessions (`hermes sessions export`)", SIGNS, read);

/// The beginnings of summaries, and, last, the mark between an earlier message and a summary in it.
const SUMMARIES: &[&str] = &[
    "[CONTEXT COMPACTION",
    "[CONTEXT SUMMARY]:",
    "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]",
];

const SIGNS: &[Sign] =
    &[Sign::new(100, &[Has("/source"), Has("/started_at"), Has("/end_reason"), Has("/messages")])];

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let joined = joined_lines(text);
    let text = joined.as_deref().unwrap_or(text);
    let mut sessions = document_or_lines(text, session, ToString::to_string)?;
    let mut seen = HashSet::new();
    sessions.retain(|session| seen.insert((session.id.clone(), session.source.text.to_string())));
    threads_of(sessions, Vec::new())
}

/// The lines of an export in which a session goes on with another; what can't be read stays behind them.
fn joined_lines(text: &str) -> Option<String> {
    let (mut sessions, mut others) = (Vec::new(), Vec::new());
    let source = Source::lines(text);
    for line in source.records.iter().map(|range| &source.text[range.clone()]) {
        match raw::parse(line).ok().filter(Value::is_object) {
            Some(session) => sessions.push(session),
            None => others.push(line.to_owned()),
        }
    }
    let count = sessions.len();
    let lines: Vec<String> = joined(sessions).iter().map(Value::to_string).collect();
    (lines.len() < count).then(|| [lines, others].concat().join("\n"))
}

/// A compaction may end a session, which another goes on with: both are one.
pub(crate) fn joined(sessions: Vec<Value>) -> Vec<Value> {
    let text = |session: &Value, column: &str| value::string(session, column).unwrap_or_default();
    let ended = sessions.iter().filter(|session| text(session, "end_reason") == "compression");
    let ended: HashSet<String> = ended.map(|session| text(session, "id")).collect();
    // With each how many of its rows are known to be compacted, or to be in front of a summary.
    let mut messages: HashMap<String, (Vec<Value>, usize)> = HashMap::new();
    for session in &sessions {
        let parent = text(session, "parent_session_id");
        let before = ended.contains(&parent).then(|| messages.remove(&parent)).flatten();
        let (mut all, settled) = before.unwrap_or_default();
        let since = all.get_mut(settled..).unwrap_or_default();
        let summary = since.iter().rposition(|raw| Row { record: 0, raw }.is_summary());
        let since = since.iter_mut().skip(summary.map_or(0, |at| at + 1));
        for row in since.filter(|row| row.is_object() && row["active"] != 0) {
            row["compacted"] = 1.into();
        }
        let settled = all.len();
        all.extend_from_slice(value::list(session, "messages"));
        messages.insert(text(session, "id"), (all, settled));
    }
    let joined = sessions.into_iter().filter_map(|mut session| {
        session["messages"] = messages.remove(&text(&session, "id"))?.0.into();
        Some(session)
    });
    joined.collect()
}

const LAYOUT: Layout = Layout {
    format: FORMAT.id,
    list: "/messages",
    session: "/id",
    head: |out, root| {
        let folder = value::first(root, &["git_repo_root", "cwd"]).and_then(cluster::folder);
        out.session.worked_in(None, folder);
        out.session.parent = value::filled(root, "parent_session_id").map(str::to_owned);
        out.model = value::string(root, "model");
        if let Some(system) = value::filled(root, "system_prompt") {
            out.system(system);
        }
    },
    id: "/id",
    time: |raw| value::seconds(raw, "/timestamp"),
    parts,
    answer: |raw| Answer {
        finish: value::filled(raw, "finish_reason").map(finish),
        ended: value::seconds(raw, "/timestamp"),
        ..Answer::default()
    },
    kind: by_role,
};

fn session(text: &str, root: &Value) -> Result<Session, ReadError> {
    let mut out = LAYOUT.builder(text, root)?;
    messages(&mut out, value::list(root, "messages"));
    Ok(out.finish_run())
}

/// A message that the user did not take back.
struct Row<'a> {
    record: u32,
    raw: &'a Value,
}

impl Row<'_> {
    fn is_summary(&self) -> bool {
        let text = chat::content(&self.raw["content"]).text;
        let text = text.trim_start();
        let [begins @ .., within] = SUMMARIES else { return false };
        begins.iter().any(|begin| text.starts_with(begin)) || text.contains(within)
    }

    /// Its content, by which a copy is recognized: number and time of a copy are its own.
    fn said(&self) -> String {
        let told = ["role", "content", "tool_call_id", "tool_calls"];
        json!(told.map(|member| &self.raw[member])).to_string()
    }
}

fn messages(out: &mut SessionBuilder, messages: &[Value]) {
    let told = (0u32..).zip(messages).map(|(record, raw)| Row { record, raw });
    let is_taken_back =
        |row: &Row<'_>| row.raw["active"] == 0 && value::count(row.raw, "/compacted") == 0;
    let (gone, rows): (Vec<Row<'_>>, Vec<Row<'_>>) = told.partition(is_taken_back);
    if let Some(first) = gone.first() {
        let detail = format!("the user went back: {} message(s) skipped", gone.len());
        out.warn_at("abandoned-branch", first.record, detail);
    }
    let copies = copies(&rows);
    let mut compacted = false;
    for (at, row) in rows.iter().enumerate() {
        match row.is_summary() {
            _ if copies[at] => {}
            true => {
                // An export has lost what it stands for.
                let kept = compacted || copies[at + 1];
                out.boundary("summary", "auto").original_kept = kept;
                // As the user's or as the model's, whichever fits what is around it.
                let parts = synthetic(chat::parts(&row.raw["content"]));
                out.summary(&LAYOUT.record(row.record, row.raw), parts);
                out.running = false;
            }
            false => LAYOUT.message(out, row.record, row.raw),
        }
        compacted |= value::count(row.raw, "/compacted") > 0;
    }
}

fn parts(out: &mut SessionBuilder, _: u32, raw: &Value) -> Vec<Part> {
    // The text as it was sent, if it differs from the text as it was said.
    let mut parts = match value::filled(raw, "api_content") {
        Some(text) => vec![Part::text(text).at("/api_content")],
        None => chat::parts(&raw["content"]),
    };
    match value::text(raw, "role") {
        Some("assistant") => {
            let thought = ["reasoning_content", "reasoning"];
            let thought = thought.iter().find_map(|key| reasoning_member(raw, key, ""));
            parts.splice(0..0, thought);
            parts.extend(chat::calls(raw));
            out.join(&mut parts);
        }
        Some("tool") => {
            let (text, media, at) = flattened(parts, "/content".to_owned());
            let call = value::text(raw, "tool_call_id").unwrap_or_default();
            let tool = value::text(raw, "tool_name").unwrap_or_default();
            parts = vec![out.result(call, tool, false, text, media).at(at)];
        }
        _ => {}
    }
    parts
}

/// Which rows a compaction repeated: copies of the first messages before its summary, and of the last ones behind it. New
/// messages follow those copies.
fn copies(rows: &[Row<'_>]) -> Vec<bool> {
    let mut known = HashMap::new();
    let mut number = |row: &Row<'_>| {
        let next = known.len();
        *known.entry(row.said()).or_insert(next)
    };
    let said: Vec<usize> = rows.iter().map(&mut number).collect();
    let heads = repeated_heads(&said);
    let summaries: Vec<usize> = (1..rows.len()).filter(|at| rows[*at].is_summary()).collect();
    // At each place, the copies that begin less those that end.
    let mut edges = vec![0i64; rows.len() + 1];
    let mut mark = |copy: Range<usize>| {
        edges[copy.start] += 1;
        edges[copy.end] -= 1;
    };
    for (number, &at) in summaries.iter().enumerate() {
        let begin = at - heads[at];
        // A copy may hold the summary before. None goes further, so that no message is looked at more than a few times.
        let end = summaries.get(number + FURTHER).copied().unwrap_or(rows.len());
        let behind = &said[at + 1..end];
        let behind = &behind[..behind.len().min(begin)];
        let tail = repeated_tail(behind, &said[begin - behind.len()..begin]);
        mark(begin..at);
        mark(at + 1..at + 1 + tail);
    }
    let open = edges.iter().scan(0, |open, edge| {
        *open += edge;
        Some(*open > 0)
    });
    open.collect()
}

/// A copy ends before so many summaries have followed.
const FURTHER: usize = 3;

/// For each length of a list: how many elements at the end repeat the first ones, at most half of them.
fn repeated_heads(list: &[usize]) -> Vec<usize> {
    let borders = borders(list);
    let mut halves = vec![0; list.len() + 1];
    let mut size = 0;
    for (at, element) in list.iter().enumerate().skip(1) {
        size = longer(list, &borders, size, *element);
        while size * 2 > at + 1 {
            size = borders[size];
        }
        halves[at + 1] = size;
    }
    halves
}

/// The length of the longest beginning of `behind` that ends `before`.
fn repeated_tail(behind: &[usize], before: &[usize]) -> usize {
    let borders = borders(behind);
    let size = before.iter().fold(0, |size, element| longer(behind, &borders, size, *element));
    size.min(behind.len())
}

/// For each length of a list: how many elements at its end, fewer than all, repeat the first ones (the prefix function).
fn borders(list: &[usize]) -> Vec<usize> {
    let mut borders = vec![0; list.len() + 1];
    for (at, element) in list.iter().enumerate().skip(1) {
        borders[at + 1] = longer(list, &borders, borders[at], *element);
    }
    borders
}

/// With one more element: how many of the first elements of `list` were the last ones, where `size` were so far.
fn longer(list: &[usize], borders: &[usize], mut size: usize, element: usize) -> usize {
    loop {
        match list.get(size) {
            Some(next) if *next == element => return size + 1,
            _ if size == 0 => return 0,
            _ => size = borders[size],
        }
    }
}
