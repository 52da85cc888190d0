//! The provider of a request, so that no key goes to another provider than its own.
//!
//! The end of the path gives the protocol of a conversation. If one upstream gets everything, nothing else counts.
//! Otherwise the path must be one of Anthropic's, OpenAI's or Google's, and every key of the request must be that
//! provider's: a key that reached a stranger is lost.

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method};
use foldback_providers::wire::Dialect;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A provider that needs no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    Anthropic,
    OpenAi,
    Gemini,
}

/// Why a request is sent to no provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stray {
    /// The path belongs to no provider.
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
                "without --upstream this proxy sends on what belongs to Anthropic's, OpenAI's or Gemini's API, such as \
                 /v1/messages, /v1/chat/completions, /v1/responses and /v1beta/models, and this path belongs to none of \
                 them; nothing was sent. The base URL of an OpenAI client ends with /v1; for another provider, start the \
                 proxy with --upstream URL"
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
            Self::Gemini => "generativelanguage.googleapis.com",
        }
    }

    fn owner(self) -> Owner {
        match self {
            Self::Anthropic => Owner::Anthropic,
            Self::OpenAi => Owner::OpenAi,
            Self::Gemini => Owner::Google,
        }
    }
}

/// The provider that a protocol comes from, by its name in the classifier of errors.
pub(crate) fn origin(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Anthropic => "anthropic",
        Dialect::Gemini => "gemini",
        Dialect::OpenAiChat | Dialect::OpenAiResponses => "openai",
    }
}

/// The methods of Gemini's API by which a model answers a conversation.
const GENERATE: [&str; 2] = ["generateContent", "streamGenerateContent"];

/// The other methods of Gemini's models.
const OTHER_METHODS: [&str; 4] =
    ["countTokens", "embedContent", "batchEmbedContents", "batchGenerateContent"];

/// A path `…/{model}:{method}`, as Gemini's protocol names both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelPath<'a> {
    /// What stands before the model, with the slash at its end.
    pub(crate) before: &'a str,
    pub(crate) model: &'a str,
    pub(crate) method: &'a str,
}

impl<'a> ModelPath<'a> {
    /// Reads a path. `None` if it names no model and method.
    pub(crate) fn parse(path: &'a str) -> Option<Self> {
        let (before, last) = path.split_at(path.rfind('/')? + 1);
        let (model, method) = last.rsplit_once(':')?;
        // `/v1internal:…` names a method of the API and no model.
        let has_model = before != "/" && !model.is_empty();
        has_model.then_some(Self { before, model, method })
    }

    /// Whether the model answers a conversation.
    fn generates(&self) -> bool {
        GENERATE.contains(&self.method)
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
    if let Some(named) = ModelPath::parse(path).filter(ModelPath::generates) {
        let exact = ["/v1beta/models/", "/v1/models/"].contains(&named.before);
        return (anywhere || exact).then_some(Dialect::Gemini);
    }
    match anywhere {
        false => exact.into_iter().find(|(whole, _)| *whole == path),
        true if path == "/messages" => Some(("", Dialect::Anthropic)),
        true => ends.into_iter().find(|(end, _)| path.ends_with(end)),
    }
    .map(|(_, dialect)| dialect)
}

/// Whose paths and keys are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Owned {
    paths: BTreeMap<Family, Vec<String>>,
    keys: BTreeMap<Owner, Vec<String>>,
    headers: BTreeMap<Owner, Vec<String>>,
}

/// Who has a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Family {
    Anthropic,
    OpenAi,
    Both,
}

static OWNED: LazyLock<Owned> = LazyLock::new(|| {
    let table = toml::from_str(include_str!("../../data/providers.toml"));
    table.unwrap_or_else(|error| panic!("providers.toml: {error}"))
});

/// How all paths begin that only Gemini has.
const GEMINIS: &str = "/v1beta/";

/// The provider of a request.
///
/// # Errors
///
/// The path belongs to no provider, or a key to another one.
pub(crate) fn provider(path: &str, query: &str, headers: &HeaderMap) -> Result<Provider, Stray> {
    let owners = || owners(query, headers);
    let is_geminis = path.starts_with(GEMINIS);
    let before = if is_geminis { GEMINIS } else { "/v1/" };
    let family = family(path, before).ok_or(Stray::Path)?;
    let anthropics = || {
        headers.contains_key("anthropic-version")
            || headers.contains_key("x-api-key")
            || owners().any(|owner| owner == Owner::Anthropic)
    };
    let is_method = || {
        let method = ModelPath::parse(path).map(|named| named.method);
        method.is_some_and(|method| GENERATE.iter().chain(&OTHER_METHODS).any(|it| *it == method))
    };
    let mut families = OWNED.paths.iter();
    let known = families.find(|(_, names)| names.iter().any(|name| name == family));
    let provider = match (family, known.map(|(family, _)| *family)) {
        _ if is_geminis => Provider::Gemini,
        ("models", _) if is_method() => Provider::Gemini,
        (_, Some(Family::Anthropic)) => Provider::Anthropic,
        (_, Some(Family::OpenAi)) => Provider::OpenAi,
        (_, Some(Family::Both)) if anthropics() => Provider::Anthropic,
        ("models", _) if owners().any(|owner| owner == Owner::Google) => Provider::Gemini,
        (_, Some(Family::Both)) => Provider::OpenAi,
        (_, None) => return Err(Stray::Path),
    };
    let own = provider.owner();
    if owners().all(|owner| owner == own) { Ok(provider) } else { Err(Stray::Key) }
}

