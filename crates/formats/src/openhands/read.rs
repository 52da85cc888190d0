//! Events of either generation as messages.

use super::stream::{self, Event, Stream};
use crate::chat;
use crate::prelude::*;
use std::ops::RangeInclusive;

/// Reads a file. It holds one session, or one for each instance of a benchmark.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let streams = stream::streams(text)?;
    let mut sessions: Vec<Session> = streams.into_iter().map(session).collect();
    name_apart(&mut sessions);
    Ok(sessions)
}

fn session(stream: Stream) -> Session {
    let meta = &stream.meta;
    let id = ["instance_id", "conversation_id", "id"]
        .iter()
        .find_map(|key| Some(value::shown(meta.get(key)?)))
        .or_else(|| stream.events.iter().find_map(Event::conversation))
        .unwrap_or_else(|| value::content_id(&stream.source.text));
    let mut reader = Reader {
        out: SessionBuilder::new(id, super::FORMAT.id, stream.source),
        model: ["/metadata/llm_config/model", "/metadata/llm/model"]
            .iter()
            .find_map(|pointer| value::text_at(meta, pointer))
            .map(str::to_owned),
        ..Reader::default()
    };
    reader.out.session.cluster =
        value::text(meta, "instance_id").and_then(|instance| cluster::task(None, instance));
    reader.out.session.warnings = stream.warnings;
    reader.note_usages(&meta["metrics"]);
    let mut seen: HashSet<String> = HashSet::new();
    let mut count = 0;
    for event in &stream.events {
        if let Some(id) = event.id()
            && !seen.insert(id)
        {
            continue;
        }
        count += 1;
        reader.event(event);
    }
    reader.out.warn_unknown(" event(s)", |_, first| format!("record {first}"));
    reader.out.session.model = reader.model;
    reader.out.finish_counted(count)
}

impl Event {
    /// The event's own id: a number in version 0, a UUID in version 1.
    pub(super) fn id(&self) -> Option<String> {
        let id = self.value.get("id").filter(|id| !id.is_null())?;
        Some(value::shown(id))
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        value::text(&self.value, key)
    }

    /// The whole state of a conversation of version 1, if the event holds it.
    pub(super) fn state(&self) -> Option<&Value> {
        let is_whole = self.text("key") == Some("full_state");
        self.value.get("value").filter(|_| is_whole)
    }

    /// The id of the conversation, if the event names it.
    fn conversation(&self) -> Option<String> {
        Some(value::filled(self.state()?, "id")?.to_owned())
    }

    /// The images that `holder`, at the pointer `at` in the event, lists by URL.
    pub(super) fn images(&self, holder: &Value, at: &str) -> Vec<Part> {
        let image = |(index, url): (usize, &Value)| {
            let media =
                Media { mime: "image/*".to_owned(), url: value::shown(url), ..Media::default() };
            file(media).at(self.at(&format!("{at}/image_urls/{index}")))
        };
        value::list(holder, "image_urls").iter().enumerate().map(image).collect()
    }

    /// The pointer of a part in the event.
    pub(super) fn at(&self, pointer: &str) -> String {
        format!("{}{pointer}", self.prefix)
    }
}

#[derive(Default)]
pub(super) struct Reader {
    pub out: SessionBuilder,
    pub model: Option<String>,
    /// Answers by the id of their response, in order where several have it.
    answers: HashMap<String, Vec<usize>>,
    /// What the metrics of the run say about each response, in order.
    usages: HashMap<String, Vec<Usage>>,
    /// The raw response of the latest answer.
    raw: String,
    /// A tool was run since the latest answer.
    pub ran: bool,
    /// Running total of the run at the last event that names one.
    spent: Usage,
    /// Calls that the recorder gave no id, by the event that made them.
    pub actions: HashMap<String, String>,
    /// By event, in order, the number of messages before it.
    sequence: Vec<usize>,
    /// Places in the sequence by id, and by that as a number.
    places: HashMap<String, usize>,
    numbers: BTreeMap<u64, usize>,
}

impl Reader {
    fn event(&mut self, event: &Event) {
        if let Some(id) = event.id() {
            let place = self.sequence.len();
            self.sequence.push(self.out.messages.len());
            self.numbers.extend(id.parse().map(|number: u64| (number, place)));
            self.places.insert(id, place);
        }
        if event.text("kind").is_some() {
            self.v1(event);
        } else {
            self.v0(event);
        }
    }

