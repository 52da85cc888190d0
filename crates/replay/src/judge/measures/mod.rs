//! What a replay says about the changes of the view: what each took out and wrote, and whether its summaries hold what
//! they were made from. Tokens are by the measuring estimator.
//!
//! A view is what a request sends: what is appended and folded away between two requests was dropped, and several folds
//! between two requests are one firing.

mod firings;
mod summaries;
#[cfg(test)]
mod tests;

pub(crate) use firings::{Firing, Firings, WrittenSummary};
pub(crate) use summaries::SummaryProbe;
