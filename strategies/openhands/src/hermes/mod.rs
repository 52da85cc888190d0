//! The context compressor of Hermes Agent: the first messages stay the first time, the newest by a budget; in between, old results become a
//! line each, and then all of it a summary.

mod cut;
mod lines;
mod middle;
mod pressure;
mod rough;
mod wording;

pub use lines::{Lines, LinesConfig};
pub use middle::{Middle, MiddleConfig};
pub use pressure::{HermesPressure, HermesPressureConfig};
pub use rough::{Rough, RoughConfig, budget};
pub use wording::line;

use foldback_core::fraction::Fraction;
use foldback_core::log::{EntryKind, Message};
use foldback_core::stage::StageContext;
use foldback_stages::filter::first_chars;

/// Whether an earlier fold wrote it.
fn is_summary(message: &Message) -> bool {
    message.is_entry_of(EntryKind::Summary)
}

/// A share of the threshold that the preset has in this window: the newest messages within it stay.
fn tail_tokens(context: &StageContext<'_>, share: f64) -> u64 {
    let threshold =
        pressure::threshold(context.limits.context, Fraction::from_number(pressure::SMALL_SHARE));
    Fraction::from_number(share).floor_of(threshold)
}

/// A text of more than `most` characters, cut to so many and what says so.
fn cut_to(text: &str, most: usize, kept: usize, ending: &str) -> Option<String> {
    first_chars(text, most)?;
    Some(first_chars(text, kept).unwrap_or(text).to_owned() + ending)
}
