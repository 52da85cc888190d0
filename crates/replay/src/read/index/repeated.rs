//! A read that is made again: what it puts into the log.

use super::{LogPart, NeedleId};
use crate::read::verbatim::PieceId;
use foldback_core::log::Message;
use std::sync::Arc;

/// A read as it is put into the log.
#[derive(Debug)]
pub(crate) struct RepeatedRead {
    /// The answer that asks for it.
    pub(crate) answer: Arc<Message>,
    /// Its result.
    pub(crate) result: Arc<Message>,
    /// Tokens of the result by the measuring estimator.
    pub(crate) tokens: u64,
    /// The part of the log that the result repeats.
    pub(crate) source: LogPart,
    /// What it holds where it repeats some lines alone.
    pub(crate) excerpt: Option<LineContents>,
}

/// What some lines of a result hold.
#[derive(Debug)]
pub(crate) struct LineContents {
    pub(crate) needles: Box<[NeedleId]>,
    pub(crate) pieces: Box<[PieceId]>,
}
