//! The second look: a model that wrote a summary is asked to hold it against the record and to mend it.

use async_trait::async_trait;
use foldback_core::provider::Asks;
use foldback_core::services::Services;
use foldback_core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use std::sync::Arc;

/// Asks twice. A summarizer without a model would repeat its answer, so it is asked once.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) own: Arc<dyn Summarizer>,
    pub(crate) style: String,
}

#[async_trait]
impl Summarizer for Verified {
    fn id(&self) -> &str {
        self.own.id()
    }

    fn asks(&self) -> Vec<Asks> {
        self.own.asks()
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        services: &Services,
    ) -> Result<Summary, SummaryError> {
        let first = match self.own.summarize(request, services).await {
            // The original asks a second time all the same, and takes what comes then.
            Err(SummaryError::Empty) if !self.asks().is_empty() => None,
            Ok(first) if !self.asks().is_empty() => Some(first),
            ended => return ended,
        };
        let again = SummaryRequest {
            style: self.style.clone(),
            previous: Some(first.as_ref().map_or_else(String::new, |first| first.text.clone())),
            ..request.clone()
        };
        match (self.own.summarize(&again, services).await, first) {
            (Ok(second), first) => {
                let usage = [first.and_then(|first| first.usage), second.usage];
                let usage = usage.into_iter().flatten().reduce(|a, b| a.plus(&b));
                Ok(Summary { text: second.text.trim().to_owned(), usage, ..second })
            }
            (Err(SummaryError::Empty | SummaryError::TooLong { .. }), Some(first)) => {
                Ok(Summary { text: first.text.trim().to_owned(), ..first })
            }
            (Err(error), _) => Err(error),
        }
    }
}
