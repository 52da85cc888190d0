//! Developer tasks.
//!
//! `cargo xtask new-strategy NAME` makes `strategies/NAME`: a crate with one stage, one preset and
//! tests, the laws of `foldback-testkit` among them, which compiles and passes as it stands.
//!
//! `cargo xtask fuzz [--profile fuzz] --minutes N [--target T] [--seed S]`, or `--runs N`, fuzzes on stable Rust;
//! `tests/src/fuzz` has the targets. Behind `--profile` stands one of cargo's; `fuzz` is optimized and keeps its checks.
//!
//! `cargo xtask book` puts the documents together to a book in `target/book/html`; `cargo xtask links` only checks their links.
//!
//! `cargo xtask rust-clients` compiles and runs the examples of `crates/providers/README.md` with the types of other crates.
//!
//! `cargo xtask package` packs every package and tests a crate outside of the workspace that uses them.
//!
//! `cargo xtask ready TAG ADDRESS` says what is missing for a release: versions, and the address of the repository.
//!
//! `cargo xtask mutations [PRESET]` changes every value of the presets, one at a time, and runs the rows of their crates, which must see it.
//!
//! `cargo xtask test-external [WORD] [--newest]` runs the tests that need a program which not every machine has, such as a browser;
//! with `--newest` beside the newest release of what they install.
//!
//! `cargo xtask drift [PACKAGE] [--write README.md]` shows which of the packages that presets reproduce have a newer release, and whether
//! the functions with their rules changed, and whether the model table is too old. Of all packages, it then runs the newest recorders, too:
//! what they write must be read.
//!
//! `cargo xtask golden OLD NEW [--quick] [--only WORD]` runs two builds of the command on the same inputs, and compares what
//! they print and write byte for byte: the proof of a change that is to change nothing.
//!
//! `cargo xtask prices [--version V]` makes the model table of our limits and of the list prices that the package
//! `genai-prices` collects.

mod book;
mod clients;
mod external;
mod files;
mod mutations;
mod new_strategy;
mod outside;
mod package;
mod ready;

use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["new-strategy", name] => new_strategy::make(name),
        ["fuzz", rest @ ..] => fuzz(rest),
        ["book"] => book::build().map(|page| println!("{}", page.display())),
        ["links"] => book::stage().map(drop),
        ["rust-clients"] => clients::check(),
        ["package"] => package::check(),
        ["ready", tag, address] => ready::check(tag, address),
        ["mutations"] => mutations::run(""),
        ["mutations", only] => mutations::run(only),
        ["test-external"] => external::run("", false),
        ["test-external", only] => external::run(only, false),
        ["test-external", only, "--newest"] => external::run(only, true),
        ["drift", rest @ ..] => drift(rest),
        ["golden", rest @ ..] => python("tests/golden/golden.py", rest, "the two builds differ"),
        ["prices", rest @ ..] => python("tests/drift/prices.py", rest, "the model table was not made"),
        _ => Err(
            "usage: cargo xtask new-strategy NAME, cargo xtask fuzz --minutes N, cargo xtask book, cargo xtask links, cargo xtask rust-clients, \
                  cargo xtask package, cargo xtask ready TAG ADDRESS, cargo xtask mutations [PRESET], cargo xtask test-external [WORD] [--newest], \
                  cargo xtask drift [PACKAGE], cargo xtask golden OLD NEW, or cargo xtask prices [--version V]"
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

/// Runs a program of the repository.
fn python(program: &str, args: &[&str], failed: &str) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut python = Command::new("python3");
    let status = python.arg(program).args(args).current_dir(root).status();
    let status = status.map_err(|error| format!("python3: {error}"))?;
    status.success().then_some(()).ok_or_else(|| failed.to_owned())
}

fn drift(args: &[&str]) -> Result<(), String> {
    python(
        "tests/drift/drift.py",
        args,
        "not every package was reached, or the prices are too old",
    )?;
    // What it records may have changed as well. One package alone is looked at.
    if args.first().is_some_and(|arg| !arg.starts_with('-')) {
        return Ok(());
    }
    let recorders = external::run("recorders:", true);
    recorders.and(external::run("gemini-cli:", true))
}

/// The targets are built for themselves: this program needs none of what they need.
fn fuzz(args: &[&str]) -> Result<(), String> {
    let (profile, args) = match args {
        ["--profile", profile, rest @ ..] => (*profile, rest),
        args => ("dev", args),
    };
    let run = ["run", "--quiet", "--package", "foldback-tests", "--bin", "fuzz"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new("cargo");
    cargo.args(run).args(["--profile", profile, "--"]).args(args).current_dir(root);
    let status = cargo.status();
    let status = status.map_err(|error| format!("cargo: {error}"))?;
    status.success().then_some(()).ok_or_else(|| "the fuzzer found something".to_owned())
}
