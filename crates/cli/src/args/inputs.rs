//! Arguments that many commands share: sessions, a model, where results and outputs go, and numbers.

use clap::Args as ClapArgs;
use foldback_core::Limits;
use foldback_formats::FormatId;
use foldback_replay::number;
use std::path::{Path, PathBuf};

/// The start of a day in milliseconds since the Unix epoch.
fn day(text: &str) -> Result<i64, String> {
    let start = text
        .parse::<jiff::civil::Date>()
        .and_then(|day| day.to_zoned_datetime(jiff::tz::TimeZone::UTC));
    match start {
        Ok(start) => Ok(start.timestamp().as_millisecond()),
        Err(_) => {
            Err(format!("takes a day, such as {}", ago(text).unwrap_or("2026-01-31".to_owned())))
        }
    }
}

/// The day that a span such as `7d` or `2w` ago was, in words.
fn ago(text: &str) -> Option<String> {
    let text = text.trim().to_lowercase();
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(at);
    let days = match unit.trim() {
        "d" | "day" | "days" => 1,
        "w" | "week" | "weeks" => 7,
        "m" | "month" | "months" => 30,
        "y" | "year" | "years" => 365,
        _ => return None,
    };
    let days = number.parse::<i64>().ok()?.checked_mul(days)?;
    let span = jiff::Span::new().try_days(days).ok()?;
    let day = jiff::Timestamp::now()
        .to_zoned_datetime(jiff::tz::TimeZone::UTC)
        .date()
        .checked_sub(span)
        .ok()?;
    Some(format!("{day} for {text}"))
}

/// The id of a format.
fn a_format(id: &str) -> Result<FormatId, String> {
    foldback_formats::format(id).map(|format| format.id).map_err(|error| error.to_string())
}

/// The path of a folder, which need not exist.
pub(super) fn a_folder(text: &str) -> Result<PathBuf, String> {
    match Path::new(text).is_file() {
        true => Err("is a file; name a folder".to_owned()),
        false => Ok(PathBuf::from(text)),
    }
}

/// One of the sessions in a file.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct SessionArgs {
    /// The session file (`-` is standard input).
    pub(crate) file: PathBuf,
    /// Format of the file, if it is not recognized.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,
    /// Id of the session, for files that hold several.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Treat warnings of the importer as errors.
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Files with sessions.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct CorpusArgs {
    /// Session files or folders of them, in any mix of formats; s3://BUCKET/KEY and s3://BUCKET/FOLDER/ in a build
    /// with the feature object-store.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Also use the sessions that agents keep in this user's home: Claude Code, Codex, OpenCode, pi, Gemini CLI,
    /// Copilot CLI, Cline, Roo Code and others.
    #[arg(long)]
    pub(crate) discover: bool,
    /// Leave out files whose path contains this; `*` matches anything. Can be repeated.
    #[arg(long, value_name = "TEXT")]
    pub(crate) exclude: Vec<String>,
    /// Only sessions in this format, such as claude-code or codex. Can be repeated.
    #[arg(long, value_name = "FORMAT", value_parser = a_format)]
    pub(crate) agent: Vec<FormatId>,
    /// Only sessions whose repository, folder, task or path contains this.
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// Only sessions with a model call on this day (UTC) or later; those without times are left out.
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub(crate) since: Option<i64>,
    /// Treat warnings of the importers as errors.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Links in folders are followed to what is below these places alone; everywhere if there are none.
    #[arg(skip)]
    pub(crate) only_below: Vec<PathBuf>,
}

impl CorpusArgs {
    /// The options that were given to leave sessions out.
    pub(crate) fn selections(&self) -> Vec<&'static str> {
        let options = [
            ("--exclude", !self.exclude.is_empty()),
            ("--agent", !self.agent.is_empty()),
            ("--project", self.project.is_some()),
            ("--since", self.since.is_some()),
        ];
        options.into_iter().filter_map(|(option, is)| is.then_some(option)).collect()
    }
}

/// Where results are kept.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct StoreArgs {
    /// Folder for stored results, so that a rerun computes only what changed; the user's cache
    /// folder by default, and `none` stores nothing.
    #[arg(long, value_name = "DIR|none", value_parser = a_folder)]
    pub(crate) store: Option<PathBuf>,
}

/// A window. In a strategy file, 0 means none; here, leave `--window` out for that.
pub(super) fn a_window(text: &str) -> Result<u64, String> {
    match tokens(text)? {
        0 => Err("nothing fits; leave --window out to use each session's own".to_owned()),
        tokens => Ok(tokens),
    }
}

pub(super) fn tokens(text: &str) -> Result<u64, String> {
    number::parse(text)
        .ok_or_else(|| "takes a number of tokens, such as 200k, 200_000 or 200000".to_owned())
}

/// Any other number.
pub(super) fn a_number(text: &str) -> Result<u64, String> {
    number::parse(text).ok_or_else(|| "takes a number, such as 20, 2_000 or 2k".to_owned())
}

/// A count.
pub(super) fn a_count(text: &str) -> Result<usize, String> {
    a_number(text)?.try_into().map_err(|_| "is too large".to_owned())
}

/// The model, its limits, and the estimator.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ModelArgs {
    /// Window in tokens, for every session and preset.
    #[arg(long, value_name = "N", value_parser = a_window)]
    pub(crate) window: Option<u64>,
    /// Output limit in tokens.
    #[arg(long, value_name = "N", value_parser = tokens)]
    pub(crate) max_output: Option<u64>,
    /// Model whose limits apply instead of the recorded one.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Table of models instead of the embedded one (TOML).
    #[arg(long, value_name = "FILE")]
    pub(crate) models: Option<PathBuf>,
    /// Estimator for all reported token counts, the same for every preset.
    #[arg(long, value_name = "ESTIMATOR", default_value = "o200k")]
    pub(crate) estimator: String,
}

impl ModelArgs {
    /// The limits that were given; zero where none was.
    pub(crate) fn limits(&self) -> Limits {
        Limits { context: self.window.unwrap_or(0), input: 0, output: self.max_output.unwrap_or(0) }
    }
}
