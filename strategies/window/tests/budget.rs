//! Windows, how much of one is used, and when that is too much.

use crate::support::{PRESETS, WINDOW, check, registry, row, rows, strategy};
use foldback_core::config::NonBlank;
use foldback_core::fraction::Fraction;
use foldback_core::limits::Limits;
use foldback_core::moment::Moment;
use foldback_core::registry::StageConfig;
use foldback_core::stage::{OverflowPolicy, Pressure};
use foldback_testkit::talk;
use foldback_window::budget::{BETA_1M, TokenBudget, context_limit};
use foldback_window::split::SplitConfig;
use foldback_window::truncate::TruncateConfig;
use foldback_window::utilisation::{LengthStop, Utilisation, UtilisationConfig};

const SONNET: &str = "claude-sonnet-4-5-20250929";
const OPUS: &str = "claude-opus-4-6";

#[test]
fn limits() {
    let rows = rows::<(String, Vec<String>), u64>("limits");
    check(&rows, |(model, betas)| context_limit(Some(model), betas, None));
    let rows = [
        row("S9-1", "upstream", "set", ("some-model", vec![]), 50_000),
        row(
            "S9-1",
            "reference",
            "beta before what is set",
            (SONNET, vec![BETA_1M.to_owned()]),
            1_000_000,
        ),
        row("S9-1", "reference", "another beta", (SONNET, vec!["tools".to_owned()]), 50_000),
    ];
    check(&rows, |(model, betas)| context_limit(Some(model), betas, Some(50_000)));
}

/// All of a window that is not known is used: more than any share of it, and not more than all.
#[test]
fn an_unknown_window_is_full() {
    let budget = TokenBudget::default();
    for (share, exceeds) in [(0.8, true), (0.999_999, true), (1.0, false), (1.5, false)] {
        assert_eq!(budget.exceeds(Fraction::from_number(share)), exceeds, "{share}");
    }
}

/// Ten bytes stay, with the line break and the marker.
#[test]
fn what_is_cut_must_not_grow() {
    for (over_bytes, good) in [(11, true), (10, true), (9, false), (0, false)] {
        let marker = NonBlank::try_from("cut!".to_owned()).unwrap();
        let config = TruncateConfig { over_bytes, keep_bytes: 5, marker, ..truncation() };
        assert_eq!(config.build().is_ok(), good, "{over_bytes}");
    }
}

/// What the preset states for its policy.
fn stated() -> UtilisationConfig {
    talk::config(&registry(), WINDOW, "overflow")
}

/// What it states for its pruner.
fn truncation() -> TruncateConfig {
    talk::config(&registry(), WINDOW, "pruner[0]")
}

fn budget([limit, system, messages, max_output]: [u64; 4]) -> TokenBudget {
    TokenBudget { limit, system, messages, max_output }
}

#[test]
fn utilisation() {
    check(&rows::<[u64; 4], f64>("utilisation"), |given| budget(*given).utilisation());
}

#[test]
fn overflow_and_room() {
    let up = "upstream";
    let rows = [
        row("S9-3", up, "exactly at the limit", [100, 10, 50, 40], false),
        row("S9-3", "ours", "one more", [100, 10, 51, 40], true),
    ];
    check(&rows, |given| budget(*given).is_overflow());
    let rows = [
        row("S9-4", up, "room", [200_000, 10_000, 50_000, 16_384], 123_616),
        row("S9-4", up, "none", [200_000, 100_000, 190_000, 16_384], 0),
    ];
    check(&rows, |given| budget(*given).available());
}

/// What the policy says of a window of 200,000 of which `used` tokens are taken.
fn folds(config: UtilisationConfig, moment: Moment, used: u64) -> bool {
    let policy = config.build().unwrap();
    let decision = policy.decide(&Pressure {
        view_tokens: used - 10_000 - 16_384,
        frame_tokens: 10_000,
        ..Pressure::at(moment, Limits::new(200_000, 64_000))
    });
    assert_eq!(decision.count, used, "{}", decision.reason);
    decision.fold
}

#[test]
fn thresholds() {
    let default = stated();
    let faithful = UtilisationConfig { on_length_stop: LengthStop::Threshold, ..stated() };
    for (group, config) in [("thresholds", default), ("thresholds-faithful", faithful)] {
        let rows = rows::<(Moment, u64), bool>(group);
        check(&rows, |(moment, used)| folds(config.clone(), *moment, *used));
    }
}

