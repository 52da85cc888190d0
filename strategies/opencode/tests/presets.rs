//! The presets as files: names, aliases, environment flags, limits that are refused.

use crate::support::{file, registry};
use foldback_core::Limits;
use foldback_core::config::{Document, Options, compile, compile_preset};
use foldback_core::moment::Moment;
use foldback_core::strategy::OnFailure;
use foldback_testkit::talk::try_compile;

#[test]
fn presets_compile_by_name_and_alias() {
    for (name, preset) in [
        ("opencode", "opencode"),
        ("opencode-v1.1", "opencode"),
        ("opencode-1.17", "opencode-1.17"),
        ("opencode-v1.17", "opencode-1.17"),
        ("opencode-1.18", "opencode-1.18"),
        ("opencode-v1.18", "opencode-1.18"),
        ("opencode-2", "opencode-2"),
        ("opencode-v2", "opencode-2"),
        ("brutus", "brutus"),
    ] {
        let compiled = compile_preset(&registry(), name, Options::default())
            .unwrap_or_else(|errors| panic!("{name}: {errors}"));
        let budget = compiled.root.at("filter.summary_budget").unwrap().to_value();
        assert_eq!(budget, 4_096, "{name}");
        let strategy = compiled.strategy;
        assert_eq!(strategy.name, preset, "{name}");
        assert_eq!(strategy.label(), format!("{preset}+extractive"), "{name}");
        assert_eq!(strategy.on_failure, OnFailure::Keep, "{name}");
        assert_eq!(strategy.preset_limits, Limits::new(200_000, 32_000), "{name}");
        assert!(!strategy.deviations.is_empty(), "{name}");
    }
}

#[test]
fn pruners_and_their_moments() {
    for (name, when) in [
        ("opencode", Some(Moment::TurnEnd)),
        ("opencode-1.17", None),
        ("opencode-1.18", None),
        ("opencode-2", None),
        ("brutus", Some(Moment::BeforeSummary)),
    ] {
        let strategy = crate::support::strategy(name, "");
        let moments: Vec<Moment> = strategy.pruners.iter().flat_map(|p| p.when.clone()).collect();
        assert_eq!(moments, when.into_iter().collect::<Vec<_>>(), "OC1-M1: {name}");
    }
}

#[test]
fn environment_flags() {
    let with = |flag: &'static str, value: &'static str| {
        let env = move |name: &str| (name == flag).then(|| value.to_owned());
        let options = Options { env: Some(&env), ..Options::default() };
        let pruner = "[[pruner]]\nuse = \"opencode.prune\"\nenabled = true";
        let document = Document::parse("test", &file("opencode-1.17", pruner)).unwrap();
        compile(&registry(), document, options).unwrap()
    };
    let value = |flag, given, path: &str| {
        let compiled = with(flag, given);
        compiled.root.at(path).map(|node| node.to_value().to_string())
    };
    for (flag, given, path, expect) in [
        ("OPENCODE_DISABLE_AUTOCOMPACT", "1", "overflow.auto", "false"),
        ("OPENCODE_DISABLE_AUTOCOMPACT", "true", "overflow.auto", "false"),
        ("OPENCODE_DISABLE_AUTOCOMPACT", "0", "overflow.auto", "true"),
        ("OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX", "64000", "overflow.output_token_max", "64000"),
        ("OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX", "64000", "filter.output_token_max", "64000"),
    ] {
        assert_eq!(value(flag, given, path).as_deref(), Some(expect), "{flag}={given}");
    }
    assert_eq!(with("NOTHING", "").strategy.pruners.len(), 1);
    assert!(with("OPENCODE_DISABLE_PRUNE", "1").strategy.pruners.is_empty());
}

#[test]
fn what_could_never_work_is_refused() {
    for (case, changes, says) in [
        ("no room", "[window]\ncontext = 32_000\noutput = 32_000", "usable window"),
        ("nothing counts", "[overflow]\ncounts = []", "counts"),
        ("no cap", "[overflow]\noutput_token_max = 0", "1 or more"),
        ("no summary", "[filter]\nsummary_budget = 0", "summary_budget"),
        ("a tail that is never shown", "[filter]\ntail_turns = 2", "succeeded"),
        (
            "a tail that is summarized as well",
            "[filter]\ntail_turns = 2\ncompletes = \"succeeded\"",
            "leaves out of the request",
        ),
        ("as text, with earlier checkpoints", "[filter]\nrequest = \"text\"", "anchored"),
        ("no such turns", "[filter]\ntail_turns = \"some\"", "tail_turns"),
        ("misspelt", "[[pruner]]\nuse = \"opencode.prune\"\nprotect_token = 1", "protect_tokens"),
    ] {
        let errors = try_compile(&registry(), &file("opencode", changes)).unwrap_err();
        assert!(errors.to_string().contains(says), "{case}: {errors}");
    }
    let tails = |minimum, maximum| {
        let tails = format!("[filter]\ntail_minimum = {minimum}\ntail_maximum = {maximum}");
        try_compile(&registry(), &file("opencode-1.17", &tails)).is_ok()
    };
    assert_eq!([tails(9, 10), tails(10, 10), tails(11, 10)], [true, true, false]);
    for (case, changes, says) in [
        ("no room", "[window]\ncontext = 20_000\noutput = 8_000", "usable window"),
        ("no summary", "[filter]\nsummary_budget = 0", "summary_budget"),
    ] {
        let errors = try_compile(&registry(), &file("opencode-2", changes)).unwrap_err();
        assert!(errors.to_string().contains(says), "V2, {case}: {errors}");
    }
}
