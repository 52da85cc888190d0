//! `probe --recall`: a model looks up what its view leaves out, and where that ends.

use crate::probe::{answered, probe, rows};
use crate::summaries::Folder;
use foldback_fake_provider::{Background, Recorded, Reply};
use serde_json::Value;

/// A model that looks up what the record lacks: it searches for the line with the gap, reads the first passage, and answers.
fn looks_up(got: &Recorded) -> Reply {
    let said: Vec<&str> = got.messages().iter().filter_map(|one| one["content"].as_str()).collect();
    let turns: Vec<&str> =
        said.iter().copied().filter(|text| !text.starts_with("RECALL:")).collect();
    // The instructions stand before the question.
    let (question, last) = (turns[1], turns[turns.len() - 1]);
    let offered = question.contains("RECALL:");
    let gap = question.rsplit_once("-----\n\n").map_or(question, |(_, question)| question);
    let line = gap.lines().find(|line| line.contains("____") && !line.contains("marked"));
    let recall = |name: &str, what: &str| {
        Reply::text(format!("RECALL: {}", serde_json::json!({ name: what })))
    };
    match (turns.len(), line) {
        (2, Some(line)) if offered && answered(question).contains("UNKNOWN") => {
            recall("query", &line.replace("____", " "))
        }
        (3, Some(_)) if last.contains("passages match") => {
            let hit = last.lines().find_map(|line| line.strip_prefix("1. ")).unwrap();
            recall("reference", hit.split(" (").next().unwrap())
        }
        (2, _) => Reply::text(answered(question)),
        _ => Reply::text(answered(&format!("{last}\n-----\n\n{gap}"))),
    }
}

#[test]
fn what_a_view_lacks_may_be_looked_up() {
    let folder = Folder::new();
    let server = Background::start(looks_up).unwrap();
    let file = folder.summarizer(&server.url());
    let [cassette, first, second, page] =
        ["cassette", "a.jsonl", "b.jsonl", "page.html"].map(|name| folder.path(name));
    let with = |more: &[&str]| probe(&file, &[&["--cassette", &cassette], more].concat());
    let ran = with(&["--record", "--recall", "--rows", &first, "--html", &page]).done();
    server.end();
    let all = rows(&first);
    let of_preset = |name: &str| {
        let rows = all.iter().filter(|row| row["preset"] == name);
        rows.collect::<Vec<&Value>>()
    };
    let (without, looked) = (of_preset("window+extractive"), of_preset("window+extractive+recall"));
    assert!(!without.is_empty());
    assert_eq!((all.len(), looked.len()), (6 * without.len(), without.len()));
    let mut found = 0;
    for (one, other) in without.iter().zip(&looked) {
        assert_eq!(
            [&one["id"], &one["form"], &one["kept"]],
            [&other["id"], &other["form"], &other["kept"]]
        );
        assert_eq!(one["recalls"], 0);
        assert!(other["recalls"].as_u64().unwrap() <= 2, "{other}");
        if other["recalls"] == 2 {
            assert!(other["tokens"].as_u64() > one["tokens"].as_u64());
            found += u64::from(one["right"] == false && other["right"] == true);
        }
    }
    assert!(found > 0, "nothing was found: {looked:?}");
    for told in
        ["of +recall against the same without it", "window+extractive+recall: looked something up"]
    {
        assert!(ran.stdout.replace("\n  ", " ").contains(told), "no {told}: {}", ran.stdout);
    }
    let page = std::fs::read_to_string(page).unwrap();
    for part in [
        "<th scope=\"row\">window+<wbr>extractive+<wbr>recall</th>",
        "answered by small-model",
        "looked something up",
    ] {
        assert!(page.contains(part), "no {part}: {page}");
    }

    // Who does not ask for it asks for nothing else.
    with(&["--rows", &second]).done();
    let mut plain = all.clone();
    plain.retain(|row| !row["preset"].as_str().unwrap().ends_with("+recall"));
    assert!(rows(&second) == plain);
}

/// What a model looks up is bounded, and what is wrong with it is for the model to read.
#[test]
fn looking_things_up_has_an_end() {
    type Reads = fn(&Recorded) -> Reply;
    let table: [(&str, Reads, usize, &str, &str); 3] = [
        (
            "never stops",
            |_| Reply::text("RECALL: {\"query\": \"def\"}"),
            2,
            "form",
            "Nothing more can be looked up.",
        ),
        (
            "is not there",
            |got| match got.messages().len() {
                2 => Reply::text(
                    "Let me see.\n**RECALL: {\"reference\": \"nowhere\"}**\nIt says: 7.\nANSWER: 7",
                ),
                _ => Reply::text("ANSWER: UNKNOWN"),
            },
            1,
            "unknown",
            "Nothing is stored under `nowhere`",
        ),
        (
            "no arguments",
            |got| match got.messages().len() {
                2 => Reply::text("RECALL: the port"),
                _ => Reply::text("ANSWER: UNKNOWN"),
            },
            1,
            "unknown",
            "The arguments are not understood",
        ),
    ];
    for (name, answer, recalls, outcome, told) in table {
        let folder = Folder::new();
        let server = Background::start(answer).unwrap();
        let file = folder.summarizer(&server.url());
        let path = folder.path("rows.jsonl");
        probe(&file, &["--form", "exact", "--count", "2", "--recall", "2", "--rows", &path]).done();
        let sent = server.end();
        assert!(sent.iter().any(|body| body.contains(told)), "{name}: no {told}");
        assert!(
            !sent.iter().any(|body| body.contains("It says: 7")),
            "{name}: a made-up result was kept"
        );
        let all = rows(&path);
        let looked: Vec<&Value> =
            all.iter().filter(|row| row["preset"].as_str().unwrap().ends_with("+recall")).collect();
        assert_eq!(looked.len(), 4, "{name}");
        for row in looked {
            assert_eq!(
                (&row["recalls"], &row["outcome"]),
                (&recalls.into(), &outcome.into()),
                "{name}: {row}"
            );
        }
    }
}
