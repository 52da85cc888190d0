//! The page of a tiny comparison, constructed by hand.

pub(crate) mod fixtures;
mod large;

use super::reader::tests::allowed_script;
use super::{Details, Walked, comparison};
use fixtures::{drawn, tiny};

/// A page without its own script, which is always the same.
fn without_script(page: &str) -> String {
    page.replace(allowed_script(page), "")
}

#[test]
fn the_page_of_a_tiny_comparison() {
    let page = without_script(&comparison(&tiny(), &drawn()));
    let body = page.split("</head>").nth(1).unwrap();
    insta::assert_snapshot!(body);
}

#[test]
fn nothing_is_asked_for_over_the_network() {
    let page = without_script(&comparison(&tiny(), &drawn()));
    for loader in ["http:", "https:", "//", "src=", "url(", "@import", "<link"] {
        assert!(!page.contains(loader), "{loader}");
    }
}

#[test]
fn a_page_with_walks_allows_the_script_of_the_reader_alone() {
    let details = Details {
        walks: vec![Walked { session: 0, walk: crate::explain::tests::walk() }],
        not_walked: vec!["z/<long>.jsonl".to_owned()],
        ..drawn()
    };
    let page = comparison(&tiny(), &details);
    assert!(allowed_script(&page).contains("class Reader"));
    let scripts: Vec<&str> = page.matches("<script").collect();
    assert_eq!(scripts.len(), 3, "the walk and the table, which are data, and the script");
    assert!(page.contains("<a href=\"#reader\">"));
    assert!(page.contains("z/&lt;long&gt;.jsonl"));
}

#[test]
fn data_stays_text() {
    let page = without_script(&comparison(&tiny(), &drawn()));
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
    let page = without_script(&comparison(&tiny(), &drawn()));
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
    assert!(
        page.contains("<h2>Costs and what is kept</h2>")
            && !page.contains("Context over the calls")
    );
}
