//! The packages as others get them: each is packed, unpacked, and used by a crate outside of the workspace that has no
//! path into it. That crate is the agent of the facade's README and the stage of `docs/stages.md`, which runs through
//! the laws of the test kit.

use crate::files::read;
use crate::outside::{self, cargo, run};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packs everything and tests the crate outside.
pub(crate) fn check() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let metadata = output(cargo(&root).args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    // A package that may be published nowhere has an empty list of registries. Its dependencies need no versions, so
    // `cargo package --workspace` fails on it.
    let published =
        |package: &&Value| package["publish"].as_array().is_none_or(|to| !to.is_empty());
    let packages: Vec<&Value> =
        metadata["packages"].as_array().into_iter().flatten().filter(published).collect();
    // What is being worked on is packed as well. The crate outside builds what matters.
    let named = packages.iter().flat_map(|package| ["--package", text(package, "name")]);
    run(cargo(&root).args(["package", "--no-verify", "--allow-dirty", "--quiet"]).args(named))?;
    let target = PathBuf::from(text(&metadata, "target_directory"));
    let outside = target.join("outside");
    let unpacked = outside.join("packages");
    let _ = std::fs::remove_dir_all(&unpacked);
    std::fs::create_dir_all(&unpacked)
        .map_err(|error| format!("{}: {error}", unpacked.display()))?;
    let mut patches = String::new();
    for package in packages {
        let (name, version) = (text(package, "name"), text(package, "version"));
        let archive = target.join("package").join(format!("{name}-{version}.crate"));
        run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&unpacked))?;
        let _ = writeln!(patches, "{name} = {{ path = \"packages/{name}-{version}\" }}");
    }
    let (readme, stages) = ("crates/foldback/README.md", "docs/stages.md");
    let tables = format!("{DEPENDENCIES}\n[patch.crates-io]\n{patches}");
    let agent = example(&root.join(readme))?;
    let laws = format!("{}{LAWS}", example(&root.join(stages))?);
    outside::make(&outside, &tables, &[("src/main.rs", &agent), ("tests/laws.rs", &laws)])?;
    run(cargo(&outside).args(["run", "--quiet"]))?;
    run(cargo(&outside).args(["test", "--quiet"]))
}

const DEPENDENCIES: &str = r#"[dependencies]
foldback = "0.1"
tokio = { version = "1", features = ["rt", "macros"] }

[dev-dependencies]
foldback-testkit = "0.1"
schemars = "1"
serde = { version = "1", features = ["derive"] }
"#;

const LAWS: &str = "\nfoldback_testkit::laws!(\"long\");\n";

/// The first Rust example of a page; marks of lines that its readers do not see are taken off.
fn example(page: &Path) -> Result<String, String> {
    let text = read(page)?;
    let code = text.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```\n"));
    let (code, _) = code.ok_or_else(|| format!("{}: no Rust example", page.display()))?;
    // Statements at the top level belong to a function, which a document's test has and a file has not.
    Ok(code
        .lines()
        .filter(|line| !line.starts_with("# "))
        .fold(String::new(), |out, line| out + line + "\n"))
}

fn output(command: &mut Command) -> Result<String, String> {
    let ran = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    let gave = String::from_utf8(ran.stdout).map_err(|error| error.to_string())?;
    if ran.status.success() { Ok(gave) } else { Err(format!("{command:?}: {said}")) }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}
