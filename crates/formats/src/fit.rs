//! A session as a provider takes it, before it is written for one that did not record it.
//!
//! Recorders keep what no provider is sent back: blank texts, results whose call is gone, what the user said while a tool
//! ran, reasoning that only its own model can read. What the target refuses is put where it takes it, or left out and
//! said. What no move repairs (a call that was never answered) stays, and the rules that it breaks are told.

use crate::format::Writer;
use crate::prelude::*;
use crate::write::Outcome;
use foldback_providers::wire::anthropic::server_call;
use std::borrow::Borrow;

impl Format {
    /// Writes a session as a strategy left it; `None` where the format is only read. For a session of
    /// the same format, records that nothing touched are copied byte for byte. One of another format is brought into
    /// the shape that the provider takes.
    pub fn write(&self, view: &View<'_>) -> Option<Result<Outcome, WriteError>> {
        let Writer { patch, generate } = self.writer?;
        let own = view.session.format == self.id && !view.session.source.records.is_empty();
        let mut losses = Vec::new();
        let (text, breaks) = match self.provider.filter(|_| !own) {
            Some(provider) => {
                let sent = fitted(view, provider, &mut losses);
                let sent: Vec<_> = sent.iter().map(ShownMessage::plain).collect();
                let view = View { sent, ..view.clone() };
                (generate(&view, &mut losses), self.breaks(view.sent.iter().cloned()))
            }
            None => {
                let make = if own { patch } else { generate };
                (make(view, &mut losses), self.breaks(view.sent.iter().cloned()))
            }
        };
        Some(text.map(|text| Outcome { text, losses, breaks }))
    }
}

/// What a view sends, as `dialect` takes it. What is left out or moved goes to `losses`, one line each.
/// A message that needs no change stays the session's own, with the bytes that it was read from.
pub(crate) fn fitted(
    view: &View<'_>,
    dialect: Dialect,
    losses: &mut Vec<String>,
) -> Vec<Arc<Message>> {
    let mut found = Adjustments::default();
    let mut messages = view.messages();
    for message in &mut messages {
        let maker = maker(view.session, message);
        message.parts.retain_mut(|part| found.takes(part, dialect, maker));
    }
    beside_their_calls(&mut messages, &mut found);
    found.drop_empty(&mut messages);
    let before = between(&messages).len();
    messages = joined(messages, dialect, &mut found);
    found.moved = before.saturating_sub(between(&messages).len());
    if dialect == Dialect::OpenAiResponses {
        drop_loose_reasoning(&mut messages, &mut found);
    }
    if dialect == Dialect::Anthropic {
        rename_calls(&mut messages);
    }
    found.tell(losses);
    let own: HashMap<&str, &Arc<Message>> =
        view.sent.iter().map(|shown| (&*shown.message.id, shown.message)).collect();
    let shared = |message: Message| match own.get(&*message.id) {
        Some(own) if ***own == message => Arc::clone(own),
        _ => Arc::new(message),
    };
    messages.into_iter().map(shared).collect()
}

/// How often something was left out or moved.
#[derive(Default)]
struct Adjustments {
    blank: usize,
    empty: usize,
    foreign: usize,
    unsigned: usize,
    sealed: usize,
    loose: usize,
    orphans: usize,
    moved: usize,
}

impl Adjustments {
    /// Whether a part is taken; a signature that is not is taken off.
    fn takes(&mut self, part: &mut Part, dialect: Dialect, maker: Option<Dialect>) -> bool {
        if part.is_compaction() && maker != Some(dialect) {
            self.sealed += 1;
            let PartKind::Unknown { raw, .. } = &part.kind else { return false };
            let Some(readable) = value::text(raw, "content") else { return false };
            part.kind = Part::synthetic(readable).kind;
        }
        let Part { kind, redacted, .. } = part;
        match kind {
            PartKind::Text { text, .. } => {
                let blank = match dialect {
                    Dialect::Anthropic => text.trim().is_empty(),
                    _ => text.is_empty(),
                };
                self.blank += usize::from(blank);
                !blank
            }
            // Formats of Chat Completions have no place for a signature, or one that names its provider.
            PartKind::Reasoning { text, opaque } if dialect != Dialect::OpenAiChat => {
                opaque.take_if(|opaque| opaque.is_empty());
                // pi keeps the whole item of the Responses API in place of its mark.
                if dialect == Dialect::OpenAiResponses
                    && let Some(Value::Object(item)) =
                        opaque.as_deref().and_then(|opaque| serde_json::from_str(opaque).ok())
                {
                    *opaque = value::string(&Value::Object(item), "encrypted_content");
                }
                // Anthropic alone hides reasoning in this form.
                let maker = if *redacted { Some(Dialect::Anthropic) } else { maker };
                if opaque.is_some() && maker != Some(dialect) {
                    (*opaque, *redacted) = (None, false);
                    self.foreign += 1;
                }
                // Anthropic takes its own reasoning only; to others a text without a signature is one.
                let unsigned = opaque.is_none() && dialect == Dialect::Anthropic;
                self.unsigned += usize::from(unsigned && !text.is_empty());
                !unsigned && (opaque.is_some() || !text.is_empty())
            }
            _ => true,
        }
    }

