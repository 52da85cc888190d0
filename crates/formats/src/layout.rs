//! Formats that are a list of messages, told as a table: where a message has its id, its time and its content, what the types
//! of content mean, and what is said of a call.
//!
//! Pointers lead from a message, or from a block of its content. Of several the first counts that leads to a text.

use crate::prelude::*;

/// How a format writes down its messages.
pub(crate) struct Layout {
    pub(crate) format: FormatId,
    /// Where a document has the list of messages.
    pub(crate) list: &'static str,
    pub(crate) head: Head,
    pub(crate) id: &'static str,
    pub(crate) time: Time,
    pub(crate) content: Content,
    pub(crate) result: ResultMembers,
    pub(crate) answer: AnswerMembers,
    /// What a message is, by its parts too.
    pub(crate) kind: fn(&Value, &[Part]) -> Kind,
}

/// What a document says of its session.
pub(crate) struct Head {
    pub(crate) id: &'static str,
    pub(crate) folder: &'static [&'static str],
    pub(crate) parent: &'static str,
    pub(crate) system: &'static str,
    /// The model of answers that name none.
    pub(crate) model: &'static str,
}

/// Where a message has its time: a number, or a text as of RFC 3339.
pub(crate) enum Time {
    Millis(&'static str),
    Seconds(&'static str),
}

/// Where a message has what it says.
pub(crate) enum Content {
    Blocks(Blocks),
    Code(fn(&mut SessionBuilder, u32, &Value) -> Vec<Part>),
}

/// A content that is a list of blocks, each with a `type`, or a text.
pub(crate) struct Blocks {
    pub(crate) at: &'static str,
    /// What a warning calls a block.
    pub(crate) name: &'static str,
    /// Whether the model is sent a block.
    pub(crate) is_sent: fn(&Value) -> bool,
    pub(crate) types: &'static [(&'static str, Block)],
    /// Reads the types that are not listed.
    pub(crate) other: fn(&mut SessionBuilder, u32, &Value, &str) -> Option<Part>,
}

