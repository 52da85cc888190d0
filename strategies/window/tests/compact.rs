//! The whole compaction, with a summarizer that says what it is told to.

use crate::support::{
    FAITHFUL, NOW, Notes, PRESETS, Talk, WINDOW, bytes, chat, check, row, rows, saying, step,
    strategy,
};
use foldback_core::log::{Media, Message, Part, PartKind};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::strategy::Strategy;
use foldback_testkit::stand_in::Scripted;
use foldback_window::request::cut;
use std::sync::Arc;

/// A preset whose reserve leaves room in a window of 1,000.
fn small(preset: &str) -> Strategy {
    strategy(preset, "[overflow]\nmax_output = 100")
}

/// Ten messages of 99 tokens: 1,090 of 1,000 with the reserve; four of them within 400.
fn ten() -> Vec<Message> {
    chat(10, 380)
}

fn outcome(talk: &mut Talk, moment: Moment) -> &'static str {
    let reports = talk.at(moment);
    reports.last().map_or("nothing", |report| report.outcome.name())
}

const PREFIX: &str = "user: [Previous conversation summary]";

#[test]
fn a_summary_for_what_is_old() {
    for preset in PRESETS {
        let fake = saying("They said hello.");
        let mut talk = Talk::plain(small(preset), 1_000, Some(Arc::clone(&fake)));
        talk.append(ten());
        assert_eq!(outcome(&mut talk, Moment::CallStart), "changed");
        let sent = talk.sent();
        let (up, told) = ("upstream", talk.witness.log.lock().unwrap().join(", "));
        let summary = format!("{PREFIX}\n\nThey said hello.");
        let hooks = "before auto, boundary auto 990, after".to_owned();
        let rows = [
            row("S9-17", up, "messages", sent.len().to_string(), "5".to_owned()),
            row("S9-17", up, "the summary comes first", sent[0].clone(), summary),
            row("S9-17", up, "asked", fake.asked().len().to_string(), "1".to_owned()),
            row("S9-17", up, "hooks and boundary", told, hooks),
        ];
        check(&rows, Clone::clone);
    }
}

