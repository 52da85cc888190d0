//! The provider of a request, so that no key goes to another provider than its own.
//!
//! The end of the path gives the protocol of a conversation. If one upstream gets everything, nothing else counts.
//! Otherwise the path must be one of Anthropic's or OpenAI's, and every key of the request must be that provider's: a
//! key that reached a stranger is lost.

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method};
use foldback_providers::wire::Dialect;

/// A provider that needs no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    Anthropic,
    OpenAi,
}

/// Why a request is sent to no provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stray {
    /// The path belongs to neither provider.
    Path,
    /// A key belongs to another owner.
    Key,
}

impl Stray {
    /// The answer's status.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Path => 404,
            Self::Key => 403,
        }
    }

    /// The name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Key => "key",
        }
    }

    /// The answer's text.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Path => {
                "without --upstream this proxy sends on what belongs to Anthropic's or OpenAI's API, such as /v1/messages, \
                 /v1/chat/completions and /v1/responses, and this path belongs to neither; nothing was sent. The base URL of \
                 an OpenAI client ends with /v1; for another provider, start the proxy with --upstream URL"
            }
            Self::Key => {
                "the key in this request is not one of the provider that its path belongs to, so nothing was sent; send it \
                 to the path of its own provider, or start the proxy with --upstream URL"
            }
        }
    }
}

impl Provider {
    pub(crate) fn host(self) -> &'static str {
        match self {
            Self::Anthropic => "api.anthropic.com",
            Self::OpenAi => "api.openai.com",
        }
    }
}

/// The protocol of a request. Only a conversation that wants an answer has one: counts of tokens, models and
/// everything else goes through. `anywhere` is whether the path may have another beginning, as at other providers.
pub(crate) fn dialect(method: &Method, path: &str, anywhere: bool) -> Option<Dialect> {
    if method != Method::POST {
        return None;
    }
    let exact = [
        ("/v1/messages", Dialect::Anthropic),
        ("/v1/chat/completions", Dialect::OpenAiChat),
        ("/v1/responses", Dialect::OpenAiResponses),
    ];
    // Only the path of Anthropic's clients has a last part that others have, too: the messages of a thread.
    let ends = [
        ("/v1/messages", Dialect::Anthropic),
        ("/anthropic/messages", Dialect::Anthropic),
        ("/chat/completions", Dialect::OpenAiChat),
        ("/responses", Dialect::OpenAiResponses),
    ];
    match anywhere {
        false => exact.into_iter().find(|(whole, _)| *whole == path),
        true if path == "/messages" => Some(("", Dialect::Anthropic)),
        true => ends.into_iter().find(|(end, _)| path.ends_with(end)),
    }
    .map(|(_, dialect)| dialect)
}

/// What follows `/v1/` in paths that only Anthropic has.
const ANTHROPICS: [&str; 3] = ["messages", "complete", "organizations"];

/// What follows `/v1/` in paths that only OpenAI has.
const OPENAIS: [&str; 24] = [
    "assistants",
    "audio",
    "batches",
    "chat",
    "chatkit",
    "completions",
    "containers",
    "conversations",
    "edits",
    "embeddings",
    "evals",
    "fine-tunes",
    "fine_tuning",
    "images",
    "moderations",
    "organization",
    "projects",
    "realtime",
    "responses",
    "threads",
    "uploads",
    "usage",
    "vector_stores",
    "videos",
];

/// What follows `/v1/` in paths that both have. Headers and keys tell whose they are.
const BOTH: [&str; 3] = ["files", "models", "skills"];

/// The provider of a request.
///
/// # Errors
///
/// The path belongs to neither provider, or a key to another one.
pub(crate) fn provider(path: &str, query: &str, headers: &HeaderMap) -> Result<Provider, Stray> {
    let owners = || owners(query, headers);
    let family = family(path).ok_or(Stray::Path)?;
    let anthropics = || {
        headers.contains_key("anthropic-version")
            || headers.contains_key("x-api-key")
            || owners().any(|owner| owner == Owner::Anthropic)
    };
    let provider = match family {
        family if ANTHROPICS.contains(&family) => Provider::Anthropic,
        family if OPENAIS.contains(&family) => Provider::OpenAi,
        family if BOTH.contains(&family) && anthropics() => Provider::Anthropic,
        family if BOTH.contains(&family) => Provider::OpenAi,
        _ => return Err(Stray::Path),
    };
    let own = match provider {
        Provider::Anthropic => Owner::Anthropic,
        Provider::OpenAi => Owner::OpenAi,
    };
    if owners().all(|owner| owner == own) { Ok(provider) } else { Err(Stray::Key) }
}