    fn drop_empty(&mut self, messages: &mut Vec<Message>) {
        let before = messages.len();
        messages.retain(|message| !message.parts.is_empty());
        self.empty += before - messages.len();
    }

    fn tell(&self, losses: &mut Vec<String>) {
        let table = [
            (self.blank, "blank text(s), which the provider refuses"),
            (self.empty, "message(s) with nothing in them"),
            (
                self.foreign,
                "signature(s) of reasoning, which only the provider that made them takes",
            ),
            (self.unsigned, "text(s) of reasoning without a signature, which the provider refuses"),
            (
                self.sealed,
                "compaction(s) of a provider's own, which no other takes; of one that is readable the text stays",
            ),
            (self.loose, "item(s) of reasoning without the item that it produced"),
            (self.orphans, "result(s) without a call"),
            (self.moved, "message(s) between a call and its result now stand behind the result"),
        ];
        let there = table.iter().filter(|(count, _)| *count > 0);
        losses.extend(there.map(|(count, what)| format!("{count} {what}")));
    }
}

/// Who can read the reasoning of a message: by the model that answered, by its provider, by the recorder.
fn maker(session: &Session, message: &Message) -> Option<Dialect> {
    let answer = message.answer.as_ref();
    let model = answer.and_then(|answer| answer.model.as_deref()).and_then(named);
    let provider = || answer.and_then(|answer| answer.provider.as_deref()).and_then(named);
    let recorder = || {
        let format = crate::format(session.format).ok()?;
        format.provider.filter(|provider| *provider != Dialect::OpenAiChat)
    };
    let usual = || session.model.as_deref().and_then(named);
    model.or_else(provider).or_else(recorder).or_else(usual)
}

/// The provider of a model, by its name or by the provider's.
fn named(name: &str) -> Option<Dialect> {
    const WORDS: [(&str, Dialect); 7] = [
        ("claude", Dialect::Anthropic),
        ("anthropic", Dialect::Anthropic),
        ("gemini", Dialect::Gemini),
        ("google", Dialect::Gemini),
        ("gpt", Dialect::OpenAiResponses),
        ("openai", Dialect::OpenAiResponses),
        ("codex", Dialect::OpenAiResponses),
    ];
    let name = name.to_lowercase();
    let model = name.rsplit('/').next().unwrap_or_default();
    let known = WORDS.iter().find(|(word, _)| name.contains(word)).map(|(_, provider)| *provider);
    let series = ["o1", "o3", "o4"].iter().any(|series| model.starts_with(series));
    known.or(series.then_some(Dialect::OpenAiResponses))
}

/// Results of tools that run at the provider go into the answer with the call: nothing may stand between.
fn beside_their_calls(messages: &mut [Message], found: &mut Adjustments) {
    let mut calls: HashMap<String, usize> = HashMap::new();
    for index in 0..messages.len() {
        let mut place = 0;
        while let Some(part) = messages[index].parts.get(place) {
            place += 1;
            let PartKind::Unknown { name, raw } = &part.kind else { continue };
            if name == "server_tool_use" {
                calls.extend(value::string(raw, "id").map(|id| (id, index)));
                continue;
            }
            let Some(id) = server_call(name, raw) else { continue };
            let call = calls.get(id).copied();
            let apart = call.is_none_or(|call| {
                messages[call..index].iter().any(|message| message.role != Role::Assistant)
            });
            if apart {
                place -= 1;
                let part = messages[index].parts.remove(place);
                match call {
                    Some(call) => messages[call].parts.push(part),
                    None => found.orphans += 1,
                }
            }
        }
    }
}

/// Calls with their results: the message that calls and the one that answers, in the order of the results. The second
/// list has the results without a call, and those of calls that were answered before.
fn answers<M: Borrow<Message>>(messages: &[M]) -> (Vec<[usize; 2]>, Vec<usize>) {
    let messages = || messages.iter().map(Borrow::borrow).enumerate();
    let mut calls: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (index, message) in messages() {
        for id in message.call_ids() {
            calls.entry(id).or_default().push_back(index);
        }
    }
    let (mut pairs, mut orphans) = (Vec::new(), Vec::new());
    for (index, message) in messages() {
        for result in message.parts.iter().filter_map(Part::as_result) {
            match calls.get_mut(&*result.call_id).and_then(VecDeque::pop_front) {
                Some(call) => pairs.push([call, index]),
                None => orphans.push(index),
            }
        }
    }
    (pairs, orphans)
}