/// The meaning of a block.
pub(crate) enum Block {
    /// Nothing that the model is sent.
    Silent,
    Text(&'static str),
    /// A text that is left out where it is empty.
    Filled(&'static str),
    /// Reasoning, with what only its model can read.
    Thought(&'static str, &'static [&'static str]),
    Redacted(&'static str),
    Call {
        id: &'static [&'static str],
        tool: &'static str,
        arguments: &'static str,
    },
    /// The content is a text or a list of blocks.
    Result {
        call: &'static str,
        failed: &'static str,
        content: &'static str,
    },
    File(FileMembers),
    /// Anything that takes more than a pointer.
    Code(fn(&mut SessionBuilder, &Value, &str) -> Vec<Part>),
}

pub(crate) struct FileMembers {
    pub(crate) mime: &'static [&'static str],
    pub(crate) name: &'static str,
    pub(crate) url: &'static str,
    /// The type of a file that states none.
    pub(crate) usual: &'static str,
}

/// What a message that is a result says beside its content.
pub(crate) struct ResultMembers {
    pub(crate) call: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) failed: &'static str,
}

/// What an answer says of the call of the model.
pub(crate) struct AnswerMembers {
    pub(crate) model: &'static str,
    pub(crate) provider: &'static str,
    pub(crate) finish: &'static str,
    pub(crate) usage: &'static str,
    pub(crate) counts: Counts,
    /// Adds what takes more than a pointer.
    pub(crate) more: fn(&Value, &mut Answer),
}

/// What a message is.
pub(crate) enum Kind {
    /// A person said it.
    Prompt,
    /// The harness said it in the user's name while the model was at work.
    Aside,
    Answer,
    /// The model did not answer.
    NoAnswer,
    /// Its content is the result of one call.
    Result,
    /// Each of its parts is a message: a result, or what was said beside one.
    Apart(Role),
    System,
    /// A compaction wrote it.
    Summary,
    Silent,
    Unknown,
}

/// No pointer: nothing stands there.
const NONE: &str = "/";

impl Layout {
    /// Messages that state nothing.
    pub(crate) const NONE: Self = Self {
        format: "",
        list: NONE,
        head: Head { id: NONE, folder: &[], parent: NONE, system: NONE, model: NONE },
        id: NONE,
        time: Time::Millis(NONE),
        content: Content::Blocks(Blocks::NONE),
        result: ResultMembers { call: NONE, tool: NONE, failed: NONE },
        answer: AnswerMembers::NONE,
        kind: |message, _| role(message),
    };

    /// Reads a document. It holds one session.
    pub(crate) fn read(&self, text: &str) -> Result<Vec<Session>, ReadError> {
        only(self.session(text, &value::document(text)?)?)
    }

    /// The session of a document.
    pub(crate) fn session(&self, text: &str, root: &Value) -> Result<Session, ReadError> {
        let id = value::text_at(root, self.head.id).map(str::to_owned);
        let mut out = SessionBuilder::document(text, self.list, id, self.format)?;
        self.head(&mut out, root);
        for (record, message) in (0u32..).zip(value::list_at(root, self.list)) {
            self.message(&mut out, record, message);
        }
        Ok(out.finish_run())
    }

    /// Takes in what a document says around its messages.
    pub(crate) fn head(&self, out: &mut SessionBuilder, root: &Value) {
        let folder = first(root, self.head.folder).and_then(cluster::folder);
        out.session.worked_in(None, folder);
        out.session.parent = filled(root, self.head.parent);
        out.model = value::text_at(root, self.head.model).map(str::to_owned);
        if let Some(system) = filled(root, self.head.system) {
            out.system(system);
        }
    }

    /// Reads a message.
    pub(crate) fn message(&self, out: &mut SessionBuilder, record: u32, raw: &Value) {
        let mut parts = self.parts(out, record, raw);
        let id = self.id(raw);
        let record = self.record(record, raw, id.as_deref());
        match (self.kind)(raw, &parts) {
            Kind::Prompt => out.prompt(record, parts),
            Kind::Aside => out.aside(record, parts),
            Kind::Answer => {
                let answer = self.answer.read(raw, record.at);
                out.answer(record, parts, answer);
            }
            Kind::NoAnswer => out.running = false,
            Kind::Result => {
                let (text, media, at) = flattened(parts, self.content.at().to_owned());
                let [call, tool] = [self.result.call, self.result.tool]
                    .map(|at| value::text_at(raw, at).unwrap_or_default());
                let failed = flag(raw, self.result.failed);
                let part = out.result(call, tool, failed, text, media).at(at);
                out.add(record, Role::Tool, vec![part]);
            }
            Kind::Apart(beside) => {
                for part in parts {
                    let role = if part.as_result().is_some() { Role::Tool } else { beside };
                    out.add(record, role, vec![part]).mid_turn = role == Role::User;
                }
            }
            Kind::System => {
                out.add(record, Role::System, parts);
            }
            Kind::Summary => {
                let kept = out.holds_log();
                out.boundary("summary", "auto").original_kept = kept;
                mark_synthetic(&mut parts);
                out.summary(record, parts);
            }
            Kind::Silent => {}
            Kind::Unknown => out.unknown_role_of(record.number, value::text(raw, "role")),
        }
    }

    /// The id of a message.
    pub(crate) fn id(&self, raw: &Value) -> Option<String> {
        let id = raw.pointer(self.id).filter(|id| id.is_string() || id.is_number())?;
        Some(value::shown(id)).filter(|id| !id.is_empty())
    }

    /// The record of a message.
    pub(crate) fn record<'a>(&self, number: u32, raw: &Value, id: Option<&'a str>) -> Record<'a> {
        Record { number, id, at: self.time.read(raw) }
    }

    /// The parts of a message.
    pub(crate) fn parts(&self, out: &mut SessionBuilder, record: u32, raw: &Value) -> Vec<Part> {
        match &self.content {
            Content::Blocks(blocks) => blocks.parts(out, record, raw, ""),
            Content::Code(parts) => parts(out, record, raw),
        }
    }
}

/// What a message is by its role alone.
pub(crate) fn role(message: &Value) -> Kind {
    match value::text(message, "role") {
        Some("user") => Kind::Prompt,
        Some("assistant") => Kind::Answer,
        Some("tool") => Kind::Result,
        Some("system") => Kind::System,
        _ => Kind::Unknown,
    }
}

impl Time {
    fn read(&self, raw: &Value) -> Option<i64> {
        let (pointer, number) = match self {
            Self::Millis(pointer) => (pointer, value::millis(raw, pointer)),
            Self::Seconds(pointer) => (pointer, value::seconds(raw, pointer)),
        };
        number.or_else(|| crate::time::parse_rfc3339(value::text_at(raw, pointer)?))
    }
}

impl AnswerMembers {
    /// An answer that states nothing.
    pub(crate) const NONE: Self = Self {
        model: NONE,
        provider: NONE,
        finish: NONE,
        usage: NONE,
        counts: Counts::NONE,
        more: |_, _| {},
    };

    fn read(&self, raw: &Value, at: Option<i64>) -> Answer {
        let mut answer = Answer {
            usage: raw.pointer(self.usage).and_then(|usage| self.counts.any(usage)),
            finish: filled(raw, self.finish).map(|word| finish(&word)),
            model: filled(raw, self.model),
            provider: filled(raw, self.provider),
            ended: at,
            ..Answer::default()
        };
        (self.more)(raw, &mut answer);
        answer
    }
}

