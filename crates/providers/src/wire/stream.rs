//! Answers that stream.
//!
//! All four protocols stream server-sent events. Their pieces are put together to the body of an answer that was not streamed,
//! and one reader reads both.

use crate::wire::shared::pieces::Pieces;
use crate::wire::{WireError, anthropic, gemini, openai, responses};
use foldback_core::log::Message;
use foldback_core::validity::Dialect;
use serde_json::Value;

/// Assembles an answer from the bytes of a stream, in whatever pieces they come.
///
/// ```
/// let mut stream = foldback_providers::wire::openai::stream();
/// stream.push(b"data: {\"choices\": [{\"delta\": {\"content\": \"So\"}}]}\n\n")?;
/// stream.push(b"data: {\"choices\": [{\"delta\": {\"content\": \".\"}, \"finish_reason\": \"stop\"}]}\n\nda")?;
/// stream.push(b"ta: [DONE]\n\n")?;
/// assert_eq!(stream.finish("answer-1")?.said(), "So.");
/// # Ok::<(), foldback_providers::wire::WireError>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    dialect: Dialect,
    pieces: Box<dyn Pieces>,
    /// Bytes so far.
    bytes: usize,
    /// The line that is still coming.
    line: Vec<u8>,
    /// The data of the event that is still coming.
    data: Vec<u8>,
    /// An event of the answer itself came.
    begun: bool,
    /// The event that ends the answer came.
    over: bool,
}

/// Events that announce an answer, or keep a connection open until there is one.
const ANNOUNCE: [&str; 5] =
    ["message_start", "ping", "response.created", "response.queued", "response.in_progress"];

/// Longest stream that is read, in bytes.
const MOST: usize = 64 << 20;

impl Stream {
    /// A stream before its first byte.
    pub fn new(dialect: Dialect) -> Self {
        let pieces: Box<dyn Pieces> = match dialect {
            Dialect::OpenAiChat => Box::<openai::stream::Chunks>::default(),
            Dialect::Anthropic => Box::<anthropic::stream::Events>::default(),
            Dialect::Gemini => Box::<gemini::stream::Chunks>::default(),
            Dialect::OpenAiResponses => Box::<responses::stream::Events>::default(),
        };
        let (line, data) = (Vec::new(), Vec::new());
        Self { dialect, pieces, bytes: 0, line, data, begun: false, over: false }
    }

    /// Whether a part of the answer itself has come, and not only its announcement. Until then a provider may still refuse
    /// the request.
    pub fn has_begun(&self) -> bool {
        self.begun || self.over
    }

    /// Whether the whole answer has come. The end of the stream may come later, or never. Gemini's protocol has no event
    /// for the end of an answer.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    ///
    /// An event is not JSON or violates the protocol, the provider sent an error ([`WireError::Refused`]), or the stream is
    /// too long ([`WireError::TooLong`]).
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MOST {
            return Err(WireError::TooLong { most: MOST });
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.line()?;
            }
        }
        Ok(())
    }

    /// The answer, once its last bytes have come.
    ///
    /// # Errors
    ///
    /// [`WireError::Unfinished`] if the stream ended before the answer; else as with [`answer`](crate::wire::answer).
    pub fn finish(self, id: &str) -> Result<Message, WireError> {
        let dialect = self.dialect;
        crate::wire::answer_of(dialect, id, &self.body()?)
    }

    /// The body of the same answer if it had not streamed, once its last bytes have come.
    ///
    /// # Errors
    ///
    /// [`WireError::Unfinished`] if the stream ended before the answer.
    pub fn body(mut self) -> Result<Value, WireError> {
        // The last event may lack the empty line behind it.
        self.line()?;
        self.event()?;
        self.pieces.body().ok_or(WireError::Unfinished)
    }

    /// Takes a complete line. Names of events are ignored: the data repeats them.
    fn line(&mut self) -> Result<(), WireError> {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return self.event();
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        Ok(())
    }

    /// Takes a complete event.
    fn event(&mut self) -> Result<(), WireError> {
        let data = std::mem::take(&mut self.data);
        if data.is_empty() || data == b"[DONE]" {
            self.over |= !data.is_empty();
            return Ok(());
        }
        let event: Value = serde_json::from_slice(&data)?;
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(WireError::Refused { body: event });
        }
        let announced = event.get("type").and_then(Value::as_str);
        let announced = announced.is_some_and(|kind| ANNOUNCE.contains(&kind));
        self.pieces.push(event)?;
        self.begun |= !announced;
        self.over |= self.pieces.is_over();
        Ok(())
    }
}
