//! What the model is shown of a word and of a line: numbers from 0 to about 1, under names.

use crate::known::{FileSeen, LineSeen, WordSeen};
use crate::message::Kind;
use crate::text::Line;

/// Names of the features of a word.
pub const WORD: [&str; 27] = [
    "bias",
    "results",
    "recency",
    "age",
    "turns",
    "span",
    "called",
    "called_recency",
    "called_since",
    "written",
    "written_recency",
    "path",
    "extension",
    "underscore",
    "camel",
    "digit",
    "hex",
    "bytes",
    "definition",
    "failure",
    "from_read",
    "from_search",
    "from_run",
    "crowd",
    "file_read",
    "file_edited",
    "file_recency",
];

/// Names of the features of a line.
pub const LINE: [&str; 36] = [
    "bias",
    "from_read",
    "from_search",
    "from_run",
    "from_edit",
    "written",
    "recency",
    "age",
    "turns",
    "lines",
    "position",
    "edge",
    "bytes",
    "short",
    "indent",
    "definition",
    "failure",
    "file_edited",
    "file_edited_recency",
    "file_edited_since",
    "file_read",
    "file_named_since",
    "results",
    "called",
    "called_recency",
    "neighbours_called",
    "removed",
    "words",
    "words_called",
    "words_best",
    "words_sum",
    "words_novel",
    "words_written",
    "source_shown",
    "source_called",
    "file_shown",
];

/// Names of the features of a block of lines of a file.
pub const BLOCK: [&str; 32] = [
    "bias",
    "from_read",
    "from_search",
    "written",
    "recency",
    "age",
    "turns",
    "lines",
    "position",
    "size",
    "definition",
    "file_edited",
    "file_edited_recency",
    "file_edited_since",
    "file_read",
    "file_named_since",
    "results",
    "called",
    "called_recency",
    "neighbours_called",
    "removed",
    "source_shown",
    "source_called",
    "file_shown",
    "lines_best",
    "lines_sum",
    "open",
    "file_recency",
    "words_called",
    "words_best",
    "words_sum",
    "words_written",
];

fn flag(flag: bool) -> f32 {
    if flag { 1.0 } else { 0.0 }
}

/// Grows by one with each doubling.
fn log(count: u32) -> f32 {
    (1.0 + count as f32).log2()
}

/// Recency: 1 for now, a half for ten calls ago.
fn recency(now: u32, then: u32) -> f32 {
    1.0 / (1.0 + now.saturating_sub(then) as f32 / 10.0)
}

/// How recently the user or the model wrote a word; 0 where neither did.
pub fn written_recency(seen: &WordSeen, now: u32) -> f32 {
    if seen.written { recency(now, seen.last_written) } else { 0.0 }
}

/// The features of a word, `now` calls into the conversation.
pub fn word(seen: &WordSeen, file: Option<&FileSeen>, now: u32, turns: u32) -> [f32; WORD.len()] {
    let look = seen.look;
    let called = seen.called > 0;
    [
        1.0,
        log(seen.results) / 4.0,
        recency(now, seen.last_result),
        log(now.saturating_sub(seen.last_result)) / 8.0,
        log(turns.saturating_sub(seen.last_turn)) / 4.0,
        log(seen.last_result.saturating_sub(seen.first_result)) / 8.0,
        log(seen.called) / 3.0,
        if called { recency(now, seen.last_called) } else { 0.0 },
        flag(called && seen.last_called > seen.last_result),
        flag(seen.written),
        written_recency(seen, now),
        flag(look.path),
        flag(look.extension),
        flag(look.underscore),
        flag(look.camel),
        flag(look.digit),
        flag(look.hex),
        f32::from(look.bytes.min(64)) / 64.0,
        flag(seen.definition),
        flag(seen.failure),
        flag(seen.kind == Kind::Read),
        flag(seen.kind == Kind::Search),
        flag(seen.kind == Kind::Run),
        log(seen.crowd) / 10.0,
        file.map_or(0.0, |file| log(file.read) / 3.0),
        file.map_or(0.0, |file| log(file.edited) / 3.0),
        file.map_or(0.0, |file| recency(now, file.last)),
    ]
}

/// What a line is part of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around {
    /// What brought it.
    pub kind: Kind,
    /// A call wrote it, it is not a result.
    pub written: bool,
    /// The call.
    pub call: u32,
    /// Messages of the user since.
    pub turns: u32,
    /// Lines of the text.
    pub lines: u32,
    /// The file that the text is about.
    pub file: FileSeen,
    /// The share of its words that the view still shows.
    pub shown: f32,
    /// The share of its words that calls have named.
    pub called: f32,
    /// The view still shows the name of its file.
    pub file_shown: bool,
}

