//! What the provider answers, and what goes wrong with it.

use serde_json::Value;

/// A tool call of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Id of the call. Gemini has none on the wire.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, an object.
    pub arguments: Value,
}

impl Call {
    /// A call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments }
    }
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finish {
    /// It was done, or called tools: whichever the answer shows.
    #[default]
    Natural,
    /// The output limit.
    Length,
    /// The provider's content filter.
    Filter,
}

/// What a request cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the request that were read from the cache.
    pub cached: u64,
    /// Tokens of the request that were written to the cache. Only Anthropic's protocol tells of them.
    pub written: u64,
}

/// How much of a usage an answer tells. Gateways in front of other providers often do not know the size of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Told {
    /// All of it.
    #[default]
    All,
    /// A stream tells it once, and the counts of the request as null at its end. In one piece they are null.
    Nulls,
    /// The counts of the request are 0.
    Zeros,
    /// The counts of the request are left out.
    Output,
}

/// What the model says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Reasoning.
    pub reasoning: String,
    /// Text.
    pub text: String,
    /// Tool calls.
    pub calls: Vec<Call>,
    /// Why it stopped.
    pub finish: Finish,
}

impl Answer {
    /// Bytes of everything that was generated.
    pub(crate) fn bytes(&self) -> usize {
        let calls = self.calls.iter();
        let calls = calls.map(|call| call.name.len() + call.arguments.to_string().len());
        self.reasoning.len() + self.text.len() + calls.sum::<usize>()
    }
}

/// What is sent instead of a good answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// An answer, spelled in the protocol of the request.
    Answer(Answer),
    /// A status and a body as given.
    Raw { status: u16, content_type: String, body: String },
    /// Success by the status, and a body that is broken off JSON.
    Garbage,
}

/// One answer of the provider. Made by what it says, then changed by what goes wrong:
///
/// ```
/// use foldback_fake_provider::Reply;
/// let late_and_cut = Reply::text("Half of a sen").usage(1_200, 4).hang().cut(60);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub(crate) content: Content,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) usage: Option<Usage>,
    pub(crate) told: Told,
    pub(crate) silent: bool,
    pub(crate) cut: Option<usize>,
    pub(crate) hang: bool,
    pub(crate) error_event: Option<String>,
}

impl Reply {
    fn new(content: Content) -> Self {
        Self {
            content,
            headers: Vec::new(),
            usage: None,
            told: Told::All,
            silent: false,
            cut: None,
            hang: false,
            error_event: None,
        }
    }

    /// An answer of any parts.
    pub fn answer(answer: Answer) -> Self {
        Self::new(Content::Answer(answer))
    }

    /// The model says this and has finished.
    pub fn text(text: impl Into<String>) -> Self {
        Self::answer(Answer { text: text.into(), ..Answer::default() })
    }

    /// The model calls tools and says nothing.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self::answer(Answer { calls: calls.into_iter().collect(), ..Answer::default() })
    }

    /// The model reasons and says nothing.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::answer(Answer { reasoning: text.into(), ..Answer::default() })
    }

    /// The model stops at once, with no content at all.
    pub fn empty() -> Self {
        Self::answer(Answer::default())
    }

    /// The model is stopped by the output limit in the middle of this.
    pub fn length(text: impl Into<String>) -> Self {
        Self::answer(Answer { text: text.into(), finish: Finish::Length, ..Answer::default() })
    }

    /// A status other than 200, with a body of JSON. See [`errors`](crate::errors) for real ones.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        Self::new(Content::Raw {
            status,
            content_type: "application/json".into(),
            body: body.into(),
        })
    }

    /// Any body of any type, e.g. the HTML page of a proxy.
    pub fn raw(status: u16, content_type: impl Into<String>, body: impl Into<String>) -> Self {
        Self::new(Content::Raw { status, content_type: content_type.into(), body: body.into() })
    }

    /// Status 200 and JSON that breaks off; in a stream an event of that kind, and then its proper end.
    pub fn garbage() -> Self {
        Self::new(Content::Garbage)
    }

    /// The calls that the reply makes, for scripts that remember what they did.
    pub fn called(&self) -> &[Call] {
        match &self.content {
            Content::Answer(answer) => &answer.calls,
            Content::Raw { .. } | Content::Garbage => &[],
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// What the answer says it cost, instead of what the provider's counter says.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.usage_of(Usage { input, output, ..Usage::default() })
    }

    /// As [`usage`](Self::usage), with all figures.
    #[must_use]
    pub fn usage_of(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// How much of its usage the answer tells.
    #[must_use]
    pub fn told(mut self, told: Told) -> Self {
        self.told = told;
        self
    }

    /// The answer does not say what it cost.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.silent = true;
        self
    }

    /// Closes the connection after so many bytes of the body. With 0 the client gets nothing at all, no
    /// status either.
    #[must_use]
    pub fn cut(mut self, after: usize) -> Self {
        self.cut = Some(after);
        self
    }

    /// Holds the answer back until [`release`](crate::FakeProvider::release), or for as long as the
    /// client waits.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.hang = true;
        self
    }

    /// A stream ends with an error, given as the JSON that the protocol sends, instead of its end. Not
    /// streamed, that JSON is the body.
    #[must_use]
    pub fn error_event(mut self, body: impl Into<String>) -> Self {
        self.error_event = Some(body.into());
        self
    }
}
