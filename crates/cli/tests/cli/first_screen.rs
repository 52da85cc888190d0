//! What `foldback compare` answers with: one screen, and tables that break nothing at any width.

use crate::common::{Ran, Recording, line, planted, root, run, write};
use foldback_test_support::sessions;
use std::collections::BTreeSet;

/// Sessions of the examples.
const EXAMPLES: [&str; 4] = [
    "journal-opencode.json",
    "price-lists-codex.jsonl",
    "refunds-pydantic-ai.json",
    "reservations-claude-code.jsonl",
];

/// Runs a command on a terminal of so many columns, as far as `COLUMNS` says.
fn at(columns: u16, args: &[&str]) -> Ran {
    run(args, "", &[("COLUMNS", &columns.to_string())])
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Asserts that a text fits, and that what its tables say stands in the wide one, too: nothing is broken.
fn nothing_is_broken(narrow: &str, wide: &str, columns: u16) {
    assert!(widest(narrow) <= usize::from(columns), "{columns} columns:\n{narrow}");
    let whole: BTreeSet<&str> = wide.split_whitespace().collect();
    let is_rule = |line: &str| line.starts_with('─');
    // A table stands between its first rule and its third.
    let mut rules = 0;
    for line in narrow.lines() {
        rules += usize::from(is_rule(line));
        let inside = rules % 3 != 0 && !is_rule(line);
        for word in line.split_whitespace().filter(|word| inside && !word.contains('…')) {
            assert!(whole.contains(word), "{columns} columns: {word:?} of\n{narrow}");
        }
    }
}

fn fits_one_screen(text: &str) {
    assert!(widest(text) <= 80 && text.lines().count() <= 25, "{text}");
}

/// The screens of a corpus at 60, 80 and 120 columns: each fits. `paths` are those of its sessions.
fn screens(what: &str, paths: &[&str], options: &[&str], folder: &str) -> String {
    let args = [&["compare"], paths, options].concat();
    // A pipe, and more columns, make no other screen than 80.
    let wide = run(&args, "", &[]).done().stdout;
    let mut all = String::new();
    for columns in [60, 80, 120] {
        let text = at(columns, &args).done().stdout;
        fits_one_screen(&text);
        assert!(widest(&text) <= usize::from(columns), "{text}");
        match columns {
            60 => all += &format!("=== {what}, {columns} columns\n{text}"),
            80 => all += &format!("=== {what}, {columns} columns and more\n{text}"),
            _ => assert!(text == wide, "{text}"),
        }
    }
    all.replace(folder, "[folder]")
}

#[test]
fn the_first_screens_of_corpora_of_all_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let four = EXAMPLES.map(|name| format!("examples/sessions/{name}"));
    let four = four.each_ref().map(String::as_str);
    let deep = folder.path().join("a folder of a name that no line has room for/".repeat(3));
    std::fs::create_dir_all(&deep).unwrap();
    let long = deep.join("session.jsonl");
    std::fs::copy(root().join(four[1]), &long).unwrap();
    let hundred = planted(folder.path(), 100);
    let temporary = folder.path().to_str().unwrap();
    let small = ["--window", "16000", "--max-output", "2000"];
    let all = [
        screens("four sessions", &four, &[], temporary),
        screens("one task", &four[1..2], &[], temporary),
        screens("one task, a long path", &[long.to_str().unwrap()], &[], temporary),
        screens("a hundred tasks", &[&hundred], &small, temporary),
    ];
    insta::assert_snapshot!("first-screens", all.join("\n"));
}

/// Recorded sessions: those of three agents, and of all.
#[foldback_needs::sessions]
#[test]
fn the_first_screens_of_recorded_sessions() {
    let recorded = sessions();
    let recorded = recorded.to_str().unwrap();
    let three = ["claude-code", "codex", "opencode", "copilot-cli"];
    let three = three.map(|agent| format!("{recorded}/{agent}"));
    let all = [
        screens(
            "three agents and one session",
            &three.each_ref().map(String::as_str),
            &[],
            recorded,
        ),
        screens("all sessions", &[recorded], &[], recorded),
    ];
    insta::assert_snapshot!("first-screens-recorded", all.join("\n"));
}

