//! `foldback setup`: the lines that hosts need for their conversations to go through the proxy.

use crate::args::Setup;
use crate::error::Error;
use crate::setup::{Change, HOSTS, Host, Needs, change, names};
use crate::{input, output};
use similar::TextDiff;
use std::fmt::Write as _;
use std::path::PathBuf;

pub(crate) fn run(args: &Setup) -> Result<(), Error> {
    let variable = |name: &str| input::absolute(name);
    let programs: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    let is_installed = |host: &&Host| host.is_installed(&variable, &programs);
    let hosts = match args.hosts.is_empty() {
        false => named(&args.hosts)?,
        true => HOSTS.iter().filter(is_installed).collect(),
    };
    if hosts.is_empty() {
        let known: Vec<&str> = HOSTS.iter().map(|host| host.title).collect();
        return Err(Error::Usage(format!(
            "no host is installed here; known are {}",
            known.join(", ")
        )));
    }
    // All of it is looked at before anything is written.
    let mut changes = Vec::new();
    for host in &hosts {
        let folder = host.folder(&variable).filter(|_| !host.files().is_empty());
        let change = match folder {
            Some(folder) => change(host, &folder, &args.url, args.remove)?,
            None if host.files().is_empty() => Change::None,
            None => {
                return Err(Error::Usage(format!(
                    "{}: neither HOME nor USERPROFILE is set",
                    host.name
                )));
            }
        };
        if let Change::Text { path, .. } = &change
            && changes
                .iter()
                .any(|other| matches!(other, Change::Text { path: its, .. } if its == path))
        {
            return Err(Error::Usage(format!(
                "{}: another of these hosts has the same file; name one at a time",
                host.name
            )));
        }
        changes.push(change);
    }
    let mut said = String::new();
    for (host, change) in hosts.iter().zip(&changes) {
        let _ = writeln!(said, "{}", host.title);
        said.push_str(&told(host, change, args));
    }
    output::print(&said)?;
    let count = changes.iter().filter(|change| **change != Change::None).count();
    if args.write || args.remove {
        changes.iter().try_for_each(make)?;
    }
    let needs_proxy = hosts.iter().any(|host| host.needs_proxy());
    let proxy = |before: &str| match needs_proxy {
        true => format!("{before} start the proxy: foldback serve --preset indexed"),
        false => String::new(),
    };
    output::print(&match (count, args.write, args.remove) {
        (1, _, true) => "1 file as before\n".to_owned(),
        (_, _, true) => format!("{count} files as before\n"),
        (0, _, _) => format!("\nnothing to write{}\n", proxy(";")),
        (_, true, _) => format!("\nwritten, and taken out with --remove{}\n", proxy(";")),
        (_, false, _) => format!("\nnothing is written yet: add --write{}\n", proxy(", and")),
    })
}

fn named(given: &[String]) -> Result<Vec<&'static Host>, Error> {
    let host = |name: &String| {
        let unknown = || Error::Usage(format!("no host is called {name}; known are {}", names()));
        Host::of(name).ok_or_else(unknown)
    };
    given.iter().map(host).collect()
}

/// What a host needs, or what is done to its file.
fn told(host: &Host, change: &Change, args: &Setup) -> String {
    if let Change::Text { path, before, after } = change {
        let (before, after) =
            (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
        let name = path.display().to_string();
        let lines = TextDiff::from_lines(before, after);
        return lines.unified_diff().context_radius(2).header(&name, "then").to_string();
    }
    match &host.needs {
        Needs::Nothing(why) => format!("  {why}\n"),
        Needs::Variables(variables) if !args.remove => variables
            .iter()
            .map(|line| format!("  export {}\n", line.replace("{url}", &args.url)))
            .collect(),
        _ if args.remove => format!("  nothing to take out for --url {}\n", args.url),
        _ => "  is set up\n".to_owned(),
    }
}

fn make(change: &Change) -> Result<(), Error> {
    let Change::Text { path, after, .. } = change else { return Ok(()) };
    let fail = |error| Error::File { path: path.clone(), error };
    let Some(after) = after else {
        return std::fs::remove_file(path).map_err(fail);
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    output::write(Some(path), after)
}
