//! The arguments of the command.

mod audit;
mod command_line;
mod inputs;
mod mcp;
mod probe;
mod search;
mod serve;
mod setup;
mod summaries;
mod trial;

pub(crate) use audit::Audit;
pub(crate) use command_line::quoted;
pub(crate) use inputs::{CorpusArgs, ModelArgs, SessionArgs, StoreArgs};
pub(crate) use mcp::Mcp;
#[cfg(feature = "llm")]
pub(crate) use probe::Forms;
pub(crate) use probe::Probe;
pub(crate) use search::{Recommend, SearchArgs, Tune};
pub(crate) use serve::Serve;
#[cfg(feature = "serve")]
pub(crate) use serve::TrialArgs;
pub(crate) use setup::Setup;
pub(crate) use summaries::SummaryArgs;
pub(crate) use trial::Trial;

use crate::error::Error;
use clap::{Args as ClapArgs, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use foldback_replay::Reporting;
use inputs::a_count;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Context compaction for LLM agents: compare strategies on recorded sessions, or compact one.
#[derive(Debug, Parser)]
#[command(
    name = "foldback",
    version,
    after_help = "Try:\n  foldback compare --discover\n  foldback compare examples/sessions\n  foldback explain examples/sessions/price-lists-codex.jsonl\n  foldback compact session.jsonl --preset indexed-large --live --plan",
    max_term_width = 100
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// All arguments but outputs; the files that the command reads are among them.
    #[arg(skip)]
    pub(crate) given: Vec<PathBuf>,
}

/// The value of an option that stands for standard output.
pub(crate) const PRINTED: &str = "-";

/// Options on what the command prints.
#[derive(Clone, Copy, Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Number of threads; the number of processors by default, and at most.
    #[arg(long, global = true, value_name = "N", value_parser = a_thread)]
    pub(crate) jobs: Option<usize>,
    /// Print only errors on standard error.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more about the run on standard error.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

fn a_thread(text: &str) -> Result<usize, String> {
    match a_count(text)? {
        0 => Err("no work would be done; 1 runs everything in sequence".to_owned()),
        threads => Ok(threads),
    }
}

fn a_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    let percent = text.parse().ok().filter(|percent| (1.0..=100.0).contains(percent));
    share.ok_or_else(|| match percent {
        Some(percent) => format!("is a share from 0 to 1; {text} % is {}", percent / 100.0),
        None => "must be a number from 0 to 1".to_owned(),
    })
}

/// What the exit codes mean, for the help of every command.
const EXIT_CODES: &str = "Exit codes:
  0  done
  1  done, but a recommendation misses its budget on the sessions held out for the check, or a
     snapshot differs from the stored one
  2  the input or the arguments can't be used; nothing is written";

/// Options that `--help` explains and `-h` leaves out.
const RARE: [&str; 16] = [
    "budget_usd",
    "cassette",
    "dry_run",
    "estimator",
    "exclude",
    "from",
    "jobs",
    "limits",
    "manifest",
    "max_output",
    "models",
    "outcomes",
    "reader",
    "record",
    "store",
    "strict",
];

impl Args {
    /// The definition of the command line. `-h` is short: it leaves out rare options and the exit codes.
    pub(crate) fn described() -> clap::Command {
        let described = |command: clap::Command| {
            let exits = match command.get_after_help() {
                Some(more) => format!("{more}\n\n{EXIT_CODES}"),
                None => EXIT_CODES.to_owned(),
            };
            command.after_long_help(exits).mut_args(|arg| {
                let rare = RARE.contains(&arg.get_id().as_str());
                arg.hide_short_help(rare)
            })
        };
        described(Self::command()).mut_subcommands(described)
    }

