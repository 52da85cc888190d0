//! Where what calls need can be read again, once for a session and all its replays.

use super::chance::draw;
use super::excerpt::{Wanted, cut, excerpt};
use crate::index::{EditNeed, Index, LogPart, NeedleId, Tracker};
use crate::verbatim::PieceId;
use dashmap::DashMap;
use foldback_core::log::{Answer, Message, Part, PartKind, Role, Usage};
use foldback_core::stage::Estimator;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// Something that a call needs and that can be read again.
#[derive(Clone, Copy, Debug)]
struct Need {
    text: NeededText,
    /// The latest tool result before the call that holds it.
    source: LogPart,
    draw: f64,
}

#[derive(Clone, Copy, Debug)]
enum NeededText {
    Edit(EditNeed),
    Piece(PieceId),
}

/// What is read: a tool result, or some of its lines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Excerpt {
    pub(crate) source: LogPart,
    lines: Option<Range<usize>>,
}

/// A read as it is put into the log.
#[derive(Debug)]
pub(crate) struct RepeatedRead {
    /// The answer that asks for it.
    pub(crate) answer: Arc<Message>,
    /// Its result.
    pub(crate) result: Arc<Message>,
    /// Tokens of the result by the measuring estimator.
    pub(crate) tokens: u64,
    /// The part of the log that the result repeats.
    pub(crate) source: LogPart,
    /// What it holds where it repeats some lines alone.
    pub(crate) excerpt: Option<LineContents>,
}

/// What some lines of a result hold.
#[derive(Debug)]
pub(crate) struct LineContents {
    pub(crate) needles: Box<[NeedleId]>,
    pub(crate) pieces: Box<[PieceId]>,
}

/// Where what the calls of a session need can be read again.
#[derive(Debug)]
pub(crate) struct Sources {
    index: Arc<Index>,
    measure: Arc<dyn Estimator>,
    calls: Vec<Box<[Need]>>,
    /// By source, the call that had it read and what that call put out.
    readings: FxHashMap<LogPart, Reading>,
    /// Messages keep their token counts, so each is made once.
    reads: DashMap<(Excerpt, usize), Arc<RepeatedRead>>,
}

/// How a result was read.
#[derive(Clone, Debug)]
struct Reading {
    /// The message that asked for it, and the part of it; `None` where no call in the log did.
    call: Option<LogPart>,
    output: u64,
}

impl Sources {
    /// Of a session, by its id.
    pub(crate) fn new(session: &str, index: &Arc<Index>, measure: &Arc<dyn Estimator>) -> Self {
        let number = index.calls.len();
        let calls: Vec<Box<[Need]>> = (0..number).map(|call| needs(session, index, call)).collect();
        Self {
            readings: readings(index, &**measure, &calls),
            index: Arc::clone(index),
            measure: Arc::clone(measure),
            calls,
            reads: DashMap::new(),
        }
    }

    pub(super) fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// The smallest draw among what a call misses and can read again: it is read with every chance above that.
    pub(crate) fn least_draw(&self, tracker: &Tracker, call: usize) -> Option<f64> {
        let missed = self.needs(call).iter().filter(|need| self.misses(tracker, need));
        missed.map(|need| need.draw).min_by(f64::total_cmp)
    }

    /// The first source of which a call misses something that is read with this chance, among those that are `wanted`.
    pub(super) fn next(
        &self,
        tracker: &Tracker,
        call: usize,
        chance: f64,
        wanted: impl Fn(LogPart) -> bool,
    ) -> Option<Excerpt> {
        let needs = self.needs(call);
        let due = needs.iter().filter(|need| need.draw < chance && wanted(need.source));
        let source = due.filter(|need| self.misses(tracker, need)).map(|need| need.source).min()?;
        let of_source = needs.iter().filter(|need| need.source == source);
        let missed = of_source.filter(|need| self.misses(tracker, need));
        let wanted = missed.map(|need| match need.text {
            NeededText::Edit(edit) => Wanted::Lines(self.index.old_lines(&edit)),
            NeededText::Piece(piece) => Wanted::Piece(self.index.verbatim.text(piece)),
        });
        let shown = self.part(source).shown();
        Some(Excerpt { lines: excerpt(&shown, wanted), source })
    }

    /// A read for the n-th time.
    pub(super) fn read(&self, excerpt: &Excerpt, time: usize) -> Arc<RepeatedRead> {
        let key = (excerpt.clone(), time);
        Arc::clone(&self.reads.entry(key).or_insert_with(|| Arc::new(self.make(excerpt, time))))
    }

