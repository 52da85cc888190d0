//! What every preset is made of, defaults of its stages included. A preset that reproduces a version of a system
//! never changes without a change here.

use crate::common::{foldback, root};
use serde_json::Value;

#[test]
fn no_preset_changes_silently() {
    let entries = std::fs::read_dir(root().join("configs")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all = String::new();
    for file in &files {
        let shown = foldback(&["presets", file.file_stem().unwrap().to_str().unwrap()]).done();
        for line in shown.stdout.lines() {
            // Behind it stands the line of the file, which may move.
            let value = line.rsplit_once(" # ").map_or(line, |(value, _)| value);
            all.push_str(value.trim_end());
            all.push('\n');
        }
        all.push('\n');
    }
    insta::assert_snapshot!(all);
}

/// The strategies that a comparison of the examples has.
fn compared(preset: &[&str]) -> Vec<String> {
    let args = [&["compare", "tests/four-sessions", "--json", "-"][..], preset].concat();
    let comparison: Value = serde_json::from_str(&foldback(&args).done().stdout).unwrap();
    let lines = comparison["presets"].as_array().unwrap();
    let of_kind = lines.iter().filter(|line| line["kind"] == "strategy");
    let name =
        |line: &Value| line["preset"].as_str().unwrap().split('+').next().unwrap().to_owned();
    of_kind.map(name).collect()
}

#[test]
fn a_group_stands_for_its_presets() {
    let seeds = compared(&["--preset", "seeds"]);
    assert_eq!(seeds.len(), 9, "{seeds:?}");
    let by_default = compared(&[]);
    assert_eq!(by_default.len(), 12, "{by_default:?}");
    assert!(by_default.contains(&"claude-code".to_owned()), "{by_default:?}");
    let today = compared(&["--preset", "today"]);
    assert!(today.contains(&"masking-10".to_owned()), "{today:?}");
    let mut all = compared(&["--preset", "all"]);
    for some in [&seeds, &by_default, &today] {
        assert!(some.iter().all(|name| all.contains(name)), "{some:?}");
    }
    // Every preset once, however often it is named.
    let mut named = compared(&["--preset", "masking-10,today,indexed,all,seeds"]);
    assert_eq!(named[0], "masking-10", "what is named comes first");
    named.sort();
    all.sort();
    assert_eq!(named, all);
}

#[test]
fn a_comparison_says_what_else_there_is() {
    let more = "other presets: --preset all\n";
    for (args, told) in [
        (&[][..], true),
        (&["--show", "full"], true),
        (&["--preset", "seeds"], false),
        (&["--preset", "all", "--show", "full"], false),
    ] {
        let args = [&["compare", "tests/four-sessions"][..], args].concat();
        assert_eq!(foldback(&args).done().stdout.contains(more), told, "{args:?}");
    }
}

#[test]
fn presets_are_listed_by_family() {
    let listed = foldback(&["presets"]).done().stdout;
    let names = listed.lines().filter(|line| !line.starts_with(' ') && !line.is_empty());
    let names: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    let at = |name: &str| names.iter().position(|listed| *listed == name).unwrap();
    assert_eq!(at("opencode") + 1, at("opencode-1.17"));
    assert_eq!(at("brutus") + 1, at("opencode"), "they are of one family");
    assert_eq!(at("masking-10") + 1, at("swe-agent-last-5"));
    assert!(at("window") < at("drop-oldest"), "controls come last");
    assert!(listed.lines().all(|line| line.chars().count() <= 100), "{listed}");
    assert!(listed.contains("\nclaude-code (group today; compared by default)\n"), "{listed}");
}
