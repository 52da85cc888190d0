//! Formats that are a list of messages, told as a table: where a message has its id, its time and its content, what the types
//! of content mean, and what is said of a call of the model.

use crate::prelude::*;

/// How a format writes down its messages.
pub(crate) struct Layout {
    pub(crate) format: FormatId,
    /// Pointers of a document to its messages and to the id of its session.
    pub(crate) list: &'static str,
    pub(crate) session: &'static str,
    /// Takes in what a document says around its messages.
    pub(crate) head: fn(&mut SessionBuilder, &Value),
    /// Pointer of a message to its id, a text or a number.
    pub(crate) id: &'static str,
    pub(crate) time: fn(&Value) -> Option<i64>,
    /// What a message says.
    pub(crate) parts: fn(&mut SessionBuilder, u32, &Value) -> Vec<Part>,
    /// What an answer says of the call of the model.
    pub(crate) answer: fn(&Value) -> Answer,
    /// What a message is, by its parts too.
    pub(crate) kind: fn(&Value, &[Part]) -> Kind,
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
    /// Each of its parts is a message: a result, or what a message of this role says beside one.
    Apart(Role),
    System,
    /// A compaction wrote it.
    Summary,
    Silent,
    Unknown,
}

/// What a message is by its role alone.
pub(crate) fn by_role(message: &Value, _: &[Part]) -> Kind {
    match value::text(message, "role") {
        Some("user") => Kind::Prompt,
        Some("assistant") => Kind::Answer,
        Some("tool") => Kind::Apart(Role::Tool),
        Some("system") => Kind::System,
        _ => Kind::Unknown,
    }
}

impl Layout {
    /// Reads a document. It holds one session.
    pub(crate) fn read(&self, text: &str) -> Result<Vec<Session>, ReadError> {
        let root = value::document(text)?;
        let mut out = self.builder(text, &root)?;
        for (record, message) in (0u32..).zip(value::list_at(&root, self.list)) {
            self.message(&mut out, record, message);
        }
        only(out.finish_run())
    }

    /// The session of a document, without its messages.
    pub(crate) fn builder(&self, text: &str, root: &Value) -> Result<SessionBuilder, ReadError> {
        let id = value::text_at(root, self.session).map(str::to_owned);
        let mut out = SessionBuilder::document(text, self.list, id, self.format)?;
        (self.head)(&mut out, root);
        Ok(out)
    }

    pub(crate) fn record(&self, number: u32, raw: &Value) -> Record {
        let id = raw.pointer(self.id).filter(|id| id.is_string() || id.is_number());
        let id = id.map(value::shown).filter(|id| !id.is_empty());
        Record { number, id, at: (self.time)(raw) }
    }

    /// Reads a message.
    pub(crate) fn message(&self, out: &mut SessionBuilder, number: u32, raw: &Value) {
        let parts = (self.parts)(out, number, raw);
        let record = self.record(number, raw);
        match (self.kind)(raw, &parts) {
            Kind::Prompt => out.prompt(&record, parts),
            Kind::Aside => out.aside(&record, parts),
            Kind::Answer => out.answer(&record, parts, (self.answer)(raw)),
            Kind::NoAnswer => out.running = false,
            Kind::Apart(beside) => {
                for part in parts {
                    let role = if part.as_result().is_some() { Role::Tool } else { beside };
                    out.add(&record, role, vec![part]).mid_turn = role == Role::User;
                }
            }
            Kind::System => {
                out.add(&record, Role::System, parts);
            }
            Kind::Summary => {
                let kept = out.holds_log();
                out.boundary("summary", "auto").original_kept = kept;
                out.summary(&record, synthetic(parts));
            }
            Kind::Silent => {}
            Kind::Unknown => out.unknown_role_of(number, value::text(raw, "role")),
        }
    }
}

/// A content that is a list of blocks, each with a `type`, or a text.
pub(crate) struct Blocks {
    /// Pointer of a message to it.
    pub(crate) at: &'static str,
    /// What a warning calls a block.
    pub(crate) name: &'static str,
    /// Whether the model is sent a block.
    pub(crate) is_sent: fn(&Value) -> bool,
    pub(crate) types: &'static [(&'static str, Block)],
    /// Reads the types that are not listed.
    pub(crate) other: fn(&mut SessionBuilder, u32, &Value, &str) -> Option<Part>,
}

