//! What the configuration refuses, through the compiler that users meet.

use crate::support::{compiled, registry};
use foldback_core::config::{Options, compile_preset};
use foldback_test_support::{presets::own, table};

/// Most rows run under `tiered`: what the other preset has in common with it, they see as well.
#[test]
fn the_literal_preset_differs_in_this_alone() {
    let preset = |name| compile_preset(&registry(), name, Options::default()).unwrap();
    let (tiered, literal) = (preset("tiered"), preset("tiered-doc-exact"));
    assert_eq!(
        own(&literal, &tiered),
        [
            "estimator.bracket_surcharge = 0.0",
            "estimator.calls = \"named\"",
            "estimator.metadata_per_token = 0",
            "estimator.minimum = 0",
            "estimator.per_message = 0",
            "estimator.whitespace_discount = 0.0",
            "filter.age_from = \"clock\"",
            "filter.budget_tokens = 8000",
            "filter.cut_tool_results = false",
            "filter.doc_exact = true",
            "filter.min_gain_percent = 0",
            "filter.min_summary_tokens = 0",
            "filter.reference_eviction = \"first-in-first-out\"",
            "filter.together = \"message\"",
            "guards.breaker = 0",
            "guards.pairs = false",
            "guards.summary = false",
        ]
    );
}

fn refused(filter: &str) -> Vec<String> {
    compiled("tiered", filter, Options::default())
        .err()
        .map(|errors| errors.0.into_iter().map(|error| error.path).collect())
        .unwrap_or_default()
}

#[test]
fn values_out_of_range_name_their_field() {
    let rows: Vec<(String, Vec<String>)> =
        table::rows(include_str!("../rows/rows.toml"), "refused");
    for (filter, expect) in rows {
        assert_eq!(refused(&filter), expect, "{filter}");
    }
}

#[test]
fn all_wrong_at_once() {
    let errors = refused(
        "residual_threshold = 150\nresidual_max_percent = 1.5\ntier0_size = 50\ntier1_size = 25\n\
         tier2_size = 100\nbudget_tokens = -100",
    );
    assert!(errors.len() > 3, "{errors:?}");
    for field in ["residual_threshold", "residual_max_percent", "tier0_size", "budget_tokens"] {
        let named = errors.iter().filter(|path| path.ends_with(field)).count();
        assert_eq!(named, 1, "{field} in {errors:?}");
    }
}

#[test]
fn the_presets_compile_and_their_values_are_the_defaults() {
    let compiled = compile_preset(&registry(), "tiered", Options::default()).unwrap();
    let filter = compiled.root.get("filter").unwrap().to_value();
    let mut given = filter.as_object().unwrap().clone();
    given.remove("use");
    let given: foldback_tiered::TieredConfig =
        serde_json::from_value(serde_json::Value::Object(given)).unwrap();
    assert_eq!(given, foldback_tiered::TieredConfig::default());
    assert!(compiled.strategy.guards.off().is_empty());

    let exact = compile_preset(&registry(), "tiered-doc-exact", Options::default()).unwrap();
    assert_eq!(exact.strategy.guards.off(), ["pairs", "summary", "breaker"]);
    let compiled = compile_preset(&registry(), "mxf-tiered", Options::default()).unwrap();
    assert_eq!(compiled.strategy.name, "tiered");
}

#[test]
fn mx_6_flags_of_the_environment() {
    let residuals = "PROMPT_COMPACTION_RESIDUALS_ENABLED";
    // variable, its value, field, what the field then reads as
    let rows = [
        (residuals, "true", "residuals", true),
        (residuals, "false", "residuals", false),
        (residuals, "TRUE", "residuals", false),
        (residuals, "1", "residuals", false),
        (residuals, "yes", "residuals", false),
        (residuals, "", "residuals", false),
        ("PROMPT_COMPACTION_TIERED_ENABLED", "no", "tiered", false),
        ("PROMPT_COMPACTION_BUDGET_ENABLED", "0", "budget", false),
        ("PROMPT_COMPACTION_BUDGET_ENABLED", "true", "budget", true),
    ];
    for (name, value, field, expect) in rows {
        let lookup = |asked: &str| (asked == name).then(|| value.to_owned());
        let options = Options { env: Some(&lookup), ..Options::default() };
        let compiled = compiled("tiered", "", options).unwrap();
        assert_eq!(compiled.env.len(), 1, "MX-6: {name}={value}");
        let mut filter = compiled.root.get("filter").unwrap().to_value();
        filter.as_object_mut().unwrap().remove("use");
        let config: foldback_tiered::TieredConfig = serde_json::from_value(filter).unwrap();
        let read = match field {
            "residuals" => config.residuals,
            "tiered" => config.tiered,
            _ => config.budget,
        };
        assert_eq!(read, expect, "MX-6: {name}={value}");
    }
}

#[test]
fn numbers_of_the_environment() {
    let with = |value: &'static str, name: &'static str| {
        let lookup = move |asked: &str| (asked == name).then(|| value.to_owned());
        let options = Options { env: Some(&lookup), ..Options::default() };
        compiled("tiered", "", options).err()
    };
    assert!(with("75", "PROMPT_COMPACTION_RESIDUAL_THRESHOLD").is_none());
    // The original's sample file says 20, which its own validator refuses.
    let error = with("20", "PROMPT_COMPACTION_RESIDUAL_MAX_PERCENT").unwrap();
    let shown = error.to_string();
    assert!(shown.contains("residual_max_percent"), "{shown}");
    assert!(shown.contains("0.20"), "{shown}");
}
