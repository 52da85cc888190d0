//! From stored messages to what the model is sent.

use crate::support::{append, conversation, strategy};
use foldback_core::Limits;
use foldback_core::log::Message;
use foldback_core::view::PartPos;
use foldback_opencode::render::{Rendering, ResultMedia, Version, to_model_messages};
use foldback_opencode::stored::stored_messages;
use foldback_test_support::table;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    /// January's where it is not given.
    version: Option<String>,
    model: Option<String>,
    #[serde(default)]
    images_only: bool,
    #[serde(default)]
    strip_media: bool,
    max_output: Option<usize>,
    given: Vec<Message>,
    /// Positions of messages whose first part is cleared.
    #[serde(default)]
    cleared: Vec<usize>,
    expect: Value,
}

fn rows() -> Vec<Row> {
    table::rows(include_str!("../rows/rendering.toml"), "rows")
}

#[test]
fn rendering() {
    for row in rows() {
        let mut conversation = conversation(strategy("opencode", ""), Limits::default());
        append(&mut conversation, row.given);
        for item in row.cleared {
            let at = PartPos { item, part: 0 };
            conversation.mark_cleared(at, "[Old tool result content cleared]".into(), 0);
        }
        let how = Rendering {
            version: row.version.map_or(Version::January, |_| Version::V1_17),
            model: row.model.as_deref(),
            result_media: if row.images_only { ResultMedia::Images } else { ResultMedia::All },
            strip_media: row.strip_media,
            max_output: row.max_output,
        };
        let history = conversation.history();
        let rendered =
            to_model_messages(history, conversation.view(), &stored_messages(history), how);
        let rendered = serde_json::to_value(rendered).unwrap();
        assert_eq!(rendered, row.expect, "{}:\n{rendered:#}", row.id);
    }
}

pub(crate) fn ids() -> BTreeSet<String> {
    rows().into_iter().map(|row| row.id).collect()
}
