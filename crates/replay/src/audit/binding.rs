//! What of the user's rules and of the open tasks the first request after a compaction still says, word for word.
//!
//! A rule is a sentence of the user's that forbids or demands something; a task is an open item of the list that the model keeps.

use super::cuts::Cut;
use crate::judge::request::{Probe, Request};
use crate::read::index::Index;
use foldback_core::log::{Message, TodoList};
use serde::Serialize;
use std::sync::Arc;

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
    let given = index.rules.iter().filter(|rule| rule.at[0].0 < after);
    given.map(|rule| index.rule_text(rule).to_owned()).collect()
}

/// The open items of the list that the model keeps.
fn tasks(log: &[Arc<Message>]) -> Vec<String> {
    let mut list = TodoList::default();
    let parts = log.iter().flat_map(|message| &message.parts);
    parts.filter_map(|part| part.as_call()).for_each(|call| _ = list.take(call));
    list.open()
}
