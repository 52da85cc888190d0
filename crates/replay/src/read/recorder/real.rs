//! The probe on real recordings; ignored where they are not beside the project.

use super::tests::error_of;
use super::{Policy, policy};
use crate::acted::{options, strategy};
use foldback_core::Limits;
use foldback_core::conversation::StageRole;
use foldback_stages::estimator::o200k;
use foldback_test_support::sessions;
use std::sync::Arc;

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
        let error = error_of(&session, expected);
        assert!(error * 100.0 <= percent, "{file}: {error}");
        assert_eq!((session.boundaries.len(), found.unmarked.len()), (marked, 0), "{file}");
    }
}

/// Replayed as a whole, a session shows what a replay from summary to summary does not: a preset goes on from its own
/// summary and its own clearing. The README of the strategy says why one is late.
#[foldback_needs::sessions]
#[test]
fn whole_sessions_are_summarized_where_claude_code_did() {
    // file, preset, calls before which Claude Code compacted by itself, and the preset
    type Row = (&'static str, &'static str, &'static [usize], &'static [usize]);
    let cases: [Row; 10] = [
        ("claude-code/cipherbox-1compact-233tools.jsonl", "claude-code", &[155], &[157]),
        ("claude-code/packmind-1compact.jsonl", "claude-code", &[83], &[84]),
        ("claude-code/entire-cli-2compact-1M.jsonl", "claude-code-2.1.17", &[72, 133], &[72, 177]),
        ("entireio-38-ecf75f2f1d-0-f.jsonl", "claude-code-2.1.17", &[115], &[116]),
        ("entireio-48-415fae24d7-0-f.jsonl", "claude-code", &[108], &[113]),
        ("entireio-63-bd3f9b02f2-1-f.jsonl", "claude-code", &[80], &[80]),
        ("entireio-76-74489fb0a9-3-f.jsonl", "claude-code", &[117], &[117]),
        ("entireio-83-a0bb2f3f73-0-f.jsonl", "claude-code", &[57], &[57]),
        ("entireio-f3-df91827bd6-0-f.jsonl", "claude-code", &[19], &[19]),
        ("entireio-fc-99c919b212-0-f.jsonl", "claude-code", &[112], &[114]),
    ];
    for (file, preset, recorded, expected) in cases {
        let path = match file.contains('/') {
            true => sessions().join(file),
            false => sessions().join("../training/claude-code").join(file),
        };
        let session =
            foldback_formats::read(&std::fs::read(path).unwrap(), None).unwrap().remove(0);
        let calls = |until: usize| {
            session.messages[..until].iter().filter(|message| message.is_answer()).count()
        };
        let own = session.boundaries.iter();
        let own = own.filter(|own| own.kind == "summary" && own.trigger == "auto");
        let own: Vec<usize> = own.map(|own| calls(own.before)).collect();
        let options = options(Limits::new(200_000, 0), Arc::new(o200k()));
        let strategy = Arc::new(strategy(preset));
        let replay = crate::run::drive::replay(&session, &strategy, &options);
        let folds = replay.rows.iter().flat_map(|row| &row.fired);
        let folds: Vec<usize> =
            folds.filter(|fired| fired.role == StageRole::Fold).map(|fired| fired.call).collect();
        assert_eq!((&*own, &*folds), (recorded, expected), "{file}");
    }
}
