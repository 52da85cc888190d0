//! The requests of one summary, from the whole conversation down to none.
//!
//! | rung | what is sent |
//! |---|---|
//! | whole | everything, as the strategy gave it |
//! | cleared | tool outputs and arguments cut |
//! | chunks | the cut conversation in parts, oldest first; the summary of each goes into the next as the earlier summary, so the last answer is the summary |
//! | extractive | nothing: the summary is extracted without a model, unless [`LlmConfig::extractive`] is off: then there is none |
//!
//! A rung is left if its request would not fit, or if the provider says that it did not. An unusable answer is
//! followed by a reminder, at most one in a summary. An answer after it that lacks the requested headings counts as a
//! summary, as in the systems that we reproduce. All of that ends after [`LlmConfig::max_requests`] requests.

use crate::asking::Asker;
use crate::check::{Demands, Fault, Headings, check};
use crate::config::LlmConfig;
use crate::prompt::{Material, Prompts, fill, record};
use crate::room::{self, Room, Size, TooLarge};
use foldback_core::event::ProgressStep;
use foldback_core::log::{Role, Usage};
use foldback_core::provider::{
    Completion, CompletionRequest, Endpoint, ErrorKind, ProviderError, Turn,
};
use foldback_core::stage::{SummaryError, SummaryRequest};
use foldback_stages::extractive::Extractive;

/// Least room for a chunk's part of the record. With less, requests would consist of instructions.
const LEAST_CHUNK: Size = Size { tokens: 64, bytes: 256 };

/// How a summary came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A model wrote it.
    Written { text: String, tokens: u64 },
    /// No request fits.
    Extractive(ErrorKind),
    /// Only the number of requests was wanted.
    Dry,
}

/// The result of a request.
enum Attempt {
    Written { text: String, tokens: u64 },
    Dry,
    TooLarge(TooLarge),
}

/// The settings that all requests of a summarizer share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) config: &'a LlmConfig,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) prompts: &'a Prompts,
}

impl Terms<'_> {
    /// Tokens to ask for: the budget, or the model's output limit if that is smaller.
    fn target(&self, request: &SummaryRequest) -> u64 {
        request.budget.min(self.config.max_output_tokens)
    }

    /// The request for the whole conversation.
    pub(crate) fn whole(&self, request: &SummaryRequest) -> CompletionRequest {
        let record = record::blocks(&request.messages, None).join("\n");
        self.word(request, &record, None, request.previous.as_deref())
    }

    fn word(
        &self,
        request: &SummaryRequest,
        record: &str,
        part: Option<(usize, usize)>,
        previous: Option<&str>,
    ) -> CompletionRequest {
        let material = Material {
            record,
            part,
            previous,
            instructions: &request.instructions,
            budget: self.target(request),
        };
        let worded = self.prompts.word(&request.style, &material);
        CompletionRequest {
            endpoint: self.endpoint.clone(),
            system: worded.system,
            turns: vec![Turn { role: Role::User, text: worded.turn }],
            temperature: self.config.temperature,
            max_output: self.config.max_output_tokens,
            timeout: self.config.timeout(),
            replicate: self.config.replicate,
        }
    }
}

/// One way down the ladder.
#[derive(Debug)]
pub(crate) struct Descent<'a> {
    terms: Terms<'a>,
    request: &'a SummaryRequest,
    asker: Asker<'a>,
    room: Room,
    reminded: bool,
}

impl<'a> Descent<'a> {
    pub(crate) fn new(terms: Terms<'a>, request: &'a SummaryRequest, asker: Asker<'a>) -> Self {
        let config = terms.config;
        Self {
            terms,
            request,
            asker,
            room: Room::new(config.room(), config.max_request_bytes),
            reminded: false,
        }
    }

