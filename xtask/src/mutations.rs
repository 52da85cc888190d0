//! Whether the rows of a preset see its values: each value is changed a little, and the tests of its crate must fail.
//!
//! The laws are left out: they hold whatever the values. Values that no row of the crate sees are in a table of their own,
//! `tests/tests/constants.toml`, each with its source.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use toml_edit::{Array, DocumentMut, Item, Table, Value, value};

/// Sections that hold no values of stages. What stands outside of sections says what the preset is, and not what it does.
const APART: [&str; 2] = ["deviation", "env"];

/// What else a word may be. Any other text is changed by a letter more.
const WORDS: &[&[&str]] = &[
    &["utf16", "bytes", "code-points"],
    &["floor", "ceil", "half-up"],
    &["text", "message", "spaced"],
    &["none", "arguments", "named", "joined", "json", "python"],
    &[">", ">="],
    &["request", "log"],
    &["or-nothing", "then-stop"],
    &["any", "succeeded"],
    &["keep", "hide"],
    &["turn-start", "call-start", "step-end", "turn-end", "tool-result"],
    &["tokens", "bytes"],
    &["messages", "text"],
    &["auto", "always"],
];

/// Changes every value of the presets whose name holds `only`, one after the other.
pub(crate) fn run(only: &str) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = listed(&root)?;
    let (mut seen, mut missed) = (0, Vec::new());
    for preset in presets(&root.join("strategies"))? {
        let name = preset.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !name.contains(only) {
            continue;
        }
        let original = read(&preset)?;
        let kept = Kept { path: &preset, text: &original };
        let package = package_of(&preset)?;
        if !passes(&root, &package) {
            return Err(format!("the tests of {package} fail as they are"));
        }
        for (what, changed) in mutants(&with_defaults(&root, &name, &original)?) {
            let path = what.split(" = ").next().unwrap_or_default();
            write(&preset, &changed)?;
            let caught = !passes(&root, &package);
            let excused = listed.contains(&(name.clone(), path.to_owned()));
            seen += usize::from(caught);
            let verdict = match (caught, excused) {
                (true, _) => continue,
                (false, true) => "listed",
                (false, false) => "MISSED",
            };
            println!("{verdict}: {name}: {what}");
            if !excused {
                missed.push(format!("{name}: {what}"));
            }
        }
        drop(kept);
        println!("{name}: {seen} changes were seen so far");
    }
    match missed.len() {
        0 => Ok(()),
        count => Err(format!("no row sees {count} changes")),
    }
}

/// Writes a file back as it was, however its changes end.
struct Kept<'t> {
    path: &'t Path,
    text: &'t str,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if let Err(error) = write(self.path, self.text) {
            eprintln!("{error}");
        }
    }
}

/// The file with what its sections leave to the defaults of their stages, as `foldback presets` shows them. Those of the common
/// stages, whose names have no system in front, have rows of their own.
fn with_defaults(root: &Path, name: &str, original: &str) -> Result<DocumentMut, String> {
    let mut document: DocumentMut = original.parse().map_err(|error| format!("{error}"))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", "foldback-cli", "--", "presets", name]);
    let shown = cargo.current_dir(root).output().map_err(|error| format!("{error}"))?;
    let shown = String::from_utf8_lossy(&shown.stdout);
    let (mut header, mut stage) = ("", String::new());
    for line in shown.lines() {
        let Some((said, origin)) = line.rsplit_once(" # ") else {
            header = line;
            continue;
        };
        let Some((field, shown)) = said.trim().split_once(" = ") else { continue };
        let json = serde_json::from_str(shown).map_err(|error| format!("{line}: {error}"))?;
        if field == "use" {
            stage = shown.trim_matches('"').to_owned();
        } else if origin == "default"
            && stage.contains('.')
            && let Some(section) = section_of(&mut document, header, &stage)
            && let Some(value) = of_json(&json)
        {
            section.insert(field, Item::Value(value));
        }
    }
    Ok(document)
}

/// The section of a file that `foldback presets` shows under a header; a pruner is known by its stage.
fn section_of<'d>(
    document: &'d mut DocumentMut,
    header: &str,
    stage: &str,
) -> Option<&'d mut Table> {
    match document.get_mut(header.trim_matches(['[', ']']))? {
        Item::ArrayOfTables(pruners) => pruners
            .iter_mut()
            .find(|pruner| pruner.get("use").and_then(Item::as_str) == Some(stage)),
        section => section.as_table_mut(),
    }
}

fn of_json(json: &serde_json::Value) -> Option<Value> {
    Some(match json {
        serde_json::Value::Null => return None,
        serde_json::Value::Bool(is) => Value::from(*is),
        serde_json::Value::String(text) => Value::from(text),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64()?),
        },
        serde_json::Value::Array(items) => items.iter().filter_map(of_json).collect(),
        serde_json::Value::Object(fields) => {
            fields.iter().filter_map(|(key, field)| Some((key, of_json(field)?))).collect()
        }
    })
}

