//! What `foldback compare` writes for programs: the published schemas, and that what is written keeps to
//! them and to itself.

use crate::common::{foldback, line, root};
use serde_json::{Map, Value};
use std::path::Path;

/// What `foldback schema OF` prints.
fn schema(of: &str) -> String {
    let ran = foldback(&["schema", of]).done();
    ran.stdout
}

/// Runs a comparison in which presets fire, writing to `option` and a file of this name; gives the text.
fn compare(folder: &Path, option: &str, name: &str) -> String {
    let (store, file) = (folder.join("store"), folder.join(name));
    line(&format!(
        "compare tests/four-sessions --preset=none,opencode,window --window=40000 --max-output=4000 \
         --store {} {option} {}",
        store.display(),
        file.display()
    ))
    .done();
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn the_published_schemas_are_those_of_the_command() {
    for of in ["comparison", "row"] {
        let path = format!("docs/schema/{of}.schema.json");
        let published = std::fs::read_to_string(root().join(&path)).unwrap_or_default();
        assert!(
            published == schema(of),
            "{path} is not what the command writes; `cargo run -- schema {of} > {path}` does it, and a key \
             that went or changed its meaning needs a new version in crates/report/src/schema.rs"
        );
    }
}

#[test]
fn the_page_on_rows_names_each_column_of_the_schema_once_and_no_other() {
    let schema: Value = serde_json::from_str(&schema("row")).unwrap();
    let columns = schema["properties"].as_object().unwrap().keys().map(String::as_str);
    let page = std::fs::read_to_string(root().join("docs/rows.md")).unwrap();
    let (_, table) = page.split_once("| columns | what they hold |\n").unwrap();
    let cells = table.lines().skip(1).filter_map(|line| line.split('|').nth(1));
    let listed = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let (mut columns, mut listed): (Vec<&str>, Vec<&str>) = (columns.collect(), listed.collect());
    columns.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, columns, "docs/rows.md");
}

/// The list of figures is the only one: its page defines each, and the judge's is that of the figures that say so.
#[test]
fn every_figure_is_defined_and_judged_as_it_says() {
    let page = std::fs::read_to_string(root().join("docs/definitions.md")).unwrap();
    let judge = ["check.py", "retention.py"]
        .map(|file| std::fs::read_to_string(root().join("tests/judge").join(file)).unwrap())
        .concat();
    for figure in foldback_replay::compare::FIGURES {
        let name = figure.name;
        assert!(page.contains(&format!("`{name}`")), "docs/definitions.md lacks {name}");
        assert_eq!(judge.contains(&format!("\"{name}\"")), figure.judged, "tests/judge and {name}");
    }
}

#[test]
fn what_is_written_keeps_to_the_schemas_and_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    let document: Value =
        serde_json::from_str(&compare(folder.path(), "--json", "all.json")).unwrap();
    let lines = compare(folder.path(), "--rows", "rows.jsonl");
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    let comparison = validator("comparison");
    let why: Vec<String> = errors(&comparison, &document);
    assert!(why.is_empty(), "{why:#?}");
    let mut broken = document.clone();
    broken["presets"][1]["metrics"]["frr_obs"]["value"] = "most".into();
    assert_eq!(errors(&comparison, &broken).len(), 1);
    broken.as_object_mut().unwrap().remove("corpus");
    assert_eq!(errors(&comparison, &broken).len(), 2);

    let row = validator("row");
    for line in &rows {
        let why = errors(&row, line);
        assert!(why.is_empty(), "{line}: {why:#?}");
    }

    adds_up(&document, &rows);
    same_in_csv(&rows, &compare(folder.path(), "--rows", "rows.csv"));
}

fn validator(of: &str) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&schema(of)).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::validator_for(&schema).unwrap()
}