    /// Cost of all answers.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.asker.usage()
    }

    /// Descends from the request for the whole conversation.
    pub(crate) async fn run(&mut self, whole: CompletionRequest) -> Result<End, SummaryError> {
        let why = match self.ask("whole", whole).await?.end() {
            Ok(end) => return Ok(end),
            Err(why) => why,
        };
        self.step_down("cleared", &why.why);
        let config = self.terms.config;
        let blocks = record::blocks(&self.request.messages, Some(config.tool_output_max));
        let previous = self.request.previous.as_deref();
        let cleared = self.terms.word(self.request, &blocks.join("\n"), None, previous);
        let why = match self.ask("cleared", cleared).await?.end() {
            Ok(end) => return Ok(end),
            Err(why) => why,
        };
        self.step_down("chunks", &why.why);
        let why = match self.chunks(blocks).await?.end() {
            Ok(end) => return Ok(end),
            Err(why) => why,
        };
        if !config.extractive {
            let message = format!("no request for it fits: {}", why.why);
            return Err(ProviderError::new(why.kind, message).into());
        }
        self.step_down("extractive", &why.why);
        Ok(End::Extractive(why.kind))
    }

    fn step_down(&self, to: &str, why: &str) {
        self.asker.progress(ProgressStep::SteppingDown { to: to.to_owned(), why: why.to_owned() });
    }

    /// Summarizes chunk after chunk. Chunks are cut again before each request, because an earlier summary may take
    /// more room than was reserved, and a refusal leaves less.
    async fn chunks(&mut self, blocks: Vec<String>) -> Result<Attempt, SummaryError> {
        let most = usize::try_from(self.terms.config.max_chunks).unwrap_or(usize::MAX);
        let mut rest = blocks;
        let mut previous = self.request.previous.clone();
        let (mut sent, mut done, mut dry) = (0, 0, false);
        loop {
            let limit = match self.chunk_limit(previous.as_deref()) {
                Ok(limit) => limit,
                Err(why) => return Ok(Attempt::TooLarge(why)),
            };
            let estimator = &*self.request.estimator;
            rest = room::pieces(&rest, limit, estimator);
            let cut = room::chunks(&rest, limit, estimator);
            if sent + cut.len() > most {
                return Ok(Attempt::TooLarge(TooLarge {
                    kind: ErrorKind::ContextOverflow,
                    why: format!("{} more chunks, at most {}", cut.len(), most - sent),
                }));
            }
            let Some(chunk) = cut.first() else {
                return Err(SummaryError::Empty);
            };
            let (part, parts) = (done + 1, done + cut.len());
            let request = self.terms.word(
                self.request,
                &rest[chunk.clone()].join("\n"),
                Some((part, parts)),
                previous.as_deref(),
            );
            if let Err(why) = self.room.check(Size::from_request(&request, estimator)) {
                return Ok(Attempt::TooLarge(why));
            }
            sent += 1;
            let last = cut.len() == 1;
            match self.ask(&format!("chunk {part} of {parts}"), request).await? {
                Attempt::Written { text, tokens } if last && !dry => {
                    return Ok(Attempt::Written { text, tokens });
                }
                Attempt::Written { text, .. } => previous = Some(text),
                // A dry run asks for the other chunks, too, so that every request is counted.
                Attempt::Dry => {
                    dry = true;
                    previous = Some(Extractive::default().summary(self.request)?.text);
                }
                // Less room is believed in now; what is left is cut smaller.
                Attempt::TooLarge(_) => continue,
            }
            if last {
                return Ok(Attempt::Dry);
            }
            done += 1;
            rest.drain(..chunk.end);
        }
    }

    /// Room for a chunk's part of the record besides the instructions and the summary so far.
    fn chunk_limit(&self, previous: Option<&str>) -> Result<Size, TooLarge> {
        let estimator = &*self.request.estimator;
        // Numbers of parts are short; no conversation has more than this many chunks.
        let empty = self.terms.word(self.request, "", Some((999, 999)), previous);
        let taken = Size::from_request(&empty, estimator);
        // Room for the summary of this chunk in the request for the next. Tokens of the strategy's
        // estimator may be four bytes and more, which count as two here.
        let coming = self.terms.target(self.request).saturating_mul(2);
        let known = previous.map_or(0, |text| Size::from_text(text, estimator).tokens);
        let kept = coming.saturating_sub(known);
        let reserve = Size {
            tokens: kept,
            bytes: usize::try_from(kept.saturating_mul(3)).unwrap_or(usize::MAX),
        };
        let limit = self.room.size().less(taken).less(reserve);
        if limit.tokens < LEAST_CHUNK.tokens || limit.bytes < LEAST_CHUNK.bytes {
            let kind = if limit.tokens < LEAST_CHUNK.tokens {
                ErrorKind::ContextOverflow
            } else {
                ErrorKind::TooLarge
            };
            return Err(TooLarge {
                kind,
                why: "the instructions and the earlier summary leave no room for the record"
                    .to_owned(),
            });
        }
        Ok(limit)
    }

    /// Asks, and reminds once in a summary if the answer can't be used.
    async fn ask(
        &mut self,
        what: &str,
        request: CompletionRequest,
    ) -> Result<Attempt, SummaryError> {
        let answer = match self.send(what, &request).await? {
            Ok(answer) => answer,
            Err(asked) => return Ok(asked),
        };
        let fault = match self.check(&answer) {
            Ok(asked) => return Ok(asked),
            Err(fault) => fault,
        };
        if self.reminded {
            return self.accept(&answer, fault);
        }
        self.reminded = true;
        let wording = &self.terms.prompts.shared().reminder;
        let described = fault.describe(wording, self.terms.target(self.request));
        let words = fill(&wording.again, &[("fault", &described)]);
        let Some(again) = self.remind(request, &answer.text, &words) else {
            return self.accept(&answer, fault);
        };
        self.step_down("reminder", &described);
        match self.send(&format!("{what}, reminded"), &again).await? {
            Ok(answer) => self.check(&answer).or_else(|fault| self.accept(&answer, fault)),
            Err(asked) => Ok(asked),
        }
    }

    /// The request with a reminder: after the answer, if there was one and it fits, else at the
    /// end of the request.
    fn remind(
        &self,
        request: CompletionRequest,
        answer: &str,
        words: &str,
    ) -> Option<CompletionRequest> {
        let estimator = &*self.request.estimator;
        let fits = |request: &CompletionRequest| {
            self.room.check(Size::from_request(request, estimator)).is_ok()
        };
        if !answer.trim().is_empty() {
            let mut with = request.clone();
            let turn = |role, text| Turn { role, text };
            with.turns.push(turn(Role::Assistant, answer.to_owned()));
            with.turns.push(turn(Role::User, words.to_owned()));
            if fits(&with) {
                return Some(with);
            }
        }
        let mut without = request;
        let last = without.turns.last_mut()?;
        last.text.push_str("\n\n");
        last.text.push_str(words);
        fits(&without).then_some(without)
    }

    fn check(&self, answer: &Completion) -> Result<Attempt, Fault> {
        self.check_for(answer, self.headings())
    }

    fn headings(&self) -> Headings<'_> {
        self.terms.prompts.style(&self.request.style).into()
    }

    /// The last answer of a summary. Missing headings are the only fault that it may have, and only if one heading
    /// would not have been enough.
    fn accept(&self, answer: &Completion, fault: Fault) -> Result<Attempt, SummaryError> {
        let accepted = match fault {
            Fault::Headings(_) if !self.headings().any => {
                self.check_for(answer, Headings::default())
            }
            fault => Err(fault),
        };
        accepted.map_err(SummaryError::from)
    }

    fn check_for(&self, answer: &Completion, headings: Headings<'_>) -> Result<Attempt, Fault> {
        let demands = Demands {
            headings,
            budget: self.request.budget,
            estimator: &*self.request.estimator,
            max_output: self.terms.config.max_output_tokens,
        };
        check(answer, &demands).map(|(text, tokens)| Attempt::Written { text, tokens })
    }

    /// Sends a request that fits; errors that the ladder handles are not errors here.
    async fn send(
        &mut self,
        what: &str,
        request: &CompletionRequest,
    ) -> Result<Result<Completion, Attempt>, SummaryError> {
        let size = Size::from_request(request, &*self.request.estimator);
        if let Err(why) = self.room.check(size) {
            return Ok(Err(Attempt::TooLarge(why)));
        }
        match self.asker.send(what, request).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) if error.kind == ErrorKind::DryRun => Ok(Err(Attempt::Dry)),
            Err(error) if error.kind.is_overflow() => {
                self.room.refused(size, error.kind);
                Ok(Err(Attempt::TooLarge(TooLarge { kind: error.kind, why: error.to_string() })))
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Attempt {
    /// The end of the descent, or why it goes on.
    fn end(self) -> Result<End, TooLarge> {
        match self {
            Self::Written { text, tokens } => Ok(End::Written { text, tokens }),
            Self::Dry => Ok(End::Dry),
            Self::TooLarge(why) => Err(why),
        }
    }
}
