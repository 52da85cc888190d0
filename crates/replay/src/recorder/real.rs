//! The probe on real recordings; ignored where they are not beside the project.

use super::{Policy, policy, rereads};
use foldback_stages::estimator::o200k;
use foldback_test_support::sessions;

/// Claude Code, Codex and OpenCode send everything between their compactions; Gemini CLI does not
/// send thoughts back.
#[foldback_needs::sessions]
#[test]
fn the_recorders_policies_are_what_is_known_of_them() {
    // file, policy, largest error in percent, marked compactions
    let cases = [
        ("claude-code/agentv-small.jsonl", Policy::Full, 1.0, 0),
        ("claude-code/packmind-1compact.jsonl", Policy::Full, 3.0, 1),
        ("codex/agentv-small.jsonl", Policy::Full, 8.0, 0),
        ("codex/agentv-spark-2compact-121k-window.jsonl", Policy::Full, 5.0, 2),
        ("opencode/nimbus-82msg-pruned.json", Policy::Full, 3.0, 1),
        ("opencode/sessionbridge-sonnet46-compaction.json", Policy::Full, 5.0, 1),
        ("mini-swe-agent/deepseek-sqlfluff-1733.traj.json", Policy::Full, 3.0, 0),
        ("gemini-cli/sessionbridge-44msg.json", Policy::NoReasoning, 2.0, 0),
    ];
    for (file, expected, percent, marked) in cases {
        let bytes = std::fs::read(sessions().join(file)).unwrap();
        let session = foldback_formats::read(&bytes, None).unwrap().remove(0);
        let found = policy(&session, &o200k());
        assert_eq!(found.policy, Some(expected), "{file}: {found:?}");
        let error = found.error(expected).unwrap();
        assert!(error * 100.0 <= percent, "{file}: {error}");
        assert_eq!((found.marked, found.unmarked.len()), (marked, 0), "{file}");
    }
}

#[foldback_needs::sessions]
#[test]
fn every_marked_compaction_has_an_aftermath_or_is_counted_as_silent() {
    // file, compactions, of them silent, dropped results at the first
    let cases = [
        ("claude-code/packmind-1compact.jsonl", 1, 0, 76),
        ("opencode/nimbus-82msg-pruned.json", 1, 0, 51),
        ("gemini-cli/gemini-cli-contents-trajectory.json", 1, 1, 0),
    ];
    for (file, compactions, silent, dropped) in cases {
        let bytes = std::fs::read(sessions().join(file)).unwrap();
        let session = foldback_formats::read(&bytes, None).unwrap().remove(0);
        let found = rereads(&session, &o200k());
        let first = found.windows.iter().find(|window| !window.control);
        let results = first.map_or(0, |window| window.results.len());
        assert_eq!(
            (found.compactions, found.silent, results),
            (compactions, silent, dropped),
            "{file}"
        );
    }
}
