//! What mutation starts from: fixtures, examples and presets of the project, and the corpus.

use crate::fuzz::files;
use foldback_formats::FORMATS;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files of a folder of the project, by name.
fn folder(folder: &str) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = std::fs::read_dir(root().join(folder)) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    let mut files: Vec<(String, Vec<u8>)> =
        paths.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

/// What a target's inputs are made of, with names: files that the project has anyway, and what was found or put
/// together under `fuzz/corpus`.
pub fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    [seeds(target), folder(&format!("fuzz/corpus/{target}"))].concat()
}

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    match target {
        "import" => {
            (0u8..).zip(FORMATS).flat_map(|(number, format)| sessions(number, format.id)).collect()
        }
        "strategy" => [folder("configs"), folder("examples/strategies")].concat(),
        "experiment" => experiments(),
        "provider-error" => provider_errors(),
        "drive" => (0u8..32).map(|preset| (format!("preset {preset}"), talk(preset))).collect(),
        "journal" => vec![("six records".to_owned(), files::written_journal())],
        "store" => vec![("two entries".to_owned(), files::written_pack())],
        "cassette" => vec![("an answer".to_owned(), files::written_answer())],
        _ => Vec::new(),
    }
}

fn experiments() -> Vec<(String, Vec<u8>)> {
    let shipped = folder("examples").into_iter().filter(|(name, _)| name.ends_with(".toml"));
    let more = "strategies = [\"mine.toml\"]\nseed = 7\nsplit = \"report\"\nmodel = \"claude-haiku-4-5\"\nestimator = \"o200k\"\nsummarizer = \"summaries.toml\"\n";
    shipped.chain([("the other keys".to_owned(), more.into())]).collect()
}

fn sessions(number: u8, format: &str) -> Vec<(String, Vec<u8>)> {
    let fixtures = folder(&format!("crates/formats/fixtures/{format}"));
    let with_number = |(name, bytes): (String, Vec<u8>)| (name, [&[number], &*bytes].concat());
    fixtures.into_iter().map(with_number).collect()
}

fn provider_errors() -> Vec<(String, Vec<u8>)> {
    let bodies = [
        r#"{"error":{"message":"This model's maximum context length is 10 tokens. However, your messages resulted in 12 tokens.","code":"context_length_exceeded"}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        r#"{"error":{"code":400,"message":"The input token count (81881) exceeds the maximum number of tokens allowed (65536).","status":"INVALID_ARGUMENT"}}"#,
        "<html><body>502 Bad Gateway</body></html>",
    ];
    let with_head = |body: &&str| ((*body).to_owned(), [&[1, 100], body.as_bytes()].concat());
    bodies.iter().map(with_head).collect()
}

/// A conversation in which things happen in a sensible order.
fn talk(preset: u8) -> Vec<u8> {
    let mut bytes = vec![preset];
    for turn in 0..6 {
        bytes.extend([6, turn, 0, 40, 14, 0]);
        for step in 0..5 {
            bytes.extend([2, 0, 4, 255 - step, 22, 4 * step + 1, 14, 1]);
        }
        bytes.extend([1, 0, 54, 0, 62, 1]);
    }
    bytes
}