/// The changed files, each with what was changed.
fn mutants(document: &DocumentMut) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let is_section = |item: &Item| item.is_table() || item.is_array_of_tables();
    let sections = document.iter().filter(|(key, item)| is_section(item) && !APART.contains(key));
    for (key, item) in sections {
        collect(item, &mut vec![key.to_owned()], &mut found);
    }
    let changed = |(path, new): (Vec<String>, Value)| {
        let mut document = document.clone();
        let what = format!("{} = {}", written(&path), new.to_string().trim());
        let place =
            path.iter().fold(document.as_item_mut(), |item, step| match step.parse::<usize>() {
                Ok(index) if item.is_array_of_tables() => &mut item[index],
                _ => &mut item[step.as_str()],
            });
        *place = value(new);
        (what, document.to_string())
    };
    found.into_iter().map(changed).collect()
}

/// A path as the configuration writes it.
fn written(path: &[String]) -> String {
    let step = |step: &String| match step.parse::<usize>() {
        Ok(index) => format!("[{index}]"),
        Err(_) => format!(".{step}"),
    };
    path.iter().map(step).collect::<String>().split_off(1)
}

fn collect(item: &Item, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, Value)>) {
    let mut step = |key: &str, item: &Item| {
        path.push(key.to_owned());
        collect(item, path, found);
        path.pop();
    };
    if let Some(tables) = item.as_array_of_tables() {
        let tables: Vec<&Table> = tables.iter().collect();
        tables.iter().enumerate().for_each(|(at, table)| {
            step(&at.to_string(), &Item::Table((*table).clone()));
        });
    } else if let Some(table) = item.as_table_like() {
        table.iter().filter(|(key, _)| *key != "use").for_each(|(key, item)| step(key, item));
    } else if let Some(old) = item.as_value() {
        found.extend(others(old).into_iter().map(|new| (path.clone(), new)));
    }
}

/// What a value is changed to.
fn others(old: &Value) -> Vec<Value> {
    match old {
        Value::Integer(number) => {
            let number = *number.value();
            let less = (number > 0).then(|| Value::from(number - 1));
            less.into_iter().chain([Value::from(number + 1)]).collect()
        }
        Value::Float(number) => [-0.01, 0.01]
            .map(|by| Value::from(((number.value() + by) * 100.0).round() / 100.0))
            .into(),
        Value::Boolean(is) => vec![Value::from(!is.value())],
        Value::String(text) => {
            let is = |word: &&str| *word == text.value();
            let words = WORDS.iter().filter(|words| words.iter().any(is));
            let other = words.flat_map(|words| words.iter().filter(|word| !is(word)));
            let other: Vec<Value> = other.map(|word| Value::from(*word)).collect();
            match other.is_empty() {
                true => vec![Value::from(format!("{}x", text.value()))],
                false => other,
            }
        }
        Value::Array(items) if items.is_empty() => vec![Value::from(Array::from_iter(["read"]))],
        Value::Array(items) => {
            let without = |left_out: usize| {
                let mut items = items.clone();
                items.remove(left_out);
                Value::from(items)
            };
            (0..items.len()).map(without).collect()
        }
        _ => Vec::new(),
    }
}

fn passes(root: &Path, package: &str) -> bool {
    let laws = [
        "acts",
        "valid_in_every_dialect",
        "log_untouched",
        "idempotent_where_nothing_changed",
        "smaller_or_refused",
        "undo_restores",
        "deterministic",
        "cost_per_call_flat",
        "blind_to_the_future",
    ];
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--quiet", "--package", package, "--"]);
    for law in laws {
        cargo.arg("--skip").arg(format!("::{law}"));
    }
    cargo.current_dir(root).env("CARGO_INCREMENTAL", "0").env("RUST_BACKTRACE", "0");
    cargo.stdout(Stdio::null()).stderr(Stdio::null());
    cargo.status().is_ok_and(|status| status.success())
}

/// What has a row in the table of constants: preset and path.
fn listed(root: &Path) -> Result<BTreeSet<(String, String)>, String> {
    let path = root.join("tests/tests/constants.toml");
    let table: DocumentMut = read(&path)?.parse().map_err(|error| format!("{error}"))?;
    let rows = table.get("constants").and_then(Item::as_array).into_iter().flatten();
    let text = |row: &Value, at: usize| Some(row.as_array()?.get(at)?.as_str()?.to_owned());
    Ok(rows.filter_map(|row| Some((text(row, 0)?, text(row, 1)?))).collect())
}

fn presets(strategies: &Path) -> Result<Vec<PathBuf>, String> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let entries =
            std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    };
    let mut found = Vec::new();
    for crate_folder in list(strategies)? {
        found.extend(list(&crate_folder.join("presets"))?);
    }
    found.sort();
    Ok(found)
}

fn package_of(preset: &Path) -> Result<String, String> {
    let folder = preset.ancestors().nth(2).unwrap_or(preset);
    let manifest: DocumentMut =
        read(&folder.join("Cargo.toml"))?.parse().map_err(|error| format!("{error}"))?;
    let name = manifest["package"]["name"].as_str();
    name.map(str::to_owned).ok_or_else(|| format!("{} has no name", folder.display()))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
