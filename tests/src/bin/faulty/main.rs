//! The `foldback` command with a preset whose stage panics, unless `FAULTY` is `off`.

use foldback::core::moment::Moment;
use foldback::core::outcome::Why;
use foldback::core::registry::{Invalid, PresetDescriptor, StageConfig, StageDescriptor};
use foldback::core::stage::{Pruner, Pruning, StageContext};
use foldback::{Registration, core::inventory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use std::sync::Arc;

/// Panics where a log has so many messages. Stage and configuration in one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Faulty {
    /// Messages.
    after: usize,
}

impl StageConfig<dyn Pruner> for Faulty {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(self))
    }
}

impl Pruner for Faulty {
    fn moment(&self) -> Moment {
        Moment::TurnStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let is_on = std::env::var("FAULTY").as_deref() != Ok("off");
        assert!(!is_on || context.history.len() < self.after, "a planned fault");
        Pruning::Nothing(Why::new("faulty", "nothing to do"))
    }
}

/// What this program adds to the registry.
const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[StageDescriptor::pruner::<Faulty>("faulty", "Panics")],
    presets: &[PresetDescriptor { name: "faulty", toml: include_str!("faulty.toml") }],
};

inventory::submit! { REGISTRATION }

fn main() -> ExitCode {
    foldback_cli::run()
}
