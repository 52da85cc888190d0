//! Progress on standard error, only if that is a terminal and the user wants it.

use crate::output;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Interval at which the progress display moves. The first step may take minutes, and nothing would be shown until then.
const TICK: Duration = Duration::from_millis(200);

/// Steps that are counted. Their total is the number of files, since the number of sessions is unknown before files are
/// read. It is no longer shown once there are more steps.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Progress of the replays of so many files under so many presets.
    pub(crate) fn replays(files: usize, presets: usize) -> Self {
        Self::new(files * presets, "replays", format!("{files} files under {presets} presets"))
    }

    /// Progress of requests to models, whose total is unknown.
    #[cfg(feature = "llm")]
    pub(crate) fn of_requests() -> Self {
        Self::shown(None, "{spinner} {elapsed}; {msg}", "folding".to_owned())
    }

    /// Progress of `total` steps named `steps`, in work on `what`.
    pub(crate) fn new(total: usize, steps: &str, what: String) -> Self {
        let template =
            format!("{{spinner}} {{bar:20}} {{done}} {steps}, {{elapsed}}, {{left}}; {{msg}}");
        Self::shown(Some(total as u64), &template, what)
    }

    fn shown(total: Option<u64>, template: &str, what: String) -> Self {
        if !output::shows_progress() {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let style = style.with_key("done", done).with_key("left", left);
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr())
            .with_style(style)
            .with_message(what);
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// A step is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }
}

/// Reports steps that are counted elsewhere: lines with `--verbose`, and the text of the progress display once there is
/// one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Teller(Arc<OnceLock<ProgressBar>>);

#[cfg_attr(not(feature = "llm"), expect(dead_code, reason = "no model is asked"))]
impl Teller {
    /// Reports in this display from now on.
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

/// Number of steps done, with the total if it is possible.
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
