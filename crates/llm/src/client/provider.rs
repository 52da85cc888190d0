//! The supported protocols, and what an endpoint needs before anything can be sent to it.

use super::speech::Speech;
use crate::keys::{Key, Keys};
use foldback_core::provider::{Endpoint, ErrorKind, ProviderError};
use reqwest::Url;

/// A protocol, under the name that a configuration gives it.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// Name in `provider`.
    pub(crate) name: &'static str,
    /// The protocol on the wire.
    pub(crate) speech: Speech,
    /// The provider's own address, if it has one.
    base: Option<&'static str>,
    /// The variable that usually holds the key; `None` if a key is not usual.
    variable: Option<&'static str>,
}

/// Addresses and variables as the providers document them (2026).
const PROTOCOLS: [Protocol; 5] = [
    Protocol {
        name: "anthropic",
        speech: Speech::Anthropic,
        base: Some("https://api.anthropic.com/v1/"),
        variable: Some("ANTHROPIC_API_KEY"),
    },
    Protocol {
        name: "openai",
        speech: Speech::OpenAi,
        base: Some("https://api.openai.com/v1/"),
        variable: Some("OPENAI_API_KEY"),
    },
    Protocol {
        name: "gemini",
        speech: Speech::Gemini,
        base: Some("https://generativelanguage.googleapis.com/v1beta/"),
        variable: Some("GEMINI_API_KEY"),
    },
    Protocol {
        name: "ollama",
        speech: Speech::Ollama,
        base: Some("http://localhost:11434/"),
        variable: None,
    },
    Protocol { name: "openai-compatible", speech: Speech::OpenAi, base: None, variable: None },
];

/// How likely a text is, from servers that say so; asked for by nobody's settings.
pub(crate) const LIKELIHOOD: Protocol =
    Protocol { name: "prompt-logprobs", speech: Speech::Likelihood, base: None, variable: None };

impl Protocol {
    /// The protocol of this name.
    pub(crate) fn named(name: &str) -> Result<&'static Self, ProviderError> {
        let mut all = PROTOCOLS.iter().chain([&LIKELIHOOD]);
        all.find(|protocol| protocol.name == name).ok_or_else(|| unknown(name))
    }
}

/// An endpoint that a request can be sent to.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) protocol: &'static Protocol,
    /// The address, with a slash at the end.
    pub(crate) base: Url,
    pub(crate) key: Option<Key>,
}

impl Target {
    /// Looks everything up that a request to `endpoint` needs.
    pub(crate) fn new(endpoint: &Endpoint, keys: &Keys) -> Result<Self, ProviderError> {
        let protocol = Protocol::named(&endpoint.provider)?;
        if endpoint.model.trim().is_empty() {
            return Err(invalid(format!(
                "no model for provider `{}`: set `model` in [summarizer] to the model's id as the provider spells it",
                protocol.name
            )));
        }
        let base = base(protocol, endpoint.base_url.as_deref())?;
        let key = key(protocol, endpoint, keys)?;
        Ok(Self { protocol, base, key })
    }

    /// The text without the key.
    pub(crate) fn scrub(&self, text: &str) -> String {
        match &self.key {
            Some(key) => key.scrub(text),
            None => text.to_owned(),
        }
    }

    /// The provider whose errors these are; `None` if any provider may be behind the protocol.
    pub(crate) fn known_as(&self) -> Option<&'static str> {
        self.protocol.base.map(|_| self.protocol.name)
    }

    /// The address for messages, without its query, which may hold secrets.
    pub(crate) fn shown(&self) -> String {
        let mut url = self.base.clone();
        url.set_query(None);
        url.to_string()
    }

    /// The variable that the key was looked up under.
    pub(crate) fn variable<'e>(&self, endpoint: &'e Endpoint) -> Option<&'e str> {
        endpoint.key_variable.as_deref().or(self.protocol.variable)
    }
}

fn invalid(message: String) -> ProviderError {
    ProviderError::new(ErrorKind::InvalidRequest, message)
}

fn unknown(provider: &str) -> ProviderError {
    let names: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
    invalid(format!(
        "there is no provider `{provider}`; `provider` in [summarizer] is one of {}. Servers that speak OpenAI's chat completions (vLLM, llama.cpp, LM Studio, …) are `openai-compatible` with a `base_url`",
        names.join(", ")
    ))
}

