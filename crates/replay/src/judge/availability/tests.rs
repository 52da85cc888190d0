use super::*;
use crate::acted::{observe, options, session, strategy};
use crate::read::identifiers::Class;
use crate::read::index::{EditNeed, Presence, ReferenceNeed};
use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::view::EditKind;
use foldback_test_support::act::Act;
use foldback_test_support::table;

/// A reference of a call: an identifier in the arguments of a tool call that had been in the log
/// before, and is not in the head of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Number of the call that refers, from 0.
    pub(crate) call: usize,
    /// The identifier, normalized.
    pub(crate) identifier: Arc<str>,
    /// What it refers to.
    pub(crate) class: Class,
    /// Calls since it was last in the log; 1 for what the call before brought.
    pub(crate) distance: usize,
    /// Before the call it stood only in what tools and users said, never in what the model wrote.
    pub(crate) obs: bool,
    /// Id of the log message that had it last.
    pub(crate) last_seen: String,
}

/// An edit whose old text had been in the log before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// Number of the call that edits.
    pub(crate) call: usize,
    /// The first line of the old text, for reports.
    pub(crate) first_line: String,
    /// Id of the log message that had it last.
    pub(crate) last_seen: String,
}

/// The references of a session, in order of calls.
pub(crate) fn references(index: &Index) -> Vec<Reference> {
    let of = |call: usize, need: &ReferenceNeed| Reference {
        call,
        identifier: Arc::clone(&index.entries[need.id as usize].text),
        class: index.asked[need.reference as usize].class,
        distance: need.distance,
        obs: need.obs,
        last_seen: index.log[need.last_seen].id.clone(),
    };
    let calls = index.calls.iter().enumerate();
    calls
        .flat_map(|(call, needs)| needs.references.iter().map(move |need| of(call, need)))
        .collect()
}

/// The edits of a session, in order of calls.
pub(crate) fn edits(index: &Index) -> Vec<Edit> {
    let of = |call: usize, need: &EditNeed| Edit {
        call,
        first_line: index.old_text(need).lines().next().unwrap_or_default().to_owned(),
        last_seen: index
            .places(need)
            .last()
            .map_or_else(String::new, |(ordinal, _)| index.log[*ordinal].id.clone()),
    };
    let calls = index.calls.iter().enumerate();
    calls.flat_map(|(call, needs)| needs.edits.iter().map(move |need| of(call, need))).collect()
}

const CLEARED: Act<'_> = Act::Edit("r0", EditKind::Clear, "[cleared]");

fn answer(id: &str, calls: &[(&str, &str)]) -> Message {
    let parts = calls.iter().enumerate();
    let parts =
        parts.map(|(n, (tool, arguments))| Part::call(format!("{id}-{n}"), *tool, *arguments));
    Message::assistant(id, parts.collect())
}

fn result(id: &str, of: &str, text: &str) -> Message {
    Message::tool(id, format!("{of}-0"), "read", text)
}

