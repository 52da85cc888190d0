//! A recorded answer as a file: readable, diffable, and named by its request.

use foldback_core::log::{Finish, Role, Usage};
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, ProviderError, Turn};
use serde::{Deserialize, Serialize};

/// Version of the files and of their names. Goes up whenever either changes.
const FORMAT: u32 = 1;

/// A text as lines, so that a person can read it and a diff shows the changed ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Lines(Vec<String>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.split('\n').map(str::to_owned).collect())
    }

    fn text(&self) -> String {
        self.0.join("\n")
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedTurn {
    role: Role,
    text: Lines,
}

/// Everything that an answer depends on.
///
/// The address (`base_url`), the key and the time limit are not part of it: a recording of one machine is replayed on
/// others, where no model is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedRequest {
    format: u32,
    provider: String,
    model: String,
    temperature: Option<f64>,
    max_output: u64,
    replicate: u32,
    system: Lines,
    turns: Vec<RecordedTurn>,
}

impl RecordedRequest {
    fn new(request: &CompletionRequest) -> Self {
        let turn = |turn: &Turn| RecordedTurn { role: turn.role, text: Lines::new(&turn.text) };
        Self {
            format: FORMAT,
            provider: request.endpoint.provider.clone(),
            model: request.endpoint.model.clone(),
            temperature: request.temperature,
            max_output: request.max_output,
            replicate: request.replicate,
            system: Lines::new(&request.system),
            turns: request.turns.iter().map(turn).collect(),
        }
    }

    /// BLAKE3 of the compact JSON.
    fn name(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        // Strings, numbers and lists of them: there is nothing here that JSON can't hold.
        let written = serde_json::to_writer(&mut hasher, self);
        debug_assert!(written.is_ok(), "{written:?}");
        hasher.finalize().to_hex().to_string()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedAnswer {
    text: Lines,
    finish: Finish,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Answer(RecordedAnswer),
    Error(ProviderError),
}

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    request: RecordedRequest,
    outcome: Outcome,
}

/// Name of the file that holds the answer to a request, without its ending.
pub(crate) fn name(request: &CompletionRequest) -> String {
    RecordedRequest::new(request).name()
}

/// Whether a failure is due to the request and would recur, so that its handling must be replayed: the request is too
/// large or refused for its content, or the output is too long.
pub(crate) fn lasting(kind: ErrorKind) -> bool {
    kind.is_overflow() || matches!(kind, ErrorKind::ContentRefused | ErrorKind::OutputLimit)
}

impl Entry {
    /// The record of an answer; `None` for a temporary failure.
    pub(crate) fn new(
        request: &CompletionRequest,
        answer: &Result<Completion, ProviderError>,
    ) -> Option<Self> {
        let outcome = match answer {
            Ok(completion) => Outcome::Answer(RecordedAnswer {
                text: Lines::new(&completion.text),
                finish: completion.finish,
                usage: completion.usage,
                model: completion.model.clone(),
            }),
            Err(error) if lasting(error.kind) => Outcome::Error(error.clone()),
            Err(_) => return None,
        };
        Some(Self { request: RecordedRequest::new(request), outcome })
    }

    /// The file's text.
    pub(crate) fn write(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Reads a file's text. An error names the place.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut json = serde_json::Deserializer::from_str(text);
        let entry: Self = serde_path_to_error::deserialize(&mut json)
            .map_err(|error| format!("at {}: {}", error.path(), error.inner()))?;
        json.end().map_err(|error| error.to_string())?;
        Ok(entry)
    }

    /// The name that follows from its request.
    pub(crate) fn name(&self) -> String {
        self.request.name()
    }

    /// The recorded answer.
    pub(crate) fn answer(self) -> Result<Completion, ProviderError> {
        match self.outcome {
            Outcome::Answer(given) => Ok(Completion {
                text: given.text.text(),
                finish: given.finish,
                usage: given.usage,
                model: given.model,
            }),
            Outcome::Error(error) => Err(error),
        }
    }
}
