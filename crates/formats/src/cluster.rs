//! The repository, folder or task that related sessions share.
//!
//! Sessions in one repository, and runs of one benchmark task, resemble each other more than sessions
//! that have nothing in common; statistics that treated them as independent would claim too much. A
//! cluster is the name of what is shared, written alike by all formats: the repository as
//! `host/owner/name`, else the folder as its absolute path, or the task as the benchmark names it.

/// A repository from the URL that git fetches it from: `https://`, `ssh://` and `git@host:path` of one
/// repository give one name. `None` for what names no host, such as a path.
pub(crate) fn repository(url: &str) -> Option<String> {
    let url = url.trim();
    let (host, path) = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?,
        None => url.split_once(':')?,
    };
    let host = host.rsplit('@').next()?;
    let host = host.split(':').next()?.to_ascii_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    // One letter before a colon is a drive.
    (host.len() > 1 && !path.is_empty()).then(|| format!("{host}/{path}"))
}

/// A folder; `None` for the root of a file system. The path of a worktree gives the folder of its repository if the path
/// names that.
pub(crate) fn folder(path: &str) -> Option<String> {
    let path = path.trim().trim_end_matches(['/', '\\']);
    let path = checkout(path).unwrap_or_else(|| path.to_owned());
    (!path.is_empty()).then_some(path)
}

/// The folder of the repository that the path of a worktree belongs to.
///
/// | path | folder |
/// |---|---|
/// | `R/.worktrees/…`, `R/.git/worktrees/…`, `R/.claude/worktrees/…`, `R/.conductor/…` | `R` |
/// | `R.worktrees/…`, `R-worktrees/…`, `R.git/…` | `R` |
/// | `~/.codex/worktrees/ID/R/…` | `~/.codex/worktrees/R` |
/// | `~/.cursor/worktrees/R/…`, `~/conductor/workspaces/R/…` | without what follows |
fn checkout(path: &str) -> Option<String> {
    // Byte offsets of the parts, so that what comes back is spelled as it was.
    let parts = parts(path);
    let part = |at: usize| parts.get(at).map(|(_, part)| *part);
    let until = |at: usize| {
        let (start, part) = parts[at];
        path[..start + part.len()].to_owned()
    };
    let inside = |at: usize| (at > 0 && at + 1 < parts.len()).then(|| until(at - 1));
    let between = |at: usize| &path[parts[at].0 - 1..parts[at].0];
    for (at, (start, name)) in parts.iter().enumerate() {
        let next = part(at + 1);
        let found = match (*name, next) {
            (".worktrees" | ".conductor", _) => inside(at),
            (".codex", Some("worktrees")) => part(at + 3)
                .map(|repository| format!("{}{}{repository}", until(at + 1), between(at + 1))),
            (".cursor", Some("worktrees")) | ("conductor", Some("workspaces")) => {
                part(at + 3).map(|_| until(at + 2))
            }
            (hidden, Some("worktrees")) if hidden.starts_with('.') && hidden.len() > 1 => {
                part(at + 2).filter(|_| !is_home(&parts[..at])).and_then(|_| inside(at))
            }
            _ => ["-worktrees", ".worktrees", ".git"].iter().find_map(|end| {
                let repository = name.strip_suffix(end).filter(|name| !name.is_empty())?;
                next.map(|_| format!("{}{repository}", &path[..*start]))
            }),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Whether these are the parts of a person's home.
fn is_home(parts: &[(usize, &str)]) -> bool {
    let names: Vec<&str> = parts.iter().map(|(_, part)| *part).collect();
    match *names {
        ["root"] => true,
        [above, _] => matches!(above, "home" | "Users"),
        [drive, above, _] => drive.ends_with(':') && above.eq_ignore_ascii_case("users"),
        _ => false,
    }
}

/// The parts of a path, of Unix or Windows, with their places.
fn parts(path: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let parts = path.split(['/', '\\']).map(|part| {
        let start = at;
        at += part.len() + 1;
        (start, part)
    });
    parts.filter(|(_, part)| !part.is_empty()).collect()
}

/// A task of a benchmark, with its suite if that is named: numbers of tasks repeat between suites.
pub(crate) fn task(suite: Option<&str>, task: &str) -> Option<String> {
    let task = task.trim();
    if task.is_empty() {
        return None;
    }
    Some(match suite.filter(|suite| !suite.is_empty()) {
        Some(suite) => format!("{suite}/{task}"),
        None => task.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_one_name() {
        let table = [
            ("https://github.com/o/r.git", Some("github.com/o/r")),
            ("https://GitHub.com/o/r/", Some("github.com/o/r")),
            ("https://name:secret@github.com/o/r", Some("github.com/o/r")),
            ("git@github.com:o/r.git", Some("github.com/o/r")),
            ("ssh://git@github.com:22/o/r", Some("github.com/o/r")),
            ("git@host:group/sub/r", Some("host/group/sub/r")),
            ("/srv/git/r.git", None),
            ("file:///srv/git/r.git", None),
            ("C:/work/r", None),
            ("https://github.com", None),
            ("https://github.com/", None),
            ("", None),
        ];
        for (url, expected) in table {
            assert_eq!(repository(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn folders_and_tasks() {
        assert_eq!(folder("/home/a/b/").as_deref(), Some("/home/a/b"));
        assert_eq!(folder("c:\\dev\\").as_deref(), Some("c:\\dev"));
        assert_eq!(folder("/"), None);
        let table = [
            ("/home/a/r/.worktrees/branch", "/home/a/r"),
            ("/home/a/r/.worktrees/name/of/branch", "/home/a/r"),
            ("/home/a/r/.worktrees", "/home/a/r/.worktrees"),
            ("/home/a/r/.git/worktrees/branch", "/home/a/r"),
            ("/home/a/r/.claude/worktrees/quiet-owl/src", "/home/a/r"),
            ("/home/a/r/.conductor/quito", "/home/a/r"),
            ("D:\\dev\\r\\.claude\\worktrees\\quiet-owl", "D:\\dev\\r"),
            ("/home/a/r-worktrees/branch", "/home/a/r"),
            ("/home/a/r.worktrees/branch", "/home/a/r"),
            ("/home/a/r.git/branch", "/home/a/r"),
            ("/home/a/r.git", "/home/a/r.git"),
            ("/home/a/.codex/worktrees/1f2e/r", "/home/a/.codex/worktrees/r"),
            ("/home/a/.codex/worktrees/1f2e/r/src", "/home/a/.codex/worktrees/r"),
            ("C:\\Users\\a\\.codex\\worktrees\\1f2e\\r", "C:\\Users\\a\\.codex\\worktrees\\r"),
            ("/home/a/.cursor/worktrees/r/xyz", "/home/a/.cursor/worktrees/r"),
            ("/home/a/conductor/workspaces/r/quito", "/home/a/conductor/workspaces/r"),
            // Nothing says whose worktrees these are.
            ("/home/a/.tool/worktrees/x/y", "/home/a/.tool/worktrees/x/y"),
            ("/home/a/worktrees/branch", "/home/a/worktrees/branch"),
            ("/worktrees/branch", "/worktrees/branch"),
            ("/.worktrees/branch", "/.worktrees/branch"),
        ];
        for (path, expected) in table {
            assert_eq!(folder(path).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(task(Some("airline"), "13").as_deref(), Some("airline/13"));
        assert_eq!(task(Some(""), "13").as_deref(), Some("13"));
        assert_eq!(task(None, " "), None);
    }
}
