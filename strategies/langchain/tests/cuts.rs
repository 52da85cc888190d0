//! Where the cut is, what is summarized, and from which size on: the rows of LangChain's `SummarizationMiddleware`.

use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part, Role, Usage};
use foldback_core::moment::Moment;
use foldback_core::stage::{Pressure, SummaryRequest};
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use std::sync::Arc;

const ROWS: &str = include_str!("../rows/cuts.toml");

fn message(at: usize, word: &str) -> Message {
    let id = format!("{at}");
    // Together with the role that every message counts, 28 characters: 7 tokens, and 3.
    let text = |role: Role| "x".repeat(28 - role.as_str().len());
    let (kind, calls) = word.split_at(1);
    match kind {
        "u" => Message::user(id, text(Role::User)),
        "l" => Message::user(id, "1234567\n1234567\n12345678"),
        "s" => Message::new(id, Role::System, vec![Part::text(text(Role::System))]),
        "r" => Message::tool(id, format!("c{calls}"), "read", "result"),
        _ => {
            let calls = calls.chars().map(|call| Part::call(format!("c{call}"), "read", "{}"));
            let said = Part::text(text(Role::Assistant));
            Message::assistant(id, std::iter::once(said).chain(calls).collect())
        }
    }
}

/// The conversation before a call, and what was to be summarized.
fn folded(
    toml: &str,
    messages: &str,
    [window, usage]: [u64; 2],
) -> (Conversation, Vec<SummaryRequest>) {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_langchain::REGISTRATION]);
    let scripted = Scripted::always(Some("S"));
    let mut strategy = talk::compiled(
        &registry,
        &format!(
            "name = \"t\"\nextends = \"langchain-summarization\"\n[guards]\nno-growth = false\npairs = false\n{toml}"
        ),
    );
    strategy.summarizer = Some(scripted.clone());
    let mut talk = talk::conversation(Arc::new(strategy), Limits::new(window, 0));
    for (at, word) in messages.split(' ').enumerate() {
        talk.append(message(at, word));
    }
    let usage = (usage > 0).then(|| Usage { uncached: usage, ..Usage::default() });
    talk::at_usage(&mut talk, Moment::CallStart, usage);
    (talk, scripted.asked())
}

/// Index of the first message that stays, if anything was folded.
fn first_kept(talk: &Conversation) -> Vec<usize> {
    let kept = talk.sent().into_iter().find_map(|shown| shown.pos);
    if talk.folds().is_empty() { Vec::new() } else { kept.into_iter().collect() }
}

#[test]
fn where_the_cut_is() {
    let rows: Vec<(String, String, usize, Vec<usize>)> = table::rows(ROWS, "cuts");
    for (id, messages, keep, expected) in rows {
        let keep = if keep == 20 { String::new() } else { format!("keep_messages = {keep}\n") };
        let toml = format!(
            "[overflow]\nunknown_limit = 1\n[filter]\nonly_smaller = false\nwhole_groups = false\n{keep}"
        );
        let (talk, _) = folded(&toml, &messages, [0, 0]);
        assert_eq!(first_kept(&talk), expected, "{id}");
    }
}

#[test]
fn what_is_summarized() {
    let rows: Vec<(String, u64, String, Vec<usize>)> = table::rows(ROWS, "trims");
    for (id, trim, messages, expected) in rows {
        let toml = format!(
            "[overflow]\nunknown_limit = 1\n[filter]\nonly_smaller = false\nkeep_messages = 1\ntrim_tokens = {trim}\n"
        );
        let (talk, asked) = folded(&toml, &format!("{messages} u"), [0, 0]);
        let first = asked.first().and_then(|asked| asked.messages.first());
        let first = first.into_iter();
        let first = first.flat_map(|one| [one.id.parse().unwrap(), one.shown_text().len()]);
        assert_eq!(first.collect::<Vec<usize>>(), expected, "{id}");
        let text = talk.sent()[0].to_message().shown_text();
        let summary = if expected.is_empty() {
            "The earlier messages were too long to be summarized."
        } else {
            "S"
        };
        assert_eq!(text, format!("[Summary of the conversation so far]\n\n{summary}"), "{id}");
    }
}

#[test]
fn when_it_folds() {
    let (long, few) = ("u a u a u a u a u a", "keep_messages = 4");
    // id, window, fields of the policy, usage of the last answer, whether it folds. The ten messages have 100 tokens.
    for (id, window, policy, usage, folds) in [
        ("LS-16 80 % of the window is reached", 125, "", 0, true),
        ("LS-17 not quite", 127, "", 0, false),
        ("LS-18 rounded down", 126, "", 0, true),
        ("LS-19 a number of tokens is reached", 900, "limit = 100", 0, true),
        ("LS-20 not quite", 900, "limit = 101", 0, false),
        ("LS-21 either suffices", 125, "limit = 500", 0, true),
        ("LS-22 the usage counts", 900, "limit = 500", 500, true),
        ("LS-23 not quite", 900, "limit = 500", 499, false),
        ("ours: the usage left out", 900, "limit = 500\ncounts = []", 500, false),
        ("LS-32 no share is set", 125, "limit = 101\nshare = 1.0", 0, false),
    ] {
        let toml = format!("[overflow]\n{policy}\n[filter]\nonly_smaller = false\n{few}\n");
        let (talk, _) = folded(&toml, long, [window, usage]);
        assert_eq!(!talk.folds().is_empty(), folds, "{id}");
    }
}

#[test]
fn tokens_and_shares_keep_the_longest_end_that_fits() {
    // id, fields, index of the first that stays. Ten messages of 10 tokens each in a window of 1,000.
    for (id, fields, expected) in [
        ("LS-24 tokens", "keep_tokens = 30", vec![7]),
        ("LS-25 the next does not fit", "keep_tokens = 39", vec![7]),
        ("LS-26 the last stays whatever its size", "keep_tokens = 1", vec![9]),
        ("LS-27 all fit", "keep_tokens = 100", vec![]),
        ("LS-28 a share of the window", "keep_fraction = 0.03", vec![7]),
    ] {
        let toml = format!("[overflow]\nlimit = 1\n[filter]\nonly_smaller = false\n{fields}\n");
        let (talk, _) = folded(&toml, "u a u a u a u a u a", [1_000, 0]);
        assert_eq!(first_kept(&talk), expected, "{id}");
    }
}

#[test]
fn the_system_prompt_counts_where_it_is_asked_to() {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_langchain::REGISTRATION]);
    // id, preset, tokens of the messages, whether it folds. The system prompt has 40 tokens; 100 trigger.
    for (id, preset, view_tokens, folds) in [
        ("it does", "deepagents", 60, true),
        ("not quite", "deepagents", 59, false),
        ("it does not", "langchain-summarization", 99, false),
    ] {
        let toml =
            format!("name = \"t\"\nextends = \"{preset}\"\n[overflow]\nunknown_limit = 100\n");
        let policy = talk::compiled(&registry, &toml).overflow.unwrap();
        assert_eq!(policy.when[0], Moment::CallStart, "{id}");
        let asked = Pressure::at(Moment::CallStart, Limits::default());
        let decision = policy.stage.decide(&Pressure { view_tokens, frame_tokens: 40, ..asked });
        assert_eq!(decision.fold, folds, "{preset}: {id}");
    }
}
