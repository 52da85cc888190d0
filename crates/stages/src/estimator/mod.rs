//! Estimators: how many tokens is this?
//!
//! | `use` | counts |
//! |---|---|
//! | `chars` | characters divided by a number; every rule of thumb of the reproduced systems is one configuration |
//! | `o200k`, `cl100k` | OpenAI's byte-pair vocabularies, embedded |
//! | `calibrated` | one of these, times a factor fitted on the usage that a session recorded |
//!
//! An estimator's id names everything that its counts depend on, because messages cache counts under
//! it and reports print it next to every number.

mod ascii;
mod bpe;
mod calibrated;
mod chars;
mod fit;
mod pieces;
mod scope;
mod tokenizer;
mod unit;
mod vocabulary;

pub use bpe::{Bpe, BpeConfig, Cl100k, Vocabulary, cl100k, o200k};
pub use calibrated::{Base, Calibrated, CalibratedConfig};
pub use chars::{Chars, CharsConfig, Rounding, Rounds, chars};
pub use fit::{Calibration, Fit, Observation, fit, mul_div};
pub use scope::{Calls, Scope, chat_call};
pub use unit::{Unit, is_js_whitespace, json_string};