/// What follows `/v1/`. `None` if a server may read the path differently.
fn family(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/v1/")?;
    let plain = |part: &str| {
        let lower = part.to_ascii_lowercase();
        let hidden = ["%2e", "%2f", "%5c", "\\"].iter().any(|sign| lower.contains(sign));
        !hidden && !matches!(part, "." | "..")
    };
    // Only the last part may be empty, behind a slash.
    let parts: Vec<&str> = rest.strip_suffix('/').unwrap_or(rest).split('/').collect();
    let all = parts.iter().all(|part| !part.is_empty() && plain(part));
    parts.first().copied().filter(|_| all)
}

/// The issuer of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Anthropic,
    OpenAi,
    Other,
}

/// How keys begin, longer beginnings first. Any other key may be anybody's.
const BEGINNINGS: [(&str, Owner); 28] = [
    ("sk-ant-", Owner::Anthropic),
    // OpenRouter.
    ("sk-or-", Owner::Other),
    ("sk-", Owner::OpenAi),
    ("sess-", Owner::OpenAi),
    // Google.
    ("AIza", Owner::Other),
    ("AQ.", Owner::Other),
    ("ya29.", Owner::Other),
    // Groq, xAI, Perplexity, Cerebras, Fireworks, Together, NVIDIA, Replicate, Hugging Face, DigitalOcean.
    ("gsk_", Owner::Other),
    ("xai-", Owner::Other),
    ("pplx-", Owner::Other),
    ("csk-", Owner::Other),
    ("fw_", Owner::Other),
    ("tgp_v1_", Owner::Other),
    ("nvapi-", Owner::Other),
    ("r8_", Owner::Other),
    ("hf_", Owner::Other),
    ("doo_v1_", Owner::Other),
    // GitHub, GitLab.
    ("ghp_", Owner::Other),
    ("gho_", Owner::Other),
    ("ghu_", Owner::Other),
    ("ghs_", Owner::Other),
    ("ghr_", Owner::Other),
    ("github_pat_", Owner::Other),
    ("glpat-", Owner::Other),
    // AWS, its Bedrock, Vercel.
    ("AKIA", Owner::Other),
    ("ABSK", Owner::Other),
    ("bedrock-api-key-", Owner::Other),
    ("vck_", Owner::Other),
];

/// Headers by which clients of other providers send keys, whatever those look like.
const OTHERS: [&str; 3] = ["x-goog-api-key", "api-key", "ocp-apim-subscription-key"];

