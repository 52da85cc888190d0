//! Finding the spans of a file, whatever they are wrapped in.

use super::tracers::{self, RESPONSE};
use crate::prelude::*;
use crate::time::parse_timestamp;
use jiff::Timestamp;
use std::ops::Range;

/// Operations whose spans hold what those of the calls inside them hold.
const AROUND_CALLS: [&str; 5] =
    ["invoke_agent", "create_agent", "invoke_workflow", "execute_tool", "embeddings"];

/// Members that name the parent of a span.
const PARENTS: [&str; 6] = [
    "parentSpanId",
    "parent_span_id",
    "parent_id",
    "parentObservationId",
    "parent_observation_id",
    "parent_run_id",
];

/// Members that are lists of spans.
const LISTS: [&str; 5] = ["spans", "observations", "runs", "data", "child_runs"];

/// One span.
pub(super) struct Span {
    /// Where it is in the file.
    pub(super) range: Range<usize>,
    id: String,
    pub(super) trace: String,
    pub(super) parent: String,
    /// In nanoseconds, for the order; milliseconds are too coarse for it.
    start: i128,
    pub(super) started: Option<i64>,
    pub(super) ended: Option<i64>,
    attributes: Map<String, Value>,
}

impl Span {
    /// An attribute. JSON text, or a list of such texts, is parsed.
    pub(super) fn json(&self, names: &[&str]) -> Option<Value> {
        let found = names.iter().find_map(|name| self.attributes.get(*name))?;
        Some(parsed(found))
    }

    /// An attribute that is a text.
    pub(super) fn text(&self, names: &[&str]) -> Option<&str> {
        names
            .iter()
            .find_map(|name| self.attributes.get(*name)?.as_str())
            .filter(|text| !text.is_empty())
    }

