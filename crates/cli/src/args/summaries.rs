//! Who writes summaries, and what that may cost.

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Summaries")]
pub(crate) struct SummaryArgs {
    /// Who writes the summaries of every preset that has some written: `llm`, `extractive`, or a TOML file
    /// with the [summarizer] section to use, and [price] where no table has the model.
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) summarizer: Option<String>,
    /// Folder of recorded answers. They are replayed; no model is asked.
    #[arg(long, value_name = "DIR")]
    pub(crate) cassette: Option<PathBuf>,
    /// Ask models for the answers that the cassette lacks, and record them.
    #[arg(long, requires = "cassette")]
    pub(crate) record: bool,
    /// Ask no model: what a cassette does without --record.
    #[arg(long, requires = "cassette", conflicts_with = "record")]
    pub(crate) replay_only: bool,
    /// Say how many requests models would get and what those may cost. Nothing is sent or written.
    #[arg(long, conflicts_with_all = ["record", "replay_only"])]
    pub(crate) dry_run: bool,
    /// Most US dollars that requests may cost; the run ends with an error before it is passed.
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(crate) budget_usd: Option<f64>,
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars >= 0.0 => Ok(dollars),
        _ => Err("takes an amount of US dollars, e.g. 2.50".to_owned()),
    }
}
