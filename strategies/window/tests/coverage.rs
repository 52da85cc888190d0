//! Every row of Spec 09 has a test. Rows are checked by their ids, each at the stage that it is about, beneath the engine's guards;
//! rows whose origin is `ours` are added.

#[test]
fn every_row_is_here() {
    let sources = [
        include_str!("budget.rs"),
        include_str!("compact.rs"),
        include_str!("estimate.rs"),
        include_str!("prune.rs"),
        include_str!("../rows/rows.toml"),
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
    let exceptions: Vec<[String; 2]> =
        foldback_test_support::table::rows(include_str!("../rows/rows.toml"), "exceptions");
    for [id, reason] in exceptions {
        assert!(!reason.is_empty(), "{id} has no reason");
    }
}
