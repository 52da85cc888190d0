//! A recorded session, read from any format into the one canonical form.

use crate::FormatId;
pub use crate::folded::Omission;
use foldback_core::log::{Answer, Message, Origin, Usage};
use foldback_core::view::{EditKind, PartEdit, PartPos};
use foldback_core::{Frame, Limits};
pub(crate) use foldback_providers::wire::shared::source::Parsed;
pub use foldback_providers::wire::shared::source::{Records, Shape, Source};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What OpenCode, and tunacode after it, show in place of a cleared tool result.
pub(crate) const CLEARED: &str = "[Old tool result content cleared]";

/// Everything that one recording holds.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The recorder's own id, else one derived from the content.
    pub id: String,
    /// The format that it was read from.
    pub format: FormatId,
    /// The model of most calls, if recorded.
    pub model: Option<String>,
    /// What the session shares with others of its kind: the repository or folder that the agent worked
    /// in, or the task of the benchmark, if recorded. Statistics resample sessions by it.
    pub cluster: Option<String>,
    /// The folder of the checkout that the agent worked in, worktrees of one checkout alike, if recorded: with it
    /// recordings of one repository can be found that name it in different ways.
    pub folder: Option<String>,
    /// Limits that the recording itself states.
    pub limits: Limits,
    /// Leading system prompt, tool definitions and whatever else was sent around the history.
    pub frame: Frame,
    /// All messages in stored order. Those that the recorder's own compaction wrote are marked
    /// [`Origin::Entry`]; those that it dropped from its view are here anyway, as long as the
    /// recording still holds them.
    pub messages: Vec<Arc<Message>>,
    /// Answers that were paid for and are not in the log, in the order of the recording: what the user took back, and what
    /// a model was asked within another's answer, as an advisor is.
    pub unlogged: Vec<Answer>,
    /// Requests as they were sent, in order, where the recorder wrote them down.
    pub sent: Vec<SentRequest>,
    /// Parts that the recorder itself had cleared, with the time. The text in `messages` is the original.
    pub cleared: Vec<Cleared>,
    /// Compactions that the recorder made.
    pub boundaries: Vec<Boundary>,
    /// Messages were left out of the file by foldback: usage up to there is of other requests.
    pub folded: Option<Omission>,
    /// The session that it was forked from or spawned by, where the recording says so: its history may begin with that one's.
    pub parent: Option<String>,
    /// Calls that another session holds as well and that count there: they are no answers here.
    pub copied: usize,
    /// What could not be read or does not fit together; the rest was used.
    pub warnings: Vec<Warning>,
    /// The file's text and where its records lie in it.
    pub source: Source,
    /// Messages and tool calls as the format itself counts them, if its counts differ from the numbers of
    /// records with a message and of call parts.
    pub recorded: Option<Recorded>,
}

/// Messages and tool calls as a format itself counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Stored messages.
    pub messages: usize,
    /// Tool calls.
    pub tool_calls: usize,
}

/// A request that the recorder wrote down as it sent it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentRequest {
    /// Id of the message that answers it.
    pub answer: String,
    /// What stands around its messages.
    pub frame: Arc<Frame>,
    /// How many messages it has in common with the request before it in [`Session::sent`], from the first on.
    pub keep: usize,
    /// The messages behind them. One of the protocol's may be several as they are read.
    pub tail: Vec<Vec<Arc<Message>>>,
}

/// A part that the recorder had cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleared {
    /// The part; `item` is an index into [`Session::messages`].
    pub at: PartPos,
    /// When, in milliseconds since the Unix epoch; 0 where not recorded.
    pub time: i64,
}

/// A compaction that the recorder made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boundary {
    /// Index into [`Session::messages`] of the first message after it.
    pub before: usize,
    /// `auto`, `manual`, or the recorder's own word.
    pub trigger: String,
    /// What kind of compaction: `summary`, `clear`, `replace`, `drop`, or [`SEALED`].
    pub kind: String,
    /// Size of the context before, in tokens, if recorded.
    pub tokens_before: Option<u64>,
    /// Size of the context after, in tokens, if recorded.
    pub tokens_after: Option<u64>,
    /// Whether the recording still holds the compacted messages.
    pub original_kept: bool,
}

/// The kind of a compaction whose summary only the provider can read.
pub const SEALED: &str = "sealed";

impl Boundary {
    /// A compaction that left the original in place.
    pub(crate) fn new(before: usize, kind: &str, trigger: &str) -> Self {
        Self {
            before,
            trigger: trigger.to_owned(),
            kind: kind.to_owned(),
            tokens_before: None,
            tokens_after: None,
            original_kept: true,
        }
    }
}

