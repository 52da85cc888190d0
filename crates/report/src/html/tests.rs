//! The page of a tiny comparison, constructed by hand.

use super::{Drawn, comparison};
use foldback_core::conversation::StageRole;
use foldback_core::moment::Moment;
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{CorpusSummary, Idle, PresetLine, Score, SessionLine, Skipped};
use foldback_replay::measure::{CallRow, Fired, SessionMetrics};
use foldback_replay::study::Record;

const HOSTILE: &str = "a/<script>alert('1')</script>\"&.jsonl";

fn preset(name: &str, kind: Kind, input_ratio: f64, cache_hit_rate: f64) -> PresetLine {
    PresetLine {
        preset: name.to_owned(),
        kind,
        sessions: 2,
        calls: 4,
        input_ratio,
        peak_tokens: 3_000,
        mean_tokens: 2_000,
        cache_hit_rate,
        estimator: "chars".to_owned(),
        ..PresetLine::default()
    }
}

/// A record whose requests have these sizes; the view was changed before every call at which it shrank.
fn record(sizes: &[u64]) -> Record {
    let mut before = 0;
    let rows: Vec<CallRow> = sizes
        .iter()
        .enumerate()
        .map(|(call, &input_tokens)| {
            let fired = Fired {
                call,
                moment: Moment::StepEnd,
                stage: "clear".to_owned(),
                role: StageRole::Pruner,
            };
            let shrank = input_tokens < before;
            before = input_tokens;
            CallRow {
                call,
                turn: 1,
                messages: call,
                input_tokens,
                decision_tokens: input_tokens,
                recorded_input: None,
                cache_read: 0,
                churn: 0,
                ceiling: Some(2_500),
                overflow: input_tokens > 2_500,
                excess: 0,
                fired: if shrank { vec![fired] } else { Vec::new() },
                recorder_compacted: false,
            }
        })
        .collect();
    let compactions = rows.iter().filter(|row| !row.fired.is_empty()).count() as u64;
    Record {
        metrics: SessionMetrics {
            calls: rows.len() as u64,
            input_tokens: sizes.iter().sum(),
            peak_tokens: sizes.iter().copied().max().unwrap_or(0),
            overflow_calls: rows.iter().filter(|row| row.overflow).count() as u64,
            compactions,
            ..SessionMetrics::default()
        },
        rows,
        ..Record::default()
    }
}

fn score(session: usize, preset: usize, sizes: &[u64]) -> Score {
    Score {
        session,
        preset,
        metrics: record(sizes).metrics,
        ..Score::default()
    }
}

fn session(path: &str, calls: usize) -> SessionLine {
    SessionLine {
        path: path.to_owned(),
        format: "codex".to_owned(),
        messages: 2 * calls,
        tool_calls: calls,
        calls,
        turns: 1,
        warnings: 1,
        ..SessionLine::default()
    }
}

/// Two sessions under a control and one preset that acts in the first of them.
fn tiny() -> Comparison {
    let mut clearing = preset("clear<b>", Kind::Strategy, 0.75, 0.91);
    clearing.triggered = 1;
    clearing.compactions = 1;
    clearing.prune_operations = 1;
    clearing.strategy_violations = 2;
    clearing.guards_off = vec!["pairs"];
    clearing.idle = vec![Idle {
        path: HOSTILE.to_owned(),
        why: "500 < 2000 & nothing old".to_owned(),
        window: Some(1_500),
    }];
    let mut comparison = Comparison::default();
    comparison.corpus = CorpusSummary {
        files: 3,
        imported: 2,
        skipped: vec![Skipped {
            path: "c/<i>.txt".to_owned(),
            reason: "no <known> format".to_owned(),
        }],
        sessions: vec![session("b/long.jsonl", 3), session(HOSTILE, 1)],
        ..CorpusSummary::default()
    };
    comparison.assumptions = vec!["windows < 1 are not used".to_owned()];
    comparison.presets = vec![preset("none", Kind::Control, 1.0, 0.98), clearing];
    comparison.scores = vec![
        score(0, 0, &LONG[0]),
        score(0, 1, &LONG[1]),
        score(1, 0, &[500]),
        score(1, 1, &[500]),
    ];
    comparison
}

/// The requests of the first session, under both presets.
const LONG: [[u64; 3]; 2] = [[1_000, 2_000, 3_000], [1_000, 2_000, 1_500]];

fn drawn() -> Vec<Drawn> {
    vec![Drawn {
        session: 0,
        records: LONG.iter().map(|sizes| record(sizes)).collect(),
    }]
}

#[test]
fn the_page_of_a_tiny_comparison() {
    let page = comparison(&tiny(), &drawn());
    let body = page.split("</head>").nth(1).unwrap();
    insta::assert_snapshot!(body);
}

#[test]
fn nothing_is_asked_for_over_the_network() {
    let page = comparison(&tiny(), &drawn());
    for loader in [
        "http:", "https:", "//", "src=", "url(", "@import", "<link", "<script",
    ] {
        assert!(!page.contains(loader), "{loader}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn data_stays_text() {
    let page = comparison(&tiny(), &drawn());
    for raw in [
        "<script",
        "alert('1')",
        "<b>",
        "<i>",
        "<known>",
        "< 2000",
        "windows < 1",
    ] {
        assert!(!page.contains(raw), "{raw}");
    }
    // In the table a path may be broken behind its slashes.
    let shown = [
        "a/<wbr>&lt;script&gt;alert(&#39;1&#39;)&lt;/<wbr>script&gt;&quot;&amp;.jsonl",
        "a/&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;.jsonl</span>",
        "500 &lt; 2000 &amp; nothing old",
        "no &lt;known&gt; format",
        "windows &lt; 1 are not used",
    ];
    for text in shown {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn every_tag_is_closed() {
    const VOID: [&str; 3] = ["!doctype", "meta", "wbr"];
    let page = comparison(&tiny(), &drawn());
    let mut open = Vec::new();
    for tag in page.split('<').skip(1) {
        let name = tag.split([' ', '>', '\n']).next().unwrap();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if VOID.contains(&name) => {}
            None if tag.split('>').next().is_some_and(|tag| tag.ends_with('/')) => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn an_empty_comparison_is_a_page_too() {
    let mut none = tiny();
    none.corpus.sessions.clear();
    none.scores.clear();
    none.presets.clear();
    let page = comparison(&none, &[]);
    assert!(page.contains("<h2>Presets</h2>") && !page.contains("Context over the calls"));
}
