//! Summaries by a model, as a user of the command has them written: recorded against a server, replayed
//! when it is gone, and every way in which that can fail.

use crate::common::{self, Ran, foldback, refused, run};
use foldback_fake_provider::{Background, Recorded, Reply};
use std::path::{Path, PathBuf};

const SESSION: &str = "examples/sessions/refunds-pydantic-ai.json";

/// Under every heading that was asked for, how much was sent: two summaries of different texts differ.
fn summary(got: &Recorded) -> Reply {
    let body = got.body.to_string();
    let headings = ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps"];
    let more = ["Critical Context", "Relevant Files"];
    let mut text = String::new();
    for heading in headings.into_iter().chain(more) {
        if body.contains(&format!("## {heading}")) {
            text.push_str(&format!("## {heading}\n(none)\n"));
        }
    }
    Reply::text(format!("{text}A record of {} bytes.", got.bytes))
}

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        common::write(self.0.path(), name, text)
    }

    /// A file for `--summarizer` that asks a model at this address.
    pub(crate) fn summarizer(&self, url: &str) -> String {
        let text = format!(
            "[summarizer]\nprovider = \"openai-compatible\"\nmodel = \"small-model\"\nbase_url = \"{url}\"\nattempts = 1\n\n[price]\ninput = 1.0\noutput = 2.0\n"
        );
        self.write("summaries.toml", &text)
    }
}

pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn compare(more: &[&str]) -> Ran {
    let mut args = vec!["compare", SESSION, "--preset", "opencode,window"];
    args.extend(["--window", "32000", "--max-output", "4000", "--json", "-"]);
    args.extend(more);
    foldback(&args)
}

