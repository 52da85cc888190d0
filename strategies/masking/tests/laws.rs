//! Whatever the history: the presets keep every law.

use foldback_testkit::{Subject, laws};

laws!(masking_10: "masking-10");
laws!(swe_agent_last_5: "swe-agent-last-5");
laws!(clear_tool_uses: clearing());

/// With a trigger that short sessions reach.
fn clearing() -> Subject {
    let low = "[[pruner]]\nuse = \"clear-tool-uses\"\ntrigger = 2_000\nclear_at_least = 500\nclear_tool_inputs = true\n";
    Subject::toml(format!("name = \"low\"\nextends = \"anthropic-clear-tool-uses\"\n{low}"))
}