    /// The attributes that are counts of tokens.
    pub(super) fn usage(&self) -> Value {
        let counts = self.attributes.iter().filter(|(name, _)| name.starts_with("gen_ai.usage."));
        Value::Object(counts.map(|(name, count)| (name.clone(), count.clone())).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    /// Whether the span is a call of a model, with its request.
    fn is_call(&self) -> bool {
        let operation = self.text(&["gen_ai.operation.name"]).unwrap_or_default();
        self.has("gen_ai.input.messages") && !AROUND_CALLS.contains(&operation)
    }
}

/// The spans of a file that are calls of a model.
#[derive(Default)]
pub(super) struct CallSpans {
    /// Spans of calls, in the order in which they were started.
    pub(super) spans: Vec<Span>,
    /// Spans of calls whose content was not recorded, which is the default of most instrumentations.
    pub(super) without_content: usize,
    /// Offsets of text that is not JSON.
    pub(super) damaged: Vec<usize>,
}

/// Finds the spans of calls.
pub(super) fn spans(text: &str) -> CallSpans {
    let mut found = CallSpans::default();
    let mut all = Vec::new();
    let mut at = 0;
    loop {
        let start = text[at..].find(['{', '[']).map(|offset| at + offset);
        let between = &text[at..start.unwrap_or(text.len())];
        if !between.trim().is_empty() {
            found.damaged.push(at + between.len() - between.trim_start().len());
        }
        let Some(start) = start else {
            break;
        };
        let next = raw::values(&text[start..]).next().and_then(Result::ok);
        let next = next.map(|range| start + range.start..start + range.end);
        let root = next.and_then(|range| Some((raw::parse(&text[range.clone()]).ok()?, range)));
        match root {
            Some((root, range)) => {
                at = range.end;
                collect(text, range, &root, &mut all);
            }
            None => {
                found.damaged.push(start);
                let rest = text[start..].find('\n');
                at = rest.map_or(text.len(), |offset| start + offset + 1);
            }
        }
    }
    let calls_told = || all.iter().filter(|span| span.is_call());
    let told: HashSet<&str> =
        calls_told().map(|span| &*span.id).filter(|id| !id.is_empty()).collect();
    let mut responses: HashMap<&str, usize> = HashMap::new();
    for id in calls_told().filter_map(|span| span.text(&RESPONSE)) {
        *responses.entry(id).or_default() += 1;
    }
    // A client of a provider tells once more, without content, of a call that is told around it. An id that several calls
    // have tells none.
    let again = |span: &Span| {
        let id = span.text(&RESPONSE);
        told.contains(&*span.parent) || id.is_some_and(|id| responses.get(id) == Some(&1))
    };
    let usage = |span: &&Span| {
        span.has("gen_ai.request.model") && !span.has("gen_ai.input.messages") && !again(span)
    };
    let calls = all.iter().any(Span::is_call);
    let without_content = all.iter().filter(usage).count();
    // The agent's span stands in for calls that were not recorded.
    all.retain(|span| if calls { span.is_call() } else { span.has("gen_ai.input.messages") });
    all.sort_by_key(|span| span.start);
    found.without_content = without_content;
    found.spans = all;
    found
}

fn collect(text: &str, range: Range<usize>, root: &Value, out: &mut Vec<Span>) {
    let mut lists = Vec::new();
    if root.is_array() {
        lists.push((root, range, String::new()));
    } else if let Some(list) = LISTS.iter().find(|list| root[**list].is_array()) {
        // A run has those inside it, too.
        out.extend(span(root, range.clone()));
        lists.push((root, range, format!("/{list}")));
    } else {
        let mut scopes = Vec::new();
        for (outer, inner) in [("resourceSpans", "scopeSpans"), ("resource_spans", "scope_spans")] {
            for (resource, place) in placed(text, range.clone(), root, &format!("/{outer}")) {
                scopes.extend(placed(text, place, resource, &format!("/{inner}")));
            }
        }
        if scopes.is_empty() {
            out.extend(span(root, range));
            return;
        }
        let spans = |(scope, place)| (scope, place, "/spans".to_owned());
        lists.extend(scopes.into_iter().map(spans));
    }
    for (root, range, list) in lists {
        for (value, place) in placed(text, range, root, &list) {
            // A list of exports, each with resources of its own.
            if value.get("resourceSpans").is_some() || value["child_runs"].is_array() {
                collect(text, place, value, out);
            } else {
                out.extend(span(value, place));
            }
        }
    }
}

/// The elements of a list of `root`, which is at this place in the text, each with its own.
fn placed<'a>(
    text: &str,
    range: Range<usize>,
    root: &'a Value,
    list: &str,
) -> Vec<(&'a Value, Range<usize>)> {
    let ranges = raw::elements(&text[range.clone()], list).unwrap_or_default();
    let ranges = ranges.into_iter().map(|at| range.start + at.start..range.start + at.end);
    value::list_at(root, list).iter().zip(ranges).collect()
}

fn span(raw: &Value, range: Range<usize>) -> Option<Span> {
    let mut attributes = match tracers::attributes(raw) {
        Some(attributes) => attributes,
        None => attributes(raw.get("attributes")?),
    };
    tracers::open_inference(&mut attributes);
    tracers::langfuse(&mut attributes);
    // The newest instrumentations put the content into an event of the span.
    for event in value::list(raw, "events") {
        for (name, value) in event.get("attributes").map(self::attributes).unwrap_or_default() {
            if name.starts_with("gen_ai.") && !attributes.contains_key(&name) {
                attributes.insert(name, value);
            }
        }
    }
    for name in ["gen_ai.input.messages", "gen_ai.output.messages"] {
        let messages = match attributes.get(name) {
            Some(Value::String(text)) if text.starts_with('[') => raw::parse(text).ok(),
            Some(list @ Value::Array(_)) => Some(list.clone()),
            _ => continue,
        };
        match messages {
            Some(messages) => attributes.insert(name.to_owned(), parsed(&messages)),
            // Cut off at the limit that an exporter sets for attributes.
            None => attributes.remove(name),
        };
    }
    let context = raw.get("context").unwrap_or(raw);
    let text = |from, names: &[&str]| value::first_string(from, names).unwrap_or_default();
    let (start, started) =
        time(raw, &["startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"]);
    let (_, ended) = time(raw, &["endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"]);
    Some(Span {
        range,
        id: text(context, &["spanId", "span_id"]),
        trace: text(context, &["traceId", "trace_id"]),
        parent: text(raw, &PARENTS),
        start,
        started,
        ended,
        attributes,
    })
}

/// A value with its JSON text parsed. Some instrumentations record a list as the texts of its elements.
fn parsed(raw: &Value) -> Value {
    match raw {
        Value::String(text) => raw::parse(text).unwrap_or_else(|_| raw.clone()),
        Value::Array(list) => list
            .iter()
            .map(|element| match element.as_str() {
                Some(text) if text.starts_with('{') => parsed(element),
                _ => element.clone(),
            })
            .collect(),
        other => other.clone(),
    }
}

/// A time for the order and in milliseconds: nanoseconds as a number or a text, or RFC 3339.
fn time(raw: &Value, names: &[&str]) -> (i128, Option<i64>) {
    let Some(found) = names.iter().find_map(|name| raw.get(*name)) else {
        return (0, None);
    };
    let nanos: Option<i128> = match found {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().map(i128::from),
    };
    if let Some(nanos) = nanos {
        return (nanos, i64::try_from(nanos / 1_000_000).ok());
    }
    let time = parse_timestamp(found.as_str().unwrap_or_default());
    (time.map_or(0, Timestamp::as_nanosecond), time.map(Timestamp::as_millisecond))
}

/// Attributes as a map: they are one already, or a list of OTLP's keys and typed values.
fn attributes(raw: &Value) -> Map<String, Value> {
    match raw {
        Value::Object(map) => map.clone(),
        Value::Array(list) => list
            .iter()
            .filter_map(|pair| Some((value::string(pair, "key")?, plain(pair.get("value")?))))
            .collect(),
        _ => Map::new(),
    }
}

/// A typed value of OTLP as plain JSON. 64-bit numbers are texts there.
fn plain(raw: &Value) -> Value {
    let Some((kind, inner)) = raw.as_object().and_then(|object| object.iter().next()) else {
        return raw.clone();
    };
    match kind.as_str() {
        "intValue" => match inner.as_str().and_then(|text| text.parse::<i64>().ok()) {
            Some(number) => number.into(),
            None => inner.clone(),
        },
        "arrayValue" => value::list(inner, "values").iter().map(plain).collect(),
        "kvlistValue" => Value::Object(attributes(inner.get("values").unwrap_or(&Value::Null))),
        "stringValue" | "boolValue" | "doubleValue" | "bytesValue" => inner.clone(),
        _ => raw.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As anthropic 2.14.0 and instrumentations around it do.
    #[test]
    fn a_call_that_is_told_twice_is_told_with_its_content() {
        let messages = json!([{"role": "user", "content": "Hello"}]);
        let call = json!({"spanId": "1", "attributes": {"gen_ai.request.model": "m", "gen_ai.response.id": "r", "gen_ai.input.messages": messages}});
        let rows = [
            (json!({"parentSpanId": "1", "attributes": {"gen_ai.request.model": "m"}}), 0),
            (json!({"attributes": {"gen_ai.request.model": "m", "gen_ai.response.id": "r"}}), 0),
            (json!({"attributes": {"gen_ai.request.model": "m", "gen_ai.response.id": "s"}}), 1),
        ];
        for (beside, expected) in rows {
            let found = spans(&format!("{call}\n{beside}"));
            assert_eq!((found.spans.len(), found.without_content), (1, expected), "{beside}");
        }
        // A gateway that gives every response the same id.
        let other = json!({"attributes": {"gen_ai.request.model": "m", "gen_ai.response.id": "r"}});
        let found = spans(&format!("{call}\n{call}\n{other}"));
        assert_eq!((found.spans.len(), found.without_content), (2, 1));
    }
}