    /// Parses arguments, the name of the program first.
    pub(crate) fn from_words(
        given: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let mut described = Self::described();
        let matches = described.try_get_matches_from_mut(given)?;
        let mut args = Self::from_arg_matches(&matches)?;
        args.given = command_line::given(&described, &matches, |_| true);
        let quoted = command_line::text(&described, &matches);
        match &mut args.command {
            Command::Compare(compare) => {
                compare.command_line = quoted;
                compare.option_values =
                    command_line::given(&described, &matches, |arg| !arg.is_positional());
            }
            Command::Tune(tune) => tune.search.command_line = quoted,
            _ => {}
        }
        Ok(args)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare strategies on recorded sessions: what each would have cost, and what it would have forgotten.
    Compare(Compare),
    /// Say what the compactions that agents made themselves cost, what they dropped and agents then needed, and what other
    /// strategies would have kept at the same places.
    Audit(Audit),
    /// Compact one session and write it in its own format.
    Compact(Compact),
    /// Write a session in another format, and report what is lost.
    Convert(Convert),
    /// Explain what presets did with one session: when they fired, and the worst of what they forgot.
    Explain(Explain),
    /// Answer a hook of Claude Code around its own compaction: names that the summary is to keep, or lacks. The hook's JSON comes
    /// on standard input; `foldback setup claude-code-hooks` sets it up.
    Hook,
    /// Show the contents of a session file (`-` is standard input), or list the sessions of files and folders; without
    /// any, those that agents keep in this user's home.
    #[command(visible_alias = "sessions")]
    Inspect(Inspect),
    /// Let an agent look into its own and other sessions: a server of the Model Context Protocol on standard input and output.
    Mcp(Mcp),
    /// List the presets, or show one with all its values and their sources.
    Presets(Presets),
    /// Ask a model about what presets left in view: questions whose answers are exact strings of the log.
    Probe(Probe),
    /// Find the preset and the parameters that meet a budget on recorded sessions, as one strategy file.
    Recommend(Recommend),
    /// Score a part of a corpus, on one machine of many, into the folder --store; `compare` takes such folders as paths.
    Score(Score),
    /// Print the JSON Schema of what `compare --json` or `compare --rows` writes.
    Schema(Schema),
    /// Run a proxy between an agent and its provider that folds the conversations that go through it.
    Serve(Serve),
    /// Print what the agents on this machine need to go through the proxy; --write writes it, --remove takes it out.
    Setup(Setup),
    /// Keep what a strategy makes of recorded sessions in files for review, and check that it still does.
    Snapshot(Snapshot),
    /// List the stages, or show one with all its fields.
    Stages(Stages),
    /// Say what came of a trial of live agents: what each arm of `foldback serve --trial` cost and solved, or plan one.
    Trial(Trial),
    /// Vary the parameters of a preset: what each setting costs and forgets, chosen on one part of the
    /// sessions and reported on the other.
    Tune(Tune),
    /// Check a strategy or experiment file: all errors at once, each with its line.
    Check(Check),
    /// Show the size of the stored results, or delete them.
    Cache(Cache),
    /// Print a shell completion script.
    Completions(Completions),
    /// Write a manual page for every command.
    Man(Man),
}

impl Command {
    /// A command with these options and paths, as on the command line.
    pub(crate) fn parse(name: &str, options: &[String], paths: &[PathBuf]) -> Result<Self, Error> {
        let words = ["foldback", name].map(OsString::from);
        let options = options.iter().map(OsString::from);
        let paths = paths.iter().map(OsString::from);
        let words = words.into_iter().chain(options).chain([OsString::from("--")]).chain(paths);
        let args = Args::from_words(words).map_err(|error| Error::Usage(error.to_string()))?;
        Ok(args.command)
    }

    /// Where it is told to write.
    pub(crate) fn outputs(&self) -> Vec<&Path> {
        let (paths, out): (Vec<&Option<PathBuf>>, Option<&Path>) = match self {
            Self::Compare(args) => {
                let shown = args.show.filter(|show| *show != ComparisonText::Full);
                let table = shown.map(|_| Path::new(PRINTED));
                (args.files().to_vec(), table)
            }
            Self::Audit(args) => (vec![&args.json, &args.rows, &args.html], None),
            Self::Inspect(args) => (vec![&args.json], None),
            Self::Trial(args) => (args.files().to_vec(), None),
            Self::Probe(args) => (vec![&args.json, &args.html, &args.rows], args.requests()),
            Self::Tune(args) => (vec![&args.json, &args.out], None),
            Self::Presets(Presets { out, .. })
            | Self::Compact(Compact { out, .. })
            | Self::Recommend(Recommend { out, .. }) => (vec![out], None),
            Self::Convert(args) => (Vec::new(), Some(&args.output)),
            _ => (Vec::new(), None),
        };
        paths.into_iter().flatten().map(PathBuf::as_path).chain(out).collect()
    }

