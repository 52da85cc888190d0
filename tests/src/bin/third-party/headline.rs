//! A summarizer of a third party that asks a model. It knows nothing of `foldback-llm`: it says whom it asks, and asks
//! the model that it is given.

use async_trait::async_trait;
use foldback::core::provider::{Asks, CompletionRequest, Endpoint, Turn};
use foldback::core::registry::{Invalid, StageConfig, StageDescriptor};
use foldback::core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use foldback::{Registration, Role, Services};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Asks for one sentence. Stage and configuration in one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Headline {
    /// Where the model is.
    pub(crate) url: String,
    /// What it may cost.
    pub(crate) most_usd: Option<f64>,
}

impl Headline {
    fn endpoint(&self) -> Endpoint {
        Endpoint {
            provider: "openai-compatible".to_owned(),
            model: "headliner".to_owned(),
            base_url: Some(self.url.clone()),
            key_variable: None,
        }
    }
}

impl StageConfig<dyn Summarizer> for Headline {
    fn build(self) -> Result<Arc<dyn Summarizer>, Invalid> {
        Ok(Arc::new(self))
    }
}

#[async_trait]
impl Summarizer for Headline {
    fn id(&self) -> &str {
        "headline"
    }

    fn asks(&self) -> Vec<Asks> {
        vec![Asks::new(self.endpoint()).budget_usd(self.most_usd)]
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        services: &Services,
    ) -> Result<Summary, SummaryError> {
        let no_model = || SummaryError::Unavailable("there is no model to ask".to_owned());
        let model = services.model.as_ref().ok_or_else(no_model)?;
        let texts: Vec<String> =
            request.messages.iter().map(|message| message.shown_text()).collect();
        let asked = CompletionRequest {
            endpoint: self.endpoint(),
            system: "One sentence on what was done.".to_owned(),
            turns: vec![Turn { role: Role::User, text: texts.join("\n") }],
            temperature: None,
            max_output: 100,
            timeout: Duration::from_secs(60),
            replicate: 0,
        };
        let answer = model.complete(&asked).await?;
        Ok(Summary {
            tokens: request.estimator.text(&answer.text),
            text: answer.text,
            by: self.id().to_owned(),
            usage: answer.usage,
            lacks: None,
        })
    }
}

/// What this crate adds to the registry.
pub(crate) const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[StageDescriptor::summarizer::<Headline>("headline", "Asks a model for one sentence")],
    presets: &[],
};

foldback::core::inventory::submit! { REGISTRATION }
