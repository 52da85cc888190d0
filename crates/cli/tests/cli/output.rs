//! Where output goes: links are followed, what is no regular file is written into, and modes are kept.

#![cfg(target_os = "linux")]

use crate::common::{Ran, foldback, line, root, write};
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
    fs::write(at("kept/file"), "").unwrap();
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
    foldback(&["compact", SESSION, "--preset", "window", "--show", "view", "-o", out]).done();
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

/// Whoever holds a file open goes on writing into it: another in its place would take nothing of that.
#[test]
fn a_file_that_is_held_open_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let link = folder.path().join("link");
    symlink("/dev/fd/3", &link).unwrap();
    for (number, out) in [
        (3, "/proc/self/fd/3"),
        (3, "/dev/fd/3"),
        (3, link.to_str().unwrap()),
        (2, "/dev/stderr"),
        (1, "/proc/thread-self/fd/1"),
    ] {
        // The shell says something before it and after it.
        let script = format!(
            "exec {number}>{}; {} inspect {SESSION} --json {out}; echo last >&{number}",
            log.display(),
            env!("CARGO_BIN_EXE_foldback")
        );
        let ran = Command::new("sh").args(["-c", &script]).current_dir(root()).output().unwrap();
        let kept = fs::read_to_string(&log).unwrap();
        assert!(kept.ends_with("last\n"), "{out}: {kept}");
        let said = format!("{}{kept}", String::from_utf8(ran.stderr).unwrap());
        assert!(said.contains("is open already; name the file itself"), "{out}: {said}");
        fs::remove_file(&log).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{out}");
    }
}

/// What foldback keeps of sessions by itself is its user's alone, whatever the umask.
#[test]
fn folders_of_its_own_are_private() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out.json");
    let script = format!(
        "umask 000; exec {} compare {SESSION} --preset none --json {}",
        env!("CARGO_BIN_EXE_foldback"),
        out.display()
    );
    let mut command = Command::new("sh");
    for (variable, below) in [("XDG_STATE_HOME", "state"), ("XDG_CACHE_HOME", "cache")] {
        command.env(variable, home.path().join(below));
    }
    assert!(command.args(["-c", &script]).current_dir(root()).status().unwrap().success());
    for below in ["state", "state/foldback", "cache", "cache/foldback"] {
        let mode = fs::metadata(home.path().join(below)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{below}");
    }
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
        foldback(&["inspect", SESSION, "--json", old.to_str().unwrap()]).done();
        fs::set_permissions(&old, fs::Permissions::from_mode(kept)).unwrap();
        copy(&old).done();
        assert_eq!(mode(&old), kept);
        assert!(fs::read(&old).unwrap() == session());
    }
}

/// Every command that writes a file, each with every file that it can read. Braces name files: `{o}` is the output.
const WRITERS: &[&str] = &[
    "compact {session} --preset {strategy} --models {models} -o {o}",
    "compact {session} --preset none --summarizer {summarizer} --show plan -o {o}",
    "compact {session} --preset none --show view -o {o}",
    "convert {session} {o} --to pi",
    "inspect {session} --json {o}",
    "inspect {folder} --json {o}",
    "compare {session} --store=none --preset {strategy} --models {models} --html {o}",
    "compare {session} --store=none --preset none,{strategy} --outcomes {outcomes} --json {o}",
    "compare {folder} --store=none --preset none --summarizer {summarizer} --rows {o}",
    "compare {session} --store=none --experiment {experiment} --json {o}",
    "compare {part} --preset window,none --json {o}",
    "tune {session} --store=none --preset {strategy} --vary overflow.threshold=0.5,0.6 --json {o}",
    "tune {session} --store=none --preset {strategy} --vary overflow.threshold=0.5,0.6 --out {o}",
    "recommend {session} --store=none --preset window --window 60000 -o {o}",
    "probe {session} --preset {strategy} --ask {model} --batch {answers} --json {o}",
    "probe {session} --preset {strategy} --ask {model} --batch {answers} --rows {o}",
    "probe {session} --preset {strategy} --ask {model} --questions {questions} --batch {answers} --html {o}",
];