/// The head, a first call that reads a file, and what the file says.
fn opening(content: &str) -> Vec<Message> {
    vec![
        Message::user("u", "Fix `task_name` please"),
        answer("a0", &[("read", r#"{"file_path":"src/a.rs"}"#)]),
        result("r0", "a0", content),
    ]
}

/// Notes how the view has what calls need, in the order of the index.
pub(crate) struct NeedProbe {
    index: Arc<Index>,
    pub(crate) references: Vec<Presence>,
    pub(crate) edits: Vec<bool>,
}

impl NeedProbe {
    pub(crate) fn new(index: Arc<Index>) -> Self {
        Self { index, references: Vec::new(), edits: Vec::new() }
    }
}

impl Probe for NeedProbe {
    fn call(&mut self, request: &Request<'_>) {
        let (tracker, needs) = (request.tracker, &self.index.calls[request.call]);
        let references = needs.references.iter();
        self.references.extend(references.map(|need| tracker.presence(need.reference)));
        self.edits.extend(needs.edits.iter().map(|need| tracker.shows_old_text(need)));
    }
}

/// Findings, each beside what it was found of.
struct Ran {
    references: Vec<(Reference, Presence)>,
    edits: Vec<(Edit, bool)>,
    last_error: Share,
}

fn run(messages: Vec<Message>, acts: &[(usize, Act<'_>)]) -> Ran {
    let session = session(messages);
    let index = Arc::new(Index::new(&session));
    let mut probe = Availability::new(Arc::clone(&index));
    observe(&session, &index, acts, &mut probe);
    let mut needs = NeedProbe::new(Arc::clone(&index));
    observe(&session, &index, acts, &mut needs);
    Ran {
        references: references(&index).into_iter().zip(needs.references).collect(),
        edits: edits(&index).into_iter().zip(needs.edits).collect(),
        last_error: probe.finish().last_error,
    }
}

/// `kept`, `lost` or `rescued` by identifier, in order.
fn fates(findings: &Ran) -> String {
    let fate = |presence: &Presence| match (presence.kept, presence.rescued) {
        (true, true) => "rescued",
        (true, false) => "kept",
        (false, _) => "lost",
    };
    let rows = findings.references.iter();
    rows.map(|(row, presence)| format!("{}:{} {}", row.call, row.identifier, fate(presence)))
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn what_folds_do_to_references() {
    // The file names `first_name` and `other_name`; call 1 refers to `first_name`, to the task's own
    // name (in the head) and to one that had never stood anywhere.
    let grep = r#"{"pattern":"first_name task_name new_name"}"#;
    let again = r#"{"pattern":"first_name"}"#;
    let rows: Vec<[String; 3]> = table::rows(include_str!("tests.toml"), "folds");
    for [name, acts, expected] in rows {
        let mut messages = opening("fn first_name() { other_name() }");
        messages.push(answer("a1", &[("grep", grep)]));
        messages.push(result("r1", "a1", "nothing found"));
        messages.push(answer("a2", &[("grep", again)]));
        assert_eq!(fates(&run(messages, &Act::read(&acts))), expected, "{name}");
    }
}

#[test]
fn rows_say_where_it_was_and_when_it_went() {
    let mut messages = opening("see /repo/src/b.rs and max_depth");
    messages.push(answer("a1", &[("think", "{}")]));
    messages.push(result("r1", "a1", "ok"));
    messages.push(answer("a2", &[("grep", r#"{"path":"src/b.rs","q":"max_depth"}"#)]));
    messages.push(answer("a3", &[("grep", r#"{"q":"max_depth"}"#)]));
    let findings = run(messages, &[(1, CLEARED)]);
    let rows: Vec<_> = findings
        .references
        .iter()
        .map(|(row, presence)| {
            let (identifier, last_seen) = (&*row.identifier, &*row.last_seen);
            let left = presence.left_view_at;
            (row.call, identifier, row.class, row.distance, row.obs, last_seen, left)
        })
        .collect();
    assert_eq!(
        rows,
        [
            (2, "src/b.rs", Class::Path, 2, true, "r0", Some(1)),
            (2, "max_depth", Class::Symbol, 2, true, "r0", Some(1)),
            (3, "max_depth", Class::Symbol, 1, false, "a2", None),
        ]
    );
}

#[test]
fn a_reference_left_at_its_first_absence_and_came_from_a_tool() {
    let mut messages = opening("max_depth");
    messages.push(answer("a1", &[("think", "{}")]));
    messages.push(result("r1", "a1", "max_depth"));
    messages.push(answer("a2", &[("grep", r#"{"q":"max_depth"}"#)]));
    messages.push(answer("a3", &[("grep", r#"{"q":"max_depth"}"#)]));
    // The second result and the call that repeats the name are gone before any request had them:
    // neither brings the reference back.
    let clear = Act::Edit("r1", EditKind::Clear, "[cleared]");
    let acts = [(1, CLEARED), (2, clear), (3, Act::Summarise(6, "Nothing"))];
    let findings = run(messages, &acts);
    let left: Vec<_> =
        findings.references.iter().map(|(_, presence)| presence.left_view_at).collect();
    assert_eq!(left, [Some(1), Some(1)]);
}

#[test]
fn paths_are_the_same_by_suffix() {
    let rows: Vec<[String; 3]> = table::rows(include_str!("tests.toml"), "paths");
    for [seen, asked, expected] in rows {
        let mut messages = opening(&seen);
        let arguments = serde_json::json!({ "path": asked }).to_string();
        messages.push(answer("a1", &[("read", &arguments)]));
        assert_eq!(fates(&run(messages, &[])), expected, "{seen} {asked}");
    }
}

#[test]
fn scores_count_rows_by_stratum() {
    let row = |distance, obs, kept, rescued| {
        let need = ReferenceNeed { distance, obs, ..ReferenceNeed::default() };
        (need, Presence { kept, rescued, left_view_at: None })
    };
    let rows = [
        row(1, true, false, false),
        row(3, true, true, false),
        row(4, false, true, true),
        row(51, true, false, false),
    ];
    let of = |share: Share| (share.kept, share.needed);
    let count = |rows: &[(ReferenceNeed, Presence)]| {
        let mut retention = Retention::default();
        rows.iter().for_each(|(need, presence)| retention.count(need, *presence));
        retention
    };
    let (all, late) = (count(&rows), count(&rows[1..]));
    assert_eq!((of(all.frr()), of(late.frr())), ((2, 4), (2, 3)));
    assert_eq!((of(all.obs), of(late.obs)), ((1, 3), (1, 2)));
    assert_eq!((of(late.far()), of(late.obs_far), late.rescued), ((1, 2), (0, 1), 1));
    let none = (0, 0);
    let expected = [(0, 1), none, (1, 1), (1, 1), none, none, none, (0, 1)];
    assert_eq!(all.by_distance.map(of), expected);
    let said = crate::judge::retention::steps(&all, serde_json::value::Serializer).unwrap();
    assert_eq!(said["beyond"], serde_json::json!({"kept": 0, "needed": 1}));
    assert_eq!(said.as_object().unwrap().len(), 4);
    assert_eq!(Retention::default().frr().value(), None);

    let mut sum = count(&rows[..1]);
    sum.add(&late);
    assert_eq!(sum, all);
}

#[test]
fn edits_need_their_old_text() {
    let listing = "     1→fn a() {\n     2→    b();\n     3→}";
    type Row = (String, String, serde_json::Value, (u64, u64));
    let rows: Vec<Row> = table::rows(include_str!("tests.toml"), "edits");
    for (name, tool, arguments, (kept, needed)) in rows {
        let messages = || {
            let mut messages = opening(listing);
            messages.push(answer("a1", &[(&tool, &arguments.to_string())]));
            messages
        };
        let share = |acts: &[(usize, Act<'_>)]| {
            let mut share = Share::default();
            for (_, kept) in run(messages(), acts).edits {
                share.count(kept);
            }
            share
        };
        assert_eq!(share(&[]), Share { kept, needed }, "{name}");
        assert_eq!(share(&[(1, CLEARED)]), Share { kept: 0, needed }, "{name}, cleared");
    }
}

#[test]
fn old_texts_are_compared_by_line_in_what_is_of_their_file() {
    type Row = (String, [String; 3], serde_json::Value, bool);
    let rows: Vec<Row> = table::rows(include_str!("tests.toml"), "seen");
    let wrong: Vec<String> = rows
        .into_iter()
        .filter_map(|(name, [tool, input, shown], edit, seen)| {
            let mut messages = opening("nothing of it");
            let input = serde_json::json!({ "input": input }).to_string();
            messages.push(answer("a1", &[(&tool, &input)]));
            messages.push(result("r1", "a1", &shown));
            messages.push(answer("a2", &[("edit", &edit.to_string())]));
            (run(messages, &[]).edits.len() != usize::from(seen)).then_some(name)
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_compactions_write_may_hold_old_texts() {
    let rows: Vec<(String, String, String, bool)> =
        table::rows(include_str!("tests.toml"), "written");
    for (name, summary, old, expected) in rows {
        let mut messages = opening("fn first_name() {\n    b();\n}");
        let edit = serde_json::json!({ "path": "src/a.rs", "old_string": old }).to_string();
        messages.push(answer("a1", &[("edit", &edit)]));
        let edits = run(messages, &[(1, Act::Summarise(3, &summary))]).edits;
        assert_eq!(edits.len(), 1, "{name}");
        assert_eq!(edits[0].1, expected, "{name}");
    }
}

#[test]
fn the_latest_error_is_in_view() {
    let messages = || {
        let mut messages = opening("error: no such thing");
        messages.push(answer("a1", &[("think", "{}")]));
        messages.push(Message::user("u2", "And be quick"));
        messages.push(answer("a2", &[("think", "{}")]));
        messages
    };
    let kept = run(messages(), &[]).last_error;
    assert_eq!(kept, Share { kept: 2, needed: 2 });
    let folded = run(messages(), &[(2, Act::Summarise(4, "Made src/new.rs"))]).last_error;
    assert_eq!(folded, Share { kept: 1, needed: 2 });
}

#[test]
fn rules_of_the_user_are_counted_at_every_call_after_them() {
    let rows: Vec<[String; 3]> = table::rows(include_str!("tests.toml"), "rules");
    for [name, acts, expected] in rows {
        let said = "Fix it. Never push to main.\nI don't know why. Please do not touch src/db.rs.";
        let mut messages = vec![Message::user("u", said), answer("a0", &[("read", "{}")])];
        messages.push(result("r0", "a0", "Never push to main."));
        messages.push(Message::user("u1", "Never push to main."));
        messages.push(answer("a1", &[("grep", "{}")]));
        messages.push(result("r1", "a1", "nothing found"));
        messages.push(answer("a2", &[("think", "{}")]));
        let session = session(messages);
        let index = Arc::new(Index::new(&session));
        let mut probe = Availability::new(Arc::clone(&index));
        observe(&session, &index, &Act::read(&acts), &mut probe);
        let calls = probe.finish().calls;
        let fate = |call: &Retention| {
            format!("{} {} {}", call.rules.needed, call.rules.kept, call.rules_named)
        };
        assert_eq!(calls.iter().map(fate).collect::<Vec<_>>().join(", "), expected, "{name}");
    }
}

#[foldback_needs::sessions]
#[test]
fn real_sessions_without_compaction_lose_nothing() {
    let mut paths = foldback_test_support::sessions_of("claude-code");
    paths.retain(|path| std::fs::metadata(path).is_ok_and(|file| file.len() < 2_100_000));
    let (mut needed, mut edits, mut lost) = (0, 0, 0);
    for path in paths.iter().take(4) {
        let bytes = std::fs::read(path).unwrap();
        let session = foldback_formats::read(&bytes, None).unwrap().remove(0);
        let index = Arc::new(Index::new(&session));
        for (preset, limits) in
            [("none", Limits::new(10_000_000, 1_000)), ("window", Limits::new(24_000, 4_000))]
        {
            let strategy = Arc::new(strategy(preset));
            let measure = Arc::clone(strategy.estimator());
            let options = options(limits, Arc::clone(&measure));
            let mut probe = Availability::new(Arc::clone(&index));
            crate::replay_with(&session, &index, &strategy, &options, &mut [&mut probe]);
            let findings = probe.finish();
            let mut frr = Share::default();
            findings.calls.iter().for_each(|call| frr += call.frr());
            let mut epr = Share::default();
            findings.calls.iter().for_each(|call| epr += call.edits);
            let file = path.display();
            if preset == "none" {
                assert_eq!(frr.kept, frr.needed, "{file}");
                assert_eq!(epr.kept, epr.needed, "{file}");
                needed += frr.needed;
                edits += epr.needed;
            } else {
                lost += frr.needed - frr.kept;
            }
        }
    }
    println!("{needed} references, {edits} edits, {lost} references lost by `window`");
    assert!(paths.is_empty() || (needed > 0 && lost > 0));
}
