//! JSON Schemas of what the command writes for programs, made of the types that it writes.

use crate::json::{Document, document};
use crate::rows::Row;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Schema of the document that `compare --json` writes.
pub fn comparison() -> serde_json::Result<String> {
    printed::<Document<'static>>()
}

/// Schema of one line that `compare --rows` writes.
pub fn row() -> serde_json::Result<String> {
    printed::<Row<'static>>()
}

/// JSON Schema (2020-12) of a type as it is written: a key that is always there is required.
fn printed<T: JsonSchema>() -> serde_json::Result<String> {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(join_lines));
    document(&settings.into_generator().into_root_schema_for::<T>())
}

/// Joins the lines of a paragraph: where they break is a matter of the source, not of the text.
fn join_lines(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let paragraphs = text.split("\n\n").map(|text| text.replace('\n', " "));
        *text = paragraphs.collect::<Vec<_>>().join("\n\n");
    }
}
