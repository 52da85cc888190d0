//! From the canonical form back into a trajectory.
//!
//! A trajectory is a log. System steps describe what a strategy did to it, as in RFC 0001 §VII:
//! one whose observation replaces everything before it, and one that lists the parts which show
//! something else than they hold.

use super::generate::Steps;
use super::{FORMAT, VERSION, read, restore, step};
use crate::bodies::{ToolShape, frame_tools};
use crate::prelude::*;
use crate::raw::{Item, rebuild};
use crate::rewrite::patched;

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let fold = fold(view);
    let mut steps = Steps::default();
    let recorded = Recorded::new(view, &fold);
    let dropped = history(view, &fold, Some(&recorded), &mut steps);
    if dropped > 0 {
        losses.push(format!(
            "{dropped} step(s) that tell of the recorder's own compactions: the view has others"
        ));
    }
    let mut edits = edits(view, fold.tail);
    edits.retain(|(at, edit)| !recorded.has(*at, edit));
    steps.number();
    steps.prune(&edits);
    losses.extend(steps.losses());
    rebuilt(view.session, &steps.pieces)
}

pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let fold = fold(view);
    let mut steps = Steps::default();
    let systems = view.frame.segments().iter();
    for segment in systems.filter(|segment| segment.kind == SegmentKind::System) {
        steps.pieces.push(Item::New(json!({
            "step_id": 0,
            "source": "system",
            "message": segment.text,
        })));
    }
    history(view, &fold, None, &mut steps);
    steps.number();
    steps.prune(&edits(view, fold.tail));
    losses.extend(steps.losses());
    let text = document(view, &steps.pieces, losses);
    Ok(with_restore(view, text, &steps))
}

/// The differences between a view and the history.
struct Fold {
    /// The number of messages of the view that replace everything before `tail`; `None` without a replacement.
    head: Option<usize>,
    /// The first stored message from which on the view shows the whole history, edits aside.
    tail: usize,
}

fn fold(view: &View<'_>) -> Fold {
    if view.shows_all() {
        return Fold { head: None, tail: 0 };
    }
    let log: Vec<usize> = (0..view.stored.len())
        .filter(|index| !view.stored[*index].shown.message.is_entry())
        .collect();
    let common = view
        .sent
        .iter()
        .rev()
        .zip(log.iter().rev())
        .take_while(|(shown, index)| shown.pos == Some(**index))
        .count();
    let message = |index: usize| view.stored[index].shown.message;
    let inside_step = |place: usize| {
        let (this, before) = (message(log[place]), place.checked_sub(1).map(|p| message(log[p])));
        this.role == Role::Tool
            || this.record.is_some() && before.is_some_and(|before| before.record == this.record)
    };
    let mut kept = common;
    while kept > 0 && inside_step(log.len() - kept) {
        kept -= 1;
    }
    let tail = match kept {
        0 => view.stored.len(),
        _ => log[log.len() - kept],
    };
    match (kept == view.sent.len()) && tail == log.first().copied().unwrap_or(0) {
        true => Fold { head: None, tail: 0 },
        false => Fold { head: Some(view.sent.len() - kept), tail },
    }
}

/// The edits over messages that are still shown in place.
fn edits<'a>(view: &View<'a>, tail: usize) -> Vec<(PartPos, &'a PartEdit)> {
    view.sent
        .iter()
        .filter_map(|shown| Some((shown.pos.filter(|pos| *pos >= tail)?, shown)))
        .flat_map(|(item, shown)| {
            let edits = shown.edits.iter();
            edits.map(move |(part, edit)| (PartPos { item, part: *part }, *edit))
        })
        .collect()
}

/// The context by the steps of the source, compared with that of the view.
struct Recorded<'a> {
    session: &'a Session,
    /// Edits that the file has: they are not listed again.
    cleared: BTreeSet<(PartPos, i64)>,
    /// Steps with a message, and those of them whose message the view holds.
    with_message: BTreeSet<u32>,
    known: BTreeSet<u32>,
    /// Whether the view agrees with the file but for further edits.
    agrees: bool,
}

