//! What a provider's cache still had at each recorded call.
//!
//! A cache loses prefixes that its rules would keep: a request reaches another machine, or room is needed. The rules can't say when,
//! but the recorded reads can. A request that goes on from the one before could have read all of that one, and the first of
//! a session all of itself, since other sessions begin with the same frame.

use foldback_formats::Session;
use foldback_providers::prices::HitShare;

/// What was held, by call. `None` where it is not known: the call or all before it have no usage, the recorder had cut its
/// context since the call before, or no call of the session reads anything, since many recorders don't write reads down.
pub(crate) fn held(session: &Session) -> Vec<Option<HitShare>> {
    let mut out = Vec::new();
    let mut cuts: Vec<usize> = session.boundaries.iter().map(|cut| cut.before).collect();
    cuts.sort_unstable();
    // The latest request with usage, and how many compactions there were before it.
    let mut before: Option<(u64, usize)> = None;
    for (number, message) in session.messages.iter().enumerate() {
        if !message.is_answer() {
            continue;
        }
        let usage = message.answer.as_ref().and_then(|answer| answer.usage);
        let Some(usage) = usage.filter(|usage| usage.has_input()) else {
            out.push(None);
            continue;
        };
        let size = usage.input_total();
        let cuts = cuts.partition_point(|before| *before <= number);
        let of = match before.replace((size, cuts)) {
            None => (cuts == 0 && out.is_empty()).then_some(size),
            Some((before, earlier)) => (cuts == earlier && before <= size).then_some(before),
        };
        out.push(of.map(|of| HitShare { read: usage.cache_read.min(of), of }));
    }
    let reads = out.iter().flatten().any(|held| held.read > 0);
    if reads { out } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acted::boundary;
    use foldback_core::log::{Answer, Message, Usage};
    use std::sync::Arc;

    #[test]
    fn what_was_read_of_what_could_have_been() {
        // Of each call the request's size and what was read of it; a size of 0 is a call without usage.
        type Row<'a> = (&'a str, &'a [(u64, u64)], Option<usize>, &'a [Option<(u64, u64)>]);
        let rows: [Row<'_>; 7] = [
            ("goes on", &[(100, 20), (150, 90)], None, &[Some((20, 100)), Some((90, 100))]),
            (
                "more than was sent before",
                &[(100, 0), (150, 120)],
                None,
                &[Some((0, 100)), Some((100, 100))],
            ),
            (
                "smaller",
                &[(100, 0), (90, 40), (95, 90)],
                None,
                &[Some((0, 100)), None, Some((90, 90))],
            ),
            (
                "a mark",
                &[(100, 0), (150, 40), (160, 150)],
                Some(1),
                &[Some((0, 100)), None, Some((150, 150))],
            ),
            (
                "one without usage",
                &[(100, 0), (0, 0), (160, 90)],
                None,
                &[Some((0, 100)), None, Some((90, 100))],
            ),
            (
                "the first has no usage",
                &[(0, 0), (100, 90), (160, 90)],
                None,
                &[None, None, Some((90, 100))],
            ),
            ("no reads", &[(100, 0), (150, 0)], None, &[]),
        ];
        for (name, calls, mark, expected) in rows {
            let mut session = Session::default();
            for (number, (size, read)) in calls.iter().enumerate() {
                let usage = Usage { uncached: size - read, cache_read: *read, ..Usage::default() };
                let usage = (*size > 0).then_some(usage);
                let message = Message::assistant(format!("m{number}"), Vec::new())
                    .with_answer(Answer { usage, ..Answer::default() });
                session.messages.push(Arc::new(message));
            }
            session.boundaries.extend(mark.map(|before| boundary(before, "summary")));
            let expected: Vec<_> =
                expected.iter().map(|held| held.map(|(read, of)| HitShare { read, of })).collect();
            assert_eq!(held(&session), expected, "{name}");
        }
    }
}
