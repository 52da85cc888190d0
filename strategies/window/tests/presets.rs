//! The presets as they ship.

use crate::support::registry;
use foldback_core::config::{Options, compile_preset};
use foldback_core::moment::Moment;
use foldback_core::strategy::OnFailure;
use foldback_test_support::presets::own;

#[test]
fn presets_compile_under_all_their_names() {
    let names = [
        ("window", "window"),
        ("spec09", "window"),
        ("spec09-fixed", "window"),
        ("window-faithful", "window-faithful"),
        ("spec09-faithful", "window-faithful"),
    ];
    for (name, expect) in names {
        let compiled = compile_preset(&registry(), name, Options::default()).unwrap();
        assert_eq!(compiled.strategy.name, expect, "{name}");
        assert_eq!(compiled.strategy.on_failure, OnFailure::Hide, "{name}");
        assert!(!compiled.strategy.deviations.is_empty(), "{name}");
    }
}

#[test]
fn only_the_faithful_preset_turns_guards_off() {
    let off = |name: &str| {
        let compiled = compile_preset(&registry(), name, Options::default()).unwrap();
        compiled.strategy.guards.off()
    };
    assert_eq!(off("window"), [""; 0]);
    assert_eq!(off("window-faithful"), ["pairs", "summary"]);
}

/// Most rows run under `window`: what the other preset has in common with it, they see as well.
#[test]
fn the_faithful_preset_differs_in_this_alone() {
    let preset = |name| compile_preset(&registry(), name, Options::default()).unwrap();
    let (window, faithful) = (preset("window"), preset("window-faithful"));
    assert_eq!(
        own(&window, &faithful),
        [
            "estimator.calls = \"named\"",
            "estimator.reasoning = true",
            "filter.below_trigger = true",
            "filter.groups = \"whole\"",
            "filter.hidden_note = \"[Earlier messages were left out, and there is no summary of them]\"",
            "filter.previous_apart = true",
            "filter.show_calls = true",
            "overflow.on_length_stop = \"critical\"",
        ]
    );
    assert_eq!(
        own(&faithful, &window),
        [
            "estimator.calls = \"none\"",
            "estimator.reasoning = false",
            "filter.below_trigger = false",
            "filter.groups = \"documented\"",
            "filter.hidden_note = \"\"",
            "filter.previous_apart = false",
            "filter.show_calls = false",
            "guards.pairs = false",
            "guards.summary = false",
            "overflow.estimator.calls = \"none\"",
            "overflow.estimator.per_message = 4",
            "overflow.estimator.per_token = 4",
            "overflow.estimator.reasoning = false",
            "overflow.estimator.rounding = \"floor\"",
            "overflow.estimator.structured = false",
            "overflow.estimator.unit = \"bytes\"",
            "overflow.estimator.use = \"chars\"",
            "overflow.on_length_stop = \"threshold\"",
        ]
    );
}

#[test]
fn stages_run_when_the_original_runs_them() {
    for name in ["window", "window-faithful"] {
        let strategy = compile_preset(&registry(), name, Options::default()).unwrap().strategy;
        let policy = strategy.overflow.unwrap();
        assert_eq!(policy.when, [Moment::CallStart, Moment::LengthStop], "{name}");
        assert_eq!(strategy.pruners[0].when, [Moment::ToolResult], "{name}");
    }
}
