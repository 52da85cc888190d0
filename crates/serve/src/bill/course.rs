//! The course of a conversation through the proxy, as the page shows it: sizes, and no content.

use super::Bill;
use foldback_live::follow::Sizes;
use foldback_providers::wire::{Dialect, Request};
use std::collections::VecDeque;

/// Requests whose sizes are kept.
const KEPT: usize = 240;

/// The course of one conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub(crate) dialect: Option<Dialect>,
    /// As the client spells it.
    pub(crate) model: String,
    pub(crate) requests: u64,
    /// Messages of the latest request.
    pub(crate) messages: usize,
    /// Tokens of all requests as clients sent them, summed.
    pub(crate) received: u64,
    /// Tokens of all requests together as the views show them.
    pub(crate) sent: u64,
    /// The sizes of the latest requests, the newest last.
    pub(crate) sizes: VecDeque<Sizes>,
    /// What its answers cost.
    pub(crate) bill: Bill,
}

impl Course {
    /// Adds a request.
    pub(crate) fn add(&mut self, request: &Request, sizes: Sizes) {
        self.dialect = Some(request.dialect());
        let model = request.model().unwrap_or_default();
        if self.model != model {
            model.clone_into(&mut self.model);
        }
        self.requests += 1;
        self.messages = request.messages().len();
        self.received += sizes.received;
        self.sent += sizes.sent;
        if self.sizes.len() == KEPT {
            self.sizes.pop_front();
        }
        self.sizes.push_back(sizes);
    }

    /// Bytes that it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.sizes.capacity() * size_of::<Sizes>() + self.model.capacity()
    }

    /// The sizes of the latest request.
    pub(crate) fn latest(&self) -> Sizes {
        self.sizes.back().copied().unwrap_or_default()
    }
}
