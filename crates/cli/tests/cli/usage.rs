//! How the command talks: help, completions, manual pages, colors, how much is told, and numbers as people write
//! them.

use crate::common::{foldback, line, run};

/// The commands, by the help of the command itself.
fn commands() -> Vec<String> {
    let help = line("--help").done().stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

#[test]
fn every_help_says_what_exit_codes_mean() {
    assert!(commands().len() > 12, "{:?}", commands());
    for command in commands() {
        let help = line(&format!("{command} --help")).done().stdout;
        assert!(help.contains("Exit codes:\n  0  done"), "{command}: {help}");
    }
}

#[test]
fn shells_are_told_what_can_be_typed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = line(&format!("completions {shell}")).done().stdout;
        for word in commands().iter().map(String::as_str).chain(["budget-usd"]) {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
    }
    assert_eq!(line("completions").code, 2);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("share/man1");
    foldback(&["man", pages.to_str().unwrap()]).done();
    for command in commands().iter().map(String::as_str).chain([""]) {
        let dash = if command.is_empty() { "" } else { "-" };
        let page = pages.join(format!("foldback{dash}{command}.1"));
        let page = std::fs::read_to_string(&page).unwrap();
        assert!(page.starts_with(".ie") && page.contains("Exit codes:"), "{command}: {page}");
    }
}

#[test]
fn colours_are_where_they_are_asked_for() {
    for (asked, coloured) in [("COLUMNS", false), ("CLICOLOR_FORCE", true), ("NO_COLOR", false)] {
        let ran = run(&["check", "no-such-file.toml"], "", &[(asked, "80")]);
        assert_eq!((ran.code, ran.stderr.contains('\u{1b}')), (2, coloured), "{asked}");
    }
}

#[test]
fn as_much_is_told_as_is_asked_for() {
    let compare = "compare tests/four-sessions --preset tiered --store=none --window 60000";
    let told = line(compare).done().stderr;
    assert!(told.is_empty(), "{told}");
    let told = line(&format!("{compare} -v")).done().stderr;
    assert!(told.contains("tiered: summary-cache"), "{told}");
    // What a recommendation comes to is told; in silence it is in the file alone.
    let convert = "convert examples/sessions/refunds-pydantic-ai.json - --to openai-chat";
    assert!(!line(convert).done().stderr.is_empty());
    let told = line(&format!("{convert} -q")).done().stderr;
    assert!(told.is_empty(), "{told}");
    assert_eq!(line(&format!("{convert} -q -v")).code, 2);
}

#[test]
fn numbers_are_taken_as_people_write_them() {
    let run = |window: &str| {
        line(&format!(
            "compare tests/four-sessions --preset window --window {window} --max-output 4k"
        ))
        .done()
        .stdout
    };
    let plain = run("40000");
    assert!(run("40_000") == plain && run("40k") == plain && run("0.04M") == plain);
    for wrong in ["40kk", "k", "1.5"] {
        let ran = line(&format!("compare tests/four-sessions --window {wrong}"));
        assert_eq!(ran.code, 2, "{wrong}");
        assert!(ran.stderr.contains("such as 200k, 200_000 or 200000"), "{}", ran.stderr);
    }
}
