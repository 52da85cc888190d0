//! Summaries written by a model.
