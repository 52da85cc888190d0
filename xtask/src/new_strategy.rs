//! `cargo xtask new-strategy`: a strategy crate that compiles and is tested, named everywhere a crate has to be named.

use crate::files::{read, write};
use std::path::{Path, PathBuf};
use std::process::Command;
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

/// Files of a new strategy crate: where they go, and what is in them.
const FILES: [(&str, &str); 7] = [
    ("strategies/{name}/Cargo.toml", include_str!("../template/Cargo.toml.txt")),
    ("strategies/{name}/README.md", include_str!("../template/README.md.txt")),
    ("strategies/{name}/src/lib.rs", include_str!("../template/lib.rs.txt")),
    ("strategies/{name}/src/clear.rs", include_str!("../template/clear.rs.txt")),
    ("strategies/{name}/tests/main.rs", include_str!("../template/test.rs.txt")),
    ("strategies/{name}/rows/rows.toml", include_str!("../template/rows.toml.txt")),
    ("strategies/{name}/presets/{name}.toml", include_str!("../template/preset.toml.txt")),
];

/// Makes it.
pub(crate) fn make(name: &str) -> Result<(), String> {
    let fine = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !fine {
        return Err(format!(
            "`{name}`: a name has lower-case letters, digits and dashes, a letter first"
        ));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let ident = name.replace('-', "_");
    let fill = |text: &str| text.replace("{name}", name).replace("{ident}", &ident);
    let files: Vec<(PathBuf, String)> =
        FILES.iter().map(|(path, text)| (root.join(fill(path)), fill(text))).collect();
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(format!("{} is there already", path.display()));
    }
    for (path, text) in &files {
        write(path, text)?;
    }
    let link = root.join("configs").join(format!("{name}.toml"));
    let mut links = vec![(fill("../strategies/{name}/presets/{name}.toml"), link)];
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        links.push((format!("../../{license}"), root.join("strategies").join(name).join(license)));
    }
    for (to, link) in links {
        show(Path::new(&to), &link).map_err(|error| format!("{}: {error}", link.display()))?;
    }
    add_to_workspace(&root, name)?;
    add_to_facade(&root, name, &ident)?;
    // Names differ in length, and with them where lines end.
    let package = format!("foldback-{name}");
    let formatted = Command::new("cargo").args(["fmt", "-p", &package]).current_dir(&root).status();
    if !formatted.is_ok_and(|status| status.success()) {
        eprintln!("note: `cargo fmt` did not run; run it before you commit");
    }
    println!(
        "made strategies/{name}, showed its preset in configs, and named them in Cargo.toml and crates/foldback\n\
         next: cargo test -p foldback-{name}"
    );
    Ok(())
}

/// Makes a link: `configs` shows the presets of all packages, and each package has the licenses.
fn show(file: &Path, link: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(file, link);
    #[cfg(windows)]
    return std::os::windows::fs::symlink_file(file, link);
}

/// Puts `line` after the first line that `anchor` is found in.
fn insert(path: &Path, anchor: &str, line: &str) -> Result<(), String> {
    let mut text = read(path)?;
    let missing = || format!("{}: `{anchor}` is not in it any more", path.display());
    let at = text.find(anchor).ok_or_else(missing)?;
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1);
    text.insert_str(end, line);
    write(path, &text)
}

fn add_to_workspace(root: &Path, name: &str) -> Result<(), String> {
    edit(&root.join("Cargo.toml"), |manifest| {
        let members = manifest["workspace"]["members"].as_array_mut()?;
        let anchor = members.iter().position(|at| at.as_str() == Some("strategies/tunacode"))?;
        let member = Value::from(format!("strategies/{name}")).decorated("\n    ", "");
        members.insert_formatted(anchor + 1, member);
        let mut package = InlineTable::new();
        package.insert("path", format!("strategies/{name}").into());
        package.insert("version", "0.1.0".into());
        let packages = manifest["workspace"]["dependencies"].as_table_mut()?;
        insert_after(packages, "foldback-tunacode", &format!("foldback-{name}"), package.into())
    })
}

fn add_to_facade(root: &Path, name: &str, ident: &str) -> Result<(), String> {
    let facade = root.join("crates/foldback");
    edit(&facade.join("Cargo.toml"), |manifest| {
        let features = manifest["features"].as_table_mut()?;
        let strategies = features["strategies"].as_array_mut()?;
        let anchor = "dep:foldback-tunacode";
        let anchor = strategies.iter().position(|at| at.as_str() == Some(anchor))?;
        let strategy = Value::from(format!("dep:foldback-{name}")).decorated("\n    ", "");
        strategies.insert_formatted(anchor + 1, strategy);
        let mut package = InlineTable::new();
        package.insert("workspace", true.into());
        package.insert("optional", true.into());
        let packages = manifest["dependencies"].as_table_mut()?;
        insert_after(packages, "foldback-tunacode", &format!("foldback-{name}"), package.into())
    })?;
    let line = format!("    foldback_{ident} as {ident},\n");
    insert(&facade.join("src/lib.rs"), "foldback_tunacode as tunacode,", &line)
}

/// Changes a manifest. `None` says that it has another form than this task knows.
fn edit(path: &Path, change: impl FnOnce(&mut DocumentMut) -> Option<()>) -> Result<(), String> {
    let mut manifest: DocumentMut =
        read(path)?.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    let unknown = || format!("{}: what stands beside tunacode is not where it was", path.display());
    change(&mut manifest).ok_or_else(unknown)?;
    write(path, &manifest.to_string())
}

/// Puts a key right after another one; all else keeps its place.
fn insert_after(table: &mut Table, anchor: &str, key: &str, value: Value) -> Option<()> {
    let mut order: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    let at = order.iter().position(|key| key == anchor)?;
    order.insert(at + 1, key.to_owned());
    table.insert(key, Item::Value(value));
    let place = |key: &str| order.iter().position(|there| there == key);
    table.sort_values_by(|a, _, b, _| place(a.get()).cmp(&place(b.get())));
    Some(())
}
