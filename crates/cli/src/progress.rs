//! Progress on standard error, only if that is a terminal and the user wants it.

use crate::output;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How often the progress display moves. The first step may take minutes; without this nothing is shown before it
/// ends.
const TICK: Duration = Duration::from_millis(200);

/// Steps that are counted. Their total is one of files. It is no longer shown once there are more: how many sessions files
/// hold is unknown before they are read.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Of the replays of so many files under so many presets.
    pub(crate) fn of(files: usize, presets: usize) -> Self {
        Self::new(files * presets, "replays", format!("{files} files under {presets} presets"))
    }

    /// Of requests to models, of which nobody knows how many there will be.
    pub(crate) fn of_requests() -> Self {
        if !output::shows_progress() {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{spinner} {elapsed}; {msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style).with_message("folding");
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Of `total` steps, which are `steps`, at work on `what`.
    pub(crate) fn new(total: usize, steps: &str, what: String) -> Self {
        if !output::shows_progress() {
            return Self(ProgressBar::hidden());
        }
        let template =
            format!("{{spinner}} {{bar:20}} {{done}} {steps}, {{elapsed}}, {{left}}; {{msg}}");
        let style = ProgressStyle::with_template(&template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new(total as u64)
            .with_style(style.with_key("done", done).with_key("left", left))
            .with_message(what);
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// A step is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }
}

/// Where steps are told that somebody else counts: lines with `--verbose`, and the words of the progress display once there is
/// one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Teller(Arc<OnceLock<ProgressBar>>);

#[cfg_attr(not(feature = "llm"), expect(dead_code, reason = "no model is asked"))]
impl Teller {
    /// Tells in this display from now on.
    pub(crate) fn show(&self, progress: &Progress) {
        self.0.get_or_init(|| progress.0.clone());
    }

    pub(crate) fn tell(&self, text: &str) {
        match self.0.get() {
            None => output::detail(text),
            Some(bar) => {
                bar.set_message(text.to_owned());
                bar.suspend(|| output::detail(text));
            }
        }
    }
}

impl Drop for Progress {
    /// Progress is cleared before anything else is printed, errors included.
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How many steps are done, and of how many as long as that can be.
fn done(state: &ProgressState, out: &mut dyn Write) {
    let _ = match state.len().filter(|total| state.pos() <= *total) {
        Some(total) => write!(out, "{} of {total}", state.pos()),
        None => write!(out, "{}", state.pos()),
    };
}

/// How long it will take, once known.
fn left(state: &ProgressState, out: &mut dyn Write) {
    let known = state.len().filter(|total| state.pos() < *total);
    let _ = match (known, state.pos()) {
        (_, 0) => write!(out, "reading"),
        (Some(_), _) => write!(out, "about {} left", HumanDuration(state.eta())),
        (None, _) => write!(out, "computing the figures"),
    };
}