/// Nothing that a command reads is replaced, by whichever name it is called, nor anything that foldback did not write. Every
/// file is as it was, whatever the command says.
#[test]
fn outputs_replace_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("folder")).unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let session = session();
    let files = [
        ("session", "session.jsonl", &session[..]),
        ("damaged", "folder/damaged.jsonl", &session[..session.len() / 2]),
        ("strategy", "strategy.toml", b"schema = \"foldback/strategy/1\"\nname = \"mine\"\nextends = \"base.toml\"\n"),
        ("base", "base.toml", b"schema = \"foldback/strategy/1\"\nname = \"base\"\nextends = \"window\"\n"),
        ("models", "models.toml", include_bytes!("../../../providers/data/models.toml")),
        ("summarizer", "summarizer.toml", b"[summarizer]\nuse = \"extractive\"\n"),
        ("experiment", "experiment.toml", b"strategies = [\"none\", \"strategy.toml\"]\n"),
        ("model", "model.toml", b"[summarizer]\nuse = \"llm\"\nmodel = \"m\"\nprovider = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:9/v1\"\n"),
        ("outcomes", "outcomes.jsonl", b"{\"session\": \"session\", \"resolved\": true}\n"),
        ("questions", "questions.jsonl", b"{\"question\": \"a?\", \"answer\": \"b\"}\n"),
        ("answers", "answers.jsonl", b"{\"custom_id\": \"a\"}\n"),
        ("notes", "notes.md", b"# Mine\n"),
    ];
    for (_, name, text) in files {
        fs::write(root.join(name), text).unwrap();
    }
    let mut names: Vec<(&str, String)> =
        files.iter().map(|(name, path, _)| (*name, at(path))).collect();
    names.push(("folder", at("folder")));
    names.push(("part", at("part")));
    let in_folder = at("folder/whole.jsonl");
    fs::write(&in_folder, &session).unwrap();
    let filled = |line: &str, out: &str| {
        names.iter().fold(line.replace("{o}", out), |line, (name, path)| {
            line.replace(&format!("{{{name}}}"), path)
        })
    };
    line(&filled("score {session} --store {part} --preset window,none", "")).done();
    let all = || -> Vec<(String, Vec<u8>)> {
        let mut all: Vec<String> = names.iter().map(|(_, path)| path.clone()).collect();
        all.extend([in_folder.clone(), at("folder/damaged.jsonl")]);
        let files = all.into_iter().filter(|path| Path::new(path).is_file());
        files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    };
    let before = all();
    let mut tried = 0;
    for writer in WRITERS {
        for (file, _) in &before {
            let name = Path::new(file).file_name().unwrap().to_str().unwrap();
            // Foldback's own, which it may replace where it does not read it.
            if name == "part.jsonl" && !writer.contains("{part}") {
                continue;
            }
            let link = at(&format!("link-{name}"));
            let hard = at(&format!("hard-{name}"));
            let _ = (symlink(file, &link), fs::hard_link(file, &hard));
            let dotted = format!("{}/./{name}", Path::new(file).parent().unwrap().display());
            // The spellings take turns: each with every command and every file would take minutes.
            let out = [file, &link, &hard, &dotted][tried % 4];
            let args = filled(writer, out);
            let ran = line(&args);
            assert_eq!(ran.code, 2, "{args}: {}{}", ran.stdout, ran.stderr);
            assert!(ran.stderr.contains("name another file"), "{args}: {}", ran.stderr);
            assert!(all() == before, "{args}");
            tried += 1;
        }
    }
    assert!(tried > 200, "{tried}");
    // The base of a strategy is read as well, and foldback wrote it.
    let vary = "--preset tunacode --vary pruner.protect_tokens=2_000,40_000";
    let tuned = format!(
        "tune tests/four-sessions --store=none {vary} --points 2 --out {}",
        at("tuned.toml")
    );
    line(&tuned).done();
    let derived = write(
        root,
        "derived.toml",
        format!(
            "schema = \"foldback/strategy/1\"\nname = \"d\"\nextends = {:?}\n",
            at("tuned.toml")
        ),
    );
    let args = tuned.replace("--preset tunacode", &format!("--preset {derived}"));
    let ran = line(&args);
    assert!(ran.code == 2 && ran.stderr.contains("is used by this command"), "{}", ran.stderr);
    // What foldback wrote it may replace, but not a session, and not what was changed since.
    line(&tuned).done();
    let report = at("report.json");
    let inspect = filled("inspect {session} --json {o}", &report);
    let compare = filled("compare {session} --store=none --preset none --html {o}", &report);
    for args in [&inspect, &compare, &inspect] {
        line(args).done();
    }
    fs::write(&report, [&fs::read(&report).unwrap()[..], b" "].concat()).unwrap();
    let ran = line(&compare);
    assert!(ran.code == 2 && ran.stderr.contains("is not as foldback wrote it"), "{}", ran.stderr);
    // A copy of an output is somebody's.
    fs::copy(at("tuned.toml"), at("copied.toml")).unwrap();
    let ran = line(&filled("inspect {session} --json {o}", &at("copied.toml")));
    assert!(ran.code == 2 && ran.stderr.contains("foldback did not write it"), "{}", ran.stderr);
    let copy = at("copy.jsonl");
    line(&filled("convert {session} {o} --to pi", &copy)).done();
    line(&filled("convert {session} {o} --to pi", &copy)).done();
    let ran = line(&filled("inspect {session} --json {o}", &copy));
    assert!(ran.code == 2 && ran.stderr.contains("is a recorded session"), "{}", ran.stderr);
    // Standard input is a file, too.
    let input = at("session.jsonl");
    let script =
        format!("{} compact - --preset none -o {input} < {input}", env!("CARGO_BIN_EXE_foldback"));
    let ran = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(all() == before);
}

