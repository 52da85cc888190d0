//! Tests that need a program which not every machine has. Each is run where its program is there, and named with the
//! reason where it is not, so that nothing is skipped in silence.

use std::path::Path;
use std::process::Command;

/// One such test.
struct External {
    name: &'static str,
    /// Programs that it needs; of each group one.
    needs: &'static [&'static [&'static str]],
    /// What is run in the workspace's root, one after the other.
    runs: &'static [&'static [&'static str]],
}

const TESTS: [External; 2] = [
    External {
        name: "page: real key presses and clicks in a browser",
        needs: &[&["python3"], CHROMIUM],
        runs: &[
            &["cargo", "build", "--quiet", "--package", "foldback-cli"],
            &["python3", "tests/page/press.py", "{foldback}"],
        ],
    },
    External {
        name: "packages: a crate outside of the workspace, from the packed archives",
        needs: &[&["tar"]],
        runs: &[&["cargo", "xtask", "package"]],
    },
];

/// As `tests/page/browser.py` looks for it.
const CHROMIUM: &[&str] =
    &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// Runs all tests whose name holds `only`.
pub(crate) fn run(only: &str) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut failed = Vec::new();
    for test in TESTS.iter().filter(|test| test.name.contains(only)) {
        let missing = test.needs.iter().find(|names| !names.iter().any(|name| is_there(name)));
        if let Some(names) = missing {
            println!("ignored: {}: {} is not installed", test.name, names[0]);
        } else if let Some(command) = test.runs.iter().find(|command| !works(command, &root)) {
            println!("failed: {}: {}", test.name, command.join(" "));
            failed.push(test.name);
        } else {
            println!("passed: {}", test.name);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join("; "))) }
}

fn is_there(name: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| {
        [name.to_owned(), format!("{name}.exe")].iter().any(|name| folder.join(name).is_file())
    })
}

fn works(command: &[&str], root: &Path) -> bool {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let foldback = root.join(target).join("debug/foldback");
    let named = |arg: &&str| match *arg {
        "{foldback}" => foldback.clone().into_os_string(),
        arg => arg.into(),
    };
    let status =
        Command::new(command[0]).args(command[1..].iter().map(named)).current_dir(root).status();
    status.is_ok_and(|status| status.success())
}
