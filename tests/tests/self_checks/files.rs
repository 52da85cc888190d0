//! Files: one that is there twice, and one that is broken.

use super::examples;
use foldback_replay::{Comparison, Corpus, Source};
use foldback_report::json;
use foldback_tests::lab::{compared, preset, setup};
use std::path::{Path, PathBuf};

/// A comparison as the program writes it.
fn written(comparison: &Comparison) -> serde_json::Value {
    serde_json::from_str(&json::comparison(comparison).unwrap()).unwrap()
}

#[test]
fn a_file_that_is_there_twice_counts_once() {
    let presets = [preset("none"), preset("keep-last-1"), preset("random")];
    let paths: Vec<PathBuf> =
        examples().sources.iter().map(|source| PathBuf::from(source.name())).collect();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.jsonl");
    std::fs::copy(&paths[1], &copy).unwrap();
    let corpus = |paths: &[&Path]| Corpus {
        sources: paths.iter().map(|path| Source::File(path.to_path_buf())).collect(),
    };
    let once = corpus(&[&paths[1], &paths[2]]);
    let twice = corpus(&[&paths[1], &paths[2], &copy, &paths[2]]);
    let once = written(&compared(&once, &presets, &setup(32_000, 4_000)));
    let mut twice = written(&compared(&twice, &presets, &setup(32_000, 4_000)));
    let said = &mut twice["corpus"];
    assert_eq!(said["files"], 4);
    assert_eq!(said["skipped"].as_array().unwrap().len(), 2);
    let why = said["skipped"].to_string();
    assert!(why.contains("copy.jsonl") && why.contains("the same bytes as"), "{why}");
    said["files"] = once["corpus"]["files"].clone();
    said["skipped"] = once["corpus"]["skipped"].clone();
    assert_eq!(once.to_string(), twice.to_string());
}

#[test]
fn a_broken_file_is_named_and_the_rest_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let good = examples().sources[1].name();
    // What is wrong with the file, and its bytes.
    let table: [(&str, Vec<u8>); 5] = [
        ("no-json", b"{\"this is\": not JSON".to_vec()),
        ("no-text", vec![0xff, 0xfe, 0x00, 0x9f]),
        ("empty", Vec::new()),
        ("other-json", b"{\"recipe\": [\"flour\"]}".to_vec()),
        ("deep", b"[".repeat(200_000)),
    ];
    let mut corpus = Corpus::default();
    let alone = Corpus { sources: vec![Source::File(PathBuf::from(&good))] };
    for (name, bytes) in &table {
        let path = folder.path().join(format!("{name}.json"));
        std::fs::write(&path, bytes).unwrap();
        corpus.sources.push(Source::File(path));
    }
    corpus.sources.push(Source::File(folder.path().join("missing.json")));
    corpus.sources.push(Source::File(PathBuf::from(&good)));
    let presets = [preset("none"), preset("random")];
    let setup = setup(32_000, 4_000);
    let (poisoned, clean) =
        (compared(&corpus, &presets, &setup), compared(&alone, &presets, &setup));
    assert_eq!(poisoned.presets, clean.presets);
    let skipped = &poisoned.corpus.skipped;
    let names = table.iter().map(|(name, _)| *name).chain(["missing"]);
    for name in names {
        let file = format!("{name}.json");
        let reason = skipped.iter().find(|one| one.path.ends_with(&file));
        let reason = &reason.unwrap_or_else(|| panic!("{name} is not named: {skipped:?}")).reason;
        println!("{name}: {reason}");
        assert!(!reason.is_empty(), "{name}");
    }
}