impl<'a> Recorded<'a> {
    fn new(view: &View<'a>, fold: &Fold) -> Self {
        let session = view.session;
        let own = session.own();
        let of_session: Vec<Option<usize>> =
            view.stored.iter().map(|stored| own.index_of(stored.shown.message)).collect();
        let cleared: BTreeSet<(PartPos, i64)> =
            session.cleared.iter().map(|cleared| (cleared.at, cleared.time)).collect();
        let shown: BTreeSet<(PartPos, i64)> = edits(view, 0)
            .into_iter()
            .filter(|(_, edit)| edit.kind == EditKind::Clear)
            .filter_map(|(at, edit)| {
                let item = *of_session.get(at.item)?;
                Some((PartPos { item: item?, ..at }, edit.at))
            })
            .collect();
        let same = of_session.len() == session.messages.len()
            && (0..).zip(&of_session).all(|(index, own)| *own == Some(index));
        Self {
            session,
            with_message: session.messages.iter().filter_map(|m| m.record).collect(),
            known: of_session
                .iter()
                .filter_map(|index| session.messages[(*index)?].record)
                .collect(),
            agrees: fold.head.is_none() && same && cleared.is_subset(&shown),
            cleared,
        }
    }

    /// Whether a step stays. Compactions that the view does not know would cut what it shows, and the
    /// list of edits names steps by numbers that change.
    fn stays(&self, record: u32) -> bool {
        if self.agrees || self.known.contains(&record) {
            return true;
        }
        let step = self.session.source.record(record).map(serde_json::from_str);
        let Some(Ok(step)) = step else {
            return true;
        };
        !self.with_message.contains(&record) && !step::changes_context(&step)
    }

    /// Whether the file already lists this edit.
    fn has(&self, at: PartPos, edit: &PartEdit) -> bool {
        self.agrees && edit.kind == EditKind::Clear && self.cleared.contains(&(at, edit.at))
    }
}

/// The steps of the history: those of the source, where the view is of one, with new ones between them. Gives the number of
/// those that are left out.
fn history(
    view: &View<'_>,
    fold: &Fold,
    recorded: Option<&Recorded<'_>>,
    steps: &mut Steps,
) -> usize {
    let own = recorded.map(|recorded| recorded.session.own());
    let (mut next, mut dropped) = (0, 0);
    let mut upto = |record: u32, steps: &mut Steps| {
        while next < record {
            if recorded.is_some_and(|recorded| recorded.stays(next)) {
                steps.pieces.push(Item::Keep(next));
            } else {
                dropped += 1;
            }
            next += 1;
        }
    };
    for (item, stored) in view.stored.iter().enumerate() {
        let message = stored.shown.message;
        let record = own.as_ref().and_then(|own| own.index_of(message).and(message.record));
        if fold.tail == item {
            upto(record.unwrap_or(0), steps);
            replace(view, fold, steps);
        }
        match record {
            Some(record) => {
                upto(record + 1, steps);
                for (part, found) in message.parts.iter().enumerate() {
                    if let Some(pointer) = &found.pointer {
                        steps.place(PartPos { item, part }, pointer);
                    }
                }
            }
            // The text of the strategy stands in the replacing step.
            None if message.is_entry() && (own.is_some() || fold.head.is_some()) => {}
            None => steps.message(item, message),
        }
    }
    if let Some(recorded) = recorded {
        upto(recorded.session.source.records.len() as u32, steps);
    }
    if fold.tail >= view.stored.len() {
        replace(view, fold, steps);
    }
    dropped
}

fn replace(view: &View<'_>, fold: &Fold, steps: &mut Steps) {
    if let Some(head) = fold.head {
        steps.replace(&view.sent[..head]);
    }
}