/// The meaning of a block, by pointers into it.
pub(crate) enum Block {
    /// Nothing that the model is sent.
    Silent,
    Text(&'static str),
    /// A text that is left out where it is empty.
    Filled(&'static str),
    /// Reasoning, and what only its model can read: the first of these that is not empty.
    Thought(&'static str, &'static [&'static str]),
    Redacted(&'static str),
    /// Its id is the first of several that is a text.
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
    /// A file: the members for type, name and place, and the type of one that states none.
    File([&'static str; 3], &'static str),
    /// Anything that takes more than a pointer.
    Code(fn(&mut SessionBuilder, &Value, &str) -> Vec<Part>),
}

impl Blocks {
    /// Blocks of no type, in the member `content`.
    pub(crate) const NONE: Self = Self {
        at: "/content",
        name: "content block",
        is_sent: |_| true,
        types: &[],
        other: |_, _, _, _| None,
    };

    /// The parts of the content of `raw`, which stands at the pointer `at` in a record.
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

    /// The parts of a content.
    pub(crate) fn list(
        &self,
        out: &mut SessionBuilder,
        record: u32,
        content: &Value,
        at: &str,
    ) -> Vec<Part> {
        let mut parts = Vec::new();
        if let Some(text) = content.as_str().filter(|text| !text.is_empty()) {
            parts.push(Part::text(text).at(at));
        }
        for (index, block) in value::items(content).iter().enumerate() {
            parts.extend(self.block(out, record, block, &format!("{at}/{index}")));
        }
        parts
    }

    /// What a block holds.
    pub(crate) fn block(
        &self,
        out: &mut SessionBuilder,
        record: u32,
        raw: &Value,
        at: &str,
    ) -> Vec<Part> {
        let kind = value::text(raw, "type").unwrap_or_default();
        match self.types.iter().find(|(known, _)| *known == kind) {
            _ if !(self.is_sent)(raw) => Vec::new(),
            Some((_, block)) => self.meaning(block, out, record, raw, at),
            None => vec![
                (self.other)(out, record, raw, at)
                    .unwrap_or_else(|| out.unknown_at(record, at, self.name, kind, raw)),
            ],
        }
    }

    /// What a block of this meaning holds.
    pub(crate) fn meaning(
        &self,
        block: &Block,
        out: &mut SessionBuilder,
        record: u32,
        raw: &Value,
        at: &str,
    ) -> Vec<Part> {
        let text = |pointer: &str| value::text_at(raw, pointer).unwrap_or_default();
        vec![match *block {
            Block::Silent => return Vec::new(),
            Block::Filled(member) if text(member).is_empty() => return Vec::new(),
            Block::Text(member) | Block::Filled(member) => {
                Part::text(text(member)).at(format!("{at}{member}"))
            }
            Block::Thought(member, opaque) => {
                let opaque = opaque.iter().map(|at| text(at)).find(|opaque| !opaque.is_empty());
                reasoning(text(member), opaque.map(str::to_owned)).at(format!("{at}{member}"))
            }
            Block::Redacted(data) => redacted(value::text_at(raw, data).map(str::to_owned)).at(at),
            Block::Call { id, tool, arguments } => {
                let shown = raw.pointer(arguments).map(value::shown).unwrap_or_default();
                let id = id.iter().find_map(|at| value::text_at(raw, at)).unwrap_or_default();
                out.call(id, text(tool), shown).at(format!("{at}{arguments}"))
            }
            Block::Result { call, failed, content } => {
                let at = format!("{at}{content}");
                let content = raw.pointer(content).unwrap_or(&Value::Null);
                let (shown, media, at) = flattened(self.list(out, record, content, &at), at);
                let failed = raw.pointer(failed).is_some_and(|failed| *failed == true);
                out.result(text(call), "", failed, shown, media).at(at)
            }
            Block::File(members, usual) => file(media(raw, members, usual)).at(at),
            Block::Code(made) => return made(out, raw, at),
        }]
    }
}
