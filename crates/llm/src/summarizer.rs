//! `llm`: a summary written by a model.

use crate::asking::Asker;
use crate::check::{self, Headings};
use crate::config::LlmConfig;
use crate::ladder::{Descent, End, Terms};
use crate::memo::{self, Memo};
use crate::prompt::{Prompts, record};
use crate::retry::Retries;
use crate::scrub;
use async_trait::async_trait;
use foldback_core::provider::{Asks, Endpoint};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::services::Services;
use foldback_core::stage::{DRY_RUN, Summarizer, Summary, SummaryError, SummaryRequest};
use foldback_stages::extractive::Extractive;
use std::sync::Arc;
use tracing::Instrument;

/// Asks a model for summaries.
///
/// It needs [`Services::model`], and a runtime with timers if there is one. A canceled summary leaves
/// nothing behind: what was answered is kept only once the whole summary is there.
#[derive(Debug)]
pub struct LlmSummarizer {
    config: LlmConfig,
    endpoint: Endpoint,
    prompts: Prompts,
    id: String,
    memo: Memo,
}

impl LlmSummarizer {
    pub(crate) fn with_prompts(config: LlmConfig, endpoint: Endpoint, prompts: Prompts) -> Self {
        Self {
            id: config.id(&endpoint, prompts.version()),
            memo: Memo::new(config.memo),
            config,
            endpoint,
            prompts,
        }
    }

    /// The settings.
    pub fn config(&self) -> &LlmConfig {
        &self.config
    }

    async fn written(
        &self,
        request: &SummaryRequest,
        services: &Services,
    ) -> Result<Summary, SummaryError> {
        let Some(model) = &services.model else {
            return Err(SummaryError::Unavailable(format!(
                "no model is provided, so {} can't be asked for a summary: give the conversation's \
                 services a client or recorded answers, or set [summarizer] use = \"extractive\"",
                self.endpoint.model
            )));
        };
        let scrubbed = self.config.scrub.then(|| scrub::request(request));
        let request = scrubbed.as_ref().unwrap_or(request);
        let previous = request.previous.as_deref().unwrap_or_default();
        if record::is_empty(&request.messages) && previous.trim().is_empty() {
            return Err(SummaryError::Empty);
        }
        let headings = Headings::from(self.prompts.style(&request.style));
        let least = check::least_budget(headings, &*request.estimator);
        if request.budget < least {
            return Err(SummaryError::Failed(format!(
                "no request to {}: the summary may have {} tokens, but needs at least {least}",
                self.endpoint.model, request.budget
            )));
        }
        let terms =
            Terms { config: &self.config, endpoint: &self.endpoint, prompts: &self.prompts };
        let whole = terms.whole(request);
        let key = memo::key(self.prompts.version(), request, &whole);
        if let Some(text) = self.memo.get(&key) {
            return Ok(Summary {
                tokens: request.estimator.text(&text),
                lacks: check::lacks(&text, headings),
                text,
                by: self.id.clone(),
                usage: None,
            });
        }
        let retries = Retries::new(self.config.attempts);
        let asker = Asker::new(&**model, services, &request.name, retries);
        let mut descent = Descent::new(terms, request, asker);
        let end = descent.run(whole).await?;
        let usage = descent.usage();
        let without_model = |by: String| {
            let summary = Extractive::default().summary(request)?;
            Ok(Summary { by, usage, ..summary })
        };
        match end {
            End::Written { text, tokens } => {
                self.memo.put(key, &text);
                let lacks = check::lacks(&text, headings);
                Ok(Summary { text, tokens, by: self.id.clone(), usage, lacks })
            }
            End::Extractive(kind) => without_model(format!("extractive (llm: {kind})")),
            End::Dry => without_model(DRY_RUN.to_owned()),
        }
    }
}

#[async_trait]
impl Summarizer for LlmSummarizer {
    fn id(&self) -> &str {
        &self.id
    }

    fn asks(&self) -> Vec<Asks> {
        let asks = Asks::new(self.endpoint.clone()).scrubs(self.config.scrub);
        vec![asks.budget_usd(self.config.budget_usd())]
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        services: &Services,
    ) -> Result<Summary, SummaryError> {
        let span = tracing::info_span!(
            "summarize",
            gen_ai.operation.name = "summarize",
            gen_ai.request.model = self.endpoint.model,
            foldback.summary.name = request.name,
            foldback.summary.style = request.style,
            foldback.summary.messages = request.messages.len(),
        );
        self.written(request, services).instrument(span).await
    }
}

impl StageConfig<dyn Summarizer> for LlmConfig {
    fn build(self) -> Result<Arc<dyn Summarizer>, Invalid> {
        Ok(Arc::new(LlmSummarizer::new(self)?))
    }
}

impl LlmSummarizer {
    /// The summarizer with these settings.
    ///
    /// # Errors
    ///
    /// The value that can't be used, and what would be valid.
    pub fn new(config: LlmConfig) -> Result<Self, Invalid> {
        config.check()?;
        let endpoint = config.endpoint()?;
        Ok(Self::with_prompts(config, endpoint, Prompts::embedded()?))
    }
}
