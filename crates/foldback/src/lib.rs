//! Context compaction for LLM agents: the core, the built-in stages and all strategies.
