//! Whatever the history: the presets keep every law, as they ship and with limits that a few messages reach.

use crate::support::{Scripted, strategy};
use foldback_core::stage::Summarizer;
use foldback_testkit::{Subject, laws};
use std::sync::Arc;

laws!(opencode: "opencode");
laws!(opencode_1_17: "opencode-1.17");
laws!(opencode_1_18: "opencode-1.18");
laws!(opencode_2: "opencode-2");
laws!(brutus: "brutus");
laws!(small_opencode: small("opencode", ""));
laws!(small_opencode_1_17: small("opencode-1.17", "[filter]\npreserve_recent_tokens = 200\n"));
laws!(small_opencode_1_18: small("opencode-1.18", "[filter]\npreserve_recent_tokens = 200\n"));
laws!(small_opencode_2: small("opencode-2", "protect_turns = 2\nprotected_tools = []\nplaceholder = \"[cleared]\"\n[filter]\nkeep_tokens = 200\n[overflow]\nreserve = 500\n"));
laws!(small_brutus: small("brutus", ""));

const SMALL: &str = "
[window]
context = 3_000
output = 500
[guards]
no-growth = true
[[pruner]]
use = \"opencode.prune\"
enabled = true
protect_tokens = 150
minimum_tokens = 50
";

/// A preset with small limits, whose summaries are a few words.
fn small(preset: &'static str, more: &'static str) -> Subject {
    let make = move |_: &_| {
        let mut strategy = strategy(preset, &format!("{SMALL}{more}"));
        let summarizer = Scripted::always(Some("what was done so far"));
        strategy.summarizer = Some(summarizer as Arc<dyn Summarizer>);
        Arc::new(strategy)
    };
    Subject::made_by(make).windows([(3_000, 500)])
}
