//! The presets as they ship.

use crate::conformance::registry;
use foldback_core::config::{Options, compile_preset};
use foldback_core::moment::Moment;
use foldback_core::strategy::OnFailure;

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

#[test]
fn stages_run_when_the_original_runs_them() {
    for name in ["window", "window-faithful"] {
        let strategy = compile_preset(&registry(), name, Options::default()).unwrap().strategy;
        let policy = strategy.overflow.unwrap();
        assert_eq!(policy.when, [Moment::CallStart, Moment::LengthStop], "{name}");
        assert_eq!(strategy.pruners[0].when, [Moment::ToolResult], "{name}");
    }
}

/// The page of the presets and their tables must not drift apart.
#[test]
fn the_page_has_every_deviation() {
    let page = include_str!("../README.md").replace('\n', " ");
    for name in ["window", "window-faithful"] {
        let strategy = compile_preset(&registry(), name, Options::default()).unwrap().strategy;
        for deviation in strategy.deviations {
            assert!(page.contains(&deviation.original), "{name}: {}", deviation.original);
            assert!(page.contains(&deviation.foldback), "{name}: {}", deviation.foldback);
        }
    }
}
