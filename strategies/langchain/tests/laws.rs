//! Whatever the history: the presets keep every law.

use foldback_testkit::{Subject, laws};

laws!(context_editing: editing());
laws!(deepagents: "deepagents");
laws!(summarization: "langchain-summarization");

/// With a trigger that short sessions reach.
fn editing() -> Subject {
    let low = "[[pruner]]\nuse = \"clear-tool-uses\"\ntrigger = 2_000\n";
    Subject::toml(format!("name = \"low\"\nextends = \"langchain-context-editing\"\n{low}"))
}
