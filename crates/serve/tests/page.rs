//! The page shows sizes, and nothing that a client said.

use crate::support::talk::{body, calls, send, task};
use crate::support::{Proxy, WINDOW, folding, http};
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Reply, Script};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_shows_each_conversation_with_its_course_and_no_content() {
    let provider = FakeProvider::start(Script::answer(|_| Reply::text("planted-answer")));
    let provider = provider.await.unwrap();
    let proxy = Proxy::folding(&provider, folding("window", WINDOW)).await;
    let page = async || {
        let response = http().get(format!("{}/", proxy.url)).send().await.unwrap();
        let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        response.text().await.unwrap()
    };
    assert!(page().await.contains("No conversation went through yet."));
    let log = task(30);
    for (before, _) in calls(&log) {
        let text = body(Dialect::Anthropic, before).replacen("m-1", "<script>alert(1)</script>", 1);
        send(&proxy, Dialect::Anthropic, text).await;
    }
    let other = r#"{"model": "gpt", "messages": [{"role": "user", "content": "planted-text"}]}"#;
    send(&proxy, Dialect::OpenAiChat, other.to_owned()).await;
    let page = page().await;
    assert_eq!(page.matches("<tr><td>").count(), 2, "{page}");
    let (latest, first) = (page.find("openai-chat").unwrap(), page.find("anthropic<").unwrap());
    assert!(latest < first, "the latest comes first");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script"));
    assert!(page.contains("<td>30</td>"), "{page}");
    // The models of both are in no table.
    assert_eq!(page.matches("<td>no price</td>").count(), 2, "{page}");
    assert!(page.contains("No price for 31 answers") && !page.contains('$'), "{page}");
    let points = page.split("class=\"sent\" points=\"").nth(2).unwrap().split('"').next().unwrap();
    assert_eq!(points.split(' ').count(), 30, "{points}");
    for secret in ["planted", "Fix the build", "src/part"] {
        assert!(!page.contains(secret), "{secret}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_says_in_dollars_what_was_saved_and_of_what() {
    // What an answer reports, and what the page says of it: a million tokens cost three dollars.
    let answer = || Reply::text("ok").usage(100_000, 0);
    let reported = "Usage was reported with 2 answers.";
    let rows = [
        (answer as fn() -> Reply, "would have cost $0.6000; what was sent cost $0.6000", reported),
        (|| Reply::text("ok").without_usage(), "what was sent cost $0.000", "both are estimates"),
    ];
    for (answer, cost, by) in rows {
        let provider = FakeProvider::start(Script::answer(move |_| answer())).await.unwrap();
        let proxy = Proxy::folding(&provider, folding("tiered", WINDOW)).await;
        for text in ["one", "two"] {
            let body = format!(
                r#"{{"model": "claude-sonnet-4-5", "messages": [{{"role": "user", "content": "{text}"}}]}}"#
            );
            send(&proxy, Dialect::Anthropic, body).await;
        }
        let page =
            http().get(format!("{}/", proxy.url)).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("Saved since the start, by estimate: <b>$0 (0 %)</b>"), "{page}");
        assert!(page.contains(cost) && page.contains(by), "{page}");
        assert_eq!(page.matches("<td>$0 (0 %)</td>").count(), 2, "{page}");
        assert!(page.contains("It keeps 2 conversations;"), "{page}");
    }
}