#[test]
fn the_whole_report_leaves_columns_out_and_breaks_none() {
    let args = ["compare", "tests/four-sessions", "--show", "full"];
    let wide = run(&args, "", &[]).done().stdout;
    assert!(!wide.contains("no room for"), "{wide}");
    for columns in [60, 80, 100, 160] {
        let text = at(columns, &args).done().stdout;
        nothing_is_broken(&text, &wide, columns);
        assert_eq!(text.contains("no room for"), columns < 100, "{columns}\n{text}");
        let (tables, _) = text.split_once("\nCautions\n").unwrap();
        if columns < 100 {
            insta::assert_snapshot!(format!("full-{columns}"), tables);
        }
    }
}

#[test]
fn many_presets_with_long_names_are_one_screen() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<String> = (0..40)
        .map(|number| {
            let name = format!("a-name-that-no-screen-has-room-for-and-ends-with-{number}");
            let text = format!(
                "name = \"{name}\"\nextends = \"tunacode\"\n[[pruner]]\nuse = \"tunacode.placeholder\"\n\
                 protect_tokens = {}\n",
                1_000 + 997 * number
            );
            write(folder.path(), &format!("{number}.toml"), text)
        })
        .collect();
    for columns in [60, 80] {
        let ran = at(columns, &["compare", "tests/four-sessions", "--preset", &files.join(",")]);
        let text = ran.done().stdout;
        fits_one_screen(&text);
        assert!(widest(&text) <= usize::from(columns), "{text}");
        assert!(text.contains(" more with --show full"), "{text}");
        // Names differ at their ends.
        assert!(text.contains("…"), "{text}");
    }
}

/// Up to three presets that are named are told apart in words, pair by pair.
#[test]
fn presets_that_are_named_are_told_apart_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let twelve = planted(folder.path(), 12);
    let args = ["compare", &twelve, "--window", "24k", "--max-output", "2k", "--preset"];
    let screen = |presets: &str| {
        let text = at(80, &[&args[..], &[presets]].concat()).done().stdout;
        fits_one_screen(&text);
        text.replace("\n  ", " ")
    };
    let told = screen("window,tunacode");
    let sentence = "window against tunacode: its bill is ";
    let (_, pair) = told.split_once(sentence).unwrap_or_else(|| panic!("{told}"));
    let (bill, kept) = pair.split_once("; it keeps ").unwrap();
    assert!(bill.contains(", p ") && kept.contains(", p "), "{told}");
    let told = screen("window,tunacode,brutus");
    assert_eq!(told.matches(": its bill is ").count(), 3, "{told}");
    // Four make six pairs, which are in `--show full`; a group names no preset.
    for presets in ["window,tunacode,brutus,tiered", "seeds"] {
        assert!(!screen(presets).contains(": its bill is"), "{presets}");
    }
    // Planted sessions repeat nothing word for word; these do.
    let shipped = line("compare examples/sessions --store=none --preset claude-code,codex").done();
    let told = shipped.stdout.replace("\n  ", " ");
    let (_, pair) =
        told.split_once("claude-code against codex").unwrap_or_else(|| panic!("{told}"));
    assert!(pair.contains(", and word for word "), "{told}");
    // One task has no interval.
    let one =
        "compare examples/sessions/price-lists-codex.jsonl --store=none --preset window,codex";
    let told = line(one).done().stdout;
    assert!(told.contains("window against codex: its bill is") && !told.contains("()"), "{told}");
}

/// The bill as recorded where that is known, however few sessions those are; without compaction where nobody can have paid
/// it.
#[test]
fn the_base_is_what_was_paid() {
    let folder = tempfile::tempdir().unwrap();
    for (number, [first, more]) in [[100, 420], [0, 0], [0, 0]].into_iter().enumerate() {
        // What a recorder sent after a compaction is known by its usage alone.
        let mut recording = Recording::new(&format!("session-{number}"), first, more);
        recording.user(&format!("Read everything of part {number}"));
        for call in 0..20 {
            if call == 12 {
                recording.compaction("Twelve parts were read.");
            }
            let input = serde_json::json!({ "path": format!("{number}-{call}.txt") });
            recording.call("Read", &input, &"some words of it ".repeat(100));
        }
        recording.write(folder.path(), &format!("{number}.jsonl"));
    }
    let folder = folder.path().to_str().unwrap();
    for (window, told) in [
        ("200k", "\ntoday, as your agents ran: $0.247 a session, at "),
        // Every session has a request that does not fit.
        ("4k", "\nwith drop-oldest, which fits this window: $0."),
    ] {
        let args = ["compare", folder, "--preset", "none", "--max-output", "500", "--window"];
        let screen = at(80, &[&args[..], &[window]].concat()).done().stdout;
        assert!(screen.replace("\n  ", " ").contains(told), "{screen}");
    }
}