/// Owners of the keys in a request, as far as they say so.
fn owners<'a>(query: &'a str, headers: &'a HeaderMap) -> impl Iterator<Item = Owner> + 'a {
    let issuer = |key: &[u8]| {
        let begins = |(beginning, _): &&(&str, Owner)| key.starts_with(beginning.as_bytes());
        BEGINNINGS.iter().find(begins).map(|(_, owner)| *owner)
    };
    let named = OTHERS.iter().filter(|name| headers.contains_key(**name)).map(|_| Owner::Other);
    let sent = headers.get_all(AUTHORIZATION).iter().chain(headers.get_all("x-api-key"));
    let words = sent.flat_map(|value| value.as_bytes().split(|byte| b" \t,".contains(byte)));
    let values = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value);
    named
        .chain(words.filter_map(issuer))
        .chain(values.filter_map(move |value| issuer(value.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Provider::{Anthropic, OpenAi};

    fn headers(lines: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines.split('\n').filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap();
            let name = axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_protocol_is_told_by_its_whole_path() {
        use Dialect::{Anthropic, OpenAiChat, OpenAiResponses};
        for (path, exactly, anywhere) in [
            ("/v1/messages", Some(Anthropic), Some(Anthropic)),
            ("/v1/chat/completions", Some(OpenAiChat), Some(OpenAiChat)),
            ("/v1/responses", Some(OpenAiResponses), Some(OpenAiResponses)),
            ("/messages", None, Some(Anthropic)),
            ("/chat/completions", None, Some(OpenAiChat)),
            ("/responses", None, Some(OpenAiResponses)),
            ("/anthropic/v1/messages", None, Some(Anthropic)),
            ("/openai/deployments/x/chat/completions", None, Some(OpenAiChat)),
            ("/backend-api/codex/responses", None, Some(OpenAiResponses)),
            ("/v1/threads/thread_1/messages", None, None),
            ("/v1/threads/messages", None, None),
            ("/v1/conversations/c/messages", None, None),
            ("/xmessages", None, None),
            ("/v1/messages/", None, None),
            ("/v1/messages/count_tokens", None, None),
            ("/v1/responses/resp_1", None, None),
            ("/v1/responses/resp_1/cancel", None, None),
            ("/v1beta/models/m:generateContent", None, None),
        ] {
            assert_eq!(dialect(&Method::POST, path, false), exactly, "{path}");
            assert_eq!(dialect(&Method::POST, path, true), anywhere, "{path}");
            assert_eq!(dialect(&Method::GET, path, true), None, "{path}");
        }
    }

    #[test]
    fn a_key_goes_to_its_own_provider_or_nowhere() {
        let rows = [
            ("/v1/messages", "", Ok(Anthropic)),
            ("/v1/messages", "x-api-key: sk-ant-api03-x", Ok(Anthropic)),
            ("/v1/messages", "authorization: Bearer sk-ant-oat01-x", Ok(Anthropic)),
            ("/v1/messages", "x-api-key: opaque", Ok(Anthropic)),
            ("/v1/messages", "authorization: Bearer sk-proj-x", Err(Stray::Key)),
            ("/v1/messages", "x-api-key: AIzaX", Err(Stray::Key)),
            ("/v1/messages/count_tokens", "x-api-key: sk-x", Err(Stray::Key)),
            ("/v1/messages/batches/b/results", "x-api-key: sk-ant-x", Ok(Anthropic)),
            // Two keys, of different providers.
            ("/v1/messages", "x-api-key: sk-ant-x\nauthorization: Bearer sk-x", Err(Stray::Key)),
            ("/v1/chat/completions", "authorization: Bearer sk-x", Ok(OpenAi)),
            ("/v1/chat/completions", "authorization: Bearer eyJhbGciOi", Ok(OpenAi)),
            ("/v1/chat/completions", "authorization: Bearer sk-ant-x", Err(Stray::Key)),
            ("/v1/chat/completions", "authorization: sk-ant-x", Err(Stray::Key)),
            ("/v1/chat/completions", "authorization: Bearer  sk-ant-x", Err(Stray::Key)),
            ("/v1/chat/completions", "x-api-key: sk-ant-x", Err(Stray::Key)),
            ("/v1/responses", "authorization: Bearer sk-or-v1-x", Err(Stray::Key)),
            ("/v1/responses", "authorization: Bearer gsk_x", Err(Stray::Key)),
            ("/v1/responses", "api-key: 0123456789abcdef", Err(Stray::Key)),
            ("/v1/responses?key=AIzaX", "", Err(Stray::Key)),
            ("/v1/responses?after=a&limit=2", "authorization: Bearer sk-x", Ok(OpenAi)),
            ("/v1/threads/thread_1/messages", "authorization: Bearer sk-x", Ok(OpenAi)),
            ("/v1/threads/thread_1/messages", "authorization: Bearer sk-ant-x", Err(Stray::Key)),
            ("/v1/embeddings", "", Ok(OpenAi)),
            // What both have.
            ("/v1/models", "", Ok(OpenAi)),
            ("/v1/models/m", "anthropic-version: 2023-06-01", Ok(Anthropic)),
            ("/v1/models", "authorization: Bearer sk-ant-oat01-x", Ok(Anthropic)),
            ("/v1/files", "x-api-key: sk-x", Err(Stray::Key)),
            ("/v1/files", "authorization: Bearer sk-proj-x", Ok(OpenAi)),
            // What neither has.
            ("/v1/unheard_of", "authorization: Bearer sk-ant-x", Err(Stray::Path)),
            ("/chat/completions", "", Err(Stray::Path)),
            ("/v1/models/gemini-3-pro:generateContent", "x-goog-api-key: x", Err(Stray::Key)),
            ("/v1beta/models/gemini-3-pro:generateContent", "x-goog-api-key: x", Err(Stray::Path)),
            ("/v1beta/models/m:generateContent?key=AIzaX", "", Err(Stray::Path)),
            ("/", "", Err(Stray::Path)),
            ("", "", Err(Stray::Path)),
            // What a server may read otherwise.
            ("/v1/messages/../chat/completions", "x-api-key: sk-ant-x", Err(Stray::Path)),
            ("/v1/./messages", "x-api-key: sk-ant-x", Err(Stray::Path)),
            ("/v1//messages", "x-api-key: sk-ant-x", Err(Stray::Path)),
            ("//v1/messages", "x-api-key: sk-ant-x", Err(Stray::Path)),
            ("/v1/responses/%2e%2E/messages", "", Err(Stray::Path)),
            ("/v1/responses%2Fx", "", Err(Stray::Path)),
            ("/v1/responses/..\\x", "", Err(Stray::Path)),
            ("/V1/messages", "", Err(Stray::Path)),
        ];
        for (asked, lines, expected) in rows {
            let (path, query) = asked.split_once('?').unwrap_or((asked, ""));
            assert_eq!(provider(path, query, &headers(lines)), expected, "{asked}, {lines}");
        }
    }
}
