//! Which tool results may still be masked, kept from request to request, so that a request looks at no more than the budgets hold.

use crate::starts::last_answer;
use foldback_core::meter::MeteredResult;
use foldback_core::stage::StageContext;
use foldback_core::view::Pos;
use std::collections::{BTreeMap, BTreeSet};

/// What a masked result is known by.
pub(crate) const TAG: &str = "<tool_output_masked";

/// The results of a history, by their number.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Up to where the messages were read.
    read: Pos,
    /// Messages whose results were masked when they were recorded.
    recorded: BTreeSet<Pos>,
    /// Results whose preview would be no shorter, with their tokens: they stay, and count.
    kept: BTreeMap<usize, u64>,
    /// The tokens of these together.
    kept_tokens: u64,
    /// The results in `kept` are the only ones below this index.
    from: usize,
    /// Behind the last one that is in the history: what came after the last answer is part of the next request.
    end: usize,
    /// Tools whose results stay and do not count.
    exempt: Vec<u32>,
    /// Number of edits, and where the layout ended: fewer of them are left where something was undone.
    seen: (usize, Pos),
}

impl Standing {
    /// Follows what happened since the last request.
    pub(crate) fn follow(&mut self, context: &StageContext<'_>, exempt: &[String]) {
        let history = context.history;
        for (pos, message) in history.range(self.read..history.len()) {
            let mut results = message.parts.iter().filter_map(|part| part.as_result());
            if results.any(|result| result.text.contains(TAG)) {
                self.recorded.insert(pos);
            }
        }
        self.read = history.len();
        let tools = context.meter.tools().iter().zip(0..);
        self.exempt =
            tools.filter(|(tool, _)| exempt.contains(tool)).map(|(_, number)| number).collect();
        let now = (context.view.edits().len(), context.view.layout().tail_from);
        if now.0 < self.seen.0 || now.1 < self.seen.1 {
            *self = Self {
                read: self.read,
                recorded: std::mem::take(&mut self.recorded),
                exempt: std::mem::take(&mut self.exempt),
                ..Self::default()
            };
        }
        self.seen = now;
        let results = context.meter.results();
        let next = last_answer(context).map_or(0, |(_, next)| next);
        self.end = results.partition_point(|result| result.at.item < next);
        while let Some((index, tokens)) = self.kept.first_key_value() {
            if context.view.is_visible(results[*index].at.item) {
                break;
            }
            self.kept_tokens -= tokens;
            self.kept.pop_first();
        }
        while self.from < self.end
            && (self.kept.contains_key(&self.from) || !self.counts(context, &results[self.from]))
        {
            self.from += 1;
        }
    }

    /// Whether a result is one that was not masked before.
    fn counts(&self, context: &StageContext<'_>, result: &MeteredResult) -> bool {
        let masked = match context.view.edit(result.at) {
            Some(edit) => edit.text.contains(TAG),
            None => self.recorded.contains(&result.at.item),
        };
        !masked && context.view.is_visible(result.at.item) && !self.exempt.contains(&result.tool)
    }

    /// The results behind the newest so many tokens, and their tokens together with those that stay.
    pub(crate) fn behind(&self, context: &StageContext<'_>, protect: u64) -> (Vec<usize>, u64) {
        let results = context.meter.results();
        let (mut protected, mut tokens, mut prunable) = (0, 0, Vec::new());
        for index in (self.from..self.end).rev() {
            let result = &results[index];
            if !self.counts(context, result) {
                continue;
            }
            protected += result.tokens;
            if protected > protect {
                tokens += result.tokens;
                prunable.extend((!self.kept.contains_key(&index)).then_some(index));
            }
        }
        // The others that stay are behind these. Where all of these are protected, nothing can go, whatever stays.
        let newer: u64 = self.kept.range(self.from..).map(|(_, tokens)| *tokens).sum();
        let older = if protected > protect { self.kept_tokens - newer } else { 0 };
        (prunable, tokens + older)
    }

    /// Notes that a result stays, because its preview would be no shorter.
    pub(crate) fn keep(&mut self, context: &StageContext<'_>, index: usize) {
        let tokens = context.meter.results()[index].tokens;
        self.kept_tokens += tokens;
        self.kept.insert(index, tokens);
    }
}
