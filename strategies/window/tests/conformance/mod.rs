//! The conformance rows of Spec 09, by their ids, each at the stage that it is about, beneath the
//! engine's guards. Rows whose origin is `ours` are added.

mod budget;
mod common;
mod compact;
mod estimate;
mod prune;
mod split;

pub(crate) use common::registry;

/// Rows, or halves of rows, that are not here, and why.
const EXCEPTIONS: [(&str, &str); 4] = [
    (
        "S9-21",
        "the default model of the summary (haiku): with a model, in tests/tests/with_a_model/window.toml",
    ),
    (
        "S9-22",
        "the folder of the session memory: the reader is injected, so an empty folder is a reader that returns nothing",
    ),
    (
        "S9-23",
        "the wording of the request (`[user]: hello`): with a model, in tests/tests/with_a_model/window.toml; that a long message is cut is tested here too",
    ),
    (
        "S9-24",
        "the exit reason `max_tokens`: with an agent's loop, in tests/tests/with_a_model/window.toml",
    ),
];

#[test]
fn every_row_is_here() {
    let sources = [
        include_str!("budget.rs"),
        include_str!("compact.rs"),
        include_str!("estimate.rs"),
        include_str!("prune.rs"),
        include_str!("rows.toml"),
        include_str!("split.rs"),
    ];
    let missing: Vec<String> = (1..=25)
        .map(|n| format!("S9-{n}"))
        .filter(|id| {
            let quoted = format!("\"{id}\"");
            !sources.iter().any(|source| source.contains(&quoted))
        })
        .collect();
    assert_eq!(missing, Vec::<String>::new());
    for (id, reason) in EXCEPTIONS {
        assert!(!reason.is_empty(), "{id} has no reason");
    }
}
