//! The command treats a summarizer that asks a model alike, whoever wrote it: cassette, budget and dry run.

use foldback_fake_provider::{Background, Recorded, Reply};
use std::path::Path;
use std::process::{Command, Output};

const SESSION: &str = "examples/sessions/refunds-pydantic-ai.json";

fn run(args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_third-party"))
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

fn compare(file: &str, more: &[&str]) -> (i32, String, String) {
    let mut args = vec!["compare", SESSION, "--preset", "opencode", "--summarizer", file];
    args.extend(["--window", "32000", "--max-output", "4000", "--json", "-"]);
    args.extend(more);
    run(&args)
}

fn sentence(got: &Recorded) -> Reply {
    Reply::text(format!("{} bytes of work were done.", got.bytes))
}

#[test]
fn a_summarizer_of_a_third_party_has_cassette_budget_and_dry_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let server = Background::start(sentence).unwrap();
    let write = |name: &str, more: &str| {
        let section = format!("[summarizer]\nuse = \"headline\"\nurl = \"{}\"\n", server.url());
        let text = format!("{section}{more}\n[price]\ninput = 1.0\noutput = 2.0\n");
        let file = path(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let file = write("headline.toml", "");
    let cassette = path("cassette");
    let with_cassette = ["--cassette", &*cassette];

    // A dry run sends no request, counts, and continues after the first summary.
    let (code, counted, stderr) = compare(&file, &["--dry-run"]);
    assert_eq!(code, 0, "{stderr}");
    let row = counted.lines().find(|line| line.contains("opencode+headline"));
    let words: Vec<&str> = row.unwrap_or_else(|| panic!("{counted}")).split_whitespace().collect();
    let [_, "headliner", requests, ..] = words.as_slice() else { panic!("{words:?}") };
    let requests: usize = requests.parse().unwrap();
    assert!(requests >= 2, "{counted}");
    assert_eq!(server.asked().len(), 0, "a dry run sent something");

    // Recorded once, with a bill …
    let (code, recorded, stderr) = compare(&file, &[&with_cassette[..], &["--record"]].concat());
    assert_eq!(code, 0, "{stderr}");
    let asked = server.asked().len();
    assert!(asked >= 2, "{stderr}");
    for told in [
        "text of the sessions is sent to headliner at".to_owned(),
        format!("{asked} answers were recorded"),
        format!("{asked} requests: "),
    ] {
        assert!(stderr.contains(&told), "no `{told}`: {stderr}");
    }
    assert!(recorded.contains("opencode+headline"), "{recorded}");
    // … and replayed to the byte without a request more.
    let (code, replayed, stderr) = compare(&file, &with_cassette[..]);
    assert_eq!((code, replayed == recorded), (0, true), "{stderr}");
    assert_eq!(server.asked().len(), asked);

    // Budgets: the flag's, and the summarizer's own.
    for (file, flags) in
        [(&file, &["--budget-usd", "0"][..]), (&write("most.toml", "most_usd = 0.0\n"), &[])]
    {
        let (code, _, stderr) = compare(file, flags);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains("budget"), "{stderr}");
        assert_eq!(server.asked().len(), asked, "a budget of nothing paid for a request");
    }

    // A command that asks no models refuses it.
    let own = path("own.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let (section, _) = text.split_once("[price]").unwrap();
    std::fs::write(&own, format!("name = \"own\"\nextends = \"opencode\"\n{section}")).unwrap();
    let (code, _, stderr) =
        run(&["tune", SESSION, "--preset", &own, "--vary", "pruner.protect_tokens=1..9"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("`tune` supports none"), "{stderr}");
}