#[test]
fn a_comparison_is_recorded_once_and_replayed_alike_without_a_network() {
    let folder = Folder::new();
    let server = Background::start(summary).unwrap();
    let file = folder.summarizer(&server.url());
    let cassette = folder.path("cassette");
    let with_cassette = ["--summarizer", &*file, "--cassette", &*cassette];
    let with = |more: &[&'static str]| compare(&[&with_cassette[..], more].concat());

    let dry = with(&["--dry-run"]).done();
    assert!(dry.stdout.contains("\nstrategy "), "{}", dry.stdout);
    assert!(dry.stdout.contains("opencode+llm(small-model"), "{}", dry.stdout);
    assert!(!Path::new(&cassette).exists(), "a dry run wrote something");

    let recorded = with(&["--record"]).done();
    let asked = server.end();
    let answers = files(&cassette);
    assert!(asked.len() >= 2, "no summaries were asked for");
    assert_eq!(asked.len(), answers.len(), "equal requests were sent twice");
    assert!(recorded.stderr.contains(&format!("{} answers were recorded", asked.len())));
    let first = recorded.stderr.lines().next().unwrap_or_default();
    assert!(first.contains("text of the sessions is sent to"), "{}", recorded.stderr);
    let bill = format!("{} requests: ", asked.len());
    let line = recorded.stderr.lines().find(|line| line.starts_with(&bill));
    let told = line.is_some_and(|line| line.ends_with(" USD") && !line.contains(" 0.0000 USD"));
    assert!(told, "no bill: {}", recorded.stderr);
    for label in ["opencode+llm(small-model", "window+llm(small-model"] {
        assert!(recorded.stdout.contains(label), "no {label}");
    }

    // The server is gone.
    let pages = ["first.html", "second.html"].map(|name| {
        let page = folder.path(name);
        let replayed = compare(&[&with_cassette[..], &["--html", &page]].concat());
        assert_eq!(replayed.code, 0, "{name}: {}", replayed.stderr);
        assert!(!replayed.stderr.contains("is sent to"), "{name}: {}", replayed.stderr);
        assert!(replayed.stdout == recorded.stdout, "{name}: other bytes");
        std::fs::read(page).unwrap()
    });
    // Single sessions are replayed once more for the page.
    assert!(pages[0] == pages[1], "two pages");
    let page = String::from_utf8_lossy(&pages[0]);
    assert!(page.contains("A record of"), "no summary on the page");
    let own = compare(&[]);
    assert!(own.stdout != recorded.stdout, "the summaries made no difference");

    // Recorded already, so that nothing is left to count.
    let dry = with(&["--dry-run"]);
    for start in ["opencode+", "window+", "together"] {
        let line = dry.stdout.lines().find(|line| line.starts_with(start));
        let mut words = line.unwrap_or_default().split_whitespace().rev();
        for number in ["0.00", "0", "0", "0"] {
            assert_eq!(words.next(), Some(number), "{start}: {}", dry.stdout);
        }
    }

    let lost = &answers[0];
    std::fs::remove_file(lost).unwrap();
    let missing = with(&[]);
    assert_eq!((missing.code, &*missing.stdout), (2, ""), "{}", missing.stderr);
    for part in ["not-recorded", &*lost.display().to_string(), "`--record`"] {
        assert!(missing.stderr.contains(part), "no {part}: {}", missing.stderr);
    }

    std::fs::write(&answers[1], "{}").unwrap();
    let damaged = with(&[]);
    assert_eq!(damaged.code, 2, "{}", damaged.stderr);
}

/// What is sent, and to whom, is said before; what was left out of it, in the end.
#[test]
fn secrets_are_left_out_and_counted() {
    let folder = Folder::new();
    let session = std::fs::read_to_string(common::root().join(SESSION)).unwrap();
    let planted = session.replace("\"content\": \"", "\"content\": \"MY_API_KEY=abc123def456 ");
    assert!(planted != session);
    let planted = folder.write("refunds.json", &planted);
    let run = |scrub: &str| {
        let server = Background::start(summary).unwrap();
        let file = folder.summarizer(&server.url());
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace("attempts = 1", &format!("attempts = 1\n{scrub}"));
        std::fs::write(&file, text).unwrap();
        let args = ["compare", &planted, "--preset", "window", "--window", "32000", "--store=none"];
        let ran = foldback(&[&args[..], &["--max-output", "4000", "--summarizer", &file]].concat());
        (ran.done().stderr, server.end())
    };
    let (told, asked) = run("scrub = true");
    assert!(told.contains("secrets in known forms are left out"), "{told}");
    assert!(told.contains(" secrets were left out"), "{told}");
    assert!(!asked.is_empty() && asked.iter().all(|body| !body.contains("abc123def456")));
    let (told, asked) = run("");
    assert!(told.contains("secrets in it are sent, too"), "{told}");
    assert!(!told.contains(" were left out"), "{told}");
    assert!(asked.iter().any(|body| body.contains("abc123def456")));
}

/// A strategy file that asks a model needs no flag for it.
#[test]
fn a_strategy_file_of_ones_own_is_compacted_and_replayed() {
    let folder = Folder::new();
    let server = Background::start(summary).unwrap();
    let strategy = format!(
        "name = \"mine\"\nextends = \"opencode\"\n[summarizer]\nuse = \"llm\"\nmodel = \"small-model\"\nbase_url = \"{}\"\nattempts = 1\n",
        server.url()
    );
    let strategy = folder.write("mine.toml", &strategy);
    let cassette = folder.path("cassette");
    let compact = |more: &[&str]| {
        let mut args =
            vec!["compact", SESSION, "--preset", &*strategy, "--when", "live", "--show", "view"];
        args.extend(["--window", "32000", "--max-output", "4000", "--cassette", &*cassette]);
        args.extend(more);
        foldback(&args)
    };
    let recorded = compact(&["--record"]).done();
    assert!(recorded.stdout.contains("A record of"), "{}", recorded.stdout);
    assert!(!server.end().is_empty());
    let replayed = compact(&[]).done();
    assert!(replayed.stdout == recorded.stdout);

    // The same answers explain the same folds.
    let mut args = vec!["explain", SESSION, "--preset", &*strategy];
    args.extend(["--window", "32000", "--max-output", "4000", "--cassette", &*cassette]);
    let explained = foldback(&args).done().stdout;
    assert!(explained.contains("mine+llm(small-model"), "{explained}");

    // What can't ask a model says so, instead of telling of another strategy.
    let tuned = foldback(&[
        "tune",
        SESSION,
        "--preset",
        &*strategy,
        "--vary",
        "pruner.protect_tokens=1..9",
    ]);
    assert_eq!(tuned.code, 2);
    assert!(tuned.stderr.contains("`tune` supports none"), "{}", tuned.stderr);
}

/// Budgets and providers that fail end the command, with nothing on standard output.
#[test]
fn a_run_that_could_not_ask_everything_is_no_result() {
    type Answer = fn(&Recorded) -> Reply;
    type Parts = &'static [&'static str];
    let refuse: Answer = |_| Reply::status(401, r#"{"error":{"message":"no such key"}}"#);
    let fail: Answer = |_| Reply::status(503, r#"{"error":{"message":"overloaded"}}"#);
    let table: [(&str, Answer, Parts, Parts, usize); 3] = [
        (
            "too dear",
            summary,
            &["--budget-usd", "0.0001"],
            &["budget: a request to small-model may cost up to $", "`--budget-usd`"],
            0,
        ),
        ("refused", refuse, &[], &["auth (HTTP 401): no such key", "`key_variable`"], 1),
        ("failing", fail, &[], &["overloaded (HTTP 503)"], 1),
    ];
    for (name, answer, flags, parts, least) in table {
        let folder = Folder::new();
        let server = Background::start(answer).unwrap();
        let file = folder.summarizer(&server.url());
        let ran = compare(&[&["--summarizer", &*file], flags].concat());
        let asked = server.end().len();
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{name}: {}", ran.stderr);
        for part in parts {
            assert!(ran.stderr.contains(part), "{name}, no {part}: {}", ran.stderr);
        }
        assert!(asked >= least, "{name}: {asked} requests");
    }
}

/// What is found out before anything runs.
#[test]
fn each_mistake_is_told_and_ends_with_2() {
    let folder = Folder::new();
    let address = "http://127.0.0.1:9/v1/";
    let closed = folder.summarizer(address);
    let bare = folder.write("bare.toml", "model = \"m\"\n");
    let odd = folder.write("odd.toml", "[summarizer]\nuse = \"llm\"\n\n[prices]\ninput = 1\n");
    let misspelt = folder.write("misspelt.toml", "[summarizer]\nuse = \"llm\"\nmodle = \"m\"\n");
    let priceless = folder.write(
        "priceless.toml",
        &format!("[summarizer]\nmodel = \"unheard-of\"\nbase_url = \"{address}\"\n"),
    );
    let compare = ["compare", SESSION, "--preset", "opencode"].join("\n");
    let names = [
        ("compare", compare),
        ("closed", closed),
        ("bare", bare),
        ("odd", odd),
        ("misspelt", misspelt),
        ("priceless", priceless),
    ];
    refused("summaries", &names);
}

/// A model whose summaries can't be used makes no result look like one of its own.
#[test]
fn a_model_that_is_of_no_use_is_told() {
    let folder = Folder::new();
    let server = Background::start(|_| Reply::text("word ".repeat(20_000))).unwrap();
    let file = folder.summarizer(&server.url());
    let ran = compare(&["--summarizer", &file]);
    assert!(!server.end().is_empty());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for name in ["opencode+llm(small-model", "window+llm(small-model"] {
        let caution = ran.stdout.split(name).any(|rest| {
            rest.split_once(" compactions no summary of the model could be used; ")
                .is_some_and(|(before, _)| before.len() < 40)
        });
        assert!(caution, "{name}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("of foldback's own prompts"));
}

/// Text under other headings than were asked for is a summary after its reminder: it folds, and that is told and
/// counted. What is empty or cut fails where the file says that nothing is to stand in, and each failure is told with
/// what it cost.
#[test]
fn good_text_in_another_form_is_taken_and_failures_are_told() {
    let answers: [fn(&Recorded) -> Reply; 2] = [
        |got| {
            let text = "## What happened\nNever touch vendor_table.\nA record of";
            Reply::text(format!("{text} {} bytes.", got.bytes))
        },
        |_| Reply::text(String::new()),
    ];
    let compact = |file: &str, more: &[&str]| {
        let mut args = vec!["compact", SESSION, "--preset", "opencode-1.17", "--when", "live"];
        args.extend(["--window", "32000", "--max-output", "4000", "--summarizer", file]);
        args.extend(more);
        foldback(&args).done()
    };
    let folder = Folder::new();
    let server = Background::start(answers[0]).unwrap();
    let file = folder.summarizer(&server.url());
    let ran = compact(&file, &["--show", "plan"]);
    for part in ["degraded", "even after a reminder, the model's summary lacks", "## Goal"] {
        assert!(ran.stdout.contains(part), "no {part}: {}", ran.stdout);
    }
    let invented = "note: the summary forbids what no user named: Never touch vendor_table.";
    assert!(ran.stderr.contains(invented), "{}", ran.stderr);
    assert!(!ran.stdout.contains("failed") && !ran.stderr.contains("not used"), "{}", ran.stderr);
    let ran = foldback(&[
        "compare",
        SESSION,
        "--preset",
        "opencode-1.17",
        "--window",
        "32000",
        "--max-output",
        "4000",
        "--summarizer",
        &file,
        "--show",
        "full",
    ]);
    let told = ran.done().stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("compactions the model ignored the headings even after"), "{told}");
    assert!(!told.contains("no summary of the model could be used"), "{told}");
    assert!(!server.end().is_empty());

    let server = Background::start(answers[1]).unwrap();
    let file = folder.summarizer(&server.url());
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("attempts", "on_failure = \"keep\"\nattempts")).unwrap();
    for (more, stdout) in [(&["--show", "plan"][..], true), (&[], false)] {
        let ran = compact(&file, more);
        let told = if stdout { &ran.stdout } else { &ran.stderr };
        let failed = told.lines().filter(|line| line.contains(": failed (")).count();
        assert!(failed > 0 && told.contains("the summary is empty"), "{told}");
        let bill = ran.stderr.lines().find(|line| line.contains(" USD")).unwrap_or_default();
        assert!(bill.contains("tokens were for summaries that were not used"), "{}", ran.stderr);
    }
    server.end();
}

/// The key goes to the provider that it was named for, and nowhere else: not into what is printed, not
/// into files, not to an address that no key was named for.
#[test]
fn a_planted_key_is_found_nowhere() {
    const KEY: &str = "sk-planted-0123456789abcdef";
    let folder = Folder::new();
    let server = Background::start(|got| {
        let sent = |name: &str| got.headers.iter().any(|(key, _)| key == name);
        match sent("authorization") {
            true => Reply::text(format!("{}\nYour key is {KEY}.", HEADINGS)),
            false => Reply::text(format!("{}\nNo key came.", HEADINGS)),
        }
    })
    .unwrap();
    let bare = folder.summarizer(&server.url());
    let plain = std::fs::read_to_string(&bare).unwrap();
    let unnamed = plain.replace("provider = \"openai-compatible\"\n", "");
    assert_ne!(unnamed, plain);
    let unnamed = folder.write("unnamed.toml", &unnamed);
    let named = plain.replace("attempts", "key_variable = \"MY_KEY\"\nattempts");
    let named = folder.write("named.toml", &named);
    for (file, told) in [(&unnamed, "No key came."), (&named, "Your key is [key].")] {
        let cassette = folder.path(if told.starts_with('N') { "one" } else { "two" });
        let page = folder.path("page.html");
        let mut args = vec!["compare", SESSION, "--preset", "opencode", "--window", "32000"];
        args.extend(["--max-output", "4000", "--json", "-", "--html", &page]);
        args.extend(["--summarizer", file, "--cassette", &cassette]);
        let variables = [("OPENAI_API_KEY", KEY), ("MY_KEY", KEY), ("RUST_LOG", "trace")];
        let dry = run(&[&args[..], &["--dry-run"]].concat(), "", &variables);
        let ran = run(&[&args[..], &["--record"]].concat(), "", &variables);
        assert_eq!((dry.code, ran.code), (0, 0), "{} {}", dry.stderr, ran.stderr);
        let recorded: String =
            files(&cassette).iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        assert!(recorded.contains(told), "{file}: {recorded}");
        let page = std::fs::read_to_string(&page).unwrap();
        for text in [&dry.stdout, &dry.stderr, &ran.stdout, &ran.stderr, &recorded, &page] {
            assert!(!text.contains(KEY), "{file}");
        }
    }
    server.end();
}

/// Every heading that is asked for.
const HEADINGS: &str = "## Goal\n## Constraints & Preferences\n## Progress\n## Key Decisions\n## Next Steps\n## Critical Context\n## Relevant Files";