/// Code of the warning that a recording begins in the middle of a conversation.
pub(crate) const BEGINS_MIDWAY: &str = "begins-midway";

/// Code of the warning that the provider keeps what was said before the first message.
pub(crate) const KEPT_ELSEWHERE: &str = "kept-elsewhere";

/// Something that an importer could not use. Never fatal unless `--strict` is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable, machine-readable kind, e.g. `damaged-line`, `unknown-type`, `orphan-result`.
    pub code: String,
    /// Line (1-based) or JSON pointer.
    pub place: String,
    /// The fault, and what was done about it.
    pub detail: String,
}

impl Warning {
    pub(crate) fn new(code: &str, place: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { code: code.to_owned(), place: place.into(), detail: detail.into() }
    }
}

impl Session {
    /// Whether the recording begins in the middle of a conversation: what was said before is in its
    /// requests and their usage, but not in the file.
    pub fn begins_midway(&self) -> bool {
        let codes = [BEGINS_MIDWAY, KEPT_ELSEWHERE];
        self.warnings.iter().any(|warning| codes.contains(&&*warning.code))
    }

    /// A session without content, to be filled by an importer.
    pub fn new(id: impl Into<String>, format: FormatId, source: Source) -> Self {
        Self { id: id.into(), format, source, ..Self::default() }
    }

    /// Where it worked: its cluster is the repository if that is known, else the folder.
    pub(crate) fn worked_in(&mut self, repository: Option<String>, folder: Option<String>) {
        self.cluster = repository.or_else(|| folder.clone());
        self.folder = folder;
    }

    /// A session that no file holds, of messages that were made in code.
    pub fn of_messages(id: impl Into<String>, messages: Vec<Arc<Message>>) -> Self {
        Self { messages, ..Self::new(id, "foldback", Source::default()) }
    }

    /// The log: what happened, with the recorder's own compactions undone.
    pub fn log(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.messages.iter().filter(|message| message.origin == Origin::Log)
    }

    /// The records of its messages, parsed.
    pub(crate) fn parsed(&self) -> Parsed<'_> {
        Parsed::new(&self.messages, &self.source)
    }

    /// Number of recorded model calls.
    pub fn calls(&self) -> usize {
        self.log().filter(|message| message.is_answer()).count()
    }

    /// The largest request that the provider counted; 0 if it counted none.
    pub fn largest_request(&self) -> u64 {
        let usages = self.log().filter_map(|message| message.answer.as_ref()?.usage);
        usages.map(|usage| usage.input_total()).max().unwrap_or(0)
    }

    /// Number of user turns.
    pub fn turns(&self) -> usize {
        self.log().filter(|message| message.begins_turn()).count()
    }

    /// The share of what was written to the cache that was to live for an hour, by the usage of the answers; 0 where nothing
    /// was written.
    pub fn hour_share(&self) -> f64 {
        let usages = self.log().filter_map(|message| message.answer.as_ref()?.usage);
        let written = usages.fold(Usage::default(), |sum, usage| sum.plus(&usage));
        written.cache_write_1h as f64 / written.cache_write.max(1) as f64
    }

    /// When the first answer was asked for or given, in milliseconds since the Unix epoch, if recorded.
    pub fn began(&self) -> Option<i64> {
        let mut answers = self.log().filter_map(|message| message.answer.as_ref());
        answers.find_map(|answer| answer.started.or(answer.ended))
    }

    /// Number of tool calls.
    pub fn tool_calls(&self) -> usize {
        self.log().map(|message| message.call_ids().count()).sum()
    }

    /// Number of messages as the format itself counts them: its stored records that hold a message.
    pub fn recorded_messages(&self) -> usize {
        self.recorded.map_or_else(
            || {
                let records: BTreeSet<Option<u32>> =
                    self.messages.iter().map(|message| message.record).collect();
                if records.contains(&None) { self.messages.len() } else { records.len() }
            },
            |recorded| recorded.messages,
        )
    }

    /// Number of tool calls as the format itself counts them.
    pub fn recorded_tool_calls(&self) -> usize {
        self.recorded.map_or_else(|| self.tool_calls(), |recorded| recorded.tool_calls)
    }

    /// What the recorder had cleared, as edits with the text that stands in for it in most systems.
    pub fn recorded_edits(&self) -> Vec<(PartPos, PartEdit)> {
        self.cleared
            .iter()
            .map(|cleared| {
                let edit =
                    PartEdit { kind: EditKind::Clear, text: CLEARED.into(), at: cleared.time };
                (cleared.at, edit)
            })
            .collect()
    }

    /// Adds a warning.
    pub fn warn(&mut self, code: &str, place: impl Into<String>, detail: impl Into<String>) {
        self.warnings.push(Warning::new(code, place, detail));
    }
}