    /// Whether the output is a session, as one is that foldback wrote before.
    pub(crate) fn writes_sessions(&self) -> bool {
        match self {
            Self::Compact(args) => args.show.is_none(),
            Self::Convert(_) => true,
            _ => false,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) corpus: CorpusArgs,
    #[command(flatten)]
    pub(crate) design: DesignArgs,
    /// Price regime of the report.
    ///
    /// One of anthropic-5m, anthropic-1h, openai, gemini, deepseek, no-cache, which bill all sessions alike, or own, the
    /// default: each session by its own model, or by that of --model.
    #[arg(long, value_name = "REGIME", conflicts_with = "experiment")]
    pub(crate) prices: Option<String>,
    /// What the sessions came to: JSON lines, each {"session": ID, "arm": ARM, "task": TASK, "resolved": true}.
    ///
    /// `session` is a path, the recorder's id or the name of a file without its ending; `resolved` is true, false or any
    /// number. Arms, such as strategies that an agent ran under, are compared task by task. Both may be left out.
    #[arg(long, value_name = "FILE")]
    pub(crate) outcomes: Option<PathBuf>,
    /// What is printed in place of the first screen.
    #[arg(long, value_name = "TEXT")]
    pub(crate) show: Option<ComparisonText>,
    /// A preset that measurably keeps less than this share of what later calls needed is not recommended (0 to 1).
    #[arg(long, value_name = "SHARE", default_value_t = Reporting::KEEP, value_parser = a_share)]
    pub(crate) keep: f64,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Write the comparison as JSON (`-` is standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the comparison as one HTML file that needs no network.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Number of sessions in the reader of the page, those with the most forgotten first; `all` writes a page for every session
    /// beside it, into a folder (report-sessions next to report.html); `N,all` does both.
    #[arg(long, value_name = "N,all", requires = "html", value_delimiter = ',', value_parser = page_sessions)]
    pub(crate) reader: Vec<PageSessions>,
    /// Write one row per session, preset and call: JSON lines, or CSV or Parquet if the file ends in .csv or .parquet.
    #[arg(long, value_name = "FILE")]
    pub(crate) rows: Option<PathBuf>,
    /// Write what a run depends on, so that it can be repeated: command, version, seed, and the hash of every input (JSON).
    #[arg(long, value_name = "FILE", conflicts_with = "redact")]
    pub(crate) manifest: Option<PathBuf>,
    /// Replace paths, tasks, tools and identifiers by pseudonyms, and leave texts out, in every output.
    #[arg(long)]
    pub(crate) redact: bool,
    #[command(flatten)]
    pub(crate) summaries: SummaryArgs,
    /// The part of the command line that the results depend on.
    #[arg(skip)]
    pub(crate) command_line: String,
    /// The values of options but outputs: the files among them are inputs, too.
    #[arg(skip)]
    pub(crate) option_values: Vec<PathBuf>,
}

impl Compare {
    /// The files that it is told to write.
    pub(crate) fn files(&self) -> [&Option<PathBuf>; 4] {
        [&self.json, &self.html, &self.rows, &self.manifest]
    }
}

/// The sessions that a page walks through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageSessions {
    /// So many of them on the page itself.
    Most(usize),
    /// Each on a page of its own.
    Beside,
}

fn page_sessions(text: &str) -> Result<PageSessions, String> {
    match text {
        "all" => Ok(PageSessions::Beside),
        _ => a_count(text).map(PageSessions::Most).map_err(|why| format!("{why}; or all")),
    }
}

/// What a comparison prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ComparisonText {
    /// Every column and preset, pairs, controls, cautions in words, assumptions.
    Full,
    /// The table of the first screen for a paper, with the package booktabs.
    Latex,
    /// The table of the first screen, numbers alone.
    Csv,
    /// The table of the first screen in Markdown.
    Md,
}

/// The presets and limits that sessions are scored under.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct DesignArgs {
    /// Presets by name, TOML files, or groups: seeds, today, all; by default one of each family that people use.
    #[arg(long, value_name = "A,B,FILE.toml", value_delimiter = ',')]
    pub(crate) preset: Vec<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Pre-registration of a comparison (TOML); its hash is in every output.
    ///
    /// It fixes strategies, prices, seed and split.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "window", "max_output", "model", "estimator", "summarizer"])]
    pub(crate) experiment: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Score {
    #[command(flatten)]
    pub(crate) corpus: CorpusArgs,
    #[command(flatten)]
    pub(crate) design: DesignArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) summaries: SummaryArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Compact {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Preset by name, or a TOML file.
    #[arg(long, value_name = "PRESET")]
    pub(crate) preset: String,
    /// Format to write; the file's own by default.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    /// File to write; standard output by default.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write the session over its own file: what is taken out is gone from it.
    #[arg(long, conflicts_with_all = ["out", "to", "show"])]
    pub(crate) in_place: bool,
    /// What is printed instead of the session.
    #[arg(long, value_name = "TEXT")]
    pub(crate) show: Option<CompactText>,
    /// When the preset acts; by default at the end of the session, where it is over a threshold.
    #[arg(long, value_name = "TIME")]
    pub(crate) when: Option<CompactTime>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) summaries: SummaryArgs,
}

