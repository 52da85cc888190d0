//! Which format a file is in, from its opening alone.

use crate::table::{FORMATS, Format};

/// The format that recognises `text` best; the earlier row of the table wins a tie.
pub fn detect(text: &str) -> Option<&'static Format> {
    let mut best: Option<(&'static Format, u8)> = None;
    for format in FORMATS {
        let score = (format.detect)(text);
        if score > best.map_or(0, |(_, best)| best) {
            best = Some((format, score));
        }
    }
    best.map(|(format, _)| format)
}