/// What follows the version in a path. `None` if a server may read the path differently.
fn family<'a>(path: &'a str, before: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(before)?;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Owner {
    Anthropic,
    OpenAi,
    Google,
    Other,
}

/// Owners of the keys in a request, as far as they say so.
fn owners<'a>(query: &'a str, headers: &'a HeaderMap) -> impl Iterator<Item = Owner> + 'a {
    let issuer = |key: &[u8]| {
        let all =
            OWNED.keys.iter().flat_map(|(owner, keys)| keys.iter().map(move |key| (key, owner)));
        let begins = all.filter(|(beginning, _)| key.starts_with(beginning.as_bytes()));
        begins.max_by_key(|(beginning, _)| beginning.len()).map(|(_, owner)| *owner)
    };
    let has = |names: &Vec<String>| names.iter().any(|name| headers.contains_key(name));
    let named = OWNED.headers.iter().filter(move |(_, names)| has(names)).map(|(owner, _)| *owner);
    let sent = [AUTHORIZATION.as_str(), "x-api-key", "x-goog-api-key"];
    let sent = sent.into_iter().flat_map(|name| headers.get_all(name));
    let words = sent.flat_map(|value| value.as_bytes().split(|byte| b" \t,".contains(byte)));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    // Only Google's clients send a key there.
    let asked = pairs.filter_map(move |(name, value)| {
        issuer(value.as_bytes()).or_else(|| (name == "key").then_some(Owner::Google))
    });
    named.chain(words.filter_map(issuer)).chain(asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Provider::{Anthropic, Gemini, OpenAi};

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
        use Dialect::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};
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
            ("/v1beta/models/m:generateContent", Some(Gemini), Some(Gemini)),
            ("/v1beta/models/m:streamGenerateContent", Some(Gemini), Some(Gemini)),
            ("/v1/models/m:generateContent", Some(Gemini), Some(Gemini)),
            ("/v1beta/tunedModels/m:generateContent", None, Some(Gemini)),
            ("/v1/projects/p/publishers/google/models/m:generateContent", None, Some(Gemini)),
            ("/v1beta/models/m:countTokens", None, None),
            ("/v1beta/models/m:embedContent", None, None),
            ("/v1beta/models/m", None, None),
            ("/v1beta/models/:generateContent", None, None),
            ("/v1beta/models/m:generateContent/", None, None),
            ("/v1internal:generateContent", None, None),
            (":generateContent", None, None),
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
            // Gemini's, by the path or by the key.
            ("/v1beta/models/m:generateContent", "x-goog-api-key: x", Ok(Gemini)),
            ("/v1beta/models/m:streamGenerateContent?alt=sse&key=x", "", Ok(Gemini)),
            ("/v1beta/models/m:generateContent?key=AIzaX", "", Ok(Gemini)),
            ("/v1beta/models/m:countTokens", "x-goog-api-key: AQ.x", Ok(Gemini)),
            ("/v1beta/models/m:embedContent", "authorization: Bearer ya29.x", Ok(Gemini)),
            ("/v1beta/models/m:generateContent", "", Ok(Gemini)),
            ("/v1beta/models", "x-goog-api-key: x", Ok(Gemini)),
            ("/v1beta/openai/chat/completions", "authorization: Bearer AIzaX", Ok(Gemini)),
            ("/v1/models/m:generateContent", "x-goog-api-key: x", Ok(Gemini)),
            ("/v1/models/m:countTokens", "", Ok(Gemini)),
            ("/v1/models", "x-goog-api-key: x", Ok(Gemini)),
            ("/v1/models/m?key=x", "", Ok(Gemini)),
            ("/v1/models/ft:gpt-4o:us::x", "authorization: Bearer sk-x", Ok(OpenAi)),
            ("/v1beta/models/m:generateContent", "authorization: Bearer sk-x", Err(Stray::Key)),
            ("/v1beta/models/m:generateContent", "x-goog-api-key: sk-ant-x", Err(Stray::Key)),
            ("/v1beta/models/m:generateContent?key=sk-x", "", Err(Stray::Key)),
            ("/v1/models/m:generateContent", "x-api-key: sk-ant-x", Err(Stray::Key)),
            ("/v1/models", "x-api-key: x\nx-goog-api-key: x", Err(Stray::Key)),
            ("/v1/files", "x-goog-api-key: x", Err(Stray::Key)),
            ("/v1/responses?key=x", "", Err(Stray::Key)),
            ("/v1beta/../v1/messages", "x-goog-api-key: x", Err(Stray::Path)),
            ("/v1beta/models/m%2Fx:generateContent", "", Err(Stray::Path)),
            ("/v1beta", "", Err(Stray::Path)),
            // What none has.
            ("/v1/unheard_of", "authorization: Bearer sk-ant-x", Err(Stray::Path)),
            ("/chat/completions", "", Err(Stray::Path)),
            ("/v1alpha/models/m:generateContent", "x-goog-api-key: x", Err(Stray::Path)),
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