fn base(protocol: &Protocol, given: Option<&str>) -> Result<Url, ProviderError> {
    let Some(text) = given.or(protocol.base) else {
        return Err(invalid(format!(
            "provider `{}` has no address of its own: set `base_url` in [summarizer], e.g. \"http://localhost:8000/v1/\"",
            protocol.name
        )));
    };
    let refused = |what: &str| {
        // The text itself is not shown: it may hold a password.
        invalid(format!(
            "`base_url` of provider `{}` {what}; it is where the protocol's paths begin, e.g. \"http://localhost:8000/v1/\"",
            protocol.name
        ))
    };
    let mut url = Url::parse(text).map_err(|error| refused(&format!("is no URL ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused(
            "holds a user or a password, which would end up in logs and recordings; use `key_variable`",
        ));
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

fn key(
    protocol: &Protocol,
    endpoint: &Endpoint,
    keys: &Keys,
) -> Result<Option<Key>, ProviderError> {
    let named = endpoint.key_variable.as_deref();
    let Some(variable) = named.or(protocol.variable) else {
        return Ok(None);
    };
    if let Some(key) = keys.get(variable) {
        return Ok(Some(key));
    }
    // A server of one's own that speaks OpenAI's protocol seldom takes a key.
    if named.is_none() && protocol.speech == Speech::OpenAi && endpoint.base_url.is_some() {
        return Ok(None);
    }
    let advice = if named.is_some() {
        "`key_variable` in [summarizer] names it; set it, or name another one there"
    } else {
        "set it, or name the variable that holds the key in `key_variable` of [summarizer]"
    };
    Err(ProviderError::new(
        ErrorKind::Auth,
        format!(
            "no key for provider `{}`: the variable {variable} is not set; {advice}",
            protocol.name
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(provider: &str, base: Option<&str>, variable: Option<&str>) -> Endpoint {
        Endpoint {
            provider: provider.to_owned(),
            model: "m".to_owned(),
            base_url: base.map(str::to_owned),
            key_variable: variable.map(str::to_owned),
        }
    }

    #[test]
    fn what_an_endpoint_needs() {
        let keys = Keys::new(|name| (name == "OPENAI_API_KEY").then(|| "sk-12345678".to_owned()));
        let ok = |base: &str| Ok(base.to_owned());
        let refused = |kind: ErrorKind, part: &str| Err((kind, part.to_owned()));
        use ErrorKind::{Auth, InvalidRequest};
        let table = [
            (("openai", None, None), ok("https://api.openai.com/v1/")),
            (("openai", Some("http://h/v1"), None), ok("http://h/v1/")),
            (("ollama", None, None), ok("http://localhost:11434/")),
            (("openai-compatible", Some("http://h:8/v1/"), None), ok("http://h:8/v1/")),
            (("openai-compatible", None, None), refused(InvalidRequest, "set `base_url`")),
            (
                ("openai-compatible", Some("http://h/"), Some("MINE")),
                refused(Auth, "the variable MINE is not set; `key_variable`"),
            ),
            (
                ("anthropic", None, None),
                refused(Auth, "the variable ANTHROPIC_API_KEY is not set; set it"),
            ),
            (("gemini", None, None), refused(Auth, "GEMINI_API_KEY")),
            (("openai", None, Some("OTHER")), refused(Auth, "the variable OTHER is not set")),
            (("mistral", None, None), refused(InvalidRequest, "anthropic, openai, gemini, ollama")),
            (("openai", Some("localhost"), None), refused(InvalidRequest, "is no URL")),
            (("openai", Some("ftp://h/"), None), refused(InvalidRequest, "neither http nor https")),
            (
                ("openai", Some("http://u:secret@h/"), None),
                refused(InvalidRequest, "holds a user or a password"),
            ),
        ];
        for ((provider, base, variable), expected) in table {
            let target = Target::new(&endpoint(provider, base, variable), &keys);
            let case = format!("{provider} {base:?} {variable:?}");
            match (target, expected) {
                (Ok(target), Ok(base)) => assert_eq!(target.base.as_str(), base, "{case}"),
                (Err(error), Err((kind, part))) => {
                    assert_eq!(error.kind, kind, "{case}: {error}");
                    assert!(error.message.contains(&part), "{case}: {error}");
                    assert!(!error.message.contains("secret"), "{case}: {error}");
                }
                (given, expected) => panic!("{case}: {given:?}, expected {expected:?}"),
            }
        }
    }
}
