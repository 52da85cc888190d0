//! The windows of models as their providers name them in refusals.

use foldback_core::Limits;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Most models with a window: their names come from clients.
const MODELS: usize = 256;

/// Tokens of the largest request that a provider takes, by model.
#[derive(Debug)]
pub(crate) struct Windows(Mutex<BTreeMap<String, u64>>);

impl Windows {
    /// The windows that were known before a restart.
    pub(crate) fn new(windows: BTreeMap<String, u64>) -> Self {
        Self(Mutex::new(windows))
    }

    /// Notes the window that a refusal names. Returns all windows if it was not known before.
    pub(crate) fn learn(&self, model: &str, tokens: u64) -> Option<BTreeMap<String, u64>> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = windows.len() < MODELS || windows.contains_key(model);
        let is_new = has_room && windows.insert(model.to_owned(), tokens) != Some(tokens);
        is_new.then(|| windows.clone())
    }

    /// The limits of a model, within the window that its provider named.
    pub(crate) fn within(&self, model: Option<&str>, limits: Limits) -> Limits {
        let windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match model.and_then(|model| windows.get(model)) {
            Some(tokens) => narrowed(limits, *tokens),
            None => limits,
        }
    }
}

/// Limits with a window of at most so many tokens.
pub(crate) fn narrowed(limits: Limits, tokens: u64) -> Limits {
    let Limits { context, input, output } = limits;
    let context = if context == 0 { tokens } else { context.min(tokens) };
    Limits { context, input: input.min(tokens), output }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_a_provider_named_limits_its_model_alone() {
        let windows = Windows::new(BTreeMap::new());
        assert!(windows.learn("small", 64_000).is_some());
        assert!(windows.learn("small", 64_000).is_none());
        // model, limits as configured, limits that apply: context and input
        for (model, (context, input), expected) in [
            (Some("small"), (200_000, 0), (64_000, 0)),
            (Some("small"), (200_000, 180_000), (64_000, 64_000)),
            (Some("small"), (32_000, 0), (32_000, 0)),
            (Some("small"), (0, 0), (64_000, 0)),
            (Some("large"), (200_000, 0), (200_000, 0)),
            (None, (200_000, 0), (200_000, 0)),
        ] {
            let found = windows.within(model, Limits::new(context, 8_000).with_input(input));
            assert_eq!((found.context, found.input, found.output), (expected.0, expected.1, 8_000));
        }
        assert!(windows.learn("small", 128_000).is_some());
    }

    #[test]
    fn clients_can_t_name_models_without_end() {
        let windows = Windows::new(BTreeMap::new());
        let learned = (0..2 * MODELS).filter_map(|n| windows.learn(&n.to_string(), 1_000));
        assert_eq!(learned.count(), MODELS);
    }
}
