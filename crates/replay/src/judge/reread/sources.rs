//! Where what calls need can be read again, once for a session and all its replays.

use super::chance::draw;
use super::excerpt::{Wanted, cut, excerpt};
use crate::read::index::{
    EditNeed, Index, LineContents, LogPart, RepeatedRead, Tracker, is_beside_match,
};
use crate::read::verbatim::PieceId;
use dashmap::DashMap;
use foldback_core::log::{Answer, Message, Part, PartKind, Role, Usage};
use foldback_core::stage::Estimator;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Something that a call needs and that can be read again.
#[derive(Debug)]
struct Need {
    text: NeededText,
    /// The tool result that is read again for it.
    source: LogPart,
    draw: f64,
    /// The lines of the source that hold it, looked for once; `None` where that can't be told.
    lines: OnceLock<Option<Range<usize>>>,
}

impl Need {
    fn new(text: NeededText, source: LogPart, draw: f64) -> Self {
        Self { text, source, draw, lines: OnceLock::new() }
    }
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
    /// Lines of the result, counted when it is first read again.
    lines: OnceLock<usize>,
}

impl Sources {
    /// Of a session, by its id.
    pub(crate) fn new(session: &str, index: &Arc<Index>, measure: &Arc<dyn Estimator>) -> Self {
        let askers = askers(index);
        let choice = SourceChoice::new(index, &askers);
        let number = index.calls.len();
        let calls: Vec<Box<[Need]>> =
            (0..number).map(|call| needs(session, index, &choice, call)).collect();
        Self {
            readings: readings(index, &**measure, &calls, &askers),
            index: Arc::clone(index),
            measure: Arc::clone(measure),
            calls,
            reads: DashMap::new(),
        }
    }

    /// The index of the session.
    pub(crate) fn index(&self) -> &Arc<Index> {
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
        let count = || self.part(source).shown().split('\n').count();
        let count = *self.readings.get(&source)?.lines.get_or_init(count);
        Some(Excerpt { lines: excerpt(count, missed.map(|need| self.lines_of(need))), source })
    }

    /// The lines of its source that hold what is needed; `None` where that can't be told.
    fn lines_of(&self, need: &Need) -> Option<Range<usize>> {
        let wanted = match need.text {
            NeededText::Edit(edit) => Wanted::Lines(self.index.old_lines(&edit)),
            NeededText::Piece(piece) => Wanted::Piece(self.index.verbatim.text(piece)),
        };
        let look = || wanted.lines_in(&self.part(need.source).shown());
        need.lines.get_or_init(look).clone()
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

/// Finds the result that is read again for what a call misses.
struct SourceChoice<'i> {
    index: &'i Index,
    /// Results of edits.
    edits: FxHashSet<LogPart>,
    /// Results that have lines beside what a search found.
    searches: FxHashSet<LogPart>,
    /// By piece, the results that hold it, ascending.
    pieces: FxHashMap<PieceId, Vec<LogPart>>,
}

/// How a result shows something, in ascending order of how likely an agent reads that result again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Showing {
    /// An edit answers with the lines around its change.
    BesideEdit,
    /// A search shows it beside what it found.
    BesideMatch,
    /// The call asked for it.
    Requested,
}

impl<'i> SourceChoice<'i> {
    fn new(index: &'i Index, askers: &FxHashMap<LogPart, LogPart>) -> Self {
        let edits = askers.iter().filter(|(_, call)| index.is_edit(**call));
        let edits = edits.map(|(result, _)| *result).collect();
        let mut pieces: FxHashMap<PieceId, Vec<LogPart>> = FxHashMap::default();
        let mut searches = FxHashSet::default();
        for (at, part) in parts(&index.log) {
            for piece in index.pieces(at) {
                pieces.entry(*piece).or_default().push(at);
            }
            let lines = part.as_result().map(|result| result.text.lines());
            if lines.is_some_and(|mut lines| lines.any(is_beside_match)) {
                searches.insert(at);
            }
        }
        Self { index, edits, searches, pieces }
    }