impl Content {
    fn at(&self) -> &'static str {
        match self {
            Self::Blocks(blocks) => blocks.at,
            Self::Code(_) => Blocks::NONE.at,
        }
    }
}

impl Blocks {
    /// No types, in the member `content`.
    pub(crate) const NONE: Self = Self {
        at: "/content",
        name: "content block",
        is_sent: |_| true,
        types: &[],
        other: |_, _, _, _| None,
    };

    /// The parts of a content in `raw`, which stands at the pointer `at` in a record.
    pub(crate) fn parts(
        &self,
        out: &mut SessionBuilder,
        record: u32,
        raw: &Value,
        at: &str,
    ) -> Vec<Part> {
        let content = raw.pointer(self.at).unwrap_or(&Value::Null);
        self.list(out, record, content, &format!("{at}{}", self.at))
    }

    /// The parts of a content at this pointer.
    pub(crate) fn list(
        &self,
        out: &mut SessionBuilder,
        record: u32,
        content: &Value,
        at: &str,
    ) -> Vec<Part> {
        let mut parts = Vec::new();
        match content {
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => parts.push(Part::text(text).at(at)),
            list => {
                for (index, block) in value::items(list).iter().enumerate() {
                    self.block(out, record, block, &format!("{at}/{index}"), &mut parts);
                }
            }
        }
        parts
    }

    /// Adds what a block holds.
    pub(crate) fn block(
        &self,
        out: &mut SessionBuilder,
        record: u32,
        raw: &Value,
        at: &str,
        parts: &mut Vec<Part>,
    ) {
        let kind = value::text(raw, "type").unwrap_or_default();
        let known = self.types.iter().find(|(known, _)| *known == kind);
        match known {
            _ if !(self.is_sent)(raw) => {}
            Some((_, block)) => self.meaning(out, record, raw, at, block, parts),
            None => parts.push(
                (self.other)(out, record, raw, at)
                    .unwrap_or_else(|| out.unknown_at(record, at, self.name, kind, raw)),
            ),
        }
    }

    /// Adds what a block of this meaning holds.
    pub(crate) fn meaning(
        &self,
        out: &mut SessionBuilder,
        record: u32,
        raw: &Value,
        at: &str,
        block: &Block,
        parts: &mut Vec<Part>,
    ) {
        let text = |pointer: &str| value::text_at(raw, pointer).unwrap_or_default();
        parts.push(match block {
            Block::Silent => return,
            Block::Filled(member) if text(member).is_empty() => return,
            Block::Text(member) | Block::Filled(member) => {
                Part::text(text(member)).at(format!("{at}{member}"))
            }
            Block::Thought(member, opaque) => {
                let opaque = opaque.iter().find_map(|at| filled(raw, at));
                reasoning(text(member), opaque).at(format!("{at}{member}"))
            }
            Block::Redacted(data) => redacted(value::text_at(raw, data).map(str::to_owned)).at(at),
            Block::Call { id, tool, arguments } => {
                let shown = raw.pointer(arguments).map(value::shown).unwrap_or_default();
                let id = first(raw, id).unwrap_or_default();
                out.call(id, text(tool), shown).at(format!("{at}{arguments}"))
            }
            Block::Result { call, failed, content } => {
                let at = format!("{at}{content}");
                let content = raw.pointer(content).unwrap_or(&Value::Null);
                let parts = self.list(out, record, content, &at);
                let (shown, media, at) = flattened(parts, at);
                out.result(text(call), "", flag(raw, failed), shown, media).at(at)
            }
            Block::File(members) => file(members.media(raw)).at(at),
            Block::Code(made) => return parts.extend(made(out, raw, at)),
        });
    }
}

impl FileMembers {
    /// The file that `raw` describes.
    pub(crate) fn media(&self, raw: &Value) -> Media {
        Media {
            mime: first(raw, self.mime).unwrap_or(self.usual).to_owned(),
            name: value::text_at(raw, self.name).map(str::to_owned),
            url: value::text_at(raw, self.url).unwrap_or_default().to_owned(),
        }
    }
}

fn first<'a>(raw: &'a Value, pointers: &[&str]) -> Option<&'a str> {
    pointers.iter().find_map(|pointer| value::text_at(raw, pointer))
}

fn filled(raw: &Value, pointer: &str) -> Option<String> {
    value::text_at(raw, pointer).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn flag(raw: &Value, pointer: &str) -> bool {
    raw.pointer(pointer).and_then(Value::as_bool).unwrap_or(false)
}
