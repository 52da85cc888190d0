//! The house itself: what is registered, and what the core must not know.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn what_is_registered() {
    let registry = foldback::registry().unwrap();
    let stages: Vec<String> = registry
        .stages()
        .map(|stage| format!("{} {} ({})", stage.item.kind(), stage.item.name, stage.package))
        .collect();
    let presets: Vec<String> = registry
        .presets()
        .map(|preset| format!("preset {} ({})", preset.item.name, preset.package))
        .collect();
    insta::assert_snapshot!([stages, presets].concat().join("\n"));
}

/// A preset is published with the package that embeds it; `configs` shows all of them by links.
#[test]
fn configs_shows_every_preset_of_every_package() {
    let root = root();
    let registry = foldback::registry().unwrap();
    let mut shown: Vec<String> = Vec::new();
    for preset in registry.presets() {
        let link = root.join("configs").join(format!("{}.toml", preset.item.name));
        assert_eq!(
            std::fs::read_to_string(&link).unwrap_or_default(),
            preset.item.toml,
            "{link:?}"
        );
        let package = link.canonicalize().unwrap();
        assert!(package.parent().unwrap().ends_with("presets"), "{package:?}");
        shown.push(format!("{}.toml", preset.item.name));
    }
    let entries = std::fs::read_dir(root.join("configs")).unwrap();
    let mut there: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.sort();
    shown.sort();
    assert_eq!(there, shown);
}

#[test]
fn every_stage_documents_every_field() {
    for stage in foldback::registry().unwrap().stages() {
        for field in stage.item.fields() {
            assert!(!field.doc.is_empty(), "{} of {} has no doc line", field.name, stage.item.name);
        }
    }
}

#[test]
fn every_preset_says_what_it_is() {
    for strategy in foldback_tests::presets() {
        assert!(!strategy.description.is_empty(), "{}", strategy.name);
        if !strategy.reproduces.is_empty() {
            assert!(!strategy.deviations.is_empty(), "{} lists no deviations", strategy.name);
        }
    }
}

/// Presets whose pages tell the deviations in other words.
const IN_OTHER_WORDS: [&str; 13] = [
    "anthropic-clear-tool-uses",
    "brutus",
    "deepagents",
    "langchain-summarization",
    "masking-10",
    "opencode",
    "opencode-1.17",
    "opencode-1.18",
    "swe-agent-last-5",
    "tiered",
    "tiered-doc-exact",
    "tunacode",
    "tunacode-local",
];

/// The page of a package and its presets must not drift apart. On the page a sentence may begin in upper case, and needs no full
/// stop.
#[test]
fn every_page_has_the_deviations_of_its_presets() {
    for strategy in foldback_tests::presets() {
        if IN_OTHER_WORDS.contains(&&*strategy.name) {
            continue;
        }
        let link = root().join("configs").join(format!("{}.toml", strategy.name));
        let package = link.canonicalize().unwrap().ancestors().nth(2).unwrap().to_owned();
        let page = std::fs::read_to_string(package.join("README.md")).unwrap().replace('\n', " ");
        for deviation in &strategy.deviations {
            for said in [&deviation.original, &deviation.foldback] {
                assert!(
                    page.contains(said[1..].trim_end_matches('.')),
                    "{}: {said}",
                    strategy.name
                );
            }
        }
    }
}

/// What a repository has and its registry has not stands in the table of the front page, beside what was compared.
#[test]
fn the_table_of_newer_releases_tells_what_only_the_sources_have() {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let rows: toml::Table = text("tests/drift/packages.toml").parse().unwrap();
    let rows: Vec<_> = rows["package"].as_array().unwrap().iter().collect();
    let page = text("README.md");
    let (_, table) = page.split_once("<!-- drift: begin -->").unwrap();
    let (table, _) = table.split_once("<!-- drift: end -->").unwrap();
    let mut told = 0;
    for row in rows {
        let named =
            format!("| {} {} |", row["name"].as_str().unwrap(), row["checked"].as_str().unwrap());
        let line =
            table.lines().find(|line| line.contains(&named)).unwrap_or_else(|| panic!("{named}"));
        let seen = row.get("source").map(|source| source["seen"].as_str().unwrap());
        assert!(seen.is_none_or(|seen| line.contains(seen)), "{line}");
        assert!(!line.ends_with("| current |"), "{line}: of what?");
        told += usize::from(seen.is_some());
    }
    assert!(told > 0);
}

/// The strategies, and the words that only they know.
const NAMES: [&str; 8] =
    ["opencode", "tunacode", "brutus", "mxf", "spec09", "spec 09", "tiered", "claude"];

