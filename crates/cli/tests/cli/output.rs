//! Where output goes: links are followed, what is no regular file is written into, and modes are kept.

#![cfg(target_os = "linux")]

use crate::common::{Ran, foldback, root, write};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

const SESSION: &str = "examples/sessions/price-lists-codex.jsonl";

/// Writes the session as it is.
fn copy(out: &Path) -> Ran {
    foldback(&["compact", SESSION, "--preset", "none", "-o", out.to_str().unwrap()])
}

fn session() -> Vec<u8> {
    fs::read(root().join(SESSION)).unwrap()
}

#[test]
fn a_link_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("kept")).unwrap();
    fs::write(at("kept/file"), "old").unwrap();
    symlink("kept/file", at("link")).unwrap();
    symlink("link", at("link-to-a-link")).unwrap();
    symlink("kept/new", at("dangling")).unwrap();
    for (link, file) in [("link-to-a-link", "kept/file"), ("dangling", "kept/new")] {
        copy(&at(link)).done();
        assert!(at(link).is_symlink(), "{link} is a file now");
        assert!(fs::read(at(file)).unwrap() == session(), "{link}");
    }
    symlink("loop", at("loop")).unwrap();
    let ran = copy(&at("loop"));
    assert!(ran.code == 2 && ran.stderr.contains("loop: "), "{}", ran.stderr);
    assert!(at("loop").is_symlink());
}

#[test]
fn a_pipe_is_written_into() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Open for both, so that neither side waits for the other; what is written fits into the pipe.
    let mut reader = fs::File::options().read(true).write(true).open(&pipe).unwrap();
    let out = pipe.to_str().unwrap();
    foldback(&["compact", SESSION, "--preset", "window", "--render", "-o", out]).done();
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo(), "the pipe was replaced");
    let mut first = [0; 6];
    reader.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"# wind");
}

#[test]
fn a_device_is_written_into() {
    let folder = tempfile::tempdir().unwrap();
    // Through a link, so that what would be replaced is not the machine's.
    let null = folder.path().join("null");
    symlink("/dev/null", &null).unwrap();
    copy(&null).done();
    assert!(null.is_symlink() && fs::metadata(&null).unwrap().file_type().is_char_device());
    let full = folder.path().join("full");
    symlink("/dev/full", &full).unwrap();
    let ran = copy(&full);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("full: No space left"), "{}", ran.stderr);
}

/// A log that standard output is appended to keeps what it had.
#[test]
fn the_name_of_standard_output_is_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let log = write(folder.path(), "log", "before\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
    // Through a link, so that what would be replaced is not the machine's.
    let link = folder.path().join("stdout");
    symlink("/dev/stdout", &link).unwrap();
    command.args(["compact", SESSION, "--preset", "none", "-o"]).arg(&link);
    command.stdout(fs::File::options().append(true).open(&log).unwrap());
    assert!(command.current_dir(root()).status().unwrap().success());
    assert!(fs::read(&log).unwrap() == [b"before\n".as_slice(), &session()].concat());
    assert!(link.is_symlink());
}

#[test]
fn modes_are_those_of_the_umask_and_of_the_file_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for (umask, expected) in [("077", 0o600), ("022", 0o644), ("002", 0o664)] {
        let new = folder.path().join(umask);
        let script = format!(
            "umask {umask}; exec {} compact {SESSION} --preset none -o {}",
            env!("CARGO_BIN_EXE_foldback"),
            new.display()
        );
        let ran = Command::new("sh").args(["-c", &script]).current_dir(root()).output().unwrap();
        assert!(ran.status.success());
        assert_eq!(mode(&new), expected, "a new file under umask {umask}");
    }
    for kept in [0o600, 0o640, 0o755] {
        let old = folder.path().join(format!("{kept:o}"));
        fs::write(&old, "old").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(kept)).unwrap();
        copy(&old).done();
        assert_eq!(mode(&old), kept);
        assert!(fs::read(&old).unwrap() == session());
    }
}

#[test]
fn a_folder_is_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let ran = copy(folder.path());
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("is a folder"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A note that can't be printed does not hold back the result.
#[test]
fn a_full_standard_error_takes_nothing_away() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let (compacted, compared, missing) = (at("compacted"), at("compared"), at("missing"));
    let runs: [(i32, &[&str]); 3] = [
        (0, &["compact", SESSION, "--preset", "window", "-o", &compacted]),
        (0, &["compare", SESSION, "--preset", "none", "--no-store", "--json", &compared]),
        (2, &["compact", &missing, "--preset", "window"]),
    ];
    for (code, args) in runs {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
        let ran = command.args(args).current_dir(root()).stderr(full()).output().unwrap();
        assert_eq!(ran.status.code(), Some(code), "{args:?}");
    }
    assert!(Path::new(&compacted).exists() && Path::new(&compared).exists());
}
