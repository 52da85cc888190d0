//! Whatever the history: pairs stay together, nothing grows, a second run changes nothing, and the log
//! is what was appended.

use crate::support::{Scripted, answer, assistant, at, conversation, strategy, usage};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Finish, Message, Part, PartKind, ResultStatus, Role};
use foldback_core::moment::Moment;
use foldback_core::stage::Summarizer;
use foldback_core::validity::{Dialect, caused_by_strategy, validate};
use foldback_core::view::Shown;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One thing that happens.
#[derive(Clone, Debug)]
enum Happens {
    /// A user turn begins.
    Prompt { size: usize },
    /// A user message arrives while the loop is running.
    Interjection,
    /// The model calls tools; results may be missing, late or in another order.
    Tools {
        sizes: Vec<usize>,
        status: ResultStatus,
        missing: bool,
        reversed: bool,
        same_record: bool,
    },
    /// The model answers.
    Answer { size: usize },
    /// A result whose call nobody made.
    Orphan,
    /// The strategy is asked.
    At { moment: Moment, tokens: u64 },
    /// The last fold is taken back.
    Undo,
}

fn happens() -> impl Strategy<Value = Happens> {
    let status = prop_oneof![
        4 => Just(ResultStatus::Completed),
        1 => Just(ResultStatus::Error),
        1 => Just(ResultStatus::Pending),
    ];
    let moment = prop_oneof![
        Just(Moment::TurnEnd),
        Just(Moment::StepEnd),
        Just(Moment::CallStart),
        Just(Moment::ProviderOverflow),
        Just(Moment::Manual),
    ];
    prop_oneof![
        3 => (0..400usize).prop_map(|size| Happens::Prompt { size }),
        1 => Just(Happens::Interjection),
        6 => (prop::collection::vec(0..800usize, 1..4), status, prop::bool::weighted(0.1), any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(sizes, status, missing, reversed, same_record)| Happens::Tools { sizes, status, missing, reversed, same_record }),
        3 => (0..400usize).prop_map(|size| Happens::Answer { size }),
        1 => Just(Happens::Orphan),
        5 => (moment, 0..4_000u64).prop_map(|(moment, tokens)| Happens::At { moment, tokens }),
        1 => Just(Happens::Undo),
    ]
}

const SMALL: &str = "
[window]
context = 3_000
output = 500
[guards]
no-growth = true
[[pruner]]
use = \"opencode.prune\"
enabled = true
protect_tokens = 150
minimum_tokens = 50
";

fn messages(index: usize, what: &Happens) -> Vec<Message> {
    let id = format!("m{index}");
    match what {
        Happens::Prompt { size } => vec![Message::user(id, "p".repeat(*size))],
        Happens::Interjection => {
            vec![Message::user(id, "by the way").within_turn()]
        }
        Happens::Answer { size } => vec![answer(&id, &"a".repeat(*size))],
        Happens::Orphan => vec![Message::tool(&id, format!("{id}-nobody"), "bash", "lost")],
        Happens::Tools { sizes, status, missing, reversed, same_record } => {
            let call = |n: usize| format!("{id}-c{n}");
            let parts = (0..sizes.len()).map(|n| Part::call(call(n), "bash", "{}")).collect();
            let mut answer = assistant(&id, parts, Finish::ToolCalls);
            answer.record = same_record.then_some(1);
            let mut results: Vec<Message> = sizes
                .iter()
                .enumerate()
                .map(|(n, size)| {
                    let mut message =
                        Message::tool(format!("{id}-r{n}"), call(n), "bash", "o".repeat(*size));
                    if let PartKind::Result(result) = &mut message.parts[0].kind {
                        result.status = *status;
                    }
                    message
                })
                .collect();
            if *missing {
                results.pop();
            }
            if *reversed {
                results.reverse();
            }
            std::iter::once(answer).chain(results).collect()
        }
        Happens::At { .. } | Happens::Undo => Vec::new(),
    }
}

fn check(conversation: &Conversation, appended: &[Message]) {
    let log: Vec<&Message> = conversation
        .history()
        .iter()
        .map(|(_, message)| &**message)
        .filter(|message| !message.is_entry())
        .collect();
    assert_eq!(log, appended.iter().collect::<Vec<_>>(), "the log");

    let sent = conversation.sent();
    let ids: BTreeSet<&str> = sent.iter().map(|shown| &*shown.message.id).collect();
    assert_eq!(ids.len(), sent.len(), "a message is shown twice");

    let plain: Vec<Shown<'_>> = conversation
        .history()
        .iter()
        .filter(|(_, message)| !message.is_entry())
        .map(|(_, message)| Shown::plain(message))
        .collect();
    for dialect in Dialect::ALL {
        let own = validate(sent.iter().cloned(), dialect);
        let caused = caused_by_strategy(&own, &validate(plain.iter().cloned(), dialect));
        assert!(caused.is_empty(), "{dialect:?}: {caused:?}");
    }
    for shown in &sent {
        if shown.message.role == Role::System {
            continue;
        }
        let pos = shown.pos.unwrap();
        let group = conversation.history().group(conversation.history().group_of(pos));
        for member in &group.items {
            assert!(conversation.view().is_visible(*member), "group of {pos} is torn apart");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn plans_keep_what_must_be_kept(script in prop::collection::vec(happens(), 1..40)) {
        for preset in ["opencode", "opencode-1.17", "brutus"] {
            let extra = if preset == "opencode-1.17" {
                "[filter]\npreserve_recent_tokens = 200\n"
            } else {
                ""
            };
            let mut strategy = strategy(preset, &format!("{SMALL}{extra}"));
            let summarizer = Scripted::in_turn(std::array::from_fn::<_, 40, _>(|_| Ok("what was done so far")));
            strategy.summarizer = Some(summarizer as Arc<dyn Summarizer>);
            let mut conversation = conversation(strategy, Limits::new(3_000, 500));
            let mut appended = Vec::new();
            for (index, what) in script.iter().enumerate() {
                for message in messages(index, what) {
                    conversation.append(message.clone());
                    appended.push(message);
                }
                match what {
                    Happens::At { moment, tokens } => {
                        let usage = Some(usage(*tokens, 0, 0));
                        let before = conversation.tokens();
                        at(&mut conversation, *moment, usage);
                        assert!(conversation.tokens() <= before, "{preset}: the view grew");
                        if *moment != Moment::Manual {
                            for report in at(&mut conversation, *moment, usage) {
                                assert!(!report.outcome.changed(), "{preset}: a second run changed something: {report:?}");
                            }
                        }
                    }
                    Happens::Undo => {
                        conversation.undo();
                    }
                    _ => {}
                }
                check(&conversation, &appended);
            }
        }
    }
}
