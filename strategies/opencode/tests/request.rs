//! What is cut for the summary request.

use foldback_core::log::{Media, Message, Part, PartKind, ResultStatus, ToolResult};
use foldback_opencode::request::{Cuts, Form};
use serde_json::json;

const CUTS: Cuts = Cuts { form: Form::Messages, strip_media: true, max_output: Some(4) };

fn result(status: ResultStatus, text: &str) -> ToolResult {
    ToolResult {
        call_id: "c".to_owned(),
        tool: "bash".to_owned(),
        status,
        text: text.to_owned(),
        structured: Some(json!({"output": text})),
        media: vec![Media::default()],
    }
}

fn cut(cuts: Cuts, kind: PartKind) -> PartKind {
    let mut message = Message::tool("m", "c", "bash", "");
    message.parts = vec![Part::new(kind)];
    cuts.apply(message).parts.remove(0).kind
}

#[test]
fn results_lose_media_and_length() {
    let text = |strip_media| Cuts { form: Form::Text, strip_media, max_output: None };
    let described = "ab\n[Attached : file]";
    let omitted = "abcd\n[Tool output truncated for compaction: omitted 1 chars]";
    // Case, cuts, status, text, text after, whether the recorded content stays, media after.
    for (case, cuts, status, text, expect, structured, media) in [
        ("over", CUTS, ResultStatus::Completed, "abcde", omitted, false, 0),
        ("at the limit", CUTS, ResultStatus::Completed, "abcd", "abcd", true, 0),
        ("errors are kept whole", CUTS, ResultStatus::Error, "abcde", "abcde", true, 0),
        ("as text, with media", text(false), ResultStatus::Completed, "ab", "ab", true, 1),
        ("as text, media said", text(true), ResultStatus::Completed, "ab", described, false, 0),
        ("no cuts", Cuts::default(), ResultStatus::Completed, "abcde", "abcde", true, 1),
    ] {
        let PartKind::Result(after) = cut(cuts, PartKind::Result(result(status, text))) else {
            panic!("{case}: no result any more");
        };
        assert_eq!(after.text, expect, "{case}");
        assert_eq!(after.structured.is_some(), structured, "{case}");
        assert_eq!(after.media.len(), media, "{case}");
    }
}

#[test]
fn files_are_described() {
    let file = |name: Option<&str>| Media {
        mime: "image/png".to_owned(),
        name: name.map(str::to_owned),
        url: "data:,x".to_owned(),
    };
    for (name, expect) in
        [(Some("cat.png"), "[Attached image/png: cat.png]"), (None, "[Attached image/png: file]")]
    {
        let PartKind::Text { text, .. } = cut(CUTS, PartKind::File(file(name))) else {
            panic!("{name:?}: still a file");
        };
        assert_eq!(text, expect);
    }
    let whole = cut(Cuts::default(), PartKind::File(file(None)));
    assert!(matches!(whole, PartKind::File(_)));
}
