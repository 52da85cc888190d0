//! How likely an action is behind a record: the log-probability that a server gives each of its tokens, without anything
//! being generated.
//!
//! The request goes to `completions` with `prompt_logprobs`, as vLLM defines it: the answer has, for each token of the
//! prompt, its log-probability and its text. The action is the end of the prompt, so its tokens are counted from
//! there.

use crate::client::provider::LIKELIHOOD;
use foldback_core::provider::{CompletionRequest, ErrorKind, ProviderError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a server has to give.
const NEEDS: &str =
    "`--likelihood` needs a server that answers `prompt_logprobs` on `completions`, as vLLM does";

/// How likely an action is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likelihood {
    /// Sum of the log-probabilities of its tokens, in nats.
    pub logprob: f64,
    /// How many those are.
    pub tokens: usize,
}

impl Likelihood {
    /// From the text of a completion.
    ///
    /// # Errors
    ///
    /// It is not that of a likelihood.
    pub fn from_text(text: &str) -> Result<Self, ProviderError> {
        serde_json::from_str(text).map_err(|error| none(&error.to_string()))
    }
}

fn none(why: &str) -> ProviderError {
    ProviderError::new(
        // Asking again would not help.
        ErrorKind::InvalidRequest,
        format!("no log-probabilities of the prompt: {why}; {NEEDS}"),
    )
}

/// What a refusal means where a server has no such address or model.
pub(crate) fn unknown(status: u16) -> Option<ProviderError> {
    matches!(status, 404 | 405 | 501).then(|| none(&format!("HTTP {status}")))
}

/// The text of a request's completion: the likelihood of its last turn.
pub(crate) fn text(request: &CompletionRequest, body: &Value) -> Result<String, ProviderError> {
    debug_assert_eq!(request.endpoint.provider, LIKELIHOOD.name);
    let given = body.pointer("/choices/0/prompt_logprobs").and_then(Value::as_array);
    let given = given.ok_or_else(|| none("the answer has none"))?;
    let mut left = request.turns.last().map_or(0, |turn| turn.text.chars().count());
    let mut found = Likelihood { logprob: 0.0, tokens: 0 };
    for token in given.iter().rev() {
        if left == 0 {
            break;
        }
        let token = token.as_object().and_then(|all| all.values().next());
        let number = token.and_then(|token| token["logprob"].as_f64());
        let said = token.and_then(|token| token["decoded_token"].as_str());
        let (Some(number), Some(said)) = (number, said) else {
            return Err(none("a token has none"));
        };
        found.logprob += number;
        found.tokens += 1;
        left = left.saturating_sub(said.chars().count());
    }
    if left > 0 {
        return Err(none("its tokens are fewer than those of the prompt"));
    }
    serde_json::to_string(&found).map_err(|error| none(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::log::Role;
    use foldback_core::provider::{Endpoint, Turn};
    use serde_json::json;
    use std::time::Duration;

    fn request(action: &str) -> CompletionRequest {
        let turn = |text: &str| Turn { role: Role::User, text: text.to_owned() };
        CompletionRequest {
            endpoint: Endpoint { provider: LIKELIHOOD.name.to_owned(), ..Endpoint::default() },
            system: String::new(),
            turns: vec![turn("Before.\n"), turn(action)],
            temperature: None,
            max_output: 1,
            timeout: Duration::from_secs(1),
            replicate: 0,
        }
    }

    #[test]
    fn the_end_of_the_prompt_is_summed() {
        let token = |text: &str, number: f64| json!({"7": {"logprob": number, "rank": 1, "decoded_token": text}});
        let given =
            [token("fore.", -9.0), token("\n", -8.0), token("re", -1.5), token("ad é", -0.25)];
        let answer =
            |tokens: &[Value]| json!({"choices": [{"text": "x", "prompt_logprobs": tokens}]});
        let whole = answer(&[&[Value::Null], &given[..]].concat());
        let table = [
            ("read é", &whole, Ok((-1.75, 2))),
            // A token that begins before the action counts whole, under each view alike.
            ("ead é", &whole, Ok((-1.75, 2))),
            ("\nread é", &whole, Ok((-9.75, 3))),
            ("a longer one than the prompt", &whole, Err("a token has none")),
            ("a longer one than the prompt", &answer(&given), Err("are fewer")),
            (
                "read é",
                &json!({"choices": [{"text": "x", "prompt_logprobs": null}]}),
                Err("has none"),
            ),
            ("read é", &json!({"choices": [{"text": "x"}]}), Err("has none")),
            ("read é", &answer(&[json!({"7": {"logprob": null}})]), Err("a token has none")),
        ];
        for (action, body, expected) in table {
            match (text(&request(action), body), expected) {
                (Ok(text), Ok((logprob, tokens))) => {
                    assert_eq!(
                        Likelihood::from_text(&text).unwrap(),
                        Likelihood { logprob, tokens },
                        "{action}"
                    );
                }
                (Err(error), Err(part)) => {
                    assert!(
                        error.message.contains(part) && error.message.contains("as vLLM does"),
                        "{error}"
                    );
                }
                (given, expected) => panic!("{action}: {given:?}, expected {expected:?}"),
            }
        }
        assert!(Likelihood::from_text("no JSON").is_err());
    }
}