#[test]
fn the_core_names_no_strategy_in_its_code() {
    let source = root().join("crates/core/src");
    let mut found = Vec::new();
    visit(&source, &["rs"], &mut |path, text| {
        // Comments may say where a thing comes from; code may not know it.
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default().to_lowercase();
            if NAMES.iter().any(|name| code.contains(name)) && !path.ends_with("tests.rs") {
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn strategies_do_not_know_each_other() {
    let strategies = root().join("strategies");
    let names = ["opencode", "tunacode", "window", "tiered"];
    for name in names {
        let manifest = std::fs::read_to_string(strategies.join(name).join("Cargo.toml")).unwrap();
        let (dependencies, _) =
            manifest.split_once("[dev-dependencies]").unwrap_or((&manifest, ""));
        for other in names.iter().filter(|other| **other != name) {
            let other = format!("foldback-{other}");
            assert!(!dependencies.contains(&other), "{name} depends on {other}");
        }
    }
}

/// Libraries and programs without unit tests or documented examples are not built for them (`test = false`, `doctest =
/// false`), to avoid empty runs. A test that is written in one must not go unseen.
#[test]
fn no_test_stands_where_none_is_run() {
    let mut unseen = Vec::new();
    for (member, manifest) in members() {
        let target = match member.join("src/lib.rs").exists() {
            true => manifest.get("lib"),
            false => manifest.get("bin").and_then(|programs| programs.get(0)),
        };
        let off = |flag: &str| target.and_then(|target| target.get(flag)?.as_bool()) == Some(false);
        visit(&member.join("src"), &["rs"], &mut |path, text| {
            let mut lines = text.lines().map(str::trim_start);
            let tests =
                lines.any(|line| ["#[test]", "#[tokio::test"].iter().any(|t| line.starts_with(t)));
            let docs = text.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
            let fences = docs.filter_map(|line| {
                line.trim_start_matches(['/', '!']).trim_start().strip_prefix("```")
            });
            // Every other fence closes.
            let example = fences.step_by(2).any(|kind| !["text", "json", "toml"].contains(&kind));
            if off("test") && tests || off("doctest") && example {
                unseen.push(path.to_owned());
            }
        });
    }
    assert!(unseen.is_empty(), "{unseen:?}");
}

/// What a registry and docs.rs show of a package. No repository is named that does not exist; docs/releasing.md says
/// where its address goes.
#[test]
fn every_published_package_can_be_published() {
    let workspace = manifest(&root())["workspace"].clone();
    let mut problems = Vec::new();
    for (folder, manifest) in members() {
        let package = manifest["package"].as_table().unwrap();
        if package.get("publish").and_then(toml::Value::as_bool) == Some(false) {
            continue;
        }
        let mut want = |holds: bool, what: &str| {
            if !holds {
                problems.push(format!("{}: {what}", package["name"]));
            }
        };
        for key in ["description", "license", "keywords", "categories", "rust-version"] {
            want(package.contains_key(key), key);
        }
        let docs = package.get("metadata").and_then(|metadata| metadata.get("docs"));
        want(
            docs.is_some_and(|docs| docs["rs"]["all-features"].as_bool() == Some(true)),
            "docs.rs",
        );
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            want(folder.join(file).metadata().is_ok_and(|file| file.len() > 200), file);
        }
        for (name, dependency) in manifest.get("dependencies").and_then(|d| d.as_table()).unwrap() {
            let shared = dependency.get("workspace").map(|_| &workspace["dependencies"][name]);
            let dependency = shared.unwrap_or(dependency);
            want(dependency.get("path").is_none() || dependency.get("version").is_some(), name);
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Other projects have the name `foldback` at some registries, and who follows a document must not run their code. A name that
/// is ours, or a file, is what a command installs.
#[test]
fn nothing_tells_anybody_to_install_a_stranger() {
    let table = [
        ("uvx foldback compare", true),
        ("pip install foldback  # or pipx run foldback", true),
        ("pip install -U 'foldback[all]'", true),
        ("uvx foldback-cli compare", false),
        ("uvx --from ./foldback_cli-0.1.0.whl foldback compare", false),
        ("pip install ./bindings/python", false),
    ];
    for (line, expected) in table {
        assert_eq!(installs_a_stranger(line), expected, "{line}");
    }
    let mut found = Vec::new();
    let mut see = |path: &Path, text: &str| {
        let lines = text.lines().filter(|line| installs_a_stranger(line));
        found.extend(lines.map(|line| format!("{}: {line}", path.display())));
    };
    let endings = ["md", "py", "pyi", "js", "mjs", "ts", "toml", "ipynb", "rs", "yml", "sh"];
    for folder in ["bindings", "crates", "docs", "examples", "strategies", "xtask", ".github"] {
        visit(&root().join(folder), &endings, &mut see);
    }
    for page in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff"] {
        see(Path::new(page), &std::fs::read_to_string(root().join(page)).unwrap());
    }
    assert!(found.is_empty(), "PyPI's foldback is another project: {found:#?}");
}

/// Whether a line installs or runs what PyPI has under the name `foldback`.
fn installs_a_stranger(line: &str) -> bool {
    let commands =
        ["pip install ", "uvx ", "pipx install ", "pipx run ", "uv add ", "uv tool install "];
    commands.iter().flat_map(|command| line.split(command).skip(1)).any(|rest| {
        let mut words = rest.split_whitespace().filter(|word| !word.starts_with('-'));
        let word = words.next().unwrap_or_default().trim_matches(['\'', '"', '`', ',', ')']);
        word.split(['[', '=']).next() == Some("foldback")
    })
}

/// Beside the workspace's manifest these say a version; and what is installed is what is named.
#[test]
fn the_packages_of_other_languages_are_of_this_version() {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let workspace = manifest(&root())["workspace"].clone();
    let version = workspace["package"]["version"].as_str().unwrap();
    let mut said =
        vec![("CITATION.cff", text("CITATION.cff").contains(&format!("\nversion: {version}\n")))];
    for path in ["bindings/node", "bindings/pi", "bindings/opencode", "bindings/dsh"] {
        let package: serde_json::Value =
            serde_json::from_str(&text(&format!("{path}/package.json"))).unwrap();
        let needs = package["dependencies"].get("foldback");
        said.push((path, package["version"] == version && needs.is_none_or(|it| *it == version)));
    }
    for (path, dependency) in workspace["dependencies"].as_table().unwrap() {
        let of_path = dependency.get("path").and(dependency.get("version"));
        said.push((path, of_path.is_none_or(|it| it.as_str() == Some(version))));
    }
    let other: Vec<&str> = said.iter().filter(|(_, same)| !same).map(|(path, _)| *path).collect();
    assert!(other.is_empty(), "not of version {version}: {other:?}");

    let python: toml::Table = text("bindings/python/pyproject.toml").parse().unwrap();
    let project = &python["project"];
    // `uvx NAME` runs the script that is called like the package.
    assert_eq!(project["name"].as_str(), Some("foldback-cli"));
    let scripts = project["scripts"].as_table().unwrap();
    assert_eq!(scripts.keys().collect::<Vec<_>>(), ["foldback", "foldback-cli"]);
    assert_eq!(scripts["foldback"], scripts["foldback-cli"]);
}

/// The pages of the wheel and of npm's packages are read where the repository is not.
#[test]
fn the_pages_of_packages_lead_nowhere_into_the_repository() {
    let mut problems = Vec::new();
    for name in ["python", "node", "pi", "opencode", "dsh"] {
        let page = format!("bindings/{name}/README.md");
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let inside = targets.filter(|target| !target.starts_with("https://"));
        problems.extend(inside.map(|target| format!("{page}: {target}")));
        assert!(text.contains("Licensed under MIT or Apache-2.0"), "{page}");
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// The hosted workflows: `tests/workflows`.
#[foldback_needs::yaml]
#[test]
fn the_workflows_pin_what_they_run_and_say_what_it_may() {
    let mut python = std::process::Command::new("python3");
    python.args(["-B", "tests/workflows/test_workflows.py"]).current_dir(root());
    let ran = python.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// What is fuzzed is what is tested. `fuzz` is no member of the workspace and has a lock file of its own.
#[test]
fn the_fuzzer_has_the_versions_of_the_workspace() {
    let locked = |file: &str| -> BTreeSet<(String, String)> {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        let lock: toml::Table = text.parse().unwrap();
        let packages = lock["package"].as_array().unwrap().iter();
        let word = |value: &toml::Value| value.as_str().unwrap().to_owned();
        packages.map(|package| (word(&package["name"]), word(&package["version"]))).collect()
    };
    let (ours, fuzzed) = (locked("Cargo.lock"), locked("fuzz/Cargo.lock"));
    let other: Vec<&str> = fuzzed.difference(&ours).map(|(name, _)| &**name).collect();
    let own = ["arbitrary", "foldback-fuzz", "jobserver", "libfuzzer-sys"];
    let renew = "cp Cargo.lock fuzz && cargo metadata --manifest-path fuzz/Cargo.toml";
    assert_eq!(other, own, "the way out: {renew}");
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The manifest in a folder.
fn manifest(folder: &Path) -> toml::Table {
    toml::from_str(&std::fs::read_to_string(folder.join("Cargo.toml")).unwrap()).unwrap()
}

/// The packages of the workspace: their folders and manifests.
fn members() -> Vec<(PathBuf, toml::Table)> {
    let members = manifest(&root())["workspace"]["members"].clone();
    let folders = members.as_array().unwrap().iter().map(|member| member.as_str().unwrap());
    folders
        .map(|member| root().join(member))
        .map(|folder| (folder.clone(), manifest(&folder)))
        .collect()
}

/// Shows all files with one of these endings.
pub(crate) fn visit(folder: &Path, endings: &[&str], see: &mut dyn FnMut(&Path, &str)) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            visit(&path, endings, see);
        } else if path.extension().is_some_and(|ending| endings.iter().any(|of| ending == *of)) {
            see(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}
