//! Where the kept part begins.

use crate::support::{FAITHFUL, Talk, WINDOW, bytes, chain, check, row, rows, step, strategy};
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Role};
use foldback_core::moment::Moment;
use foldback_core::validity::{Dialect, validate};
use foldback_core::view::ShownMessage;
use foldback_window::boundary::{Unit, move_as_documented, move_off_groups, split_point};
use std::sync::Arc;

/// Tokens of messages of these many bytes.
fn tokens(bytes: &[u64]) -> Vec<u64> {
    bytes.iter().map(|n| n / 4 + 4).collect()
}

/// `u`ser, `a`ssistant, `c`all, `r`esult; a result belongs to the last call before it, if there is one.
fn units(roles: &str) -> Vec<Unit> {
    let mut call = None;
    roles
        .chars()
        .enumerate()
        .map(|(index, role)| {
            if role == 'c' {
                call = Some(index);
            }
            Unit {
                result: role == 'r',
                calls: role == 'c',
                group: call.filter(|_| role == 'r').unwrap_or(index),
            }
        })
        .collect()
}

#[test]
fn natural_split() {
    let rows = rows::<(Vec<u64>, u64), usize>("natural-split");
    check(&rows, |(sizes, budget)| split_point(&tokens(sizes), *budget));
}

type Move = fn(&[Unit], usize) -> usize;
const DOCUMENTED: Move = move_as_documented;
const WHOLE: Move = move_off_groups;

#[test]
fn moved_split() {
    let rows = rows::<(String, String, usize), usize>("moved-split");
    check(&rows, |(how, roles, split)| {
        let adjust = if how == "whole" { WHOLE } else { DOCUMENTED };
        adjust(&units(roles), *split)
    });
}

#[test]
fn budget_between_call_and_result() {
    let up = "upstream";
    // Sizes of the original's own test: the split falls on the call at 3.
    let sizes: &[u64] = &[800, 800, 800, 7, 200, 200];
    // One byte of room less, and it falls between the call at 3 and its result at 4.
    let tight: &[u64] = &[800, 800, 800, 56, 200, 200];
    let rows = [
        row("S9-12", up, "as documented", (DOCUMENTED, sizes), 2),
        row("S9-12", up, "whole groups", (WHOLE, sizes), 3),
        row("S9-12", "ours", "as documented, between", (DOCUMENTED, tight), 2),
        row("S9-12", "ours", "whole groups, between", (WHOLE, tight), 3),
    ];
    check(&rows, |(adjust, sizes)| adjust(&units("uaucra"), split_point(&tokens(sizes), 120)));
    assert_eq!(split_point(&tokens(tight), 120), 4);
}

/// Folds by hand a chain of six calls and a final answer, with `budget` tokens to keep.
fn folded(preset: &str, budget: u64) -> Conversation {
    let mut talk = Talk::plain(strategy(preset, ""), budget * 10 / 4, None);
    talk.append(chain(6, 400, 400));
    talk.at(Moment::Manual);
    talk.conversation
}

/// Whether the first message of the log that is sent is a result.
fn starts_with_result(conversation: &Conversation) -> bool {
    conversation
        .sent()
        .iter()
        .find(|shown| !shown.message.is_entry())
        .is_some_and(|shown| shown.message.role == Role::Tool)
}

/// The defect, over all budgets: between the extremes the kept part always starts with an orphan.
/// The preset that mends it never sends one.
#[test]
fn sweep() {
    // Budgets are multiples of 4 so that 40 % of the window is exactly the budget.
    for budget in (200..=800).step_by(4) {
        let faithful = folded(FAITHFUL, budget);
        // 104 for the answer and for each result, 4 for each call; the first call needs no move.
        let orphan = (208..748).contains(&budget);
        assert_eq!(starts_with_result(&faithful), orphan, "S9-12 §8.5 faithful, budget {budget}");
        let mended = folded(WINDOW, budget);
        assert!(mended.view().is_folded() || budget > 700, "budget {budget}");
        for dialect in Dialect::ALL {
            let found = validate(mended.sent(), dialect);
            assert_eq!(found, [], "window, budget {budget}, {dialect}");
            let found = validate(faithful.sent(), dialect);
            let torn = found.iter().any(|violation| violation.rule == "result-without-call");
            assert_eq!(torn, orphan, "faithful, budget {budget}, {dialect}: {found:?}");
        }
    }
}

/// Window, what is said, why nothing is folded by hand.
#[test]
fn what_can_not_be_split_says_why() {
    let why = |name, given, code: &str| row("S9-8", "ours", name, given, code.to_owned());
    let rows = [
        why("one message", (1_000, vec![Message::user("u", "on")]), "too-short"),
        why("all fit", (200_000, chain(6, 400, 400)), "all-fits"),
        // It is taken for one of 200,000 tokens.
        why("an unknown window", (0, chain(6, 400, 400)), "all-fits"),
        why("one group", (1_000, step(0, &bytes(4_000)).to_vec()), "no-split"),
    ];
    check(&rows, |(window, messages)| {
        let mut talk = Talk::plain(strategy(WINDOW, ""), *window, None);
        talk.append(messages.iter().cloned());
        let reports = talk.at(Moment::Manual);
        let whys = reports.iter().filter(|report| report.stage == "window.split");
        whys.map(|report| report.outcome.why().unwrap().code.to_string()).collect::<String>()
    });
}

#[test]
fn the_log_of_the_sweep_is_sound() {
    let messages: Vec<_> = chain(6, 400, 400).into_iter().map(Arc::new).collect();
    assert_eq!(messages.len(), 14);
    for dialect in Dialect::ALL {
        assert_eq!(validate(messages.iter().map(ShownMessage::plain), dialect), []);
    }
}
