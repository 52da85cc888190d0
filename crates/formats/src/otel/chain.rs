//! A conversation, assembled from the requests that continue each other.

use super::message::{Unit, instructions, joined, units};
use super::span::Span;
use super::tracers::{PREVIOUS, RESPONSE};
use crate::prelude::*;
use crate::session::KEPT_ELSEWHERE;

/// Attributes that say how a request was served.
const SERVICE: [&str; 2] = ["openai.response.service_tier", "gen_ai.openai.response.service_tier"];

/// A unit of the context with the message that holds it.
pub(super) struct PlacedUnit {
    pub(super) unit: Unit,
    message: usize,
}

/// How a request relates to a chain.
pub(super) enum Relation {
    /// It is the context so far and more; the results at these places show something else now.
    Continues(Vec<usize>),
    /// A repetition of an earlier request: a call made twice.
    Repeats,
    /// A request of the agent with another context.
    Replaces,
}

/// A request, read.
pub(super) struct Request<'a> {
    pub(super) span: &'a Span,
    pub(super) record: u32,
    pub(super) instructions: Vec<String>,
    pub(super) units: Vec<Unit>,
}

impl<'a> Request<'a> {
    pub(super) fn new(span: &'a Span, record: u32) -> Self {
        let mut instructions = span
            .json(&["gen_ai.system_instructions", "gen_ai.system.instructions"])
            .map(|found| instructions(&found))
            .unwrap_or_default();
        let input = span.json(&["gen_ai.input.messages"]).unwrap_or_default();
        let mut units = units(&input);
        let head = units.iter().take_while(|unit| unit.role == Role::System).count();
        for unit in units.drain(..head) {
            instructions.extend(unit.parts.iter().map(|part| part.shown().into_owned()));
        }
        Self { span, record, instructions, units }
    }

    /// The response that the request continues, where the provider keeps what was said up to there.
    pub(super) fn previous(&self) -> Option<&'a str> {
        self.span.text(&PREVIOUS)
    }

    /// The request with each answer as one message, where it is recorded as items.
    pub(super) fn joined(&self) -> Self {
        Self { units: joined(self.units.clone()), instructions: self.instructions.clone(), ..*self }
    }
}

/// A conversation so far.
pub(super) struct Chain {
    out: SessionBuilder,
    /// The latest request and its answer.
    pub(super) context: Vec<PlacedUnit>,
    /// Names of the agent and the conversation, the span around the calls, and the instructions.
    pub(super) agent: Option<String>,
    pub(super) conversation: Option<String>,
    pub(super) parent: String,
    pub(super) instructions: Vec<String>,
    unanswered: usize,
    contradicted: usize,
    /// The id of the latest response.
    response: Option<String>,
}

impl Chain {
    pub(super) fn new(id: String, source: Source, request: &Request<'_>) -> Self {
        let span = request.span;
        let mut out = SessionBuilder::new(id, super::FORMAT.id, source);
        out.tools(span.json(&["gen_ai.tool.definitions"]).as_ref());
        for text in &request.instructions {
            out.system(text.as_str());
        }
        Self {
            out,
            context: Vec::new(),
            agent: span.text(&["gen_ai.agent.name"]).map(str::to_owned),
            conversation: span.text(&["gen_ai.conversation.id"]).map(str::to_owned),
            parent: span.parent.clone(),
            instructions: request.instructions.clone(),
            unanswered: 0,
            contradicted: 0,
            response: None,
        }
    }

    /// Places of the context of which a request that continues it shows something else.
    pub(super) fn shown_anew(&self, request: &Request<'_>) -> Vec<usize> {
        let pairs = self.context.iter().zip(&request.units).enumerate();
        pairs
            .filter(|(_, (held, unit))| held.unit.key != unit.key)
            .map(|(place, _)| place)
            .collect()
    }

    /// The id of the latest response.
    pub(super) fn response(&self) -> Option<&str> {
        self.response.as_deref()
    }

    /// Whether a response is the latest of this chain.
    pub(super) fn ends_with(&self, response: &str) -> bool {
        self.response.as_deref() == Some(response)
    }

    /// Adds a request that says only what is new, and its answer: the provider keeps what was said before.
    pub(super) fn extend_kept(&mut self, request: Request<'_>) {
        for unit in &request.units {
            self.push(unit.clone(), &request, Origin::Log);
        }
        self.answer(&request);
    }

