//! The reader: a session walked call by call, what a preset showed of each message, and what the calls needed
//! that the view no longer had.
//!
//! The walks stand in the page as JSON in blocks that no browser runs; one script reads them. The page's
//! content security policy allows that script by its hash and nothing else ([`policy`]), so that nothing in a
//! recorded session can ever run. Without script, and on paper, the page has the worst of what was forgotten as
//! a list instead.

mod data;
mod list;
#[cfg(test)]
mod tests;

use super::markup::text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use foldback_replay::walk::Walk;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Rules of the reader; they stand behind those of the page.
pub const STYLE: &str = include_str!("reader.css");

/// The script, model before view.
const SCRIPT: &str = concat!(include_str!("model.js"), include_str!("view.js"));

/// Bytes of walks that one page takes, at most.
const BUDGET: usize = 3_500_000;

/// The content security policy of a page with a reader: inline styles, this one script, nothing else.
pub fn policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'")
}

/// The reader as a section of a page that has [`STYLE`] and [`policy`] in its head. Walks are taken in
/// their order as long as they fit; `others` are paths of sessions that there is no walk of. The section
/// names both kinds of sessions that are not in it. Nothing is written when there are no walks.
pub fn section(out: &mut String, walks: &[Walk], others: &[String]) {
    let mut taken: Vec<(&Walk, String)> = Vec::new();
    let mut left: Vec<&str> = Vec::new();
    let mut size = 0;
    for walk in walks {
        let json = data::json(walk);
        if size + json.len() > BUDGET {
            left.push(&walk.path);
        } else {
            size += json.len();
            taken.push((walk, json));
        }
    }
    left.extend(others.iter().map(String::as_str));
    if taken.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<section id=\"reader\" aria-labelledby=\"reader-title\">\n<h2 id=\"reader-title\">A session, call by \
         call</h2>"
    );
    out.push_str(
        "<div id=\"reader-app\" hidden></div>\n<noscript><p class=\"small\">Walking takes JavaScript; this is \
         what there is to find.</p></noscript>\n",
    );
    list::list(out, &taken.iter().map(|(walk, _)| *walk).collect::<Vec<_>>());
    omitted(out, taken.len(), &left);
    for (index, (_, json)) in taken.iter().enumerate() {
        let _ =
            writeln!(out, "<script type=\"application/json\" id=\"walk-{index}\">{json}</script>");
    }
    let _ = writeln!(out, "</section>\n<script>{SCRIPT}</script>");
}

/// A page of its own around the reader.
pub fn page(walks: &[Walk], others: &[String]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <title>foldback: a session, call by call</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n<main>\n",
        policy(),
        super::STYLE
    );
    section(&mut out, walks, others);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Which sessions can't be walked here.
fn omitted(out: &mut String, taken: usize, left: &[&str]) {
    if left.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<details class=\"small\">\n<summary>{taken} of {} sessions are in this page; the others: \
         <code>foldback explain FILE --preset P</code></summary>\n<ul>",
        taken + left.len()
    );
    for path in left {
        let _ = writeln!(out, "<li class=\"path\">{}</li>", text(path));
    }
    out.push_str("</ul>\n</details>\n");
}
