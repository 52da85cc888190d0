//! Texts that people and providers write.

use foldback_core::config::{Document, Options, compile};
use foldback_providers::errors::Classifier;
use foldback_replay::Experiment;
use std::sync::LazyLock;

/// A strategy file compiles, or every error says something.
pub(crate) fn strategy(data: &[u8]) {
    static REGISTRY: LazyLock<foldback_core::registry::Registry> =
        LazyLock::new(|| foldback::registry().unwrap());
    let text = String::from_utf8_lossy(data);
    let compiled = Document::parse("fuzz.toml", &text)
        .and_then(|document| compile(&REGISTRY, document, Options::default()));
    if let Err(errors) = compiled {
        assert!(!errors.to_string().is_empty());
    }
}

/// An experiment file is read, or the error says which line is wrong.
pub(crate) fn experiment(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = Experiment::is_one("fuzz.toml", &text);
    match Experiment::parse("fuzz.toml", &text) {
        Ok(_) => {}
        Err(error) => assert!(error.starts_with("fuzz.toml:"), "{error}"),
    }
}

/// The first two bytes say who answered and with which status.
pub(crate) fn provider_error(data: &[u8]) {
    let [who, status, body @ ..] = data else { return };
    let names = [None, Some("anthropic"), Some("openai"), Some("gemini"), Some("ollama")];
    let body = String::from_utf8_lossy(body);
    let provider = names[usize::from(*who) % names.len()];
    let error = Classifier::builtin().classify(provider, Some(200 + 2 * u16::from(*status)), &body);
    let _ = error.to_string();
}