/// What the words of a line say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words {
    /// Number of words.
    pub count: u32,
    /// Words that the view no longer shows.
    pub novel: u32,
    /// Calls that name the most named word.
    pub called: u32,
    /// The best chance of being named again.
    pub best: f32,
    /// The sum of those chances.
    pub sum: f32,
    /// How recently the user or the model wrote one of them.
    pub written: f32,
}

/// The features of a line, `now` calls into the conversation. `neighbours` is the share of the lines around it
/// that calls have named.
pub fn line(
    line: &Line,
    around: &Around,
    seen: &LineSeen,
    words: Words,
    neighbours: f32,
    now: u32,
) -> [f32; LINE.len()] {
    let bytes = line.end.saturating_sub(line.start).saturating_sub(line.indent.into());
    let file = &around.file;
    let edited = file.edited > 0;
    let called = seen.called > 0;
    [
        1.0,
        flag(around.kind == Kind::Read),
        flag(around.kind == Kind::Search),
        flag(around.kind == Kind::Run),
        flag(around.kind == Kind::Edit && !around.written),
        flag(around.written),
        recency(now, around.call),
        log(now.saturating_sub(around.call)) / 8.0,
        log(around.turns) / 4.0,
        log(around.lines) / 10.0,
        line.number as f32 / around.lines.max(1) as f32,
        flag(line.number < 2 || line.number + 2 >= around.lines),
        bytes.min(200) as f32 / 200.0,
        flag(bytes < 12),
        f32::from(line.indent.min(16)) / 16.0,
        flag(line.definition),
        flag(line.failure),
        flag(edited),
        if edited { recency(now, file.last_edited) } else { 0.0 },
        flag(file.last_edited > around.call),
        log(file.read) / 3.0,
        flag(file.last > around.call),
        log(seen.results) / 4.0,
        flag(called),
        if called { recency(now, seen.last_called) } else { 0.0 },
        neighbours,
        flag(seen.removed > around.call),
        log(words.count) / 4.0,
        log(words.called) / 3.0,
        words.best,
        words.sum.min(2.0),
        words.novel as f32 / words.count.max(1) as f32,
        words.written,
        around.shown,
        around.called,
        flag(around.file_shown),
    ]
}

/// What the lines of a block say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Block {
    /// How many.
    pub size: u32,
    /// Number of the first one.
    pub number: u32,
    /// One of them defines something.
    pub definition: bool,
    /// Results that have one of them, at most.
    pub results: u32,
    /// The share of them that calls have named.
    pub called: f32,
    /// The last call that did.
    pub last_called: u32,
    /// The share of the lines around them that calls have named.
    pub neighbours: f32,
    /// The share of them that an edit took out.
    pub removed: f32,
    /// The best chance of a line.
    pub best: f32,
    /// The sum of those chances.
    pub sum: f32,
    /// The share of lines that nothing else has.
    pub open: f32,
    /// What its words say.
    pub words: Words,
}

/// The features of a block, `now` calls into the conversation.
pub fn block(block: &Block, around: &Around, now: u32) -> [f32; BLOCK.len()] {
    let file = &around.file;
    [
        1.0,
        flag(around.kind == Kind::Read),
        flag(around.kind == Kind::Search),
        flag(around.written),
        recency(now, around.call),
        log(now.saturating_sub(around.call)) / 8.0,
        log(around.turns) / 4.0,
        log(around.lines) / 10.0,
        block.number as f32 / around.lines.max(1) as f32,
        log(block.size) / 4.0,
        flag(block.definition),
        flag(file.edited > 0),
        if file.edited > 0 { recency(now, file.last_edited) } else { 0.0 },
        flag(file.last_edited > around.call),
        log(file.read) / 3.0,
        flag(file.last > around.call),
        log(block.results) / 4.0,
        block.called,
        if block.called > 0.0 { recency(now, block.last_called) } else { 0.0 },
        block.neighbours,
        block.removed,
        around.shown,
        around.called,
        flag(around.file_shown),
        block.best,
        block.sum.min(4.0),
        block.open,
        recency(now, file.last),
        log(block.words.called) / 3.0,
        block.words.best,
        block.words.sum.min(8.0) / 4.0,
        block.words.written,
    ]
}
