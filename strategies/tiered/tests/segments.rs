//! Progressive disclosure of prompt segments: the document's example and the rows of the original's
//! own suite (its singleton aside).

use foldback_core::registry::StageConfig;
use foldback_core::stage::Estimator;
use foldback_stages::estimator::{CharsConfig, Rounding};
use foldback_test_support::table;
use foldback_tiered::segments::{
    Category, DEFAULT_BUDGET, PromptSegment, PromptSegmentRegistry, Situation,
};
use std::sync::Arc;

fn estimator() -> Arc<dyn Estimator> {
    let config = CharsConfig { rounding: Rounding::Ceil, ..CharsConfig::default() };
    config.build().unwrap()
}

fn defaults() -> PromptSegmentRegistry {
    PromptSegmentRegistry::new(estimator())
}

fn of(segments: impl IntoIterator<Item = PromptSegment>) -> PromptSegmentRegistry {
    let mut registry = PromptSegmentRegistry::empty(estimator());
    for segment in segments {
        registry.register(segment);
    }
    registry
}

fn sized(id: &str, priority: i32, tokens: u64) -> PromptSegment {
    PromptSegment::new(id, Category::Optional, priority, id).sized(tokens)
}

fn documented() -> Situation {
    Situation {
        has_control_loop_tools: true,
        is_multi_agent_channel: true,
        has_error_occurred: false,
        is_mxp_enabled: true,
        condensed_mode: false,
        channel_agent_count: 5,
    }
}

#[test]
fn the_documents_example() {
    let prompt = defaults().build(&documented(), 2_500);
    let expect = [
        "core-framework",
        "orpar-cycle",
        "collaboration-patterns",
        "tool-guidelines-full",
        "mxp-protocol",
    ];
    assert_eq!(prompt.included, expect);
    assert!(prompt.too_large.is_empty());
    assert_eq!(prompt.text.split("\n\n").count(), expect.len());
}

#[test]
fn what_each_flag_brings() {
    let rows: Vec<(String, String, Vec<String>)> =
        table::rows(include_str!("../rows/rows.toml"), "flags");
    for (name, flag, expect) in rows {
        let situation = Situation {
            has_control_loop_tools: flag == "has_control_loop_tools",
            is_multi_agent_channel: flag == "is_multi_agent_channel",
            has_error_occurred: flag == "has_error_occurred",
            is_mxp_enabled: flag == "is_mxp_enabled",
            condensed_mode: flag == "condensed_mode",
            ..Situation::default()
        };
        let included = defaults().build(&situation, DEFAULT_BUDGET).included;
        assert_eq!(included[0], "core-framework", "{name}");
        assert_eq!(included[1..], expect, "{name}");
    }
}

#[test]
fn default_priorities_and_categories() {
    let rows = [
        ("core-framework", 10, Category::Core),
        ("orpar-cycle", 8, Category::Orpar),
        ("collaboration-patterns", 7, Category::Collaboration),
        ("tool-guidelines-full", 6, Category::Tools),
        ("tool-guidelines-condensed", 6, Category::Tools),
        ("error-handling", 5, Category::ErrorHandling),
        ("mxp-protocol", 4, Category::Mxp),
    ];
    let registry = defaults();
    assert_eq!(registry.segments().len(), rows.len());
    for (id, priority, category) in rows {
        let segment = registry.get(id).unwrap();
        assert_eq!((segment.priority, segment.category), (priority, category), "{id}");
        assert!(segment.tokens > 0, "{id} is counted when it is registered");
    }
}

#[test]
fn budgets_as_a_table() {
    type Row = (String, Vec<u64>, u64, Vec<String>);
    let rows: Vec<Row> = table::rows(include_str!("../rows/rows.toml"), "budgets");
    for (name, sizes, budget, expect) in rows {
        let segments = sizes
            .iter()
            .enumerate()
            .map(|(index, size)| sized(&index.to_string(), -(index as i32), *size));
        let prompt = of(segments).build(&Situation::default(), budget);
        assert_eq!(prompt.included, expect, "{name}");
        assert_eq!(prompt.included.len() + prompt.too_large.len(), sizes.len(), "{name}");
        assert!(prompt.tokens <= budget, "{name}");
    }
}

#[test]
fn nothing_fits_in_no_budget() {
    let registry = of([PromptSegment::new("empty", Category::Core, 1, "")]);
    let included = |budget| registry.build(&Situation::default(), budget).included;
    assert_eq!(included(0), [""; 0]);
    assert_eq!(included(1), ["empty"]);
}

#[test]
fn conditions() {
    let registry = of([
        sized("holds", 1, 1).when(|_| true),
        sized("does not hold", 1, 1).when(|_| false),
        sized("fails", 1, 1).when_checked(|_| Err("no such tool".to_owned())),
        sized("counts agents", 1, 1).when(|situation| situation.channel_agent_count > 4),
    ]);
    let included = registry.build(&documented(), 99).included;
    assert_eq!(included, ["holds", "counts agents"]);
}

#[test]
fn order_is_by_category_and_equals_keep_theirs() {
    let at = |id: &str, category, priority| PromptSegment::new(id, category, priority, id);
    let prompt = of([
        at("optional", Category::Optional, 9),
        at("error", Category::ErrorHandling, 9),
        at("mxp", Category::Mxp, 9),
        at("tools b", Category::Tools, 5),
        at("tools a", Category::Tools, 6),
        at("tools c", Category::Tools, 5),
        at("collaboration", Category::Collaboration, 1),
        at("orpar", Category::Orpar, 1),
        at("core", Category::Core, 0),
    ])
    .build(&Situation::default(), 99);
    let expect = [
        "core",
        "orpar",
        "collaboration",
        "tools a",
        "tools b",
        "tools c",
        "mxp",
        "error",
        "optional",
    ];
    assert_eq!(prompt.included, expect);
    assert_eq!(prompt.text, expect.join("\n\n"));
}

#[test]
fn registering_clearing_and_resetting() {
    let mut registry = defaults();
    let count = registry.segments().len();
    registry.register(PromptSegment::new("core-framework", Category::Core, 10, "abcdefgh"));
    assert_eq!(registry.segments().len(), count, "the same id overwrites");
    let core = registry.get("core-framework").unwrap();
    assert_eq!((core.text.as_str(), core.tokens), ("abcdefgh", 2));
    registry.register(sized("own", 1, 7));
    assert_eq!(registry.get("own").unwrap().tokens, 7, "a given size is kept");
    registry.clear();
    assert!(registry.build(&documented(), 2_500).included.is_empty());
    registry.reset();
    assert_eq!(registry.segments().len(), count);
    assert_ne!(registry.get("core-framework").unwrap().text, "abcdefgh");
    assert!(registry.get("own").is_none());
}

#[test]
fn the_default_budget_is_the_documents() {
    assert_eq!(DEFAULT_BUDGET, 2_500);
}
