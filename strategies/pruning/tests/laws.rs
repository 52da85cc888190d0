//! Whatever the history: the presets keep every law, those that drop pairs with every scorer.

use foldback_core::outcome::Why;
use foldback_core::stage::StageContext;
use foldback_stages::filter::{By, DropPairs, Pair, PairsConfig, Scorer};
use foldback_testkit::law::Law;
use foldback_testkit::{Subject, laws};
use std::sync::Arc;

laws!(masking_10: "masking-10");
laws!(swe_agent_last_5: "swe-agent-last-5");
laws!(clear_tool_uses: clearing());

/// With a trigger that short sessions reach.
fn clearing() -> Subject {
    let low = "[[pruner]]\nuse = \"clear-tool-uses\"\ntrigger = 2_000\nclear_at_least = 500\nclear_tool_inputs = true\n";
    Subject::toml(format!("name = \"low\"\nextends = \"anthropic-clear-tool-uses\"\n{low}"))
}

laws!(by_recency: pairs(By::Recency));
laws!(by_size: pairs(By::Size));
laws!(by_a_function: pairs(Newest));
laws!(fast_jev: small());

/// The stage `drop-pairs` with this scorer.
fn pairs(scorer: impl Scorer + Clone + 'static) -> Subject {
    Subject::filter(move || {
        DropPairs::new(PairsConfig::default(), Arc::new(scorer.clone())).unwrap()
    })
}

/// Finds the newest pairs worth the least.
#[derive(Clone, Debug)]
struct Newest;

impl Scorer for Newest {
    fn worth(&self, _: &StageContext<'_>, pairs: &[Pair]) -> Result<Vec<f64>, Why> {
        Ok((0..pairs.len()).map(|at| -(at as f64)).collect())
    }
}

/// Windows that a few messages fill.
const WINDOWS: [(u64, u64); 2] = [(6_000, 0), (9_000, 0)];

/// Less kept free, for such windows.
const SMALL: &str = "name = \"small\"\nextends = \"fast-jev\"\n[overflow]\nuse = \"answer-usage\"\nreserve = 1_000\n";

fn small() -> Subject {
    Subject::toml(SMALL)
        .windows(WINDOWS)
        .breaks(Law::KeepsFreeing, "a line stays for every call, and fills the window in the end")
        .breaks(
            Law::CostPerCallFlat,
            "a line stays for every call, so a fold walks a view that grows",
        )
}