    /// Adds a system prompt that says anything to the frame.
    pub(super) fn frame(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.system(text);
        }
    }

    pub(super) fn push(&mut self, event: &Event, role: Role, parts: Vec<Part>) -> &mut Message {
        let wanted = match event.id() {
            Some(id) => format!("event-{id}"),
            None => format!("record-{}{}", event.record, event.prefix),
        };
        let message = self.out.push(event.record, &wanted, role, parts);
        message.at = value::time(&event.value, "timestamp");
        message
    }

    /// Something that a person said.
    pub(super) fn prompt(&mut self, event: &Event, parts: Vec<Part>) {
        let mid_turn = std::mem::replace(&mut self.out.running, true);
        self.push(event, Role::User, parts).mid_turn = mid_turn;
    }

    /// Something that the harness told the model in the user's name.
    pub(super) fn user_text(&mut self, event: &Event, parts: Vec<Part>) {
        self.push(event, Role::User, synthetic(parts)).mid_turn = true;
    }

    /// The answer that a response is read into; the second value tells whether this event opened it. `goes_on`: whether the
    /// event says that it belongs to an answer of which calls have results already.
    pub(super) fn answer(
        &mut self,
        event: &Event,
        response: Option<&str>,
        goes_on: bool,
    ) -> (usize, bool) {
        let known = response.and_then(|id| self.out.piece_of(id, event.record, |_| goes_on));
        if let Some(index) = known {
            return (index, false);
        }
        self.ran = false;
        let index = self.out.messages.len();
        let before = response.and_then(|id| self.answers.get(id)).map_or(0, Vec::len);
        let usage = response.and_then(|id| self.usages.get(id)?.get(before)).copied();
        let model = self.model.clone();
        let message = self.push(event, Role::Assistant, Vec::new());
        message.answer = Some(Answer { usage, model, ended: message.at, ..Answer::default() });
        if let Some(id) = response {
            self.out.begins_response(id);
            self.answers.entry(id.to_owned()).or_default().push(index);
        }
        (index, true)
    }

    pub(super) fn result(&mut self, event: &Event, call: String, failed: bool, part: Part) {
        let at = part.pointer.clone().unwrap_or_default();
        let part = result(call, "", failed, part.shown(), Vec::new()).at(at);
        self.push(event, Role::Tool, vec![part]);
    }

    /// A condensation: the events that `forgotten` lists or that have a number in the range are no longer shown, `summary`
    /// (with its pointer) stands for them. All of them are in the stream.
    pub(super) fn condensation(
        &mut self,
        event: &Event,
        summary: Option<Part>,
        forgotten: &Value,
        range: Option<RangeInclusive<u64>>,
    ) {
        self.out.boundary(if summary.is_some() { "summary" } else { "drop" }, "auto");
        let Some(summary) = summary else { return };
        let listed = value::items(forgotten).iter().map(value::shown);
        let listed = listed.filter_map(|id| self.places.get(&id).copied()).max();
        let range = range.filter(|range| !range.is_empty());
        let counted = range.and_then(|range| self.numbers.range(range).next_back());
        let last = listed.max(counted.map(|(_, place)| *place));
        let tail = last
            .and_then(|last| self.sequence.get(last + 1))
            .and_then(|index| self.out.messages.get(*index))
            .map(|message| message.id.clone());
        let at = summary.pointer.clone().unwrap_or_default();
        let mut parts = vec![summary];
        if tail.is_some() {
            let marker = Marker { auto: true, tail_start: tail, ..Marker::default() };
            let place = at.rsplit_once('/').map_or("", |(parent, _)| parent);
            parts.push(Part::new(PartKind::Marker(marker)).at(place));
        }
        let running = self.out.running;
        self.user_text(event, parts);
        self.out.running = running;
        if let Some(message) = self.out.messages.last_mut() {
            message.origin = Origin::Entry(EntryKind::Summary);
        }
    }

    /// Usage by response, from a list that some recorders keep beside the events.
    pub(super) fn note_usages(&mut self, metrics: &Value) {
        let mut usages: BTreeMap<String, Vec<Usage>> = BTreeMap::new();
        for raw in value::list(metrics, "token_usages") {
            if let Some(id) = value::filled(raw, "response_id") {
                usages.entry(id.to_owned()).or_default().push(COUNTS.usage(raw));
            }
        }
        for (id, usages) in usages {
            // Those of a model beside the agent's, which makes fewer calls, may have the same id.
            if self.usages.get(&id).is_some_and(|known| known.len() > usages.len()) {
                continue;
            }
            for (&index, usage) in self.answers.get(&id).into_iter().flatten().zip(&usages) {
                if let Some(answer) = &mut self.out.messages[index].answer {
                    answer.usage = Some(*usage);
                }
            }
            self.usages.insert(id, usages);
        }
    }

    /// Whether an event repeats the raw response of the latest answer.
    pub(super) fn repeats(&mut self, response: &Value) -> bool {
        let raw = response.to_string();
        let repeats = raw == self.raw;
        self.raw = raw;
        repeats
    }

    /// What an event says about the model call behind it: the raw response, or only what the run has
    /// used up so far.
    pub(super) fn note_call(&mut self, index: usize, event: &Value, response: &Value) {
        let spent = event.pointer("/llm_metrics/accumulated_token_usage");
        let since = spent.map(|raw| {
            let now = COUNTS.usage(raw);
            now.since(&std::mem::replace(&mut self.spent, now))
        });
        let Some(answer) = &mut self.out.messages[index].answer else {
            return;
        };
        answer.model = value::string(response, "model").or(answer.model.take());
        // What counts the request says more than what counts the output alone.
        let told = [answer.usage, chat::COUNTS.any(&response["usage"]), since];
        let told = || told.into_iter().flatten().filter(|usage| !usage.is_zero());
        answer.usage = told().find(Usage::has_input).or_else(|| told().next());
    }
}

/// Counts as OpenHands itself keeps them: `prompt_tokens` holds the cached ones.
const COUNTS: Counts = Counts {
    input: &["/prompt_tokens"],
    cache_read: &["/cache_read_tokens"],
    cache_write: &["/cache_write_tokens"],
    output: &["/completion_tokens"],
    reasoning: &["/reasoning_tokens"],
    ..Counts::NONE
};