/// What a compaction prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CompactText {
    /// The edits and their reasons.
    Plan,
    /// The edits and their reasons as JSON.
    PlanJson,
    /// A numbered rendering of the view.
    View,
}

/// When a preset acts on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CompactTime {
    /// Now, as if a person had requested it, regardless of thresholds.
    Manual,
    /// From the first message on, moment by moment, as it would have in an agent.
    Live,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Convert {
    /// The session file (`-` is standard input).
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Where to write (`-` is standard output).
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Format to write.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: String,
    /// Format of the file, where it is not recognized.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,
    /// Id of the session, for files that hold several; all of them if the new format can hold several.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Treat warnings of the importer as errors.
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Presets by name or group, or TOML files, explained one after the other; by default the cheapest that keeps enough of
    /// this session.
    #[arg(long, value_name = "A,B,FILE.toml", value_delimiter = ',')]
    pub(crate) preset: Vec<String>,
    /// Number of forgotten references to list.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = a_count)]
    pub(crate) count: usize,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) summaries: SummaryArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) corpus: CorpusArgs,
    /// Format of the file, where it is not recognized.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,
    /// Estimator for all reported token counts, the same for every preset.
    #[arg(long, value_name = "ESTIMATOR", default_value = "o200k")]
    pub(crate) estimator: String,
    /// Write all results as JSON (`-` is standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Presets {
    /// Name of a preset, or a TOML file.
    pub(crate) name: Option<String>,
    /// Write the preset's TOML file (`-` is standard output) instead of showing it.
    #[arg(short, long, value_name = "FILE.toml", requires = "name")]
    pub(crate) out: Option<PathBuf>,
    /// Print the list as JSON, for programs.
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Schema {
    /// Which schema.
    #[arg(value_enum, default_value = "comparison")]
    pub(crate) of: Described,
}

/// The outputs that have a schema.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Described {
    /// The document of `compare --json`.
    Comparison,
    /// One line of `compare --rows`.
    Row,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Snapshot {
    /// Session files or folders of them.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Presets by name or group, or TOML files; each has snapshots of its own.
    #[arg(long, value_name = "A,B,FILE.toml", value_delimiter = ',', required = true)]
    pub(crate) preset: Vec<String>,
    /// Write the snapshots that are new or differ, instead of checking them.
    #[arg(long)]
    pub(crate) write: bool,
    /// Folder of the snapshots.
    #[arg(short, long, value_name = "DIR", default_value = "snapshots")]
    pub(crate) out: PathBuf,
    /// Format of the files, where it is not recognized.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,
    /// Treat warnings of the importer as errors.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Stages {
    /// Name of a stage.
    pub(crate) name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Check {
    /// The strategy file, experiment file, or file for --summarizer.
    pub(crate) file: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Man {
    /// Folder for the pages; created if it does not exist.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Cache {
    /// What to do.
    #[arg(value_enum)]
    pub(crate) task: CacheTask,
    /// Folder of results; the one in the user's cache folder by default.
    #[arg(long, value_name = "DIR", value_parser = inputs::a_folder)]
    pub(crate) store: Option<PathBuf>,
}

/// What to do with stored results.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum CacheTask {
    /// Print their size.
    Size,
    /// Delete them, except those that another process is writing.
    Clean,
}