fn rebuilt(session: &Session, pieces: &[Item]) -> Result<String, WriteError> {
    let source = &session.source;
    let untouched = pieces.len() == source.records.len()
        && pieces.iter().all(|piece| matches!(piece, Item::Keep(_)));
    if untouched {
        return Ok(source.text.to_string());
    }
    let items = pieces.iter().zip(1..).map(|(piece, number)| match piece {
        Item::Keep(record) => renumbered(session, *record, number),
        new => Ok(new.clone()),
    });
    let text = rebuild(source, &items.collect::<Result<Vec<_>, _>>()?);
    let total = ("/final_metrics/total_steps", pieces.len());
    let counted = serde_json::from_str::<Value>(&text)
        .is_ok_and(|document| document.pointer(total.0).is_some_and(Value::is_u64));
    if !counted {
        return Ok(text);
    }
    let change = (total.0.to_owned(), Change::Set(total.1.to_string()));
    raw::patch(&text, &[change])
        .map_err(|error| WriteError::Unsupported { format: FORMAT.id, detail: error.to_string() })
}

/// A step of the source with the number that it has now.
fn renumbered(session: &Session, record: u32, number: usize) -> Result<Item, WriteError> {
    let step = session.source.record(record).unwrap_or_default();
    let number = number.to_string();
    let other = raw::locate(step, "/step_id").is_ok_and(|at| step[at] != number);
    let change = other.then(|| ("/step_id".to_owned(), Change::Set(number)));
    Ok(patched(&session.source, record, change.as_slice())?)
}

fn document(view: &View<'_>, pieces: &[Item], losses: &mut Vec<String>) -> String {
    let session = view.session;
    let mut agent = json!({"name": session.format, "version": "unknown"});
    if let Some(model) = &session.model {
        agent["model_name"] = model.as_str().into();
    }
    for segment in view.frame.segments() {
        match &segment.kind {
            SegmentKind::System => {}
            SegmentKind::Tools => {
                if let Some(tools) = frame_tools(view.frame, ToolShape::OpenAi, losses) {
                    agent["tool_definitions"] = tools;
                }
            }
            kind => losses.push(format!("the segment {} around the history", kind.as_str())),
        }
    }
    let steps: Vec<&Value> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Item::New(step) => Some(step),
            _ => None,
        })
        .collect();
    let document = json!({
        "schema_version": VERSION,
        "session_id": session.id,
        "agent": agent,
        "steps": steps,
        "final_metrics": totals(view, steps.len()),
    });
    format!("{document:#}\n")
}

/// The document with the additions that restore a recorded session exactly.
fn with_restore(view: &View<'_>, text: String, steps: &Steps) -> String {
    let plain = read::read(&text).unwrap_or_default();
    let restore = plain.first().and_then(|plain| {
        let parts = |item: usize| view.stored[item].shown.message.parts.len();
        restore::difference(view, plain, steps.pieces.len(), |item| steps.home(item, parts(item)))
    });
    let json = restore.and_then(|restore| serde_json::to_string(&restore).ok());
    match (json, text.strip_suffix("\n}\n")) {
        // On one line: it is for programs.
        (Some(json), Some(open)) => {
            format!("{open},\n  \"extra\": {{\"{}\": {json}}}\n}}\n", restore::KEY)
        }
        _ => text,
    }
}

/// Sums over all calls of the log.
fn totals(view: &View<'_>, steps: usize) -> Value {
    let mut sums = [0; 3];
    let messages = view.stored.iter().map(|stored| stored.shown.message);
    for usage in messages.filter_map(|message| message.answer.as_ref()?.usage) {
        sums[0] += usage.input_total();
        sums[1] += usage.output_total();
        sums[2] += usage.cache_read;
    }
    json!({
        "total_prompt_tokens": sums[0],
        "total_completion_tokens": sums[1],
        "total_cached_tokens": sums[2],
        "total_steps": steps,
    })
}
