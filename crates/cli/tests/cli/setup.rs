//! `foldback setup` in a home of its own: what it says, writes and takes out.

use crate::common::{Ran, run};
use std::path::{Path, PathBuf};

/// Runs it in a home, where no program is found.
fn setup(home: &Path, args: &[&str]) -> Ran {
    let moved = [
        "PATH",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "XDG_CONFIG_HOME",
        "OPENCODE_CONFIG_DIR",
        "PI_CODING_AGENT_DIR",
    ];
    let mut env =
        vec![("HOME", home.to_str().unwrap()), ("USERPROFILE", ""), ("XDG_STATE_HOME", "")];
    env.extend(moved.map(|name| (name, "")));
    run(&[&["setup"], args].concat(), "", &env)
}

#[test]
fn hosts_are_set_up_and_left_as_they_were() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let settings = home.join(".claude/settings.json");
    let models = home.join(".pi/agent/models.json");
    for folder in [".claude", ".pi/agent", ".gemini"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    let before = "{\n  \"model\": \"opus\"\n}\n";
    std::fs::write(&settings, before).unwrap();

    let printed = setup(home, &[]).done().stdout;
    insta::assert_snapshot!(printed.replace(home.to_str().unwrap(), "~"));
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), before, "nothing is written yet");
    assert!(!models.exists());

    let written = setup(home, &["--write"]).done().stdout;
    assert_eq!(written.lines().filter(|line| line.starts_with("@@")).count(), 2, "{written}");
    assert!(std::fs::read_to_string(&settings).unwrap().contains("ANTHROPIC_BASE_URL"));
    assert!(models.exists());
    let again = setup(home, &["--write"]).done().stdout;
    assert_eq!(again.matches("is set up").count(), 2, "{again}");

    let removed = setup(home, &["--remove"]).done().stdout;
    assert!(removed.ends_with("\ntaken out of 2 files\n"), "{removed}");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), before);
    assert!(!models.exists());
    assert!(setup(home, &["--remove"]).done().stdout.ends_with("\ntaken out of 0 files\n"));

    // Hooks are set up where they are named, and need no proxy.
    let hooks = setup(home, &["claude-code-hooks", "--write"]).done().stdout;
    assert!(hooks.ends_with("\nwritten, and taken out with --remove\n"), "{hooks}");
    assert_eq!(setup(home, &["--write"]).code, 0);
    let removed = setup(home, &["--remove"]).done().stdout;
    assert!(removed.contains("Claude Code, its hooks\n---"), "{removed}");
    assert!(removed.ends_with("\ntaken out of 2 files\n"), "{removed}");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), before);
}

#[test]
fn a_host_with_a_conflict_is_left_out_alone() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    for folder in [".claude", ".codex"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    let config = home.join(".codex/config.toml");
    std::fs::write(&config, "model_provider = \"mine\"\n").unwrap();
    let conflict = "config.toml: it sets model_provider to \"mine\" already";
    let way_out = "codex left as before: take out what stands there (--remove with its --url, if \
                   foldback wrote it for another), or name the others: foldback setup claude-code\n";
    let shown = setup(home, &[]).done().stdout;
    assert!(shown.contains("+  \"env\": {") && shown.contains(conflict), "{shown}");
    assert!(shown.ends_with(way_out), "{shown}");
    let written = setup(home, &["--write"]).done().stdout;
    assert!(written.ends_with(way_out), "{written}");
    assert!(home.join(".claude/settings.json").exists());
    let named = setup(home, &["codex", "--write"]);
    assert_eq!(named.code, 2, "{}", named.stdout);
    assert!(named.stdout.contains(conflict), "{}", named.stdout);
    assert!(named.stderr.contains("codex left as before"), "{}", named.stderr);
    assert_eq!(std::fs::read_to_string(&config).unwrap(), "model_provider = \"mine\"\n");
}

/// A home with a folder for Claude Code, and the path of its settings.
fn home_of_claude() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".claude")).unwrap();
    let settings = home.path().join(".claude/settings.json");
    (home, settings)
}

#[test]
fn what_the_user_wrote_alike_stays() {
    let (home, settings) = home_of_claude();
    let url = "\"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:8787\"";
    // In the spelling and at the place of foldback's own.
    let own = format!("{{\n  \"env\": {{ {url} }}\n}}\n");
    std::fs::write(&settings, &own).unwrap();
    setup(home.path(), &["--write"]).done();
    let removed = setup(home.path(), &["--remove"]).done().stdout;
    assert!(
        removed.contains("foldback did not write env.ANTHROPIC_BASE_URL, which stays"),
        "{removed}"
    );
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), own);
    // What foldback wrote goes in whatever spelling a program gave it.
    std::fs::write(&settings, "{}").unwrap();
    setup(home.path(), &["--write"]).done();
    std::fs::write(&settings, format!("{{\"env\":{{\"A\":\"1\",{url}}}}}")).unwrap();
    setup(home.path(), &["--remove"]).done();
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), "{\"env\":{\"A\":\"1\"}}");
}

