//! The events of a streamed response. The last one repeats the whole response; where its items are left out, they are those
//! that came.

use crate::wire::WireError;
use crate::wire::shared::pieces::{Pieces, member, take};
use crate::wire::shared::value;
use serde_json::Value;

/// The response, once it has come.
#[derive(Debug, Default)]
pub(crate) struct Events {
    response: Option<Value>,
    /// The items that are complete.
    items: Vec<Value>,
}

/// The events that end a response.
const LAST: [&str; 3] = ["response.completed", "response.incomplete", "response.failed"];

impl Pieces for Events {
    fn push(&mut self, mut event: Value) -> Result<(), WireError> {
        let kind = value::text(&event, "type").unwrap_or_default();
        let failed = kind == "response.failed" && !event["response"]["error"].is_null();
        if kind == "error" || failed {
            return Err(WireError::Refused { body: event });
        }
        if LAST.contains(&kind) {
            self.response = Some(take(&mut event, "/response"));
        } else if kind == "response.output_item.done" {
            self.items.push(take(&mut event, "/item"));
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.response.is_some()
    }

    fn body(self: Box<Self>) -> Option<Value> {
        let Self { response, items } = *self;
        let mut response = response?;
        if value::list(&response, "output").is_empty()
            && let Some(output) = member(&mut response, "output")
        {
            *output = items.into();
        }
        Some(response)
    }
}
