//! What becomes of a compaction whose model gives no usable summary, and what is told of its requests meanwhile.

use crate::common::{Ran, foldback, line};
use crate::summaries::Folder;
use foldback_fake_provider::{Background, Recorded, Reply};

const SESSION: &str = "examples/sessions/refunds-pydantic-ai.json";

/// A file for `--summarizer` with these fields besides the address.
fn summarizer(folder: &Folder, url: &str, fields: &str) -> String {
    let file = folder.summarizer(url);
    let text = std::fs::read_to_string(&file).unwrap();
    folder.write("own.toml", &text.replace("attempts = 1", fields))
}

fn compact(preset: &str, file: &str, more: &[&str]) -> Ran {
    let mut args = vec!["compact", SESSION, "--preset", preset, "--when", "manual"];
    args.extend(["--window", "32000", "--max-output", "4000", "--summarizer", file]);
    args.extend(more);
    foldback(&args)
}

/// Whatever the preset does without a summary, a model that was named for it is another thing.
#[test]
fn whatever_keeps_a_model_from_a_summary_the_extractive_one_stands_in() {
    type Answer = fn(&Recorded) -> Reply;
    let small = "context_tokens = 900\nmax_output_tokens = 500";
    let table: [(&str, &str, Answer, &str, usize); 4] = [
        ("too large", small, |_| Reply::text("x"), "extractive (llm: context-overflow)", 0),
        ("rambles", "", |_| Reply::length("on and on"), "cut off at 4096 tokens twice", 2),
        ("too long", "", |_| Reply::text("word ".repeat(40_000)), "tokens", 2),
        ("never answers", "timeout_seconds = 1", |_| Reply::empty().hang(), "timeout: ", 2),
    ];
    // The first hides what has no summary, the second leaves everything as it is.
    for preset in ["window", "opencode-1.17"] {
        for (name, fields, answer, why, requests) in table {
            let folder = Folder::new();
            let server = Background::start(answer).unwrap();
            let file = summarizer(&folder, &server.url(), fields);
            let ran = compact(preset, &file, &["--show", "plan"]);
            let asked = server.end().len();
            let case = format!("{preset}, {name}: {} {}", ran.stdout, ran.stderr);
            assert_eq!((ran.code, asked), (0, requests), "{case}");
            for part in [": degraded", "extractive", "stood in", why] {
                assert!(ran.stdout.contains(part), "no {part}: {case}");
            }
            let late = ran.stderr.contains("1 request had no answer in time");
            assert_eq!(late, name == "never answers", "{case}");
        }
    }
}

/// A file for `--summarizer` may say otherwise.
#[test]
fn a_file_says_what_happens_without_a_summary() {
    for (on_failure, part) in [
        ("keep", ": failed (summary: timeout: "),
        ("hide", "hidden without a summary"),
        ("extractive", "the extractive summarizer stood in"),
    ] {
        let folder = Folder::new();
        let server = Background::start(|_| Reply::empty().hang()).unwrap();
        let fields = format!("timeout_seconds = 1\nattempts = 1\non_failure = \"{on_failure}\"");
        let file = summarizer(&folder, &server.url(), &fields);
        let ran = compact("window", &file, &["--show", "plan"]);
        assert_eq!((ran.code, server.end().len()), (0, 1), "{on_failure}: {}", ran.stderr);
        assert!(ran.stdout.contains(part), "{on_failure}: {}", ran.stdout);
    }
}

/// A model may take minutes: what is going on is told.
#[test]
fn each_request_and_retry_is_a_line() {
    let folder = Folder::new();
    let mut times = 0;
    let server = Background::start(move |_| {
        times += 1;
        let reply = Reply::text("A summary.").usage(70, 7);
        if times == 1 { reply.hang() } else { reply }
    })
    .unwrap();
    let file = summarizer(&folder, &server.url(), "timeout_seconds = 1");
    let ran = compact("window", &file, &["--verbose"]).done();
    assert_eq!(server.end().len(), 2);
    let lines: Vec<&str> =
        ran.stderr.lines().filter(|line| line.starts_with("small-model, request")).collect();
    let starts = [
        "small-model, request 1: asking, ",
        "small-model, request 1: timeout: ",
        "small-model, request 1, attempt 2: asking, ",
        "small-model, request 1, attempt 2: answered, 70 input and 7 output tokens",
    ];
    assert_eq!(lines.len(), starts.len(), "{}", ran.stderr);
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
    assert!(!ran.stderr.contains("no answer in time;"), "{}", ran.stderr);
}

/// A dry run of no request says what kept it from one.
#[test]
fn a_dry_run_that_counts_nothing_says_why() {
    let folder = Folder::new();
    let file = folder.summarizer("http://127.0.0.1:9/v1/");
    let large = folder.write("large.toml", &std::fs::read_to_string(&file).unwrap());
    let small = std::fs::read_to_string(&file).unwrap();
    let small =
        small.replace("attempts", "context_tokens = 900\nmax_output_tokens = 500\nattempts");
    let small = folder.write("small.toml", &small);
    let table: [(&str, &str, &str, &str); 5] = [
        ("compact", "900000", &large, "no request, call-start window.utilisation: unchanged"),
        ("compact --when live", "900000", &large, "no request, nothing was folded"),
        ("compact --when manual", "32000", &small, "stood in for llm(small-model"),
        ("compare", "900000", &large, "no request, nothing was folded: no view was too large"),
        ("explain", "900000", &large, "no request, nothing was folded"),
    ];
    for (command, window, file, why) in table {
        let ran = line(&format!(
            "{command} {SESSION} --preset window --window {window} --max-output 4000 --summarizer {file} --dry-run"
        ))
        .done();
        let told = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(why), "{command}, no {why}: {}", ran.stdout);
    }
}

/// A summarizer file is checked like a strategy file.
#[test]
fn check_accepts_a_file_for_summarizer() {
    let folder = Folder::new();
    let good = folder.summarizer("http://127.0.0.1:9/v1/");
    let ran = foldback(&["check", &good]).done();
    for part in ["valid summarizer llm(small-model", "--summarizer"] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
    let table = [
        ("[summarizer]\nmodle = \"m\"\n", "wrong.toml:2"),
        ("[summarizer]\nmodel = \"unheard-of\"\n", "does not identify its provider"),
        ("[summarizer]\nuse = \"lln\"\n", "lln"),
        ("[summarizer]\nmodel = \"gpt-5-mini\"\non_failure = \"stop\"\n", "wrong.toml:3"),
        (
            "[summarizer]\nmodel = \"gpt-5-mini\"\n[prices]\ninput = 1\n",
            "wrong.toml:3: unknown key `prices`",
        ),
        ("[summarizer]\nmodel = \"gpt-5-mini\"\n[price]\ninput = \"x\"\n", "wrong.toml:3: price"),
    ];
    for (text, why) in table {
        let wrong = folder.write("wrong.toml", text);
        let ran = foldback(&["check", &wrong]);
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{text}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{text}, no {why}: {}", ran.stderr);
    }
}