    fn make(&self, excerpt: &Excerpt, time: usize) -> RepeatedRead {
        let (ordinal, part) = excerpt.source;
        let from = excerpt.lines.as_ref().map_or(0, |lines| lines.start);
        let to = excerpt.lines.as_ref().map_or(0, |lines| lines.end);
        let id = |role: &str| format!("again-{ordinal}.{part}-{from}.{to}-{time}-{role}");
        let call_id = id("call");
        let mut result =
            Message::new(id("result"), Role::Tool, vec![self.part(excerpt.source).clone()]);
        result.agent.clone_from(&self.index.log[ordinal].agent);
        let mut tool = String::new();
        let mut held = None;
        if let PartKind::Result(of) = &mut result.parts[0].kind {
            of.call_id.clone_from(&call_id);
            tool.clone_from(&of.tool);
            if let Some(lines) = &excerpt.lines {
                of.text = cut(&of.text, lines);
                (of.structured, of.media) = (None, Vec::new());
                let needles = self.index.needles_of(excerpt.source, &of.text);
                held = Some(LineContents { needles, pieces: self.index.verbatim.find(&of.text) });
            }
        }
        let reading = self.readings.get(&excerpt.source);
        let asked = reading.and_then(|reading| reading.call).map(|at| self.part(at));
        let call = match asked.and_then(Part::as_call) {
            Some(call) => Part::call(call_id, &call.tool, &call.arguments),
            None => Part::call(call_id, tool, "{}"),
        };
        let usage = reading.map(|reading| Usage { output: reading.output, ..Usage::default() });
        let mut answer = Message::assistant(id("answer"), vec![call]);
        answer.answer = Some(Answer { usage, ..Answer::default() });
        answer.agent.clone_from(&result.agent);
        let tokens = self.measure.counts(&result).total();
        let (answer, result) = (Arc::new(answer), Arc::new(result));
        RepeatedRead { answer, result, tokens, source: excerpt.source, excerpt: held }
    }

    /// Whether a call needs anything that can be read again.
    pub(super) fn asks(&self, call: usize) -> bool {
        !self.needs(call).is_empty()
    }

    fn needs(&self, call: usize) -> &[Need] {
        self.calls.get(call).map_or(&[], |needs| needs)
    }

    fn misses(&self, tracker: &Tracker, need: &Need) -> bool {
        match need.text {
            NeededText::Edit(edit) => !tracker.shows_old_text(&edit),
            NeededText::Piece(piece) => !tracker.stands(piece),
        }
    }

    fn part(&self, (ordinal, part): LogPart) -> &Part {
        &self.index.log[ordinal].parts[part]
    }
}

fn needs(session: &str, index: &Index, call: usize) -> Box<[Need]> {
    let edits = index.calls[call].edits.iter().filter_map(|edit| {
        let draw = draw(session, call, "edit", index.old_lines(edit));
        Some(Need { text: NeededText::Edit(*edit), source: edit.source?, draw })
    });
    let pieces = index.verbatim.needs(call).iter().map(|need| {
        let draw = draw(session, call, "piece", index.verbatim.text(need.piece));
        Need { text: NeededText::Piece(need.piece), source: index.part_at(need.source), draw }
    });
    edits.chain(pieces).collect()
}

/// How each source was read.
fn readings(
    index: &Index,
    measure: &dyn Estimator,
    calls: &[Box<[Need]>],
) -> FxHashMap<LogPart, Reading> {
    let mut out: FxHashMap<LogPart, Reading> = FxHashMap::default();
    for need in calls.iter().flatten() {
        out.insert(need.source, Reading { call: None, output: 0 });
    }
    // The latest call with an id: recorders may give an id again.
    let mut asked: FxHashMap<&str, LogPart> = FxHashMap::default();
    for (ordinal, message) in index.log.iter().enumerate() {
        for (at, part) in message.parts.iter().enumerate() {
            if let Some(call) = part.as_call() {
                asked.insert(&call.call_id, (ordinal, at));
            }
            if let Some(reading) = out.get_mut(&(ordinal, at))
                && let Some(result) = part.as_result()
                && let Some(call) = asked.get(&*result.call_id)
            {
                let answer = &index.log[call.0];
                let calls = answer.call_ids().count() as u64;
                let output = crate::cost::output_of(measure, answer);
                *reading = Reading { call: Some(*call), output: output.div_ceil(calls.max(1)) };
            }
        }
    }
    out
}