fn errors(validator: &jsonschema::Validator, value: &Value) -> Vec<String> {
    let errors = validator.iter_errors(value);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The totals of a preset are the sums of its rows.
fn adds_up(document: &Value, rows: &[Value]) {
    let presets = document["presets"].as_array().unwrap();
    assert!(presets.iter().any(|preset| preset["compactions"] != 0));
    for preset in presets {
        let own = || rows.iter().filter(|row| row["preset"] == preset["preset"]);
        let sum = |column: &str| -> u64 { own().map(|row| row[column].as_u64().unwrap()).sum() };
        let examined = |column: &str| -> u64 {
            let rows = own().filter(|row| row["exam"] == true);
            rows.map(|row| row[column].as_u64().unwrap()).sum()
        };
        let name = &preset["preset"];
        let steps = || preset["by_distance"].as_object().unwrap().values();
        let by_distance =
            |what: &str| steps().map(|step| step[what].as_u64().unwrap()).sum::<u64>();
        let table = [
            ("frr kept", examined("frr_kept"), by_distance("kept")),
            ("frr", examined("frr_needed"), by_distance("needed")),
        ];
        for (what, sum, total) in table {
            assert_eq!(sum, total, "{what} of {name}");
        }
        let share = |kept: &str, needed: &str| examined(kept) as f64 / examined(needed) as f64;
        let per_100 = |column: &str| 100.0 * sum(column) as f64 / own().count() as f64;
        let metrics = &preset["metrics"];
        let table = [
            ("frr", share("frr_kept", "frr_needed")),
            ("frr_obs", share("frr_obs_kept", "frr_obs_needed")),
            ("frr_far", share("frr_far_kept", "frr_far_needed")),
            ("frr_obs_far", share("frr_obs_far_kept", "frr_obs_far_needed")),
            ("epr", share("epr_kept", "epr_needed")),
            ("verbatim_far", share("verbatim_far_kept", "verbatim_far_needed")),
            ("rules_kept", share("rules_kept", "rules_needed")),
            ("rules_named", share("rules_named", "rules_needed")),
            ("rereads_per_100_calls", per_100("rereads")),
            ("churn_per_100_calls", per_100("churn")),
        ];
        for (metric, value) in table {
            match metrics[metric]["value"].as_f64() {
                Some(reported) => assert!((value - reported).abs() < 1e-9, "{metric} of {name}"),
                // What would be read again is not known of controls that see what comes.
                None if metric == "rereads_per_100_calls" => {
                    assert!(
                        matches!(
                            name.as_str(),
                            Some("as-recorded" | "clairvoyant" | "clairvoyant-lines")
                        ),
                        "{name}"
                    );
                }
                // What the recorders' requests held is not recorded everywhere.
                None => assert_eq!(name, "as-recorded", "{metric}"),
            }
        }
    }
}

/// CSV has the columns of JSON in their order, and the same values.
fn same_in_csv(rows: &[Value], text: &str) {
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    assert_eq!(table.headers().unwrap().iter().collect::<Vec<_>>(), names);
    let records: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), rows.len());
    for (row, record) in rows.iter().zip(&records) {
        let row: &Map<String, Value> = row.as_object().unwrap();
        let expected: Vec<String> = row.values().map(flat).collect();
        assert_eq!(record.iter().collect::<Vec<_>>(), expected);
    }
    let fired = |row: &&Value| row["fired"].as_array().is_some_and(|fired| !fired.is_empty());
    assert!(rows.iter().any(|row| fired(&row)), "something fires");
}

fn flat(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(fired) => fired
            .iter()
            .map(|fired| {
                let part = |key: &str| fired[key].as_str().unwrap();
                format!("{}:{}", part("moment"), part("stage"))
            })
            .collect::<Vec<_>>()
            .join("+"),
        other => other.to_string(),
    }
}

#[test]
fn parquet_is_written_or_the_error_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.parquet");
    let args =
        format!("compare tests/four-sessions --preset=none --store=none --rows {}", file.display());
    let ran = line(&args);
    if cfg!(feature = "parquet") {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let bytes = std::fs::read(file).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    } else {
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("--features parquet"), "{}", ran.stderr);
        assert!(!file.exists());
    }
}
