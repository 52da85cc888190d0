//! Sends requests: time limit, retries, spans, usage.

use crate::retry::Retries;
use foldback_core::event::{Event, ProgressStep};
use foldback_core::log::{Finish, Usage};
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use foldback_core::services::Services;
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// Sends the requests of one summary.
#[derive(Debug)]
pub(crate) struct Asker<'a> {
    model: &'a dyn Model,
    services: &'a Services,
    /// Number of the summary within its fold.
    name: &'a str,
    retries: Retries,
    usage: Option<Usage>,
}

impl<'a> Asker<'a> {
    pub(crate) fn new(
        model: &'a dyn Model,
        services: &'a Services,
        name: &'a str,
        retries: Retries,
    ) -> Self {
        Self { model, services, name, retries, usage: None }
    }

    /// The summed usage of all answers.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    pub(crate) fn progress(&self, step: ProgressStep) {
        self.services.emit(&Event::Progress {
            stage: "llm".to_owned(),
            name: self.name.to_owned(),
            step,
        });
    }

    /// The answer to a request. It is sent again while that may help.
    pub(crate) async fn send(
        &mut self,
        what: &str,
        request: &CompletionRequest,
    ) -> Result<Completion, ProviderError> {
        let mut attempt = 1;
        loop {
            self.progress(ProgressStep::Asking { what: what.to_owned(), bytes: request.bytes() });
            let error = match self.attempt(request).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(wait) = self.retries.next(&error) else {
                return Err(error);
            };
            attempt += 1;
            self.progress(ProgressStep::Retrying {
                attempt,
                wait: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                why: error.to_string(),
            });
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(&mut self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let span = span(request);
        let answer = tokio::time::timeout(request.timeout, self.model.complete(request))
            .instrument(span.clone())
            .await
            .unwrap_or_else(|_| {
                Err(ProviderError::new(
                    ErrorKind::Timeout,
                    format!("no answer within {} s", request.timeout.as_secs()),
                ))
            });
        if let Ok(Completion { usage: Some(usage), .. }) = &answer {
            self.usage = Some(self.usage.map_or(*usage, |so_far| so_far.plus(usage)));
        }
        let answer = answer.and_then(usable);
        record(&span, &answer);
        answer
    }
}

/// Turns answers into errors whose finish reason is a failure.
fn usable(answer: Completion) -> Result<Completion, ProviderError> {
    let error = |kind, message| Err(ProviderError::new(kind, message));
    match answer.finish {
        Finish::ContentFilter => {
            error(ErrorKind::ContentRefused, "the provider filtered the answer out")
        }
        Finish::Error => error(ErrorKind::Transport, "the answer broke off with an error"),
        Finish::Stop | Finish::ToolCalls | Finish::Length | Finish::Other => Ok(answer),
    }
}

/// A span named and filled by OpenTelemetry's conventions for generative models.
fn span(request: &CompletionRequest) -> Span {
    let endpoint = &request.endpoint;
    let name = format!("chat {}", endpoint.model);
    tracing::info_span!(
        "chat",
        otel.name = name,
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = endpoint.provider,
        gen_ai.request.model = endpoint.model,
        gen_ai.request.max_tokens = request.max_output,
        gen_ai.request.temperature = request.temperature,
        gen_ai.response.model = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.r#type = Empty,
    )
}

fn record(span: &Span, answer: &Result<Completion, ProviderError>) {
    match answer {
        Ok(answer) => {
            if let Some(model) = &answer.model {
                span.record("gen_ai.response.model", model.as_str());
            }
            if let Some(usage) = &answer.usage {
                span.record("gen_ai.usage.input_tokens", usage.input_total());
                span.record("gen_ai.usage.output_tokens", usage.output_total());
            }
        }
        Err(error) => {
            span.record("error.type", error.kind.as_str());
        }
    }
}
