//! The rules of the providers, for compaction that is nobody's: with the places of what breaks them.

use foldback::engine::testing::violations;

#[test]
fn rules_of_four_providers_with_their_places() {
    let result = r#"{"type":"tool_result","tool_use_id":"c1","content":"x"}"#;
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read","input":{}}]}"#;
    let user = r#"{"role":"user","content":"Go."}"#;
    let anthropic = |messages: &[&str]| format!(r#"{{"messages":[{}]}}"#, messages.join(","));
    let answered = format!(r#"{{"role":"user","content":[{result}]}}"#);
    let chat_call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}"#;
    let chat_result = r#"{"role":"tool","tool_call_id":"c1","content":"x"}"#;
    let items = |items: &[&str]| format!(r#"{{"input":[{}]}}"#, items.join(","));
    let item_call = r#"{"type":"function_call","call_id":"c1","name":"read","arguments":"{}"}"#;
    let item_result = r#"{"type":"function_call_output","call_id":"c1","output":"x"}"#;
    let contents = |contents: &[&str]| format!(r#"{{"contents":[{}]}}"#, contents.join(","));
    let said = r#"{"role":"user","parts":[{"text":"Go."}]}"#;
    let function = r#"{"role":"model","parts":[{"functionCall":{"name":"read","args":{}}}]}"#;
    let response = r#"{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"x"}}}]}"#;
    let rows: Vec<(&str, String, Vec<&str>)> = vec![
        ("anthropic", anthropic(&[user, call, &answered]), vec![]),
        ("anthropic", anthropic(&[user, call, user]), vec!["message 1: call-unanswered"]),
        ("anthropic", anthropic(&[user, &answered]), vec!["message 1: result-without-call"]),
        ("anthropic", anthropic(&[call, &answered]), vec!["message 0: first-not-user"]),
        (
            "anthropic",
            anthropic(&[r#"{"role":"user","content":[{"type":"text","text":""}]}"#]),
            vec!["message 0: empty-text"],
        ),
        (
            "anthropic",
            anthropic(&[r#"{"role":"user","content":[{"type":"text","text":" "}]}"#]),
            vec!["message 0: empty-text"],
        ),
        (
            "anthropic",
            anthropic(&[r#"{"role":"user","content":""}"#]),
            vec!["message 0: empty-text"],
        ),
        ("openai-chat", anthropic(&[user, chat_call, chat_result]), vec![]),
        ("openai-chat", anthropic(&[user, chat_call, user]), vec!["message 1: call-unanswered"]),
        (
            "openai-chat",
            anthropic(&[user, chat_call, chat_result, chat_result]),
            vec!["message 3: result-repeated"],
        ),
        ("openai-responses", items(&[item_call, item_result]), vec![]),
        ("openai-responses", items(&[item_result]), vec!["message 0: result-without-call"]),
        ("gemini", contents(&[said, function, response]), vec![]),
        ("gemini", contents(&[function, response]), vec!["message 0: first-not-user"]),
        ("gemini", contents(&[said, function, said]), vec!["message 1: call-unanswered"]),
    ];
    for (protocol, body, expected) in rows {
        let broken = violations(protocol, &body).unwrap();
        assert_eq!(broken.len(), expected.len(), "{protocol} {body}: {broken:?}");
        for (rule, expected) in broken.iter().zip(expected) {
            assert!(rule.starts_with(&format!("{expected}: ")), "{rule}");
        }
    }
    let unread =
        violations("anthropic", r#"{"messages":[{"role":"user","content":7}]}"#).unwrap_err();
    assert_eq!(unread.into_parts().0.as_deref(), Some("/messages/0/content"));
}
