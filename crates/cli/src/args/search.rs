//! The arguments of the commands that search for a configuration.

use super::{CorpusArgs, ModelArgs, StoreArgs};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// The sessions of a search, its prices, and where its results are stored.
#[derive(Debug, ClapArgs)]
pub(crate) struct SearchArgs {
    #[command(flatten)]
    pub(crate) corpus: CorpusArgs,
    /// Price regime.
    ///
    /// One of anthropic-5m, anthropic-1h, openai, gemini, deepseek, no-cache, which bill all sessions alike, or own, the
    /// default: each session by its own model, or by that of --model.
    #[arg(long, value_name = "REGIME")]
    pub(crate) prices: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// The part of the command line that the results depend on.
    #[arg(skip)]
    pub(crate) command_line: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Recommend {
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// Presets to choose among, by name or group (seeds, today, all); those that `compare` takes by default.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) preset: Vec<String>,
    /// Budget to meet: `keep=0.95`, or `cost=0.7`.
    ///
    /// `keep=0.95`: at least that share of what later calls refer to and only tool results and user messages had said is
    /// kept. `cost=0.7`: a net bill of at most 70 % of the base, which is the bill as recorded where that is known. Exit code 1 if
    /// the budget does not hold on the sessions held out for the check.
    #[arg(long, value_name = "BUDGET", default_value = "keep=0.95")]
    pub(crate) budget: String,
    /// Find the best values of this agent's own settings, against those that its settings file has now.
    ///
    /// Of what it tries, the cheapest that keeps the share of --budget of what the present settings keep. It is advised if it is
    /// cheaper beyond noise on the sessions held out for the check.
    #[arg(long = "for", value_name = "AGENT", conflicts_with_all = ["preset", "out"])]
    pub(crate) for_agent: Option<String>,
    /// With --for: write the values into the agent's settings file.
    #[arg(long, requires = "for_agent")]
    pub(crate) write: bool,
    /// With --for: take out what --write wrote; the file is byte for byte what it was.
    #[arg(long, requires = "for_agent", conflicts_with = "write")]
    pub(crate) remove: bool,
    /// File to write; standard output by default.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// The preset to vary, by name, or a TOML file.
    #[arg(long, value_name = "PRESET")]
    pub(crate) preset: String,
    /// A field and its values: `pruner.protect_tokens=2_000..40_000`, `overflow.trigger=0.5..0.95`, or a list
    /// such as `a,b,c`. Can be repeated, once per field.
    #[arg(long, value_name = "FIELD=A..B", required = true)]
    pub(crate) vary: Vec<String>,
    /// Points per range. All combinations are replayed if there are at most 64, else a random
    /// sample of 64.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(2..))]
    pub(crate) points: u8,
    /// Write all configurations with their numbers as JSON (`-` is standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the cheapest configuration of the front that keeps at least as much as the preset's own values, as a
    /// strategy file (`-` is standard output).
    #[arg(short, long, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
}
