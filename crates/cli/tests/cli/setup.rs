//! `foldback setup` in a home of its own: what it says, writes and takes out.

use crate::common::{Ran, run};
use std::path::Path;

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
    let mut env = vec![("HOME", home.to_str().unwrap()), ("USERPROFILE", "")];
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

#[test]
fn what_can_not_be_asked_for_is_said() {
    let home = tempfile::tempdir().unwrap();
    let rows = [
        (&[][..], "as in `foldback setup claude-code`; known are claude-code, "),
        (&["emacs"], "no host is called emacs; known are claude-code, "),
        (&["pi", "--url", "localhost:8787"], "must be an address like http://127.0.0.1:8787"),
        (&["pi", "--write", "--remove"], "cannot be used with"),
    ];
    for (args, why) in rows {
        let refused = setup(home.path(), args);
        assert_eq!(refused.code, 2, "{args:?}");
        assert!(refused.stderr.contains(why), "{args:?}: {}", refused.stderr);
    }
}