    /// Notes that what a request continues is not in the file.
    pub(super) fn begins_elsewhere(&mut self, request: &Request<'_>) {
        let detail = "the provider keeps what was said before: the recording begins in the middle";
        self.out.warn_at(KEPT_ELSEWHERE, request.record, detail);
    }

    /// Adds a request that continues the chain, and its answer.
    pub(super) fn extend(&mut self, request: Request<'_>, other: &[usize]) {
        let time = request.span.started;
        for place in other {
            if let (Some(held), Some(unit)) =
                (self.context.get_mut(*place), request.units.get(*place))
            {
                held.unit.key.clone_from(&unit.key);
                let at = PartPos { item: held.message, part: 0 };
                let time = time.unwrap_or(0);
                self.out.session.cleared.push(Cleared { at, time });
            }
        }
        for unit in request.units.iter().skip(self.context.len()) {
            self.push(unit.clone(), &request, Origin::Log);
        }
        self.answer(&request);
    }

    /// Adds a request whose context differs from the chain. Messages that it keeps stay in place. Other messages before
    /// or among them were written by a compaction; messages after them are new.
    pub(super) fn replace(&mut self, request: Request<'_>) {
        let mut before: Vec<Option<PlacedUnit>> =
            std::mem::take(&mut self.context).into_iter().map(Some).collect();
        let mut places: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (place, held) in before.iter().enumerate() {
            let key = held.as_ref().map(|held| held.unit.key.clone());
            places.entry(key.unwrap_or_default()).or_default().push_back(place);
        }
        let mut kept: Vec<Option<PlacedUnit>> = Vec::new();
        let mut from = 0;
        for unit in &request.units {
            let found = places.get_mut(&unit.key).and_then(|places| {
                while places.pop_front_if(|place| *place < from).is_some() {}
                places.pop_front()
            });
            from = found.map_or(from, |place| place + 1);
            kept.push(found.and_then(|place| before.get_mut(place)?.take()));
        }
        let last_kept = kept.iter().rposition(Option::is_some);
        let last = request.units.len().saturating_sub(1);
        let is_new = |index: usize, unit: &Unit| {
            last_kept.is_none_or(|kept| index > kept)
                && (unit.role == Role::Tool || unit.role == Role::User && index == last && last > 0)
        };
        let tokens_before = self.out.latest_tokens();
        let mut after = self.out.messages.len();
        let mut wrote = false;
        for (index, (unit, held)) in request.units.iter().zip(kept).enumerate() {
            match held {
                Some(held) => self.context.push(held),
                None if is_new(index, unit) => self.push(unit.clone(), &request, Origin::Log),
                None => {
                    self.push(unit.clone(), &request, Origin::Entry(EntryKind::Summary));
                    after = self.out.messages.len();
                    wrote = true;
                }
            }
        }
        let boundary = self.out.boundary(if wrote { "summary" } else { "replace" }, "auto");
        boundary.before = after;
        boundary.tokens_before = tokens_before;
        boundary.tokens_after =
            Some(usage(request.span).0.input_total()).filter(|tokens| *tokens > 0);
        self.answer(&request);
    }

    fn push(&mut self, unit: Unit, request: &Request<'_>, origin: Origin) {
        let mut parts = unit.parts.clone();
        self.out.join(&mut parts);
        if origin != Origin::Log {
            mark_synthetic(&mut parts);
        }
        let wanted = format!("m{}", self.out.messages.len());
        let message = self.out.push(request.record, &wanted, unit.role, parts);
        message.at = request.span.started;
        message.mid_turn = unit.mid_turn && unit.role == Role::User;
        message.agent.clone_from(&self.agent);
        message.origin = origin;
        self.context.push(PlacedUnit { unit, message: self.out.messages.len() - 1 });
    }

