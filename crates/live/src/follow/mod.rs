//! A conversation that is met request by request: its log and its folds in the engine, and the request that they make.
//!
//! A client sends all of its conversation with every request. The messages that are new are appended, and the moments
//! come in the order of [`steps`](foldback_core::step::steps), which the replay of a recorded session follows, too: a
//! conversation that is met in its middle is followed from its beginning, and stands as if it had been followed all
//! along. What a request shows is made of the client's own messages of that request, so every message that no fold
//! touched keeps the client's bytes.
//!
//! An item in which the provider itself compacted the conversation is opaque. It and all before it are not the engine's:
//! they are sent as they came, and nothing is folded across them.

mod ahead;
mod followed;
pub mod identity;
mod received;
mod size;

pub use ahead::Ahead;
pub use followed::{Followed, Unsendable};
pub use received::{Received, Sizes, base_of, frame_of};
