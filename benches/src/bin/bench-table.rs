//! Prints what criterion measured as a Markdown table: fastest sample and median of every bench.
//!
//! Reads `criterion/` in the target folder (`CARGO_TARGET_DIR`, else `target`).

use serde_json::Value;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    let mut rows = Vec::new();
    collect(&target.join("criterion"), &mut rows)?;
    rows.sort_by(|a, b| a.key().cmp(&b.key()));
    println!("| bench | fastest | median |\n|---|---:|---:|");
    for row in rows {
        println!("| {} | {} | {} |", row.name, time(row.fastest), time(row.median));
    }
    Ok(())
}

struct Row {
    group: String,
    function: String,
    size: Option<u64>,
    name: String,
    /// Nanoseconds.
    fastest: f64,
    median: f64,
}

impl Row {
    /// Sizes in their order as numbers.
    fn key(&self) -> (&str, &str, Option<u64>, &str) {
        (&self.group, &self.function, self.size, &self.name)
    }
}

/// Every folder `new` below `folder` holds one result.
fn collect(folder: &Path, rows: &mut Vec<Row>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name == "new") {
            rows.push(row(&path)?);
        } else if path.is_dir() {
            collect(&path, rows)?;
        }
    }
    Ok(())
}

fn row(folder: &Path) -> Result<Row, Box<dyn Error>> {
    let read = |name: &str| -> Result<Value, Box<dyn Error>> {
        let path = folder.join(name);
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    };
    let id = read("benchmark.json")?;
    let sample = read("sample.json")?;
    let estimates = read("estimates.json")?;
    let numbers = |key: &str| sample[key].as_array().cloned().unwrap_or_default();
    let fastest = numbers("times")
        .iter()
        .zip(numbers("iters"))
        .filter_map(|(time, iters)| Some(time.as_f64()? / iters.as_f64()?))
        .fold(f64::INFINITY, f64::min);
    let text = |key: &str| id[key].as_str().unwrap_or_default().to_owned();
    Ok(Row {
        group: text("group_id"),
        function: text("function_id"),
        size: text("value_str").parse().ok(),
        name: text("full_id"),
        fastest,
        median: estimates["median"]["point_estimate"].as_f64().unwrap_or(f64::NAN),
    })
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} µs", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}
