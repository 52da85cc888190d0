//! The examples of `crates/providers/README.md` with the types of other crates, in a crate of their own: those crates are
//! no part of this workspace.

use crate::files::read;
use crate::outside::{self, cargo, run};
use std::path::Path;

/// Compiles the examples and runs each on a conversation.
pub(crate) fn check() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = read(&root.join("crates/providers/README.md"))?;
    let section = page.split_once("## With the types of another crate").map(|(_, rest)| rest);
    let blocks = section.unwrap_or_default().split("```rust").skip(1);
    let mut blocks =
        blocks.filter_map(|block| Some(block.split("```").next()?.split_once('\n')?.1));
    let mut code = HEAD.to_owned();
    for (module, test) in MODULES {
        let block =
            blocks.next().ok_or("crates/providers/README.md: four Rust examples are expected")?;
        match module {
            "" => code += block,
            name => code += &format!("\nmod {name} {{\nuse super::*;\n\n{block}{test}}}\n"),
        }
    }
    let folder = root.join("target/rust-clients");
    outside::make(&folder, DEPENDENCIES, &[("src/lib.rs", &code)])?;
    run(cargo(&folder).args(["test", "--quiet"]))
}

const DEPENDENCIES: &str = r#"[dependencies]
async-openai = { version = "=0.43.0", default-features = false, features = ["chat-completion-types"] }
foldback = { path = "../../crates/foldback" }
genai = { version = "=0.7.2", default-features = false }
rig-core = { version = "=0.46.0", default-features = false }
serde_json = "1"

[dev-dependencies]
tokio = { version = "1", features = ["rt", "macros"] }
"#;

const HEAD: &str = r#"#![cfg(test)]

use serde_json::{Value, json};
use std::error::Error;

fn conversation() -> Conversation {
    let registry = foldback::registry().unwrap();
    let strategy = foldback::preset(&registry, "window").unwrap();
    let limits = foldback::Limits::new(100_000, 1_000);
    let services = foldback::Services::fixed();
    Conversation::new(strategy.into(), limits, foldback::Frame::default(), services)
}

/// A conversation with a call and its result, as Chat Completions has it.
fn body() -> Value {
    json!({"model": "m", "messages": [
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "assistant", "content": "So."},
    ]})
}

"#;

/// The module of each example, and the test that runs it there: what no fold touches comes back as it was.
const MODULES: [(&str, &str); 4] = [
    ("", ""),
    (
        "with_async_openai",
        r#"
#[tokio::test]
async fn comes_back() {
    let request: Request = serde_json::from_value(body()).unwrap();
    assert_eq!(to_send(&request, &mut conversation()).await.unwrap(), request);
}
"#,
    ),
    (
        "with_rig",
        r#"
#[tokio::test]
async fn comes_back() {
    let list: Vec<OpenAi> = serde_json::from_value(body()["messages"].take()).unwrap();
    let list: Vec<Message> = list.into_iter().map(|one| one.try_into().unwrap()).collect();
    let sent = to_send(list.clone(), &mut conversation()).await.unwrap();
    let wire = |list: Vec<Message>| -> Vec<Value> {
        let list = list.into_iter().flat_map(|one| Vec::<OpenAi>::try_from(one).unwrap());
        list.map(|one| serde_json::to_value(one).unwrap()).collect()
    };
    assert_eq!(wire(sent), wire(list));
}
"#,
    ),
    (
        "with_genai",
        r#"
#[tokio::test]
async fn comes_back() {
    let mut conversation = conversation();
    fold(body().to_string(), &mut conversation).await.unwrap();
    let sent = to_send(&conversation).unwrap();
    assert_eq!(sent.len(), 4);
    assert_eq!(sent[0].content.first_text(), Some("Why?"));
    assert_eq!(sent[1].content.tool_calls()[0].fn_arguments, json!({"path": "a"}));
    assert_eq!(sent[2].content.tool_responses()[0].content, "one");
    assert_eq!(sent[3].content.first_text(), Some("So."));
}
"#,
    ),
];