    /// Adds the answer of a request: the first choice, if the span has it.
    fn answer(&mut self, request: &Request<'_>) {
        let span = request.span;
        self.response = span.text(&RESPONSE).map(str::to_owned);
        let output = span.json(&["gen_ai.output.messages"]).unwrap_or_default();
        let first = match &output {
            // Choices end each for itself; the items of one answer do not.
            Value::Array(choices) => {
                let choice = choices.iter().any(|choice| !choice["finish_reason"].is_null());
                let count = if choice { 1 } else { choices.len() };
                choices.iter().take(count).cloned().collect()
            }
            Value::String(text) => {
                serde_json::json!([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])
            }
            _ => Value::Null,
        };
        let Some(mut unit) = joined(units(&first)).into_iter().next() else {
            self.unanswered += 1;
            return;
        };
        if unit.role != Role::Assistant {
            unit.key = unit.key.replacen(unit.role.as_str(), Role::Assistant.as_str(), 1);
            unit.role = Role::Assistant;
        }
        let reasons = span.json(&["gen_ai.response.finish_reasons"]);
        let reason = reasons
            .as_ref()
            .and_then(|reasons| reasons.get(0)?.as_str())
            .or_else(|| output.pointer("/0/finish_reason")?.as_str());
        let (reported, as_declared) = usage(span);
        self.contradicted += usize::from(!as_declared);
        let answer = Answer {
            usage: Some(reported).filter(|usage| !usage.is_zero()),
            service: service(span.text(&SERVICE)),
            finish: reason.map(finish),
            model: span.text(&["gen_ai.response.model", "gen_ai.request.model"]).map(str::to_owned),
            provider: span.text(&["gen_ai.provider.name", "gen_ai.system"]).map(str::to_owned),
            started: span.started,
            ended: span.ended,
            error: span.text(&["error.type"]).map(str::to_owned),
            ..Answer::default()
        };
        self.push(unit, request, Origin::Log);
        if let Some(message) = self.out.messages.last_mut() {
            message.at = span.ended.or(span.started);
            message.answer = Some(answer);
        }
    }

    pub(super) fn finish(mut self) -> Session {
        if self.unanswered > 0 {
            self.out.warn(
                "call-without-answer",
                "gen_ai.output.messages",
                format!("{} call(s) without a recorded answer", self.unanswered),
            );
        }
        if self.contradicted > 0 {
            let detail = format!(
                "{} usage(s) are not as the format counts: a total is of other counts, or an input is smaller than what the \
                 cache did of it; read in the way that fits",
                self.contradicted
            );
            self.out.warn("usage-contradicts", "gen_ai.usage", detail);
        }
        let calls = self.out.messages.iter().map(|message| message.call_ids().count());
        let recorded = Recorded { messages: self.out.messages.len(), tool_calls: calls.sum() };
        self.out.session.recorded = Some(recorded);
        self.out.finish_run()
    }
}

/// The conventions say that the input holds what the cache did.
const COUNTS: Counts = Counts {
    input: &["/gen_ai.usage.input_tokens", "/gen_ai.usage.prompt_tokens"],
    cache_read: &[
        "/gen_ai.usage.cache_read.input_tokens",
        "/gen_ai.usage.cache_read_input_tokens",
        "/gen_ai.usage.input_cached_tokens",
        "/gen_ai.usage.details.cache_read_tokens",
        "/gen_ai.usage.details.cache_read_input_tokens",
        "/gen_ai.usage.details.cached_tokens",
        "/gen_ai.usage.details.cached_content_tokens",
    ],
    cache_write: &[
        "/gen_ai.usage.cache_creation.input_tokens",
        "/gen_ai.usage.cache_creation_input_tokens",
        "/gen_ai.usage.input_cache_creation",
        "/gen_ai.usage.details.cache_write_tokens",
        "/gen_ai.usage.details.cache_creation_input_tokens",
    ],
    cache_write_1h: &[super::tracers::WRITTEN_1H],
    output: &["/gen_ai.usage.output_tokens", "/gen_ai.usage.completion_tokens"],
    reasoning: &[
        "/gen_ai.usage.reasoning.output_tokens",
        "/gen_ai.usage.reasoning_tokens",
        "/gen_ai.usage.details.reasoning_tokens",
        "/gen_ai.usage.details.thoughts_tokens",
    ],
    total: "/gen_ai.usage.total_tokens",
    ..Counts::NONE
};

/// The usage of a call, and whether it is as the conventions have it.
fn usage(span: &Span) -> (Usage, bool) {
    let (usage, as_declared) = COUNTS.reading(&span.usage());
    (usage, as_declared && !span.has(super::tracers::CONTRADICTED))
}

/// The id of the conversation that a request belongs to.
pub(super) fn id_of(request: &Request<'_>) -> String {
    let span = request.span;
    span.text(&["gen_ai.conversation.id", "session.id"])
        .map(str::to_owned)
        .or_else(|| Some(span.trace.clone()).filter(|trace| !trace.is_empty()))
        .unwrap_or_else(|| {
            let said: Vec<_> = request.units.iter().map(|unit| unit.key.as_str()).collect();
            value::content_id(&said.join("\n"))
        })
}
