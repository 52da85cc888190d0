//! One small request of each style, as it is sent.

use super::support::{Bench, request, says, small};
use foldback_llm::LlmConfig;
use foldback_llm::prompt::Prompts;

#[tokio::test]
async fn requests_as_they_are_sent() {
    let prompts = Prompts::embedded().unwrap();
    let styles: Vec<&str> = prompts.styles().chain(["unheard-of"]).collect();
    let mut system = None;
    for style in styles {
        let updates = prompts.style(style).update.is_some();
        for previous in [None, Some("- the earlier summary")] {
            // Where a style has no wording of its own for an update, one of them is enough to see.
            if previous.is_some() && !updates && style != "window.compact" {
                continue;
            }
            let bench = Bench::new(LlmConfig::default(), [says(""), says("")]);
            let mut asked = request(style, small());
            asked.previous = previous.map(str::to_owned);
            if previous.is_some() {
                asked.instructions = vec!["Name every file.".to_owned(), " ".to_owned()];
            }
            bench.ask(&asked).await.unwrap_err();
            let sent = bench.request(0);
            assert_eq!(sent.turns.len(), 1);
            let same = system.get_or_insert_with(|| sent.system.clone());
            assert_eq!(*same, sent.system, "{style}");
            let kind = if previous.is_some() { "update" } else { "create" };
            insta::assert_snapshot!(format!("{style}-{kind}"), sent.turns[0].text);
        }
    }
    insta::assert_snapshot!("system", system.unwrap_or_default());
}

/// What the strategies' conformance asks of a request's text.
#[tokio::test]
async fn conformance_of_requests() {
    let text = async |style: &str, previous: Option<&str>, instructions: &[&str]| {
        let bench = Bench::new(LlmConfig::default(), [says(""), says("")]);
        let mut asked = request(style, small());
        asked.previous = previous.map(str::to_owned);
        asked.instructions = instructions.iter().map(|i| (*i).to_owned()).collect();
        bench.ask(&asked).await.unwrap_err();
        bench.request(0).turns[0].text.clone()
    };
    let window = text("window.compact", None, &["mind the gap"]).await;
    assert!(window.contains("[user]: hello"), "S9-23");
    assert!(window.contains("Additional instructions:\nmind the gap"), "S9-20");
    for point in ["1. ", "2. ", "3. ", "4. ", "5. "] {
        assert!(window.contains(&format!("\n{point}")), "S9-20: {point}");
    }
    let update = text("opencode.anchored", Some("## Goal\n- the first one"), &[]).await;
    assert!(update.contains("<previous-summary>"), "OC17-S18");
    assert_eq!(update.matches("- the first one").count(), 1, "OC17-S18");
    let create = text("opencode.anchored", None, &[]).await;
    assert!(!create.contains("<previous-summary>"), "OC17-S18");
    for form in [&update, &create] {
        for heading in [
            "## Goal",
            "## Constraints & Preferences",
            "## Progress",
            "### Done",
            "### In Progress",
            "### Blocked",
            "## Key Decisions",
            "## Next Steps",
            "## Critical Context",
            "## Relevant Files",
        ] {
            assert!(form.contains(&format!("\n{heading}\n")), "OC17-S18: {heading}");
        }
    }
}
