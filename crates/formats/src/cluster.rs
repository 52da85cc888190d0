//! What a session has in common with related ones.
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

/// A folder; the root of a file system tells nothing.
pub(crate) fn folder(path: &str) -> Option<String> {
    let path = path.trim().trim_end_matches(['/', '\\']);
    (!path.is_empty()).then(|| path.to_owned())
}

/// A task of a benchmark, inside its suite where that is named: numbers of tasks repeat between suites.
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
        assert_eq!(task(Some("airline"), "13").as_deref(), Some("airline/13"));
        assert_eq!(task(Some(""), "13").as_deref(), Some("13"));
        assert_eq!(task(None, " "), None);
    }
}
