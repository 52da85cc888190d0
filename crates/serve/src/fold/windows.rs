//! The windows of models as their providers name them in refusals.

use super::conversations::journals;
use foldback_core::Limits;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Most models with a window: their names come from clients.
const MODELS: usize = 256;

/// Where they are stored, in the folder of journals.
const FILE: &str = "windows.json";

/// Tokens of the largest request that a provider takes, by model.
#[derive(Debug)]
pub(crate) struct Windows {
    known: Mutex<BTreeMap<String, u64>>,
    file: Option<PathBuf>,
}

impl Windows {
    /// The windows that were known before a restart, if there is a folder of journals.
    pub(crate) fn new(journals: Option<&Path>) -> Self {
        let file = journals.map(|folder| folder.join(FILE));
        let stored = file.as_deref().and_then(journals::read);
        let known = stored.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self { known: Mutex::new(known.unwrap_or_default()), file }
    }

    /// Notes the window that a refusal names. Whether it was not known before.
    pub(crate) fn learn(&self, model: &str, tokens: u64) -> bool {
        let mut windows = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = windows.len() < MODELS || windows.contains_key(model);
        let is_new = has_room && windows.insert(model.to_owned(), tokens) != Some(tokens);
        if is_new
            && let Some(file) = &self.file
            && let Ok(bytes) = serde_json::to_vec(&*windows)
        {
            // Where it can't be written, the journals can't either, which is counted.
            let _ = journals::replace(file, &bytes);
        }
        is_new
    }

    /// The limits of a model, within the window that its provider named.
    pub(crate) fn within(&self, model: Option<&str>, limits: Limits) -> Limits {
        let windows = self.known.lock().unwrap_or_else(PoisonError::into_inner);
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
        let windows = Windows::new(None);
        assert!(windows.learn("small", 64_000));
        assert!(!windows.learn("small", 64_000));
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
        assert!(windows.learn("small", 128_000));
    }

    #[test]
    fn clients_can_t_name_models_without_end() {
        let windows = Windows::new(None);
        let learned = (0..2 * MODELS).filter(|n| windows.learn(&n.to_string(), 1_000));
        assert_eq!(learned.count(), MODELS);
    }
}