#[test]
fn two_outputs_have_two_targets() {
    let folder = tempfile::tempdir().unwrap();
    let compare = format!("compare {SESSION} --preset none --store=none");
    let o = folder.path().join("o");
    let [o, folder] = [&o, folder.path()].map(|path| path.to_str().unwrap());
    for (outputs, says) in [
        (format!("--json {o} --html {o}"), "is named for two outputs"),
        (format!("--json {o} --html {folder}/./o"), "is named for two outputs"),
        (
            format!("--json {folder}/../{}/o --rows {o}", folder.rsplit('/').next().unwrap()),
            "is named for two outputs",
        ),
        ("--json - --rows -".to_owned(), "two outputs go to standard output"),
        ("--json - --rows /dev/stdout".to_owned(), "two outputs go to standard output"),
    ] {
        let ran = line(&format!("{compare} {outputs}"));
        assert!(ran.code == 2 && ran.stderr.contains(says), "{outputs}: {}", ran.stderr);
        assert!(ran.stdout.is_empty() && !Path::new(o).exists());
    }
}

/// Pages of sessions stand in a folder that may have files of the user's.
#[test]
fn pages_of_sessions_leave_what_is_not_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let report = |sessions: &str| {
        let html = at("report.html");
        line(&format!("compare {sessions} --store=none --preset window --reader all --html {html}"))
    };
    report("tests/four-sessions").done();
    fs::write(at("report-sessions/2024.html"), "mine").unwrap();
    report(SESSION).done();
    assert_eq!(fs::read_to_string(at("report-sessions/2024.html")).unwrap(), "mine");
    let left = fs::read_dir(at("report-sessions")).unwrap().count();
    assert_eq!(left, 2, "pages of an earlier report go");
    fs::write(at("report-sessions/2.html"), "mine").unwrap();
    let ran = report("tests/four-sessions");
    assert!(
        ran.code == 2 && ran.stderr.contains("2.html is not as foldback wrote it"),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read_to_string(at("report-sessions/2.html")).unwrap(), "mine");
}

/// What an agent adds to its session meanwhile is not lost.
#[test]
fn a_session_is_written_over_where_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "session.jsonl", session());
    let compact =
        format!("compact {file} --preset window --window 60000 --max-output 8000 --when live");
    let expected = line(&compact).done().stdout;
    line(&format!("{compact} --in-place")).done();
    assert!(fs::read_to_string(&file).unwrap() == expected && expected.as_bytes() != session());
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
        (0, &["compare", SESSION, "--preset", "none", "--store=none", "--json", &compared]),
        (2, &["compact", &missing, "--preset", "window"]),
    ];
    for (code, args) in runs {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
        let ran = command.args(args).current_dir(root()).stderr(full()).output().unwrap();
        assert_eq!(ran.status.code(), Some(code), "{args:?}");
    }
    assert!(Path::new(&compacted).exists() && Path::new(&compared).exists());
}
