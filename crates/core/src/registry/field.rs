//! The fields of a stage's configuration, as the catalog shows them: read from the JSON schema of
//! the struct, so that there is no second list.

use serde_json::Value;

/// A field of a stage's configuration, as the catalog shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it takes, in words: `integer`, `one of bytes, utf16, code-points`.
    pub takes: String,
    /// What it means.
    pub doc: String,
    /// The value if none is given.
    pub default: Option<Value>,
    /// Whether it must be given.
    pub required: bool,
}

impl Field {
    pub(super) fn new(root: &Value, name: &str, property: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(one_line);
        let target = resolve(root, property);
        Self {
            name: name.to_owned(),
            takes: takes(root, property),
            doc: text(property.get("description"))
                .or_else(|| text(target.get("description")))
                .unwrap_or_default(),
            default: property.get("default").filter(|value| !value.is_null()).cloned(),
            required: root
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|required| required.iter().any(|field| field == name)),
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn resolve<'a>(root: &'a Value, property: &'a Value) -> &'a Value {
    property
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| reference.strip_prefix('#'))
        .and_then(|pointer| root.pointer(pointer))
        .unwrap_or(property)
}

/// What a property takes, in words.
fn takes(root: &Value, property: &Value) -> String {
    let target = resolve(root, property);
    let names = |list: &[Value]| -> Vec<String> {
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    if let Some(list) = target.get("enum").and_then(Value::as_array) {
        return format!("one of {}", names(list).join(", "));
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(list) = target.get(key).and_then(Value::as_array) {
            let constants: Vec<String> = list
                .iter()
                .filter_map(|item| item.get("const")?.as_str().map(str::to_owned))
                .collect();
            if !constants.is_empty() && constants.len() == list.len() {
                return format!("one of {}", constants.join(", "));
            }
            let parts: Vec<String> = list
                .iter()
                .filter(|item| item.get("type").and_then(Value::as_str) != Some("null"))
                .map(|item| takes(root, item))
                .collect();
            return parts.join(" or ");
        }
    }
    match target.get("type") {
        Some(Value::String(kind)) if kind == "array" => {
            format!("list of {}", target.get("items").map_or("values".into(), |i| takes(root, i)))
        }
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            names(kinds).into_iter().filter(|kind| kind != "null").collect::<Vec<_>>().join(" or ")
        }
        _ => "table".to_owned(),
    }
}
