//! Stages that no strategy owns: estimators, the extractive summarizer, generic policies.
