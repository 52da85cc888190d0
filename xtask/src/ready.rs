//! What a release needs before anything is built: the version of its tag, and the address of its repository, wherever they stand.
//! Registries show the address beside each package, and npm signs nothing without it.

use crate::files::read;
use serde_json::Value;
use std::path::Path;
use toml_edit::{DocumentMut, Item};

/// The packages of npm.
const NPM: [&str; 4] = ["node", "pi", "opencode", "dsh"];

/// Lists what is missing for the release of a tag (`v1.2.3`) from the repository at an address.
pub(crate) fn check(tag: &str, address: &str) -> Result<(), String> {
    let missing = missing(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), tag, address)?;
    match missing.as_slice() {
        [] => Ok(()),
        missing => {
            Err(format!("docs/releasing.md says what to fill in:\n  {}", missing.join("\n  ")))
        }
    }
}

fn missing(root: &Path, tag: &str, address: &str) -> Result<Vec<String>, String> {
    let mut missing = Vec::new();
    let mut want = |holds: bool, what: String| {
        if !holds {
            missing.push(what);
        }
    };
    let manifest = |path: &str| {
        let text = read(&root.join(path))?;
        text.parse::<DocumentMut>().map_err(|error| format!("{path}: {error}"))
    };
    let workspace = manifest("Cargo.toml")?;
    let shared = &workspace["workspace"]["package"];
    let version = shared["version"].as_str().unwrap_or_default();
    want(tag == format!("v{version}"), format!("Cargo.toml: version is {version}, the tag {tag}"));
    let of = |item: Option<&Item>| item.and_then(Item::as_str) == Some(address);
    want(
        of(shared.get("repository")),
        format!("Cargo.toml: [workspace.package] repository = \"{address}\""),
    );
    let members = workspace["workspace"]["members"].as_array().into_iter().flatten();
    for member in members.filter_map(|member| member.as_str()) {
        let path = format!("{member}/Cargo.toml");
        let package = &manifest(&path)?["package"];
        let published = package.get("publish").and_then(Item::as_bool) != Some(false);
        let named = package.get("repository").and_then(|it| it.get("workspace")?.as_bool());
        want(named == Some(true) || !published, format!("{path}: repository.workspace = true"));
    }
    let python = manifest("bindings/python/pyproject.toml")?;
    let source = python["project"].get("urls").and_then(|urls| urls.get("Source"));
    want(
        of(source),
        format!("bindings/python/pyproject.toml: [project.urls] Source = \"{address}\""),
    );
    for name in NPM {
        let path = format!("bindings/{name}/package.json");
        let package: Value = serde_json::from_str(&read(&root.join(&path))?)
            .map_err(|error| format!("{path}: {error}"))?;
        let expected = serde_json::json!({ "type": "git", "url": format!("git+{address}.git"), "directory": format!("bindings/{name}") });
        want(package["repository"] == expected, format!("{path}: \"repository\": {expected}"));
    }
    let citation = read(&root.join("CITATION.cff"))?;
    for line in [format!("repository-code: \"{address}\""), "date-released: ".to_owned()] {
        want(citation.lines().any(|it| it.starts_with(&line)), format!("CITATION.cff: {line}"));
    }
    let heading = format!("## {version}");
    let changes = read(&root.join("CHANGELOG.md"))?;
    let dated =
        changes.lines().any(|line| line.starts_with(&heading) && !line.contains("not released"));
    want(dated, format!("CHANGELOG.md: {heading}, with its date"));
    Ok(missing)
}