/// Runs at once of which each writes into one file: both are in it.
#[test]
fn two_runs_at_once_lose_nothing() {
    let (home, settings) = home_of_claude();
    for _ in 0..10 {
        std::fs::write(&settings, "{}\n").unwrap();
        std::thread::scope(|scope| {
            for host in ["claude-code", "claude-code-hooks"] {
                let home = home.path();
                scope.spawn(move || setup(home, &[host, "--write"]).done());
            }
        });
        let text = std::fs::read_to_string(&settings).unwrap();
        assert!(text.contains("ANTHROPIC_BASE_URL") && text.contains("PreCompact"), "{text}");
        setup(home.path(), &["--remove"]).done();
        assert_eq!(std::fs::read_to_string(&settings).unwrap(), "{}\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_settings_file_keeps_all_that_it_has() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let (home, settings) = home_of_claude();
    let dotfiles = home.path().join("dotfiles/claude.json");
    // A link to what is not there yet is followed, and stays.
    symlink("../dotfiles/claude.json", &settings).unwrap();
    setup(home.path(), &["--write"]).done();
    assert!(settings.is_symlink() && std::fs::read_to_string(&dotfiles).unwrap().contains("8787"));
    setup(home.path(), &["--remove"]).done();
    assert!(settings.is_symlink() && !dotfiles.exists());
    // Further names, the mode, and attributes where the system has any.
    std::fs::write(&dotfiles, "{}\n").unwrap();
    let other = home.path().join("other.json");
    std::fs::hard_link(&dotfiles, &other).unwrap();
    std::fs::set_permissions(&dotfiles, std::fs::Permissions::from_mode(0o600)).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    let marked = rustix::fs::setxattr(&dotfiles, "user.mine", b"1", flags).is_ok();
    let has = || {
        let found = std::fs::metadata(&dotfiles).unwrap();
        let mut value = [0; 8];
        let mark = rustix::fs::getxattr(&dotfiles, "user.mine", &mut value).is_ok();
        (found.ino(), found.nlink(), found.mode(), mark == marked)
    };
    let before = has();
    setup(home.path(), &["--write"]).done();
    assert_eq!(has(), before);
    assert!(std::fs::read_to_string(&other).unwrap().contains("8787"));
    setup(home.path(), &["--remove"]).done();
    assert_eq!((has(), std::fs::read_to_string(&other).unwrap().as_str()), (before, "{}\n"));
    // Alone and with attributes; then owned by somebody else, where that can be made.
    std::fs::remove_file(&other).unwrap();
    setup(home.path(), &["--write"]).done();
    assert!(has().3, "an attribute is gone");
    if std::os::unix::fs::chown(&dotfiles, Some(12_345), Some(12_345)).is_ok() {
        setup(home.path(), &["--remove"]).done();
        let found = std::fs::metadata(&dotfiles).unwrap();
        assert_eq!((found.uid(), found.gid()), (12_345, 12_345));
    }
    // What is no file is refused, and not waited for.
    for kind in ["pipe", "device", "folder"] {
        std::fs::remove_file(&settings).unwrap();
        match kind {
            "pipe" => {
                let made = std::process::Command::new("mkfifo").arg(&settings).status();
                assert!(made.unwrap().success());
            }
            "device" => symlink("/dev/null", &settings).unwrap(),
            _ => std::fs::create_dir(&settings).unwrap(),
        }
        let refused = setup(home.path(), &["claude-code", "--write"]);
        assert_eq!(refused.code, 2, "{kind}");
        assert!(
            refused.stdout.contains("settings.json: it is no regular file"),
            "{kind}: {}",
            refused.stdout
        );
    }
}

#[test]
fn an_address_is_one() {
    let home = tempfile::tempdir().unwrap();
    let shown = |url: &str| setup(home.path(), &["pi", "--url", url]);
    for url in [
        "localhost:8787",
        "http://",
        "https:///v1",
        "http://:80",
        "http://h:",
        "http://h:99999",
        "http://h:0",
        "http://h:8o",
        "http://a..b",
        "http://[::1",
        "http://[x]:1",
        "http://me@h",
        "http://h/a b",
        "http://h?x=1",
        "ftp://h",
        "http://h:1:2",
        "http://h:+80",
    ] {
        let refused = shown(url);
        assert!(
            refused.code == 2 && refused.stderr.contains("must be an address like"),
            "{url}: {}",
            refused.stdout
        );
    }
    for (url, base) in [
        ("http://127.0.0.1:8787", "http://127.0.0.1:8787"),
        ("http://127.0.0.1:8787/v1", "http://127.0.0.1:8787"),
        ("http://127.0.0.1:8787/v1/", "http://127.0.0.1:8787"),
        ("http://[::1]:9", "http://[::1]:9"),
        ("https://my-host.example/proxy/", "https://my-host.example/proxy"),
        ("https://my-host.example/v1x", "https://my-host.example/v1x"),
    ] {
        let said = shown(url).done().stdout;
        // One host is asked at the address itself, the other below `/v1`.
        for base in [base.to_owned(), format!("{base}/v1")] {
            assert!(said.contains(&format!("\"baseUrl\": \"{base}\"")), "{url}: {said}");
        }
        assert!(said.contains("until it runs, agents that go through it reach no model"), "{said}");
    }
}

#[test]
fn what_can_not_be_asked_for_is_said() {
    let home = tempfile::tempdir().unwrap();
    let rows = [
        (&[][..], "as in `foldback setup claude-code`; known are claude-code, "),
        (&["emacs"], "no host is called emacs; known are claude-code, "),
        (&["pi", "--write", "--remove"], "cannot be used with"),
    ];
    for (args, why) in rows {
        let refused = setup(home.path(), args);
        assert_eq!(refused.code, 2, "{args:?}");
        assert!(refused.stderr.contains(why), "{args:?}: {}", refused.stderr);
    }
}
