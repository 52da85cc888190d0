//! Bodies of errors as providers sent them, for scripts. Numbers are those of the report that is named.

use crate::reply::Reply;

/// A refusal as a provider sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Who sent it.
    pub provider: &'static str,
    /// HTTP status.
    pub status: u16,
    /// The body.
    pub body: &'static str,
    /// Where it was reported.
    pub source: &'static str,
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Reply::status(refusal.status, refusal.body)
    }
}

/// The messages alone are larger than the window.
pub const OPENAI_MESSAGES: Refusal = Refusal {
    provider: "openai",
    status: 400,
    body: r#"{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    source: "https://github.com/chathub-dev/chathub/issues/126",
};

/// Messages and the output asked for are larger than the window.
pub const OPENAI_COMPLETION: Refusal = Refusal {
    provider: "openai",
    status: 400,
    body: r#"{"error":{"message":"This model's maximum context length is 4097 tokens. However, you requested 4120 tokens (3120 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    source: "https://github.com/mckaywrigley/chatbot-ui/issues/102",
};

/// The prompt is larger than the window.
pub const ANTHROPIC_PROMPT: Refusal = Refusal {
    provider: "anthropic",
    status: 400,
    body: r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200251 tokens > 200000 maximum"},"request_id":"req_011CWdepJvA2D819tdYYq4h7"}"#,
    source: "https://github.com/boldsoftware/exe.dev/issues/62",
};

/// The contents are larger than the window.
pub const GEMINI_INPUT: Refusal = Refusal {
    provider: "gemini",
    status: 400,
    body: r#"{"error":{"code":400,"message":"The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
    source: "https://github.com/google-gemini/gemini-cli/issues/4231",
};

/// The prompt is larger than the slot's window.
pub const LLAMA_CPP: Refusal = Refusal {
    provider: "llama.cpp",
    status: 400,
    body: r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}"#,
    source: "https://github.com/oobabooga/textgen/issues/7257",
};

/// Prompt and the output asked for are larger than the window of the endpoint.
pub const OPENROUTER: Refusal = Refusal {
    provider: "openrouter",
    status: 400,
    body: r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 141607 tokens (10535 of text input, 131072 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400,"metadata":{"provider_name":"Chutes"}}}"#,
    source: "https://github.com/Aider-AI/aider/issues/3721",
};

/// All refusals for size.
pub const OVERFLOWS: [Refusal; 6] =
    [OPENAI_MESSAGES, OPENAI_COMPLETION, ANTHROPIC_PROMPT, GEMINI_INPUT, LLAMA_CPP, OPENROUTER];
