//! The view filter.
//!
//! A history is written as words: `u1` and `a1` are a user's and a model's messages, `c1` is a marker
//! (`c1>u2`: with a tail from `u2`), `s1^c1` a summary that answers `c1` (`!`: with an error, `?`: not
//! finished).

use foldback_opencode::boundary::{Completes, Latest, Seen, filter_compacted, latest};

fn seen(word: &str) -> Seen<'_> {
    let name = word.trim_end_matches(['!', '?']);
    let (name, parent) = split(name, '^');
    let (id, tail_start) = split(name, '>');
    let user = id.starts_with(['u', 'c']);
    Seen {
        id,
        user,
        summary: id.starts_with('s'),
        parent,
        finished: !user && !word.ends_with('?'),
        failed: word.ends_with('!'),
        marker: id.starts_with('c'),
        tail_start,
    }
}

fn split(word: &str, at: char) -> (&str, Option<&str>) {
    word.split_once(at).map_or((word, None), |(head, tail)| (head, Some(tail)))
}

fn parse(history: &str) -> Vec<Seen<'_>> {
    history.split_whitespace().map(seen).collect()
}

fn filtered(history: &str, completes: Completes) -> String {
    let messages = parse(history);
    let order = filter_compacted(&messages, completes);
    let ids: Vec<&str> = order.iter().map(|index| messages[*index].id).collect();
    ids.join(" ")
}

const JAN: Completes = Completes::Finished;
const JUN: Completes = Completes::Succeeded;
const GO: Completes = Completes::Any;

const ROWS: &[(&str, Completes, &str, &str)] = &[
    ("OC17-F1", JUN, "u1 a1 u2 a2 u3", "u1 a1 u2 a2 u3"),
    ("OC17-F2", JUN, "c1 s1^c1 u2 a2", "c1 s1 u2 a2"),
    ("OC17-F3", JUN, "u0 a0 c1 s1^c1 u2 a2", "c1 s1 u2 a2"),
    ("OC17-F4", JUN, "", ""),
    ("OC17-F5", JUN, "c1 u2", "c1 u2"),
    ("OC17-F6", JUN, "c1 s1^c1! u2", "c1 s1 u2"),
    ("OC17-F7", JUN, "c1 s1^c1? u2", "c1 s1 u2"),
    ("OC17-F8", JUN, "u1 a1 u2 a2 c1>u2 s1^c1 u3 a3", "c1 s1 u2 a2 u3 a3"),
    ("OC17-F9", JUN, "u1 a1 u2 a2 a3 c1>a3 s1^c1 u3 a4", "c1 s1 a3 u3 a4"),
    ("OC17-F10", JUN, "u1 a1 u2 a2 c1>u2 s1^c1 u3 a3 c2>u3 s2^c2 u4 a4", "c2 s2 u3 a3 u4 a4"),
    // With something to hide, F5 to F7 tell a boundary from none.
    ("F5, with history", JUN, "u0 a0 c1 u2", "u0 a0 c1 u2"),
    ("F6, with history", JUN, "u0 a0 c1 s1^c1! u2", "u0 a0 c1 s1 u2"),
    ("F7, with history", JUN, "u0 a0 c1 s1^c1? u2", "u0 a0 c1 s1 u2"),
    ("F6, January", JAN, "u0 a0 c1 s1^c1! u2", "c1 s1 u2"),
    ("F7, January", JAN, "u0 a0 c1 s1^c1? u2", "u0 a0 c1 s1 u2"),
    ("F7, BRUTUS", GO, "u0 a0 c1 s1^c1? u2", "c1 s1 u2"),
    ("F6, BRUTUS", GO, "u0 a0 c1 s1^c1! u2", "c1 s1 u2"),
    ("F3, January", JAN, "u0 a0 c1 s1^c1 u2 a2", "c1 s1 u2 a2"),
    ("the newest one counts", JAN, "u0 c1 s1^c1 u1 a1 c2 s2^c2 u2", "c2 s2 u2"),
    (
        "a failed one does not hide the one before",
        JUN,
        "u0 c1 s1^c1 u1 c2 s2^c2! u2",
        "c1 s1 u1 c2 s2 u2",
    ),
    ("a summary of an ordinary message is none", JAN, "u0 u1 s1^u1 u2", "u0 u1 s1 u2"),
    ("January knows no tail", JAN, "u1 a1 u2 a2 c1>u2 s1^c1 u3", "c1 s1 u3"),
    ("a tail that is not there hides nothing", JUN, "u1 a1 c1>u9 s1^c1 u3", "u1 a1 c1 s1 u3"),
    (
        "a tail before an older checkpoint",
        JUN,
        "u1 u2 c1>u2 s1^c1 u3 c2>u2 s2^c2 u4",
        "c2 s2 u2 c1 s1 u3 u4",
    ),
];

#[test]
fn view_filter() {
    for (id, completes, given, expect) in ROWS {
        assert_eq!(filtered(given, *completes), *expect, "{id}");
    }
}

#[test]
fn latest_by_stored_order() {
    // The tail assistant stands last in the view but is older than the summary.
    let given = parse("u1 a1 c1>a1 s1^c1 u2");
    let view = filter_compacted(&given, JUN);
    assert_eq!(view, [2, 3, 1, 4]);
    let expect = Latest { user: Some(4), assistant: Some(3), finished: Some(3), pending: vec![] };
    assert_eq!(latest(&given, &view), expect, "OC17-F12");

    let given = parse("u1 a1 c1>a1 s1^c1 c2");
    let view = filter_compacted(&given, JUN);
    let found = latest(&given, &view);
    assert_eq!((found.user, found.pending), (Some(4), vec![4]), "OC17-F13");
}

#[test]
fn checkpoints_are_markers_with_their_summaries() {
    let given = parse("u0 c1 s1^c1 u1 c2 s2^c2! u2 c3");
    let of = |completes: Completes| completes.checkpoints(&given).into_iter().collect::<Vec<_>>();
    assert_eq!(of(JUN), [1, 2]);
    assert_eq!(of(JAN), [1, 2, 4, 5]);
}

pub(crate) fn ids() -> Vec<&'static str> {
    ROWS.iter().map(|row| row.0).chain(["OC17-F12", "OC17-F13"]).collect()
}
