//! The pieces of a streamed answer: each has the shape of an answer and adds parts.

use super::SIGNATURE;
use crate::wire::WireError;
use crate::wire::shared::pieces::{Pieces, append, member, take, tell};
use crate::wire::shared::value;
use serde_json::{Map, Value, json};

/// The answer put together from the pieces so far.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    parts: Vec<Value>,
    /// Members besides the content, as the pieces tell them.
    members: Map<String, Value>,
    finish: Option<Value>,
}

impl Chunks {
    /// Consecutive texts are one text, unless a signature stands between them.
    fn part(&mut self, part: Value) {
        let is_text = |part: &Value| part["text"].is_string() && part.get(SIGNATURE).is_none();
        let thought = |part: &Value| value::flag(part, "thought");
        if let Some(last) = self.parts.last_mut()
            && is_text(last)
            && part["text"].is_string()
            && thought(last) == thought(&part)
        {
            append(last, &part, "text");
            if let (Some(signature), Some(place)) = (part.get(SIGNATURE), member(last, SIGNATURE)) {
                *place = signature.clone();
            }
            return;
        }
        self.parts.push(part);
    }
}

impl Pieces for Chunks {
    fn push(&mut self, mut piece: Value) -> Result<(), WireError> {
        if !piece.is_object() {
            return Err(WireError::shape("", "a piece of an answer is an object"));
        }
        let mut candidate = take(&mut piece, "/candidates/0");
        if let Some(finish) = candidate.get("finishReason").filter(|finish| !finish.is_null()) {
            self.finish = Some(finish.clone());
        }
        if let Value::Array(parts) = take(&mut candidate, "/content/parts") {
            parts.into_iter().for_each(|part| self.part(part));
        }
        for key in ["usageMetadata", "modelVersion", "promptFeedback"] {
            let news = take(&mut piece, &format!("/{key}"));
            if !news.is_null() {
                tell(self.members.entry(key).or_insert(Value::Null), news);
            }
        }
        Ok(())
    }

    fn body(self: Box<Self>) -> Option<Value> {
        let Self { parts, members, finish } = *self;
        let mut body = Value::Object(members);
        if let Some(finish) = finish {
            let content = json!({"role": "model", "parts": parts});
            body["candidates"] = json!([{"content": content, "finishReason": finish}]);
            return Some(body);
        }
        body.get("promptFeedback").is_some().then_some(body)
    }
}