    /// The result before its call that is read again for the old text of an edit.
    fn old_text(&self, edit: &EditNeed) -> Option<LogPart> {
        let places = self.index.places(edit).iter().copied();
        let results = places.filter(|at| self.index.log[at.0].role == Role::Tool);
        self.best(results, Wanted::Lines(self.index.old_lines(edit)))
    }

    /// The result up to a latest one that is read again for a piece.
    fn piece(&self, piece: PieceId, latest: LogPart) -> LogPart {
        let results = self.pieces.get(&piece).map_or(&[][..], |results| results);
        let until = results.partition_point(|at| *at <= latest);
        let results = results[..until].iter().copied();
        let wanted = Wanted::Piece(self.index.verbatim.text(piece));
        self.best(results, wanted).unwrap_or(latest)
    }

    /// The latest of those that show it in the best way.
    fn best(
        &self,
        results: impl DoubleEndedIterator<Item = LogPart>,
        wanted: Wanted<'_>,
    ) -> Option<LogPart> {
        let mut best: Option<(Showing, LogPart)> = None;
        for at in results.rev() {
            let showing = self.showing(at, wanted);
            if best.is_none_or(|(known, _)| known < showing) {
                best = Some((showing, at));
            }
            if showing == Showing::Requested {
                break;
            }
        }
        best.map(|(_, at)| at)
    }

    fn showing(&self, at: LogPart, wanted: Wanted<'_>) -> Showing {
        if self.edits.contains(&at) {
            return Showing::BesideEdit;
        }
        if !self.searches.contains(&at) {
            return Showing::Requested;
        }
        let text = self.index.log[at.0].parts[at.1].shown();
        let first = wanted.lines_in(&text).and_then(|lines| text.split('\n').nth(lines.start));
        if first.is_some_and(is_beside_match) { Showing::BesideMatch } else { Showing::Requested }
    }
}

/// By result, the latest call before it with its id: recorders may give an id again.
fn askers(index: &Index) -> FxHashMap<LogPart, LogPart> {
    let mut calls: FxHashMap<&str, LogPart> = FxHashMap::default();
    let mut out = FxHashMap::default();
    for (at, part) in parts(&index.log) {
        if let Some(call) = part.as_call() {
            calls.insert(&call.call_id, at);
        } else if let Some(result) = part.as_result()
            && let Some(call) = calls.get(&*result.call_id)
        {
            out.insert(at, *call);
        }
    }
    out
}

fn parts(log: &[Arc<Message>]) -> impl Iterator<Item = (LogPart, &Part)> {
    log.iter().enumerate().flat_map(|(ordinal, message)| {
        message.parts.iter().enumerate().map(move |(at, part)| ((ordinal, at), part))
    })
}

fn needs(session: &str, index: &Index, choice: &SourceChoice<'_>, call: usize) -> Box<[Need]> {
    let edits = index.calls[call].edits.iter().filter_map(|edit| {
        let draw = draw(session, call, "edit", index.old_lines(edit));
        Some(Need::new(NeededText::Edit(*edit), choice.old_text(edit)?, draw))
    });
    let pieces = index.verbatim.needs(call).iter().map(|need| {
        let draw = draw(session, call, "piece", index.verbatim.text(need.piece));
        let source = choice.piece(need.piece, index.part_at(need.source));
        Need::new(NeededText::Piece(need.piece), source, draw)
    });
    edits.chain(pieces).collect()
}

/// How each source was read.
fn readings(
    index: &Index,
    measure: &dyn Estimator,
    calls: &[Box<[Need]>],
    askers: &FxHashMap<LogPart, LogPart>,
) -> FxHashMap<LogPart, Reading> {
    let read = |source: LogPart| {
        let lines = OnceLock::new();
        let Some(call) = askers.get(&source) else {
            return Reading { call: None, output: 0, lines };
        };
        let answer = &index.log[call.0];
        let calls = answer.call_ids().count() as u64;
        let output = crate::judge::cost::output_of(measure, answer);
        Reading { call: Some(*call), output: output.div_ceil(calls.max(1)), lines }
    };
    calls.iter().flatten().map(|need| (need.source, read(need.source))).collect()
}