/// What is kept is kept whole, reasoning and images included; what is summarized goes whole.
#[test]
fn reasoning_and_images() {
    let mut messages = ten();
    for at in [1, 9] {
        let thought = PartKind::Reasoning { text: format!("r{at}"), opaque: None };
        messages[at].parts.push(Part::new(thought));
        messages[at].parts.push(Part::new(PartKind::File(Media::default())));
    }
    for preset in PRESETS {
        let mut talk = Talk::plain(small(preset), 1_000, Some(saying("They said hello.")));
        talk.append(messages.clone());
        talk.at(Moment::CallStart);
        let sent = talk.conversation.sent();
        let parts = sent.iter().flat_map(|shown| &shown.message.parts);
        let kept: Vec<String> = parts
            .filter_map(|part| match &part.kind {
                PartKind::Reasoning { text, .. } => Some(text.clone()),
                PartKind::File(_) => Some("file".to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(kept, ["r9", "file"], "S9-26");
    }
}

#[test]
fn without_a_summary() {
    let kept: Vec<String> = ten()[6..]
        .iter()
        .map(|message| format!("{}: {}", message.role.as_str(), bytes(380)))
        .collect();
    for preset in PRESETS {
        let rows = [
            row("S9-18", "upstream", "client error", Some(Scripted::always(None)), kept.clone()),
            row("S9-19", "upstream", "no client", None, kept.clone()),
        ];
        check(&rows, |summarizer| {
            let mut talk = Talk::plain(small(preset), 1_000, summarizer.clone());
            talk.append(ten());
            let reports = talk.at(Moment::CallStart);
            assert!(matches!(reports[0].outcome, Outcome::Degraded(_)), "{reports:?}");
            talk.sent()
        });
    }
    // Where the kept part starts with the model, the mended preset says so in the user's name.
    let note = "user: [Earlier messages were left out, and there is no summary of them]";
    let rows = [
        row("S9-18", "ours", "a note", WINDOW, note.to_owned()),
        row("S9-18", "reference", "no note", FAITHFUL, format!("assistant: {}", bytes(440))),
    ];
    check(&rows, |preset| {
        let mut talk = Talk::plain(small(preset), 1_000, None);
        talk.append(chat(10, 440));
        talk.at(Moment::CallStart);
        talk.sent()[0].clone()
    });
}

#[test]
fn too_little_to_fold() {
    for preset in PRESETS {
        let one = || chat(1, 4_000);
        let two = || chat(2, 400);
        let rows = [
            row("S9-19", "upstream", "one message", (one(), 1_000), ("unchanged", 1)),
            row("S9-19", "ours", "no message", (vec![], 1_000), ("unchanged", 0)),
            row("S9-19", "reference", "all within the budget", (two(), 1_000), ("unchanged", 2)),
            row("S9-19", "ours", "two, one of them within", (two(), 260), ("changed", 2)),
        ];
        check(&rows, |(messages, context)| {
            let mut talk = Talk::plain(small(preset), *context, Some(saying("Hello.")));
            talk.append(messages.clone());
            (outcome(&mut talk, Moment::Manual), talk.sent().len())
        });
    }
}

#[test]
fn instructions() {
    for preset in PRESETS {
        let fake = saying("Done.");
        let hook = Some("Keep the file names.");
        let mut talk = Talk::new(small(preset), 1_000, Some(Arc::clone(&fake)), hook, Notes(None));
        talk.append(ten());
        talk.at(Moment::CallStart);
        let asked = fake.request(0).instructions;
        let expect = vec!["Keep the file names.".to_owned()];
        let rows = [row("S9-20", "upstream", "from a hook", asked, expect)];
        check(&rows, Clone::clone);
    }
}

#[test]
fn session_memory() {
    let minutes = |n: i64| NOW - n * 60_000;
    for preset in PRESETS {
        let up = "upstream";
        let noted = |at: i64| Some(("Noted.", at));
        let rows = [
            row("S9-22", up, "fresh", noted(minutes(1)), ("Noted.", 0)),
            row("S9-22", "ours", "four minutes and a bit", noted(minutes(5) + 1), ("Noted.", 0)),
            row("S9-22", "ours", "five minutes", noted(minutes(5)), ("Asked.", 1)),
            row("S9-22", up, "stale", noted(minutes(10)), ("Asked.", 1)),
            row("S9-22", up, "missing", None, ("Asked.", 1)),
            row("S9-22", up, "empty", Some(("", minutes(1))), ("Asked.", 1)),
        ];
        check(&rows, |notes| {
            let fake = saying("Asked.");
            let notes = Notes(*notes);
            let mut talk = Talk::new(small(preset), 1_000, Some(Arc::clone(&fake)), None, notes);
            talk.append(ten());
            talk.at(Moment::CallStart);
            let used = ["Noted.", "Asked."]
                .into_iter()
                .find(|text| talk.sent()[0] == format!("{PREFIX}\n\n{text}"));
            (used.unwrap_or("neither"), fake.asked().len())
        });
    }
}

#[test]
fn what_the_summarizer_reads() {
    let long = |n: usize| Message::user("u", bytes(n));
    let dots = |n: usize| format!("{}...", bytes(n));
    let two = Message::new(
        "u",
        foldback_core::Role::User,
        vec![Part::text(bytes(1_500)), Part::text(bytes(1_500))],
    );
    let rows = [
        row("S9-23", "upstream", "short", long(5), bytes(5)),
        row("S9-23", "ours", "exactly 2,000", long(2_000), bytes(2_000)),
        row("S9-23", "upstream", "long", long(3_000), dots(2_000)),
        row("S9-23", "ours", "two texts", two, format!("{}\n{}", bytes(1_500), dots(500))),
        row("S9-23", "ours", "a result", step(0, &bytes(3_000))[1].clone(), dots(2_000)),
    ];
    check(&rows, |message| cut(message.clone(), 2_000, true).shown_text());

    // Long arguments stay JSON; the original shows none.
    let arguments = format!(r#"{{"path":"src/a.rs","content":"{}"}}"#, bytes(3_000));
    let call =
        Message::assistant("a", vec![Part::text("Writing."), Part::call("c", "write", arguments)]);
    let shown = format!("Writing.\n{{\"path\":\"src/a.rs\",\"content\":\"{}\"}}", dots(2_000));
    let rows = [
        row("S9-23", "ours", "calls", true, shown),
        row("S9-23", "reference", "no calls", false, "Writing.".to_owned()),
    ];
    check(&rows, |calls| cut(call.clone(), 2_000, *calls).shown_text());
}

/// The second fold reads the first one's summary: as such and whole, or as one more message.
#[test]
fn an_earlier_summary() {
    let rows = [
        row("S9-17", "ours", "apart", WINDOW, (Some("They said hello.".to_owned()), 6)),
        row("S9-17", "reference", "a message", FAITHFUL, (None, 7)),
    ];
    check(&rows, |preset| {
        let fake = saying("They said hello.");
        let mut talk = Talk::plain(small(preset), 1_000, Some(Arc::clone(&fake)));
        talk.append(ten());
        talk.at(Moment::CallStart);
        talk.append(chat(6, 380));
        talk.at(Moment::CallStart);
        assert_eq!(talk.sent().len(), 5, "one summary, four messages");
        let asked = fake.asked();
        (asked[1].previous.clone(), asked[1].messages.len())
    });
}

#[test]
fn when_it_is_asked() {
    let rows = rows::<(String, usize, Moment), String>("asked");
    check(&rows, |(preset, count, moment)| {
        let preset = if preset == "window" { WINDOW } else { FAITHFUL };
        let mut talk = Talk::plain(small(preset), 1_000, Some(saying("Hello.")));
        talk.append(chat(*count, 380));
        outcome(&mut talk, *moment).to_owned()
    });
}

/// Of 1,000 the reserve takes 500 and the threshold is 800, so 300 are left for messages: the 400 that
/// the original keeps would be over it again.
#[test]
fn a_window_too_small_for_what_is_kept() {
    let rows = [
        row("S9-17", "ours", "keeps less", WINDOW, (3, 75, "unchanged")),
        row("S9-17", "reference", "keeps 40 %", FAITHFUL, (5, 4_096, "changed")),
    ];
    check(&rows, |preset| {
        let mut strategy = strategy(preset, "[overflow]\nmax_output = 500");
        strategy.guards.repeat = false;
        let fake = saying("Hello.");
        let mut talk = Talk::plain(strategy, 1_000, Some(Arc::clone(&fake)));
        talk.append(ten());
        talk.at(Moment::CallStart);
        let sent = talk.sent().len();
        talk.append([Message::user("next", "Go on.")]);
        let again = outcome(&mut talk, Moment::CallStart);
        let budget = fake.request(0).budget;
        (sent, budget, again)
    });
}

#[test]
fn two_tool_rounds() {
    for preset in PRESETS {
        let fake = saying("Hello.");
        let mut talk = Talk::plain(small(preset), 1_000, Some(Arc::clone(&fake)));
        talk.append([Message::user("u", bytes(2_000))]);
        for n in 0..2 {
            talk.append(step(n, &bytes(2_400)));
            talk.at(Moment::ToolResult);
            talk.at(Moment::CallStart);
        }
        let rows = [row("S9-24", "upstream", "at least twice", fake.asked().len() >= 2, true)];
        check(&rows, |twice| *twice);
    }
}

/// A fold has to gain something: a summary that is no smaller than what it replaces is refused, and nobody is asked for
/// one where only the summary before it would go.
#[test]
fn a_fold_without_gain_is_none() {
    let long = "a".repeat(3_200);
    let earlier = "[Previous conversation summary]\n\nThey said hello.";
    let table = [
        ("hello", "They said hello.", "unchanged", 1),
        (earlier, "They said hello.", "unchanged", 0),
        (&*"hello ".repeat(60), "They said hello.", "changed", 1),
    ];
    for preset in PRESETS {
        for (first, summary, expected, asked) in table {
            let fake = saying(summary);
            let mut talk = Talk::plain(small(preset), 1_000, Some(Arc::clone(&fake)));
            talk.append(vec![Message::user("1", first), Message::user("2", long.as_str())]);
            let found = outcome(&mut talk, Moment::CallStart);
            assert_eq!((found, fake.asked().len()), (expected, asked), "{preset}: {first}");
        }
    }
}
