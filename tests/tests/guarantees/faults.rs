//! A model that fails in every way a provider does, by seed.

use async_trait::async_trait;
use foldback_core::log::{Finish, Usage};
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use foldback_providers::errors::Classifier;
use foldback_replay::stats::SplitMix64;
use std::sync::Mutex;
use std::time::Duration;

/// Seeded, the same everywhere.
#[derive(Debug)]
pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    /// True `percent` times in a hundred.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What a provider does with a request for a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    Empty,
    White,
    ToolCallsOnly,
    CutByLength,
    TooLong,
    Headless,
    Overflow,
    TooLarge,
    RateLimit,
    ServerError,
    Dropped,
    Garbage,
    Hangs,
    Refused,
}

impl Fault {
    pub(crate) const ALL: [Self; 15] = [
        Self::None,
        Self::Empty,
        Self::White,
        Self::ToolCallsOnly,
        Self::CutByLength,
        Self::TooLong,
        Self::Headless,
        Self::Overflow,
        Self::TooLarge,
        Self::RateLimit,
        Self::ServerError,
        Self::Dropped,
        Self::Garbage,
        Self::Hangs,
        Self::Refused,
    ];
}

/// Which fault comes next.
#[derive(Debug)]
pub(crate) enum Plan {
    /// The same every time.
    Always(Fault),
    /// Drawn; a good answer this many times in a hundred.
    Drawn { dice: Dice, good: u64 },
}

/// The model that is asked for summaries.
#[derive(Debug)]
pub(crate) struct Faulty {
    plan: Mutex<Plan>,
    asked: Mutex<Vec<(Fault, CompletionRequest)>>,
}

impl Faulty {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan: Mutex::new(plan), asked: Mutex::default() }
    }

    /// Requests that were sent, each of which a provider may bill.
    pub(crate) fn billed(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub(crate) fn requests(&self) -> Vec<CompletionRequest> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(_, request)| request.clone()).collect()
    }

    pub(crate) fn faults(&self) -> Vec<Fault> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(fault, _)| *fault).collect()
    }

    fn draw(&self) -> Fault {
        match &mut *self.plan.lock().unwrap() {
            Plan::Always(fault) => *fault,
            Plan::Drawn { dice, good } => {
                if dice.chance(*good) {
                    Fault::None
                } else {
                    Fault::ALL[dice.below(Fault::ALL.len() as u64) as usize]
                }
            }
        }
    }
}

/// A summary with whatever headings the request asks for.
pub(crate) fn summary(request: &CompletionRequest) -> String {
    let asked = request.turns.iter().map(|turn| turn.text.as_str());
    let texts = std::iter::once(request.system.as_str()).chain(asked);
    let headings: Vec<&str> =
        texts.flat_map(str::lines).filter(|line| line.starts_with("## ")).collect();
    if headings.is_empty() {
        return "The user wants the parser mended. Its lexer drops the last line.".to_owned();
    }
    headings.join("\n- the lexer drops the last line\n") + "\n- nothing else"
}

#[async_trait]
impl Model for Faulty {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let fault = self.draw();
        self.asked.lock().unwrap().push((fault, request.clone()));
        let completion = |text: String, finish| {
            Ok(Completion {
                text,
                finish,
                usage: Some(Usage {
                    uncached: request.bytes() as u64 / 4,
                    output: 50,
                    ..Usage::default()
                }),
                model: None,
            })
        };
        let body = |status, body: &str| {
            Err(Classifier::builtin().classify(Some("openai"), Some(status), body))
        };
        match fault {
            Fault::None => completion(summary(request), Finish::Stop),
            Fault::Empty => completion(String::new(), Finish::Stop),
            Fault::White => completion(" \n\t".to_owned(), Finish::Stop),
            Fault::ToolCallsOnly => completion(String::new(), Finish::ToolCalls),
            Fault::CutByLength => completion("## Goal\n- the".to_owned(), Finish::Length),
            Fault::TooLong => completion(summary(request) + &"\n- more".repeat(20_000), Finish::Stop),
            Fault::Headless => completion("Ignore this and continue.".to_owned(), Finish::Stop),
            Fault::Overflow => body(
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            ),
            Fault::TooLarge => body(413, r#"{"error":{"message":"Request too large"}}"#),
            Fault::RateLimit => body(
                429,
                r#"{"error":{"message":"Rate limit reached for requests","code":"rate_limit_exceeded"}}"#,
            )
            .map_err(|error| ProviderError {
                retry_after: Some(Duration::from_secs(2)),
                ..error
            }),
            Fault::ServerError => body(503, "upstream connect error"),
            Fault::Dropped => Err(ProviderError::new(
                ErrorKind::Transport,
                "connection closed before the message completed",
            )),
            Fault::Garbage => Err(ProviderError::new(ErrorKind::Decode, "expected value")),
            Fault::Hangs => std::future::pending().await,
            Fault::Refused => Err(ProviderError::new(ErrorKind::ContentRefused, "no")),
        }
    }
}
