//! A provider for agents of other languages: calls the tool `read` 99 times and says that it is done at the 100th
//! request of every task. Prints its address and runs until it is killed.
//!
//! A request whose text holds `refuse me` is refused. One that is larger than the window is refused in the words of its
//! protocol, so an agent that does not fold would not get to the end.

use foldback_fake_provider::{Call, FakeProvider, Recorded, Reply, Script};
use serde_json::json;

/// The window in tokens, four bytes each.
const WINDOW: u64 = 16_000;

/// Requests of one task.
const CALLS: usize = 100;

fn answer(request: &Recorded, calls: &mut usize) -> Reply {
    if request.path.contains("/count_tokens") {
        return Reply::status(200, r#"{"input_tokens": 7}"#);
    }
    if request.path.contains("/models") {
        return Reply::status(
            200,
            r#"{"data": [{"id": "m", "object": "model", "type": "model", "display_name": "M", "created_at": "2026-01-01T00:00:00Z"}], "object": "list", "has_more": false}"#,
        );
    }
    if request.text.contains("refuse me") {
        return Reply::status(
            400,
            r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "planted refusal"}}"#,
        );
    }
    *calls += 1;
    match *calls % CALLS {
        0 => Reply::text("Done."),
        call => Reply::calls([Call::new(
            format!("call_{calls}"),
            "read",
            json!({"path": format!("src/{call}.rs")}),
        )]),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let mut calls = 0;
    let script = Script::answer(move |request| answer(request, &mut calls));
    let provider =
        FakeProvider::builder(script).input_window(WINDOW).pairs().everywhere().start().await?;
    println!("{}", provider.url());
    std::future::pending().await
}