/// The messages that stand between a call and its result and are no results, by number.
pub(crate) fn between<M: Borrow<Message>>(messages: &[M]) -> Vec<usize> {
    let mut open = vec![0i64; messages.len() + 1];
    for [call, result] in answers(messages).0 {
        if call < result {
            open[call + 1] += 1;
            open[result] -= 1;
        }
    }
    let mut depth = 0;
    let inside = messages.iter().zip(&open).map(|(message, change)| {
        depth += change;
        depth > 0 && !message.borrow().parts.iter().any(|part| part.as_result().is_some())
    });
    inside.enumerate().filter(|(_, inside)| *inside).map(|(index, _)| index).collect()
}

/// The numbers of the results without a call; each result is a message of its own.
pub(crate) fn orphans<M: Borrow<Message>>(messages: &[M]) -> Vec<usize> {
    answers(messages).1
}

/// Every result directly behind its call, and none without one. Responses joins them by id, wherever they stand.
fn joined(messages: Vec<Message>, dialect: Dialect, found: &mut Adjustments) -> Vec<Message> {
    let mut messages = apart(messages);
    let orphans: BTreeSet<usize> = orphans(&messages).into_iter().collect();
    found.orphans += orphans.len();
    let mut numbers = 0..;
    messages.retain(|_| numbers.next().is_none_or(|number| !orphans.contains(&number)));
    if dialect == Dialect::OpenAiResponses {
        return messages;
    }
    let merges = matches!(dialect, Dialect::Anthropic | Dialect::Gemini);
    // The last message of the turn that a message of the model belongs to.
    let mut ends: Vec<usize> = (0..messages.len()).collect();
    for index in (1..messages.len()).rev() {
        let both = [index - 1, index].iter().all(|at| messages[*at].role == Role::Assistant);
        if merges && both {
            ends[index - 1] = ends[index];
        }
    }
    let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for [call, result] in answers(&messages).0 {
        behind.entry(ends[call]).or_default().push(result);
    }
    let mut rest: Vec<Option<Message>> = messages.into_iter().map(Some).collect();
    let moved: BTreeSet<usize> = behind.values().flatten().copied().collect();
    let mut out = Vec::with_capacity(rest.len());
    for index in 0..rest.len() {
        if !moved.contains(&index) {
            out.extend(rest[index].take());
            let results = behind.remove(&index).unwrap_or_default();
            out.extend(results.into_iter().filter_map(|result| rest[result].take()));
        }
    }
    out
}

/// The messages with every result in one of its own, as nearly all have it.
fn apart(messages: Vec<Message>) -> Vec<Message> {
    let mut out = Vec::with_capacity(messages.len());
    for message in messages {
        let results = message.parts.iter().filter(|part| part.as_result().is_some()).count();
        if results == 0 || message.parts.len() == 1 || message.role == Role::Assistant {
            out.push(message);
            continue;
        }
        let (results, said): (Vec<Part>, Vec<Part>) =
            message.parts.iter().cloned().partition(|part| part.as_result().is_some());
        for result in results {
            let mut one = message.with_parts(vec![result]);
            one.role = Role::Tool;
            out.push(one);
        }
        if !said.is_empty() {
            out.push(message.with_parts(said));
        }
    }
    out
}

/// Signed reasoning at the end of an answer goes: the provider wants the item that it led to.
fn drop_loose_reasoning(messages: &mut Vec<Message>, found: &mut Adjustments) {
    let mut ends = true;
    for message in messages.iter_mut().rev() {
        if message.role != Role::Assistant {
            ends = true;
            continue;
        }
        while ends {
            match message.parts.last().map(|part| &part.kind) {
                Some(PartKind::Reasoning { opaque: Some(_), .. }) => {
                    message.parts.pop();
                    found.loose += 1;
                }
                Some(PartKind::Reasoning { .. }) | None => break,
                Some(_) => ends = false,
            }
        }
    }
    found.drop_empty(messages);
}

/// Ids of calls in the letters that Anthropic takes.
fn rename_calls(messages: &mut [Message]) {
    let taken = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut ids = Ids::default();
    let calls = || messages.iter().flat_map(Message::call_ids);
    let (fit, unfit): (Vec<&str>, Vec<&str>) =
        calls().partition(|id| !id.is_empty() && id.chars().all(taken));
    if unfit.is_empty() {
        return;
    }
    for id in fit {
        ids.unique(id);
    }
    let mut names: HashMap<String, String> = HashMap::new();
    for id in unfit {
        let wanted: String = id.chars().map(|c| if taken(c) { c } else { '_' }).collect();
        let wanted = if wanted.is_empty() { "call" } else { &wanted };
        if !names.contains_key(id) {
            names.insert(id.to_owned(), ids.unique(wanted));
        }
    }
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        let id = match &mut part.kind {
            PartKind::Call(call) => &mut call.call_id,
            PartKind::Result(result) => &mut result.call_id,
            _ => continue,
        };
        if let Some(name) = names.get(id) {
            id.clone_from(name);
        }
    }
}
