//! Stop identifiers: strings that have the shape of a reference and occur in so many sessions that
//! finding one in a context says nothing about what the context still knows.

/// Sorted, for binary search.
pub(super) const STOP: [&str; 91] = [
    "--all",
    "--help",
    "--no-pager",
    "--oneline",
    "--quiet",
    "--stat",
    "--verbose",
    "--version",
    "/bin",
    "/bin/bash",
    "/bin/sh",
    "/dev/null",
    "/etc",
    "/home",
    "/root",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/bin/env",
    "/usr/local",
    "/usr/local/bin",
    "/var",
    "100",
    "1000",
    "1024",
    "2023",
    "2024",
    "2025",
    "2026",
    "404",
    "500",
    "CI/CD",
    "GitHub",
    "GitLab",
    "GraphQL",
    "I/O",
    "ISO-8601",
    "JavaScript",
    "MacOS",
    "MySQL",
    "N/A",
    "OpenAI",
    "PostgreSQL",
    "SHA-256",
    "SHA-512",
    "TCP/IP",
    "TypeScript",
    "VSCode",
    "YouTube",
    "and/or",
    "application/json",
    "client/server",
    "console.log",
    "created_at",
    "e.g",
    "either/or",
    "file_path",
    "file_text",
    "files_with_matches",
    "gitHub",
    "he/she",
    "http/https",
    "i.e",
    "iOS",
    "in_progress",
    "input/output",
    "insert_line",
    "line_range",
    "macOS",
    "n/a",
    "new_str",
    "new_string",
    "node_modules",
    "old_str",
    "old_string",
    "on/off",
    "pass/fail",
    "pros/cons",
    "read/write",
    "replace_all",
    "request/response",
    "stdin/stdout",
    "str_replace",
    "text/html",
    "text/plain",
    "tool_use_id",
    "true/false",
    "updated_at",
    "view_range",
    "w/o",
    "yes/no",
];

/// By first byte, the lengths of the strings that begin with it, a bit for each. Every identifier comes by here, and
/// most are told by this from all that stand in the list.
const LENGTHS: [u32; 256] = {
    let mut lengths = [0; 256];
    let mut at = 0;
    while at < STOP.len() {
        lengths[STOP[at].as_bytes()[0] as usize] |= 1 << STOP[at].len();
        at += 1;
    }
    lengths
};

/// Whether a string is one.
pub(super) fn is_stop(text: &str) -> bool {
    let bytes = text.as_bytes();
    let lengths = bytes.first().map_or(0, |first| LENGTHS[usize::from(*first)]);
    bytes.len() < 32 && lengths >> bytes.len() & 1 == 1 && STOP.binary_search(&text).is_ok()
}
