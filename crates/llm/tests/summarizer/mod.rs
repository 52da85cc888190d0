//! The `llm` summarizer with scripted models: every rung, every check, retries, cancellation, quoting.

mod answers;
mod bounds;
mod configs;
mod failures;
mod ladder;
mod quoting;
mod scrubbing;
mod spans;
mod stand_ins;
mod support;
mod wording;