#[test]
fn it_acts_before_a_call_and_where_an_answer_was_cut() {
    let policy = Utilisation::new(stated()).unwrap();
    assert_eq!(policy.moments(), [Moment::CallStart, Moment::LengthStop]);
}

#[test]
fn where_the_window_comes_from() {
    let beta = || UtilisationConfig { betas: vec![BETA_1M.to_owned()], ..stated() };
    let rows = [
        row("S9-1", "ours", "limits", (stated(), 100_000, OPUS), 80_000),
        row("S9-1", "ours", "no limits", (stated(), 0, OPUS), 160_000),
        row("S9-1", "ours", "beta", (beta(), 100_000, SONNET), 800_000),
        row("S9-1", "ours", "beta, other model", (beta(), 100_000, OPUS), 80_000),
    ];
    check(&rows, |(config, context, model)| {
        let pressure = Pressure::at(Moment::CallStart, Limits::new(*context, 0));
        let pressure = Pressure { model: Some(model), ..pressure };
        Utilisation::new(config.clone()).unwrap().decide(&pressure).trigger
    });
}

#[test]
fn the_reserve() {
    let model = UtilisationConfig { max_output: 0, ..stated() };
    let rows = [
        row("S9-2", "reference", "fixed", stated(), 16_384),
        row("S9-2", "ours", "the model's", model, 64_000),
    ];
    check(&rows, |config| {
        let pressure = Pressure::at(Moment::CallStart, Limits::new(200_000, 64_000));
        Utilisation::new(config.clone()).unwrap().decide(&pressure).count
    });
}

#[test]
fn windows_without_room_are_refused() {
    let rows = rows::<u64, bool>("refused");
    check(&rows, |context| {
        let policy = stated().build().unwrap();
        policy.refuses(Limits::new(*context, 0)).is_some()
    });
}

/// What keeps the room free is named, and what would change it.
#[test]
fn a_refusal_names_the_field() {
    for (max_output, named) in [
        (16_384, "lower `max_output` of [overflow]"),
        (0, "16000 are kept free for the answer (the model's output limit)"),
    ] {
        let config = UtilisationConfig { max_output, ..stated() };
        let why = config.build().unwrap().refuses(Limits::new(20_000, 16_000)).unwrap();
        assert!(why.contains(named), "{why}");
    }
}

#[test]
fn defaults() {
    let overflow = stated();
    let split: SplitConfig = talk::config(&registry(), "window", "filter");
    let rows = [
        row("S9-21", "upstream", "threshold", overflow.threshold.number(), 0.80),
        row("S9-21", "upstream", "critical", overflow.critical.number(), 0.95),
        row("S9-21", "upstream", "preserve", split.preserve.number(), 0.40),
    ];
    check(&rows, |value| *value);
    let truncate = truncation();
    let reference = "reference";
    let rows = [
        row("S9-21", reference, "reserve", overflow.max_output, 16_384),
        row("S9-21", reference, "recent", truncate.preserve_recent.unsigned_abs(), 10),
        row("S9-21", reference, "long", truncate.over_bytes as u64, 1_000),
        row("S9-21", reference, "kept", truncate.keep_bytes as u64, 200),
        row("S9-21", reference, "message", split.message_bytes.get() as u64, 2_000),
        row("S9-21", reference, "summary", split.summary_tokens.get(), 4_096),
        row("S9-21", reference, "memory", u64::from(split.memory_seconds), 300),
    ];
    check(&rows, |value| *value);
    for preset in PRESETS {
        assert_eq!(strategy(preset, "").preset_limits, Limits::new(200_000, 16_384));
    }
}

#[test]
fn wrong_values_are_refused_by_name() {
    let refused = |fields: &str| {
        let toml = format!("name = \"t\"\nextends = \"window\"\n[overflow]\n{fields}\n");
        let errors = talk::try_compile(&registry(), &toml).err();
        errors.map(|errors| errors.0.into_iter().map(|error| error.path).collect::<Vec<_>>())
    };
    let named = |field: &str| Some(vec![format!("overflow.{field}")]);
    assert_eq!(refused("threshold = 0.0"), named("threshold"));
    assert_eq!(refused("threshold = nan"), named("threshold"));
    assert_eq!(refused("critical = 1.01"), named("critical"));
    assert_eq!(refused("critical = 0.5"), named("critical"));
    assert_eq!(refused(""), None);
}