/// A preset that did nothing is no choice, and is held against nothing.
#[test]
fn what_never_acted_is_below_the_table() {
    let file = "examples/sessions/price-lists-codex.jsonl";
    let args = ["compare", file, "--preset", "brutus,tunacode", "--window", "900k"];
    let screen = at(80, &args).done().stdout;
    assert!(screen.contains("never acted: brutus · tunacode"), "{screen}");
    assert!(!screen.contains('─'), "{screen}");
    assert!(screen.contains("Keep what you have: no session came near a limit"), "{screen}");
    let json = run(&[&args[..], &["--json", "-"]].concat(), "", &[]).done().stdout;
    let told: serde_json::Value = serde_json::from_str(&json).unwrap();
    let lines = told["presets"].as_array().unwrap();
    let of = |name: &str| {
        lines.iter().find(|line| line["preset"].as_str().unwrap().starts_with(name)).unwrap()
    };
    assert!(["brutus", "tunacode"].iter().all(|name| of(name)["against_base"].is_null()), "{json}");
}

#[test]
fn answers_and_marks_have_colors_where_colors_are_asked_for() {
    let args = ["compare", "tests/four-sessions", "--window", "60000"];
    let with = |variable: &str, more: &[&str]| {
        let args = [&args[..], more].concat();
        run(&args, "", &[("COLUMNS", "80"), (variable, "1")]).done().stdout
    };
    let colored = with("CLICOLOR_FORCE", &[]);
    assert!(colored.contains("\n\u{1b}[33mToo few to tell\u{1b}[39m: "), "{colored}");
    let full = with("CLICOLOR_FORCE", &["--show", "full"]);
    assert!(full.contains("\u{1b}[31m✗\u{1b}[39m"), "{full}");
    let screen = ["compare", "examples/sessions"];
    let screen = run(&screen, "", &[("COLUMNS", "80"), ("CLICOLOR_FORCE", "1")]).done().stdout;
    for colored in [
        "\n\u{1b}[1m\u{1b}[32mUse indexed-large\u{1b}[39m\u{1b}[0m: it costs ",
        "\n\u{1b}[1m\u{1b}[32mindexed-large\u{1b}[39m\u{1b}[0m  ",
        "30%  \u{1b}[33mforgets much\u{1b}[39m\n",
        "\n\u{1b}[33munusable\u{1b}[39m, ",
        "\n\u{1b}[33m1 caution\u{1b}[39m, ",
    ] {
        assert!(screen.contains(colored), "{colored:?} is not in {screen:?}");
    }
    let plain = with("NO_COLOR", &[]);
    assert!(!plain.contains('\u{1b}') && plain.contains("\nToo few to tell: "), "{plain}");
}

/// A path that nothing can be written to is refused before anything is read.
#[test]
fn outputs_are_checked_first() {
    let path = "/nonexistent/x.html";
    for args in [
        ["compare", "no-such-sessions", "--html", path],
        ["compare", "no-such-sessions", "--json", path],
        ["compare", "no-such-sessions", "--rows", path],
        ["compare", "no-such-sessions", "--manifest", path],
        ["inspect", "no-such-sessions", "--json", path],
    ] {
        let ran = run(&args, "", &[]);
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.stderr.starts_with("error: /nonexistent/x.html: "), "{args:?}: {}", ran.stderr);
    }
}

/// Controls with foresight are replayed only where they are shown. What presets are measured on is the same without them.
#[test]
fn the_screen_is_the_same_whatever_else_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("comparison.json");
    let two = ["price-lists-codex.jsonl", "refunds-pydantic-ai.json"];
    let two = two.map(|name| format!("tests/four-sessions/{name}")).join(" ");
    for (sessions, options) in [
        (two.as_str(), "--preset all --window 20000"),
        (&two, "--preset codex,indexed --window 60000"),
        // Enough for a verdict.
        ("examples/sessions", ""),
    ] {
        let args = format!("compare {sessions} --store=none {options}");
        let more = format!("{args} --json {}", json.display());
        assert_eq!(line(&args).done().stdout, line(&more).done().stdout, "{options}");
    }
    let text = std::fs::read_to_string(&json).unwrap();
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    let presets = told["presets"].as_array().unwrap();
    assert!(presets.iter().any(|line| line["preset"] == "clairvoyant"), "{text}");
}

