//! A strategy is billed for what its summarizer would be asked, and `--dry-run` counts the same.

use foldback_core::registry::StageConfig;
use foldback_core::stage::Summarizer;
use foldback_llm::{DryRun, LlmConfig};
use foldback_replay::{ReplayOptions, replay};
use foldback_tests::{Script, file, options, owned};
use std::sync::Arc;

fn long() -> Script {
    let mut script = Script::default();
    for turn in 0..6 {
        script.user(&format!("turn {turn}: mend src/m{turn}.rs and run its tests"));
        for step in 0..10 {
            let name = format!("src/m{turn}_{step}.rs");
            let arguments = format!("{{\"path\":\"{name}\"}}");
            script.call("reading on", &[("read", &arguments, &file(&name, 6_000))]);
        }
        script.call("We decided to leave the interface as it is.", &[]);
    }
    script
}

#[test]
fn the_bill_and_a_dry_run_count_the_same_requests() {
    let session = long().session();
    for name in ["opencode", "opencode-1.17"] {
        let config: LlmConfig =
            serde_json::from_str(r#"{ "provider": "openai", "model": "m" }"#).unwrap();
        let asking: Arc<dyn Summarizer> = config.build().unwrap();
        let mut strategy = owned(name);
        strategy.summarizer = Some(asking);
        let options = options(24_000, 4_000);
        let measure = Arc::clone(&options.measure);
        let dry_run = DryRun::with_estimate(move |request| {
            measure.text(&request.system)
                + request.turns.iter().map(|turn| measure.text(&turn.text)).sum::<u64>()
        });
        let options = ReplayOptions { completions: Some(Arc::new(dry_run.clone())), ..options };
        let replayed = replay(&session, &Arc::new(strategy), &options);
        let billed: u64 = replayed.summary_calls.iter().map(|asked| asked.input_tokens).sum();
        let [(_, counted)] = &dry_run.report()[..] else {
            panic!("{name}: {:?}", dry_run.report());
        };
        assert!(counted.requests > 1, "{name} asked for {}", counted.requests);
        assert_eq!(counted.requests, replayed.summary_calls.len() as u64, "{name}");
        let off = billed.abs_diff(counted.input) as f64 / counted.input as f64;
        assert!(off < 0.05, "{name}: {billed} billed, {} counted", counted.input);
    }
}
