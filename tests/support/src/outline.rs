//! Sessions from outlines: what `tests/sessions/outline.py` leaves of a recorded export, with filler
//! where there was text. Each distinct text is filler of its own, equal to the original in UTF-16
//! units and in bytes.

use serde_json::Value;
use std::path::Path;

/// The export that an outline of `tests/sessions` stands for.
///
/// # Panics
///
/// If there is no such outline, or if it is no JSON.
pub fn export(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions");
    let text = std::fs::read(folder.join(format!("{name}-outline.json")))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut export =
        serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    fill(&mut export);
    export.to_string().into_bytes()
}

fn fill(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(fill),
        Value::Array(items) => items.iter_mut().for_each(fill),
        Value::String(text) => {
            if let Some(filler) = text.strip_prefix('~').and_then(filler) {
                *text = filler;
            }
        }
        _ => {}
    }
}

/// The text that `NUMBER:UNITS:BYTES` stands for: the number over and over. Bytes beyond one a unit
/// come from characters of three bytes and, where their number is odd, one of two.
pub fn filler(size: &str) -> Option<String> {
    let mut sizes = size.split(':');
    let number = sizes.next()?;
    let units: usize = sizes.next()?.parse().ok()?;
    let beyond =
        sizes.next().map_or(Some(units), |bytes| bytes.parse().ok())?.checked_sub(units)?;
    let (wide, accented) = (beyond / 2, beyond % 2);
    let plain = units.checked_sub(wide + accented)?;
    let word = format!("filler {number}\n");
    let letters = word.chars().cycle().take(plain);
    let wide = std::iter::repeat_n('…', wide).chain(std::iter::repeat_n('é', accented));
    Some(letters.chain(wide).collect())
}
