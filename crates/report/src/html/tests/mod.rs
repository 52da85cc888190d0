//! The page of a tiny comparison, constructed by hand.

pub(crate) mod fixtures;
mod large;

use super::reader::tests::allowed_script;
use super::{Details, Most, Walked, comparison, to_walk};
use fixtures::tiny;
use foldback_replay::compare::Metric;
use foldback_replay::stats::Share;
use foldback_replay::study::{Outcome, Score};

/// A page without its own script, which is always the same.
fn without_script(page: &str) -> String {
    page.replace(allowed_script(page), "")
}

#[test]
fn the_page_of_a_tiny_comparison() {
    let page = without_script(&comparison(&tiny(), &Details::default()));
    let body = page.split("</head>").nth(1).unwrap();
    insta::assert_snapshot!(body);
}

#[test]
fn nothing_is_asked_for_over_the_network() {
    let page = without_script(&comparison(&tiny(), &Details::default()));
    for loader in ["http:", "https:", "//", "src=", "url(", "@import", "<link"] {
        assert!(!page.contains(loader), "{loader}");
    }
}

#[test]
fn a_page_with_walks_allows_the_script_of_the_reader_alone() {
    let details = Details {
        walks: vec![Walked { session: 0, walk: crate::explain::tests::walk() }],
        not_walked: vec!["z/<long>.jsonl".to_owned()],
        ..Details::default()
    };
    let page = comparison(&tiny(), &details);
    assert!(allowed_script(&page).contains("class Reader"));
    let scripts: Vec<&str> = page.matches("<script").collect();
    assert_eq!(scripts.len(), 3, "the walk and the table, which are data, and the script");
    assert!(page.contains("A session, call by call"));
    assert!(page.contains("z/&lt;long&gt;.jsonl"));
}

#[test]
fn the_reader_opens_on_the_preset_of_the_verdict_where_it_forgot_most() {
    let mut three = tiny();
    let session = three.corpus.sessions[0].clone();
    three.corpus.sessions.push(session);
    let score = |session, preset, forgotten: Option<u64>| {
        let kept = 100 - forgotten.unwrap_or(0);
        let mut outcome = Outcome::default();
        outcome.retention.obs_far = Share { kept, needed: 100 };
        outcome.metrics.compactions = u64::from(forgotten.is_some());
        outcome.retention.edits = Share { kept: 0, needed: forgotten.unwrap_or(0) };
        Score::new(session, preset, outcome)
    };
    // By session, what each of two presets forgot. Of the one that keeps more, the second has most.
    let forgotten = [[Some(2), Some(20)], [Some(5), None], [None, Some(90)]];
    let scores = forgotten.into_iter().enumerate().map(|(session, [most, least])| {
        let scores = [score(session, 0, None), score(session, 1, most), score(session, 2, least)];
        Box::from(scores) as _
    });
    three.scores = scores.collect();
    for (preset, ratio) in [(1, 0.9), (2, 0.5)] {
        let line = &mut three.presets[preset];
        line.triggered = 2;
        line.gate.passed = true;
        let ratio = Metric { value: Some(ratio), ..Metric::default() };
        (line.metrics.cost_ratio, line.metrics.saving_usd) = (ratio.clone(), ratio);
    }
    assert_eq!(to_walk(&three, Most::Calls(1_000)), (vec![1, 0, 2], Vec::new()));
    let details = Details {
        walks: vec![Walked { session: 1, walk: crate::explain::tests::walk() }],
        ..Details::default()
    };
    let page = comparison(&three, &details);
    assert!(page.contains("<div id=\"reader\" data-preset=\"clear&lt;b&gt;\">"), "{page}");
    assert!(page.contains("<strong id=\"sessions-under\">clear&lt;b&gt;</strong>"), "{page}");
}

#[test]
fn no_star_marks_what_costs_more() {
    for (ratio, front, dearer) in [(0.9, true, false), (1.0, true, false), (1.1, false, true)] {
        let mut one = tiny();
        // Else to do nothing would be better than what costs more.
        one.presets[0].gate.passed = false;
        one.presets[1].ratio.value = Some(ratio);
        let page = comparison(&one, &Details::default());
        let has = |class: &str| page.contains(&format!("<path class=\"marker {class}\""));
        assert_eq!((has("front"), has("dearer")), (front, dearer), "{ratio}");
    }
}

#[test]
fn who_wrote_the_summaries_is_told_where_there_are_some() {
    let mut one = tiny();
    for line in &mut one.presets {
        line.summarizer = Some("extractive".to_owned());
    }
    let told = |one: &foldback_replay::Comparison| {
        comparison(one, &Details::default()).contains("Summaries are extracts")
    };
    let mut outcome = Outcome::default();
    one.scores = vec![Box::from([Score::new(0, 0, outcome.clone())])];
    assert!(!told(&one));
    outcome.metrics.counters.summaries = 1;
    one.scores = vec![Box::from([Score::new(0, 0, outcome)])];
    assert!(told(&one));
}

#[test]
fn data_stays_text() {
    let page = without_script(&comparison(&tiny(), &Details::default()));
    assert_eq!(page.matches("<script").count(), 2, "{page}");
    for raw in ["<script>alert", "alert('1')", "<b>", "<i>", "<known>", "< 2000", "windows < 1"] {
        assert!(!page.contains(raw), "{raw}");
    }
    // In the table a path may be broken after its slashes.
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
    const VOID: [&str; 4] = ["!doctype", "meta", "br", "wbr"];
    let page = without_script(&comparison(&tiny(), &Details::default()));
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
    let page = comparison(&none, &Details::default());
    assert!(page.contains("<h2>Presets</h2>") && !page.contains("<div id=\"reader\""));
}
