//! Tests that need a program which not every machine has. Each is run where its program is there, and named with the
//! reason where it is not, so that nothing is skipped in silence.

mod table;

use std::path::{Path, PathBuf};
use std::process::Command;
use table::{External, TESTS};

/// Runs all tests whose name holds `only`, with the versions that the table names or with the newest ones.
pub(crate) fn run(only: &str, newest: bool) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut failed = Vec::new();
    for test in TESTS.iter().filter(|test| test.name.contains(only)) {
        let home = test.installs.map(|(name, _)| home_of(name, &root)).unwrap_or_default();
        let home = home.display().to_string();
        let missing = test.needs.iter().find(|names| !names.iter().any(|name| is_there(name)));
        if let Some(names) = missing {
            println!("ignored: {}: {} is not installed", test.name, names[0]);
        } else if !test.finds.is_empty() && !finds(test.finds, &root) {
            println!("ignored: {}: `{}` fails", test.name, test.finds.join(" "));
        } else if let Some(why) = not_installed(test, newest, &root) {
            println!("ignored: {}: could not be installed: {why}", test.name);
        } else if let Some(command) = test.runs.iter().find(|command| !works(command, &root, &home))
        {
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

fn finds(command: &[&str], root: &Path) -> bool {
    let output = Command::new(command[0]).args(&command[1..]).current_dir(root).output();
    output.is_ok_and(|output| output.status.success())
}

/// Installs what a test needs, if it needs anything. Gives the command that failed.
fn not_installed(test: &External, newest: bool, root: &Path) -> Option<String> {
    let (name, how) = test.installs?;
    let of = |arg: &&str| if newest { unpinned(arg, latest) } else { (*arg).to_owned() };
    let how = how.iter().map(|command| command.iter().map(of).collect()).collect();
    install(name, test.python, how, root)
}

/// The newest version of a package in place of a certain one, as npm and pip write them. npm is asked for its number: by a
/// name alone it installs an older one where this machine's Node is too old.
fn unpinned(arg: &str, latest: impl Fn(&str) -> Option<String>) -> String {
    if let Some((name, _)) = arg.split_once("==") {
        return name.to_owned();
    }
    let pinned = arg.rsplit_once('@').filter(|(name, version)| {
        !name.is_empty() && version.starts_with(|c: char| c.is_ascii_digit())
    });
    match pinned {
        Some((name, _)) => format!("{name}@{}", latest(name).as_deref().unwrap_or("latest")),
        None => arg.to_owned(),
    }
}

/// The number of a package's newest version by npm's registry.
fn latest(name: &str) -> Option<String> {
    let output = Command::new("npm").args(["view", name, "dist-tags.latest"]).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    Some(version).filter(|version| output.status.success() && !version.is_empty())
}

/// Makes a folder in `target/external`, a virtual environment where one is needed, and installs into it, if that was not done before. Gives the
/// command that failed.
fn install(name: &str, python: &str, how: Vec<Vec<String>>, root: &Path) -> Option<String> {
    let home = home_of(name, root);
    let done = home.join("installed");
    let stamp = format!("{how:?}");
    if std::fs::read_to_string(&done).is_ok_and(|before| before == stamp) {
        return None;
    }
    // What was left half is begun anew.
    let _ = std::fs::remove_dir_all(&home);
    let at = home.display().to_string();
    let make = [python, "-m", "venv", "{home}"].map(str::to_owned).to_vec();
    // Only what is installed by Python needs an environment.
    let in_python = how.iter().any(|command| command[0].starts_with("{home}/bin"));
    let mut all = in_python.then_some(make).into_iter().chain(how);
    let failed = all.find(|command| !works(command, root, &at));
    match failed {
        Some(command) => Some(command.join(" ")),
        None => std::fs::write(&done, stamp).err().map(|error| error.to_string()),
    }
}

/// Where a test's libraries are installed.
fn home_of(name: &str, root: &Path) -> PathBuf {
    target(root).join("external").join(name)
}

fn target(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

fn works<S: AsRef<str>>(command: &[S], root: &Path, home: &str) -> bool {
    let built = target(root).join("debug");
    let (foldback, agent) = (built.join("foldback"), built.join("examples/agent"));
    let release = target(root).join("release");
    let named = |arg: &str| match arg {
        "{foldback}" => foldback.clone().into_os_string(),
        "{agent}" => agent.clone().into_os_string(),
        "{released}" => release.join("foldback").into_os_string(),
        "{release}" => release.clone().into_os_string(),
        arg => arg.replace("{home}", home).into(),
    };
    let args = command[1..].iter().map(|arg| named(arg.as_ref()));
    let mut process = Command::new(named(command[0].as_ref()));
    process.env("PACKAGE_HOME", home);
    // Where `pyenv` chooses, the name alone does not choose the version.
    if let Some(version) = command[0].as_ref().strip_prefix("python3.") {
        process.env("PYENV_VERSION", format!("3.{version}"));
    }
    let status = process.args(args).current_dir(root).status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_taken_off() {
        let table = [
            ("langchain==1.4.2", "langchain"),
            ("moto[server]==5.2.5", "moto[server]"),
            ("@openai/codex@0.169.0", "@openai/codex@7.0.0"),
            ("esbuild@0.25.12", "esbuild@7.0.0"),
            ("--prefix", "--prefix"),
            ("https://github.com/SWE-agent/SWE-agent", "https://github.com/SWE-agent/SWE-agent"),
        ];
        for (arg, expected) in table {
            assert_eq!(unpinned(arg, |_| Some("7.0.0".to_owned())), expected);
        }
    }
}
