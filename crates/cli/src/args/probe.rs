//! Arguments of `foldback probe`.

use super::inputs::{CorpusArgs, ModelArgs, a_count};
use super::summaries::SummaryArgs;
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Questions are made from the log without a model, the same every time; their answers are exact strings of it. \
                  Two controls are asked as well: full, the whole log where it fits the model, and nothing.\n\n\
                  Try:\n  foldback probe examples/sessions --preset indexed,window --window 32k --ask claude-haiku-4-5 --dry-run"
)]
pub(crate) struct Probe {
    #[command(flatten)]
    pub(crate) corpus: CorpusArgs,
    /// Presets by name or group, or TOML files; differences are to the first.
    #[arg(long, value_name = "A,B,FILE.toml", value_delimiter = ',', required = true)]
    pub(crate) preset: Vec<String>,
    /// Model that answers: its name, or a TOML file as --summarizer takes it.
    #[arg(long, value_name = "MODEL|FILE.toml")]
    pub(crate) ask: String,
    /// Ask in the place of this call, which counts from 0; at the end of each session by default.
    #[arg(long, value_name = "CALL", value_parser = a_count)]
    pub(crate) at: Option<usize>,
    /// Most questions per session, spread over kinds and ages; calls with --form likelihood.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = a_count)]
    pub(crate) count: usize,
    /// How an answer is asked for: as a string (exact), as the letter of an option (choice), or both ways (both).
    ///
    /// `likelihood` asks nothing: a server says how likely the recorded actions are under each view, at N calls of each session
    /// (see --count), by the log-probabilities of the prompt that a server such as vLLM gives.
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        default_value = "both",
        hide_possible_values = true
    )]
    pub(crate) form: Forms,
    /// Ask under each preset a second time, and let the model look up what the view leaves out, at most N times a question (4
    /// if left out), as the tool `recall` of agents does. Each time is one more request, which a dry run does not count.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "4", value_parser = a_count)]
    pub(crate) recall: Option<usize>,
    /// Also ask questions of one's own: JSON lines with question, answer, and, if you like, distractors, also (other right answers),
    /// path (true if an ending of it will do) and session (an id or a path). `--count 0` asks them alone.
    #[arg(long, value_name = "FILE")]
    pub(crate) questions: Option<PathBuf>,
    /// For a provider's batch service: if there is no such file, the requests are written to it, as lines, and none is sent; if
    /// there is, it holds the lines that the service gave back, and the answers are taken from it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["recall", "dry_run", "budget_usd"])]
    pub(crate) batch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Write one row per session, preset, question and form: JSON lines, or CSV or Parquet if the file ends in .csv or .parquet.
    #[arg(long, value_name = "FILE")]
    pub(crate) rows: Option<PathBuf>,
    /// Write the figures as JSON (`-` is standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the figures as one HTML file that needs no network.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) summaries: SummaryArgs,
}

impl Probe {
    /// The file that requests are written to: that of `--batch`, if it does not exist.
    pub(crate) fn requests(&self) -> Option<&Path> {
        self.batch.as_deref().filter(|path| !path.exists())
    }
}

/// The forms of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Forms {
    Exact,
    Choice,
    Both,
    Likelihood,
}
