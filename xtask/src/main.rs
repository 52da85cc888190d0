//! Developer tasks.
//!
//! `cargo xtask new-strategy NAME` makes `strategies/NAME`: a crate with one stage, one preset and
//! tests, the laws of `foldback-testkit` among them, which compiles and passes as it stands.
//!
//! `cargo xtask fuzz [--profile fuzz] --minutes N [--target T] [--seed S]`, or `--runs N`, fuzzes on stable Rust;
//! `tests/fuzz-targets` has the targets. Behind `--profile` stands one of cargo's; `fuzz` is optimized and keeps its checks.
//!
//! `cargo xtask book` puts the documents together to a book in `target/book/html`.
//!
//! `cargo xtask package` packs every package and tests a crate outside of the workspace that uses them.
//!
//! `cargo xtask test-external [WORD]` runs the tests that need a program which not every machine has, such as a browser.

mod book;
mod external;
mod files;
mod package;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Files of a new strategy crate: where they go, and what is in them.
const FILES: [(&str, &str); 6] = [
    ("strategies/{name}/Cargo.toml", include_str!("../template/Cargo.toml.txt")),
    ("strategies/{name}/README.md", include_str!("../template/README.md.txt")),
    ("strategies/{name}/src/lib.rs", include_str!("../template/lib.rs.txt")),
    ("strategies/{name}/src/clear.rs", include_str!("../template/clear.rs.txt")),
    ("strategies/{name}/tests/preset.rs", include_str!("../template/test.rs.txt")),
    ("strategies/{name}/presets/{name}.toml", include_str!("../template/preset.toml.txt")),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["new-strategy", name] => new_strategy(name),
        ["fuzz", rest @ ..] => fuzz(rest),
        ["book"] => book::build().map(|page| println!("{}", page.display())),
        ["package"] => package::check(),
        ["test-external"] => external::run(""),
        ["test-external", only] => external::run(only),
        _ => Err(
            "usage: cargo xtask new-strategy NAME, cargo xtask fuzz --minutes N, cargo xtask book, cargo xtask package, or \
                  cargo xtask test-external [WORD]"
                .to_owned(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// The targets are built for themselves: this program needs none of what they need.
fn fuzz(args: &[&str]) -> Result<(), String> {
    let (profile, args) = match args {
        ["--profile", profile, rest @ ..] => (*profile, rest),
        args => ("dev", args),
    };
    let run = ["run", "--quiet", "--package", "foldback-fuzz-targets", "--bin", "fuzz"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new("cargo");
    cargo.args(run).args(["--profile", profile, "--"]).args(args).current_dir(root);
    let status = cargo.status();
    let status = status.map_err(|error| format!("cargo: {error}"))?;
    status.success().then_some(()).ok_or_else(|| "the fuzzer found something".to_owned())
}

fn new_strategy(name: &str) -> Result<(), String> {
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
        let folder = path.parent().unwrap_or(&root);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(path, text))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let link = root.join("configs").join(format!("{name}.toml"));
    let mut links = vec![(fill("../strategies/{name}/presets/{name}.toml"), link)];
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        links.push((format!("../../{licence}"), root.join("strategies").join(name).join(licence)));
    }
    for (to, link) in links {
        show(Path::new(&to), &link).map_err(|error| format!("{}: {error}", link.display()))?;
    }
    add_to_workspace(&root, name)?;
    add_to_facade(&root, name, &ident)?;
    // The names that went in have a sorted place of their own.
    let package = format!("foldback-{name}");
    let formatted = Command::new("cargo")
        .args(["fmt", "-p", "foldback", "-p", &package])
        .current_dir(&root)
        .status();
    if !formatted.is_ok_and(|status| status.success()) {
        eprintln!("note: `cargo fmt` did not run; run it before you commit");
    }
    println!(
        "made strategies/{name}, showed its preset in configs, and named them in Cargo.toml and crates/foldback\n\
         next: cargo test -p foldback-{name}"
    );
    Ok(())
}

/// Makes a link: `configs` shows the presets of all packages, and each package has the licences.
fn show(file: &Path, link: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(file, link);
    #[cfg(windows)]
    return std::os::windows::fs::symlink_file(file, link);
}

/// Puts `line` behind the first line that `anchor` is found in.
fn insert(path: &Path, edits: &[(&str, String)]) -> Result<(), String> {
    let fail = |what: String| format!("{}: {what}", path.display());
    let mut text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    for (anchor, line) in edits {
        let at =
            text.find(anchor).ok_or_else(|| fail(format!("`{anchor}` is not in it any more")))?;
        let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1);
        text.insert_str(end, line);
    }
    std::fs::write(path, text).map_err(|error| fail(error.to_string()))
}

fn add_to_workspace(root: &Path, name: &str) -> Result<(), String> {
    insert(
        &root.join("Cargo.toml"),
        &[
            ("\"strategies/tunacode\"", format!("    \"strategies/{name}\",\n")),
            (
                "foldback-tunacode = { path",
                format!(
                    "foldback-{name} = {{ path = \"strategies/{name}\", version = \"0.1.0\" }}\n"
                ),
            ),
        ],
    )
}

fn add_to_facade(root: &Path, name: &str, ident: &str) -> Result<(), String> {
    let facade = root.join("crates/foldback");
    insert(
        &facade.join("Cargo.toml"),
        &[
            ("tunacode = [\"dep:", format!("{name} = [\"dep:foldback-{name}\"]\n")),
            (
                "foldback-tunacode = {",
                format!("foldback-{name} = {{ workspace = true, optional = true }}\n"),
            ),
        ],
    )?;
    let manifest = facade.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).map_err(|error| error.to_string())?;
    let text = text.replacen("default = [", &format!("default = [\"{name}\", "), 1);
    std::fs::write(&manifest, text).map_err(|error| error.to_string())?;
    insert(
        &facade.join("src/lib.rs"),
        &[
            (
                "pub use foldback_tunacode as tunacode;",
                format!("#[cfg(feature = \"{name}\")]\npub use foldback_{ident} as {ident};\n"),
            ),
            (
                "&foldback_tunacode::REGISTRATION,",
                format!(
                    "        #[cfg(feature = \"{name}\")]\n        &foldback_{ident}::REGISTRATION,\n"
                ),
            ),
        ],
    )
}
