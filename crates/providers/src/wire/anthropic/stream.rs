//! The events of a streamed message.

use crate::wire::WireError;
use crate::wire::shared::pieces::{Pieces, append, member, take, tell};
use crate::wire::shared::value;
use serde_json::Value;

/// The message put together from the events so far.
#[derive(Debug, Default)]
pub(crate) struct Events {
    message: Value,
    blocks: Vec<Block>,
    ended: bool,
}

#[derive(Debug)]
struct Block {
    value: Value,
    /// The arguments of a call so far.
    input: String,
}

impl Events {
    fn block(&mut self, event: &Value) -> Result<&mut Block, WireError> {
        let index = event.get("index").and_then(Value::as_u64);
        let block = index.and_then(|index| self.blocks.get_mut(usize::try_from(index).ok()?));
        block.ok_or_else(|| WireError::shape("/index", "there is no such content block"))
    }

    fn delta(&mut self, event: &Value) -> Result<(), WireError> {
        let block = self.block(event)?;
        let delta = &event["delta"];
        match value::text(delta, "type").unwrap_or_default() {
            "input_json_delta" => {
                block.input.push_str(value::text(delta, "partial_json").unwrap_or_default());
            }
            "citations_delta" => {
                let citation = delta["citation"].clone();
                match member(&mut block.value, "citations") {
                    Some(Value::Array(citations)) => citations.push(citation),
                    Some(place) => *place = Value::from(vec![citation]),
                    None => {}
                }
            }
            // `text_delta`, `thinking_delta`, `signature_delta`, `compaction_delta`: texts under their own names.
            _ => {
                for key in ["text", "thinking", "signature", "content", "encrypted_content"] {
                    append(&mut block.value, delta, key);
                }
            }
        }
        Ok(())
    }
}

impl Pieces for Events {
    fn push(&mut self, mut event: Value) -> Result<(), WireError> {
        match value::text(&event, "type").unwrap_or_default() {
            "message_start" => {
                self.message = take(&mut event, "/message");
                if !self.message.is_object() {
                    return Err(WireError::shape("/message", "a message is an object"));
                }
            }
            "content_block_start" => {
                let value = take(&mut event, "/content_block");
                if !value.is_object() {
                    return Err(WireError::shape("/content_block", "a block is an object"));
                }
                self.blocks.push(Block { value, input: String::new() });
            }
            "content_block_delta" => self.delta(&event)?,
            "content_block_stop" => self.block(&event)?.close(),
            "message_delta" => {
                tell(&mut self.message, take(&mut event, "/delta"));
                if let Some(usage) = member(&mut self.message, "usage") {
                    tell(usage, take(&mut event, "/usage"));
                }
            }
            "message_stop" => self.ended = true,
            // `ping`, and what is yet to come.
            _ => {}
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.ended
    }

    fn body(mut self: Box<Self>) -> Option<Value> {
        if !self.ended {
            return None;
        }
        *member(&mut self.message, "content")? =
            self.blocks.into_iter().map(|block| block.value).collect();
        Some(self.message)
    }
}

impl Block {
    fn close(&mut self) {
        if !self.input.is_empty()
            && let Some(place) = member(&mut self.value, "input")
        {
            // Cut off by the limit of the output, arguments may be no JSON: they are kept as the text that they are.
            let input = std::mem::take(&mut self.input);
            *place = serde_json::from_str(&input).unwrap_or(Value::String(input));
        }
    }
}
