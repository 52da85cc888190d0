//! The five kinds of stage that make up a strategy.
//!
//! | stage | answers |
//! |---|---|
//! | [`Estimator`] | how many tokens is this? |
//! | [`OverflowPolicy`] | fold now, and how far down? |
//! | [`Pruner`] | which parts lose their content? |
//! | [`Filter`] | which messages are shown, and in which order? |
//! | [`Summarizer`] | which text replaces a group? |
//!
//! A stage reads a [`StageContext`] and makes proposals; it never changes anything itself. The
//! [conversation](crate::conversation) turns proposals into plans, checks them and commits them.

mod answered;
mod context;
mod estimator;
mod filter;
mod overflow;
mod pruner;
mod summarizer;

pub use answered::AnsweredViews;
pub use context::StageContext;
pub use estimator::Estimator;
#[cfg(test)]
pub(crate) use estimator::Letters;
pub use filter::{Arrangement, Continuation, Filter, Proposal};
pub use overflow::{CachePrices, Decision, OverflowPolicy, Pressure, UsageReading, UsageSource};
pub use pruner::{Pruner, Pruning};
pub(crate) use summarizer::Checked;
pub use summarizer::{DRY_RUN, Summarizer, Summary, SummaryError, SummaryRequest};
