//! `foldback setup`: the lines that hosts need for their conversations to go through the proxy.

use crate::args::Setup;
use crate::error::Error;
use crate::setup::{Change, HOSTS, Host, Needs, SetupRecord, change, names, own};
use crate::{output, places};
use similar::TextDiff;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

pub(crate) fn run(args: &Setup) -> Result<(), Error> {
    let programs: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    let is_installed = |host: &&Host| host.is_installed(&places::absolute, &programs);
    // Hooks are set up where they are named, and taken out with the rest.
    let may_be_set =
        |host: &&Host| args.remove && host.folder(&places::absolute).is_some_and(|it| it.is_dir());
    let hosts: Vec<&Host> = match args.hosts.is_empty() {
        false => named(&args.hosts)?,
        true => HOSTS.iter().filter(|host| is_installed(host) || may_be_set(host)).collect(),
    };
    if hosts.is_empty() {
        return Err(Error::Usage(format!(
            "no host is installed here; name one, as in `foldback setup claude-code`; known are {}",
            names()
        )));
    }
    let mut written = SetupRecord::open(args.write || args.remove)?;
    // All of it is looked at before anything is written.
    let (mut changes, mut said) = (Vec::new(), String::new());
    let (mut refused, mut others) = (Vec::new(), Vec::new());
    for host in &hosts {
        let _ = writeln!(said, "{}", host.title);
        let folder = host.folder(&places::absolute);
        let change = match &folder {
            _ if host.files.is_empty() => Ok(None),
            Some(folder) => change(host, folder, &args.url, args.remove, &changes, &written),
            None => Err(Error::usage("neither HOME nor USERPROFILE is set")),
        };
        match change {
            Ok(change) => {
                let own =
                    folder.map_or_else(Vec::new, |folder| own(host, &folder, &args.url, &written));
                said.push_str(&told(host, change.as_ref(), &own, args));
                changes.extend(change);
                others.push(*host);
            }
            Err(why) => {
                let _ = writeln!(said, "  {why}");
                refused.push(&*host.name);
            }
        }
    }
    output::print(&said)?;
    let count = changes.iter().map(|change| &change.path).collect::<BTreeSet<_>>().len();
    if args.write || args.remove {
        for change in &changes {
            make(change, args.remove, &mut written)?;
        }
    }
    let needs_proxy = others.iter().any(|host| host.needs_proxy());
    let proxy = |before: &str| match needs_proxy {
        true => format!(
            "{before} start the proxy: foldback serve --preset indexed\nuntil it runs, agents that go through it reach no model"
        ),
        false => String::new(),
    };
    output::print(&match (count, args.write, args.remove) {
        (1, _, true) => "taken out of 1 file\n".to_owned(),
        (_, _, true) => format!("taken out of {count} files\n"),
        (0, _, _) => format!("\nnothing to write{}\n", proxy(";")),
        (_, true, _) => format!("\nwritten, and taken out with --remove{}\n", proxy(";")),
        (_, false, _) => format!("\nnothing is written yet: add --write{}\n", proxy(", and")),
    })?;
    if refused.is_empty() {
        return Ok(());
    }
    let left = format!("{} left as before: {}", refused.join(", "), way_out(&others, args));
    match args.remove || args.write && !args.hosts.is_empty() {
        true => Err(Error::Usage(left)),
        false => output::print(&format!("{left}\n")),
    }
}

/// Advice for a file that was refused.
fn way_out(others: &[&Host], args: &Setup) -> String {
    let by_hand = match args.remove {
        true => "take out by hand what foldback wrote",
        false => {
            "take out what stands there (--remove with its --url, if foldback wrote it for another)"
        }
    };
    let others: Vec<&str> = others.iter().map(|host| &*host.name).collect();
    match others.as_slice() {
        [] => by_hand.to_owned(),
        others => format!("{by_hand}, or name the others: foldback setup {}", others.join(" ")),
    }
}

fn named(given: &[String]) -> Result<Vec<&'static Host>, Error> {
    let host = |name: &String| {
        let unknown = || Error::Usage(format!("no host is called {name}; known are {}", names()));
        Host::from_name(name).ok_or_else(unknown)
    };
    given.iter().map(host).collect()
}

/// A host's needs, or the change to its file, in words.
/// `own` are the members that somebody else wrote alike.
fn told(host: &Host, change: Option<&Change>, own: &[String], args: &Setup) -> String {
    if let Some(Change { path, before, after, .. }) = change {
        let (before, after) =
            (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
        let name = path.display().to_string();
        let lines = TextDiff::from_lines(before, after);
        return lines.unified_diff().context_radius(2).header(&name, "then").to_string();
    }
    match &host.needs {
        Needs::ByHand(words) => format!("  {}\n", words.replace("{url}", &args.url)),
        Needs::Variables(variables) if !args.remove => variables
            .iter()
            .map(|line| format!("  export {}\n", line.replace("{url}", &args.url)))
            .collect(),
        _ if args.remove && !own.is_empty() => format!(
            "  foldback did not write {}, which stays; take it out by hand if it is to go\n",
            own.join(" and ")
        ),
        _ if args.remove && !host.needs_proxy() => "  nothing to take out\n".to_owned(),
        _ if args.remove => format!("  nothing to take out for --url {}\n", args.url),
        _ => "  is set up\n".to_owned(),
    }
}

/// Makes a change, and remembers it before it is there: what is not there is not taken out either.
pub(super) fn make(change: &Change, remove: bool, written: &mut SetupRecord) -> Result<(), Error> {
    if !remove {
        written.note(change, false);
        written.keep()?;
    }
    let made = write(change);
    if remove == made.is_ok() {
        written.note(change, true);
        written.keep()?;
    }
    made
}

fn write(change: &Change) -> Result<(), Error> {
    let Change { path, before, after, .. } = change;
    let fail = |error| Error::File { path: path.clone(), error };
    // A link is kept, also one to a file that is not there.
    let file = output::behind_links(path).map_err(fail)?;
    let Some(after) = after else {
        return std::fs::remove_file(file).map_err(fail);
    };
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    output::write_over(path, before.as_deref().map(str::as_bytes), after)
}
