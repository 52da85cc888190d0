//! What of the user's rules and of the open tasks the first request after a compaction still says, word for word.
//!
//! A rule is a sentence of the user's that binds whoever goes on; a task is an open item of the latest list that the model wrote.

use super::cuts::Cut;
use crate::judge::request::{Probe, Request};
use crate::read::index::Index;
use foldback_core::log::{Message, open_items};
use foldback_stages::extractive::files::{Tool, tool};
use foldback_stages::extractive::rules;
use serde::Serialize;
use std::sync::Arc;

/// Words of a rule, at least: what is shorter says nothing by itself.
const LEAST_WORDS: usize = 4;

/// Texts that a request is to say, and those that it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Binding {
    /// All of them.
    pub all: usize,
    /// Those that are in view no longer.
    pub missing: Vec<String>,
}

/// Looks at the first request after each compaction.
#[derive(Debug)]
pub(super) struct BindingProbe {
    /// By compaction: number of the call that comes next, rules and tasks.
    wanted: Vec<(usize, [Vec<String>; 2])>,
    /// By compaction, rules and tasks; nothing where no request came after it.
    pub(super) found: Vec<[Binding; 2]>,
}

impl BindingProbe {
    pub(super) fn new(index: &Index, cuts: &[Cut<'_>]) -> Self {
        let wanted = |cut: &Cut<'_>| {
            (cut.call, [rules_before(index, cut.after), tasks(&index.log[..cut.after])])
        };
        Self {
            wanted: cuts.iter().map(wanted).collect(),
            found: vec![Default::default(); cuts.len()],
        }
    }
}

impl Probe for BindingProbe {
    fn call(&mut self, request: &Request<'_>) {
        let mut said: Option<String> = None;
        for ((call, wanted), found) in self.wanted.iter().zip(&mut self.found) {
            if *call != request.call {
                continue;
            }
            let said = said.get_or_insert_with(|| {
                let (history, view) = (request.conversation.history(), request.conversation.view());
                let places = view.places().iter();
                let texts =
                    places.map(|place| view.show(history, *place).to_message().shown_text());
                texts.collect::<Vec<_>>().join("\n")
            });
            *found = wanted.each_ref().map(|texts| Binding {
                all: texts.len(),
                missing: texts
                    .iter()
                    .filter(|text| !said.contains(text.as_str()))
                    .cloned()
                    .collect(),
            });
        }
    }
}

fn rules_before(index: &Index, after: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for instruction in index.instructions.iter().filter(|it| it.at.0 < after) {
        let text = index.log[instruction.at.0].parts[instruction.at.1].shown();
        let rules = rules(&text).filter(|rule| rule.split(' ').count() >= LEAST_WORDS);
        out.extend(rules.map(str::to_owned));
    }
    crate::in_order(out.into_iter())
}

/// The open items of the latest list.
fn tasks(log: &[Arc<Message>]) -> Vec<String> {
    let parts = log.iter().rev().flat_map(|message| message.parts.iter().rev());
    let mut lists =
        parts.filter_map(|part| part.as_call()).filter_map(|call| match tool(&call.tool) {
            Tool::Todo => open_items(&call.arguments_value()),
            _ => None,
        });
    lists.next().unwrap_or_default()
}
