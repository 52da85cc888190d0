//! Small inputs that once went wrong, each with what is written of it now.
use crate::common::case;
use foldback_formats::convert::{Converted, convert};
use foldback_formats::{format, read};
use serde_json::{Value, json};

fn converted(name: &str, to: &str) -> Converted {
    let sessions = read(case(name).as_bytes(), None).unwrap();
    convert(&sessions, format(to).unwrap()).unwrap()
}

fn losses(converted: &Converted) -> Vec<String> {
    converted.losses.iter().map(ToString::to_string).collect()
}

/// Case, format, the pointer to something in the document and what stands there (`null`: nothing), what must be among the
/// losses.
type Row = (&'static str, &'static str, &'static str, Value, &'static str);

fn rows() -> Vec<Row> {
    let pdf = "data:application/pdf;base64,JVBERi0xLjQK";
    let odd = "B07-convert-blank-text/chat-odd.json";
    let blank = "B07-convert-blank-text/whitespace.jsonl";
    let between = "B08-convert-message-between-call-and-result/steer-chat.json";
    let signed = "B10-convert-foreign-signature/codex-parallel.jsonl";
    let document = "B11-convert-pdf-as-image/anth-doc.json";
    let orphans = "B20-orphans-go-out/lc-mixed.json";
    let dangling = "B20-orphans-go-out/pyd-dangling.json";
    let image = "B22-convert-opencode-bare-base64/image-urls.json";
    let hidden = "B55-redacted-thinking/pi.jsonl";
    let gemini = "B34-gemini-signature/chat.json";
    vec![
        (
            hidden,
            "anthropic",
            "/messages/1/content/1",
            json!({"type": "redacted_thinking", "data": "UkVEQUNURURfUEFZTE9BRA=="}),
            "",
        ),
        (hidden, "openai-responses", "", json!(null), "2 reasoning signatures"),
        (
            gemini,
            "gemini",
            "/contents/1/parts/0/thoughtSignature",
            json!("c2lnbmF0dXJlLW51bWJlci01"),
            "",
        ),
        (gemini, "anthropic", "", json!(null), "9 reasoning signatures"),
        (odd, "anthropic", "/messages/1/content/0/input", json!({}), "1 blank text"),
        (
            odd,
            "anthropic",
            "/messages/3/content/0/text",
            json!("bye"),
            "2 messages with nothing in them",
        ),
        (odd, "openai-responses", "/input/1/arguments", json!("{}"), ""),
        (blank, "anthropic", "/messages/1/content/0/type", json!("tool_use"), "2 blank texts"),
        (blank, "anthropic", "/messages/3/content", json!("again"), ""),
        (between, "openai-chat", "/messages/2/role", json!("tool"), "1 message between"),
        (
            between,
            "anthropic",
            "/messages/2/content/0/type",
            json!("tool_result"),
            "1 message between a call and its result (it stands behind the result now)",
        ),
        (signed, "anthropic", "/messages/2/content/0/type", json!("text"), "reasoning signatures"),
        (document, "openai-responses", "/input/0/content/0/type", json!("input_file"), ""),
        (document, "openai-responses", "/input/0/content/0/file_data", json!(pdf), ""),
        (document, "openai-responses", "/input/0/content/0/filename", json!("a.pdf"), ""),
        (orphans, "openai-chat", "", json!(null), "1 result without a call"),
        (dangling, "openai-chat", "", json!(null), ""),
        (
            image,
            "opencode",
            "/messages/0/parts/0/url",
            json!("data:image/png;base64,iVBORw0KGgo="),
            "",
        ),
        (
            image,
            "opencode",
            "/messages/1/parts/1/state/attachments/0/url",
            json!("data:image/png;base64,iVBORw0KGgo="),
            "",
        ),
    ]
}

#[test]
fn cases_are_written_right() {
    for (name, to, pointer, expected, lost) in rows() {
        let converted = converted(name, to);
        let root: Value = serde_json::from_str(&converted.text).unwrap();
        if !expected.is_null() {
            assert_eq!(
                root.pointer(pointer),
                Some(&expected),
                "{name} → {to}: {pointer}\n{root:#}"
            );
        }
        let losses = losses(&converted);
        assert!(
            losses.iter().any(|loss| loss.contains(lost)),
            "{name} → {to}: {lost}: {losses:#?}"
        );
    }
}
