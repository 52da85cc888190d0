//! What happened, in order: messages made of parts.
//!
//! A [`Message`] is the canonical form that every recorded format is read into and every strategy
//! works on: one assistant message per model answer, one [`Role::Tool`] message per tool result.
//! Systems that store other units (OpenCode keeps call and result in one message,
//! pydantic-ai many returns in one) are recovered through [`Message::record`], the index of the
//! stored record that a message came from.
//!
//! A message is never altered once it is in a history; compaction only overlays it
//! (see [`crate::view`]).

#[doc(hidden)]
pub mod acts;
mod answer;
mod count;
mod derived;
mod message;
mod part;
mod sentence;
mod todo;

pub(crate) use answer::is_zero;
pub use answer::{Answer, Finish, Price, Round, Service, Usage};
pub use count::{CountCache, Counts};
pub use derived::{Derived, Weighed};
pub use message::{EntryKind, Message, Origin, Role};
#[doc(hidden)]
pub use part::COMPACTIONS;
pub use part::{Marker, Media, Part, PartKind, ResultStatus, ToolCall, ToolResult};
pub use sentence::sentences;
pub use todo::{TodoList, open_items};
