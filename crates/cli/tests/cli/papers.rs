//! What a paper takes: the table in its forms, and the manifest by which a run is repeated.

use crate::common::{line, root};
use serde_json::Value;
use std::path::Path;

const SESSION: &str = "tests/four-sessions/price-lists-codex.jsonl";

fn manifest(sessions: &str, to: &Path) -> Value {
    let options =
        "--preset window,examples/strategies/keep-last-10.toml --window 40000 --store=none";
    line(&format!("compare {sessions} {options} --manifest {}", to.display())).done();
    serde_json::from_str(&std::fs::read_to_string(to).unwrap()).unwrap()
}

fn short(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
}

#[test]
fn a_manifest_says_what_a_run_depends_on() {
    let folder = tempfile::tempdir().unwrap();
    let own = manifest(SESSION, &folder.path().join("manifest.json"));
    assert_eq!(own["schema"], "foldback/manifest/1");
    assert_eq!(own["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(own["seed"], 0);
    let session = std::fs::read(root().join(SESSION)).unwrap();
    assert_eq!(own["sessions"][0]["path"], SESSION);
    assert_eq!(own["sessions"][0]["content"], short(&session));
    let strategy = "examples/strategies/keep-last-10.toml";
    let text = std::fs::read(root().join(strategy)).unwrap();
    let files = serde_json::json!([{"path": strategy, "content": short(&text)}]);
    assert_eq!(own["files"], files);
    // The command of the manifest gives the same manifest, and names no output.
    let again = folder.path().join("again.json");
    let command = own["command"].as_str().unwrap().strip_prefix("foldback ").unwrap();
    assert!(!command.contains("manifest"), "{command}");
    line(&format!("{command} --store=none --manifest {}", again.display())).done();
    let again: Value = serde_json::from_str(&std::fs::read_to_string(&again).unwrap()).unwrap();
    assert_eq!(again, own);
    // Of another session it is another, and of the same elsewhere it has the same hashes.
    let (other, copy) = (folder.path().join("other.jsonl"), folder.path().join("copy.jsonl"));
    std::fs::write(&other, [&session[..], b"\n"].concat()).unwrap();
    std::fs::write(&copy, &session).unwrap();
    let of = |path: &Path| manifest(&path.display().to_string(), &folder.path().join("of.json"));
    assert_ne!(of(&other)["inputs"], own["inputs"]);
    assert_eq!(of(&copy)["inputs"], own["inputs"]);
    assert_eq!(of(&copy)["configuration"], own["configuration"]);
}

#[test]
fn a_table_stands_alone_on_standard_output() {
    let compare = format!("compare {SESSION} --preset window --window 40000 --store=none");
    for (form, first) in [
        ("latex", "% Made by foldback "),
        ("csv", "preset,usd_per_session,percent_vs_base,"),
        ("md", "| preset "),
    ] {
        let told = line(&format!("{compare} --show {form}")).done().stdout;
        assert!(told.starts_with(first), "{told}");
        assert!(told.contains("window") && !told.contains("next:"), "{told}");
    }
    for (options, why) in [
        ("--show csv --json -", "two outputs go to standard output"),
        ("--show csv --manifest -", "two outputs go to standard output"),
        ("--show csv --show full", "cannot be used multiple times"),
        ("--show word", "[possible values: full, latex, csv, md]"),
        ("--manifest m.json --redact", "cannot be used with"),
    ] {
        let ran = line(&format!("{compare} {options}"));
        assert_eq!(ran.code, 2, "{options}");
        assert!(ran.stderr.contains(why), "{options}: {}", ran.stderr);
    }
}
