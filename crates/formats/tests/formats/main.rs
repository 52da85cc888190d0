//! What every format promises, and what is particular to each.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod anthropic;
mod atif;
mod claude_code;
mod cluster;
mod codex;
mod common;
mod contract;
mod convert;
mod copilot_cli;
mod detection;
mod expected;
mod foldback;
mod gemini;
mod gemini_cli;
mod inspect;
mod langchain;
mod mini_swe_agent;
mod openai_chat;
mod openai_responses;
mod opencode;
mod opencode_db;
mod openhands;
mod openhands_llm;
mod otel;
mod pi;
mod pydantic_ai;
mod roo_code;
mod swe_agent;
mod tau2;
