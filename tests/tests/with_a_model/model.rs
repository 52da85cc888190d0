//! One scripted model for everybody: the agent's requests and those of the summarizer are answered from
//! the same list, in the order in which they are sent, and kept.

use super::texts::anchored;
use async_trait::async_trait;
use foldback_core::log::{Finish, Usage};
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

/// Name of the agent's model; every other one writes summaries.
pub(crate) const AGENT: &str = "agent";

/// What the model does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Answers. With [`Finish::ToolCalls`] the text is what the agent's tool will return.
    Says(String, Finish, u64),
    /// Fails.
    Fails(ProviderError),
    /// Never answers.
    Hangs,
    /// To the agent: says something and then fails. What was said has reached the user, and is stored.
    Breaks(String, ProviderError),
}

/// A summary in the form of OpenCode 1.17.
pub(crate) fn summary() -> Reply {
    ends(anchored("They said hello."), Finish::Stop)
}

/// An answer that ended for a reason.
pub(crate) fn ends(text: impl Into<String>, finish: Finish) -> Reply {
    Reply::Says(text.into(), finish, 100)
}

/// An error of a kind, without an HTTP answer.
pub(crate) fn fails(kind: ErrorKind, message: &str) -> Reply {
    Reply::Fails(ProviderError::new(kind, message))
}

/// The request is too large.
pub(crate) fn overflow() -> Reply {
    fails(ErrorKind::ContextOverflow, "prompt is too long")
}

/// A server that is overloaded and says how long.
pub(crate) fn busy(seconds: u64) -> Reply {
    Reply::Fails(ProviderError {
        status: Some(503),
        retry_after: Some(Duration::from_secs(seconds)),
        ..ProviderError::new(ErrorKind::Overloaded, "come back later")
    })
}

impl Reply {
    /// The same answer with so many tokens used.
    pub(crate) fn using(self, tokens: u64) -> Self {
        match self {
            Self::Says(text, finish, _) => Self::Says(text, finish, tokens),
            other => other,
        }
    }
}

/// Gives the replies of a list, then fails.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<CompletionRequest>>,
    broken: Mutex<Option<String>>,
}

impl Scripted {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()), ..Self::default() }
    }

    /// The requests so far, in order.
    pub(crate) fn requests(&self) -> Vec<CompletionRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// What the last answer had said when it broke off, once.
    pub(crate) fn broken(&self) -> Option<String> {
        self.broken.lock().unwrap().take()
    }

    /// Replies that were not requested.
    pub(crate) fn left(&self) -> usize {
        self.replies.lock().unwrap().len()
    }
}

#[async_trait]
impl Model for Scripted {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        self.requests.lock().unwrap().push(request.clone());
        let reply = self.replies.lock().unwrap().pop_front();
        match reply {
            Some(Reply::Says(text, finish, tokens)) => Ok(Completion {
                text,
                finish,
                usage: Some(Usage { uncached: tokens, ..Usage::default() }),
                model: None,
            }),
            Some(Reply::Fails(error)) => Err(error),
            Some(Reply::Breaks(text, error)) => {
                *self.broken.lock().unwrap() = Some(text);
                Err(error)
            }
            Some(Reply::Hangs) => std::future::pending().await,
            None => Err(ProviderError::new(ErrorKind::Unknown, "the script is over")),
        }
    }
}