/// Without a preset there is no table, and what matters of the bills is said all the same.
#[test]
fn without_a_strategy_the_bills_are_told() {
    let screen = at(80, &["compare", "tests/four-sessions", "--preset", "none"]).done().stdout;
    fits_one_screen(&screen);
    assert!(
        screen.contains("\ntoday, as your agents ran: $3.38 a session")
            && !screen.contains("acted"),
        "{screen}"
    );
    assert!(
        !screen.contains('─') && screen.contains("next: the same without --preset"),
        "{screen}"
    );
}

/// What is to be typed next can be: by a shell, also where a path has blanks and quotes.
#[cfg(unix)]
#[test]
fn the_next_command_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it's mine.jsonl");
    std::fs::copy(root().join("examples/sessions/price-lists-codex.jsonl"), &path).unwrap();
    let path = path.to_str().unwrap();
    let screen = at(80, &["compare", path, "--preset", "window", "--window", "40k"]).done().stdout;
    fits_one_screen(&screen);
    let (_, next) = screen.split_once("\nwhere window forgets most: foldback ").unwrap();
    let script = format!("exec {} {next}", env!("CARGO_BIN_EXE_foldback"));
    let ran = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    let told = String::from_utf8(ran.stdout).unwrap();
    assert!(told.contains("it's mine.jsonl under window"), "{script}\n{told}");
    assert!(told.contains("window 40,000"), "{told}");

    // Where nothing acts, it is a window at which something does.
    let quiet = ["compare", path, "--preset", "tiered", "--window", "900k"];
    let screen = at(80, &quiet).done().stdout;
    let (_, next) = screen.split_once("\nnext: the same with --window ").unwrap();
    let window = next.split([',', ' ']).next().unwrap();
    let screen = at(80, &["compare", path, "--preset", "tiered", "--window", window]).done().stdout;
    assert!(screen.contains("Too few to tell: presets acted in 1 session"), "{screen}");
}

/// Tables of the other commands.
#[test]
fn other_tables_break_nothing_either() {
    let runs: [&[&str]; 2] = [
        &[
            "compare",
            "tests/four-sessions",
            "--preset",
            "opencode,window",
            "--summarizer",
            "llm",
            "--dry-run",
        ],
        &[
            "tune",
            "tests/four-sessions",
            "--preset=tunacode",
            "--vary=pruner.protect_tokens=2k..40k",
            "--vary=pruner.minimum_tokens=500,20k",
            "--points=2",
        ],
    ];
    for args in runs {
        let wide = run(args, "", &[]).done().stdout;
        for columns in [60, 80, 100] {
            nothing_is_broken(&at(columns, args).done().stdout, &wide, columns);
        }
    }
}

/// One preset is named where several are compared over enough tasks, with what it saves of a bill that was paid.
#[foldback_needs::sessions]
#[test]
fn a_verdict_names_one_preset() {
    let folders = ["claude-code", "codex", "opencode"].map(|agent| sessions().join(agent));
    let folders = folders.iter().map(|folder| folder.to_str().unwrap());
    let args: Vec<&str> = ["compare"].into_iter().chain(folders).collect();
    let screen = at(80, &args).done().stdout;
    fits_one_screen(&screen);
    assert!(
        screen.contains("\nUse ") && screen.contains("\ntry: foldback serve --preset "),
        "{screen}"
    );
    assert!(screen.contains("\ntoday, as your agents ran: $"), "{screen}");
}

#[foldback_needs::sessions]
#[test]
fn the_first_screen_of_recorded_sessions() {
    let recorded = sessions().join("../training");
    let args = ["compare", recorded.to_str().unwrap()];
    let full = run(&[&args[..], &["--show", "full"]].concat(), "", &[]).done().stdout;
    for columns in [60, 80, 100] {
        let text = at(columns, &args).done().stdout;
        fits_one_screen(&text);
        assert!(widest(&text) <= usize::from(columns), "{text}");
        let text = at(columns, &[&args[..], &["--show", "full"]].concat()).done().stdout;
        nothing_is_broken(&text, &full, columns);
    }
}
