//! The scripts of a page, and the content security policy that allows them by their hash and nothing else: nothing
//! in a recorded session can ever run, and nothing can be loaded or sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The functions that the other scripts use. It comes first.
pub(super) const DOM: &str = include_str!("dom.js");
/// Tables that are sorted by their headings.
pub(super) const TABLES: &str = include_str!("tables.js");
/// The table of sessions: filtered, under a preset that is chosen.
pub(super) const SESSIONS: &str = include_str!("sessions.js");
/// Figures as files, tables as text.
pub(super) const EXPORT: &str = include_str!("export.js");

/// The content security policy of a page with one script: inline styles, this script, nothing else.
pub(super) fn policy(script: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(script.as_bytes()));
    format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'")
}

/// A block of data that no browser runs; `json` can't end it.
pub(super) fn data(id: &str, json: &str) -> String {
    // A `<` in a string could end the script element; JSON may spell it otherwise.
    let json = json.replace('<', "\\u003c");
    format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n")
}
