//! What somebody else's compaction made of a list of messages, as a text for review.
//!
//! Nobody says which message became which. A message that stands in both lists is unchanged. A message with the calls or results of
//! an earlier message is that message, changed. All others are new.

use super::names::{Names, place};
use super::{message, ranges};
use crate::log::{Message, Part, PartKind, ToolResult};
use crate::plain;
use crate::stage::Estimator;
use crate::view::{Pos, ShownMessage};
use std::fmt::Write as _;
use std::sync::Arc;

/// What of `before` is shown in `after` and what is not, with a title.
pub fn lists(
    title: &str,
    before: &[Arc<Message>],
    after: &[Arc<Message>],
    estimator: &dyn Estimator,
) -> String {
    let origins = origins(before, after);
    let names = Names::of_calls(before.iter().chain(after).map(|message| &**message));
    let tokens = |messages: &[Arc<Message>]| -> u64 {
        messages.iter().map(|message| estimator.count(message).total()).sum()
    };
    let name = |pos: Pos| place(before[pos].role, pos);
    let mut out = String::new();
    let _ = writeln!(out, "# {}", plain::line(title));
    let _ = writeln!(
        out,
        "{} messages of {}; {} of {} tokens ({})\n\n## View",
        after.len(),
        before.len(),
        tokens(after),
        tokens(before),
        estimator.id(),
    );
    let mut new = 0;
    for (index, (shown, origin)) in after.iter().zip(&origins).enumerate() {
        let id = match origin {
            Some(pos) => name(*pos),
            None => {
                new += 1;
                format!("new-{new}")
            }
        };
        let renamed = Arc::new(Message { id, ..Message::clone(shown) });
        let original = origin.map(|pos| &before[pos].parts);
        message(&mut out, index + 1, &ShownMessage::plain(&renamed), &names, |part| {
            let was = original.map(|parts| parts.get(part).map(|part| &part.kind));
            let now = &renamed.parts[part].kind;
            match was {
                Some(Some(was)) if is_the_same(was, now) => "",
                None => "",
                Some(_) => " (changed)",
            }
        });
    }
    let hidden: Vec<Pos> = (0..before.len()).filter(|pos| !origins.contains(&Some(*pos))).collect();
    if !hidden.is_empty() {
        let ranges = ranges(&hidden, |pos| name(*pos));
        let _ = writeln!(out, "\n## Hidden\n{ranges} ({} of {})", hidden.len(), before.len());
    }
    out
}

/// For each message of `after`, its position in `before`; `None` for a message that `before` lacks.
fn origins(before: &[Arc<Message>], after: &[Arc<Message>]) -> Vec<Option<Pos>> {
    let mut origins = vec![None; after.len()];
    let mut taken = vec![false; before.len()];
    for is_same in [says_the_same, has_the_same_calls] {
        let mut next = 0;
        for (message, origin) in after.iter().zip(&mut origins) {
            if origin.is_none() {
                // Order is usually kept: the search begins behind the message found last.
                let all = (next..before.len()).chain(0..next);
                let found =
                    all.into_iter().find(|pos| !taken[*pos] && is_same(&before[*pos], message));
                *origin = found;
                if let Some(pos) = found {
                    taken[pos] = true;
                }
            }
            next = origin.map_or(next, |pos| pos + 1);
        }
    }
    origins
}

fn says_the_same(a: &Message, b: &Message) -> bool {
    let same = |(a, b): (&Part, &Part)| is_the_same(&a.kind, &b.kind);
    a.role == b.role && a.parts.len() == b.parts.len() && a.parts.iter().zip(&b.parts).all(same)
}

/// Of a result, the name of the tool is known by its call alone, which may be gone.
fn is_the_same(a: &PartKind, b: &PartKind) -> bool {
    match (a, b) {
        (PartKind::Result(a), PartKind::Result(b)) => {
            let said = |result: &ToolResult| (result.call_id.clone(), result.status);
            said(a) == said(b) && a.text == b.text && a.media == b.media
        }
        _ => a == b,
    }
}

fn has_the_same_calls(a: &Message, b: &Message) -> bool {
    let ids = |message: &Message| -> Vec<String> {
        let ids = message.parts.iter().filter_map(|part| match &part.kind {
            PartKind::Call(call) => Some(call.call_id.clone()),
            PartKind::Result(result) => Some(result.call_id.clone()),
            _ => None,
        });
        ids.collect()
    };
    let calls = ids(a);
    a.role == b.role && !calls.is_empty() && calls == ids(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Letters;

    /// Two calls of `read`, by the ids of a recording.
    fn log(ids: [&str; 2]) -> Vec<Arc<Message>> {
        let [one, two] = ids;
        let call = |id: &str| {
            Message::assistant("", vec![Part::text("I read."), Part::call(id, "read", "{}")])
        };
        let result = |id: &str, text: &str| Message::tool("", id, "read", text);
        let asked = Message::user("", "Read both. It is 2026-01-31T23:59:59.");
        let all = [asked, call(one), result(one, "fn a() {}"), call(two), result(two, "fn b() {}")];
        all.into_iter().map(Arc::new).collect()
    }

    fn rendered(before: &[Arc<Message>], after: &[Arc<Message>]) -> String {
        lists("mine", before, after, &Letters("letters".into()))
    }

    #[test]
    fn what_stays_what_changes_what_is_new_and_what_is_gone() {
        let before = log(["x7", "y8"]);
        let summary = Arc::new(Message::user("", "Summary: a was read."));
        let cut = Arc::new(Message::tool("", "y8", "read", "fn b…"));
        let after = [Arc::clone(&before[0]), summary, Arc::clone(&before[3]), cut];
        insta::assert_snapshot!(rendered(&before, &after), @r"
        # mine
        4 messages of 5; 75 of 81 tokens (letters)

        ## View
        001 user u1
            text: Read both. It is [time]
        002 user new-1
            text: Summary: a was read.
        003 assistant a4
            text: I read.
            call read c2: {}
        004 tool t5
            result read c2 (changed): fn b…

        ## Hidden
        a2-t3 (2 of 5)
        ");
    }

    #[test]
    fn ids_and_times_of_a_recording_make_no_difference() {
        let [one, other] = [["x7", "y8"], ["toolu_1", "toolu_2"]].map(log);
        let same = rendered(&one, &one[1..]);
        assert_eq!(same, rendered(&other, &other[1..]));
        assert!(same.contains("\n## Hidden\nu1 (1 of 5)\n"), "{same}");
    }

    /// Where a call is lost, its result has no tool any more, and is the same result.
    #[test]
    fn a_result_without_its_call_is_that_result() {
        let before = log(["x7", "y8"]);
        let after = [Arc::clone(&before[0]), Arc::new(Message::tool("", "x7", "", "fn a() {}"))];
        let text = rendered(&before, &after);
        assert!(text.contains("002 tool t3\n    result  c1: fn a() {}\n"), "{text}");
    }

    #[test]
    fn messages_that_say_the_same_are_told_apart_by_their_order() {
        let again: Vec<_> =
            ["Go on.", "Go on.", "Go on."].map(|text| Arc::new(Message::user("", text))).into();
        let names = |after: &[Arc<Message>]| {
            origins(&again, after)
                .into_iter()
                .map(|origin| origin.map_or(-1, |pos| pos as i64))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&again), [0, 1, 2]);
        assert_eq!(names(&again[1..]), [0, 1]);
        let four = [&again[..], &again[..1]].concat();
        assert_eq!(names(&four), [0, 1, 2, -1]);
    }
}
