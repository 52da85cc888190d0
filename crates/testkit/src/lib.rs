//! Tests for context compaction: laws that every strategy must keep, and sessions to try one on.
//!
//! One line runs all [laws](law) on a preset, each as a test of its own:
//!
//! ```
//! foldback_testkit::laws!("keep-last-1");
//! ```
//!
//! What can be tested is a [`Subject`]: a preset by its name, a strategy file, a compiled
//! [`Strategy`](foldback_core::strategy::Strategy) or a single stage. A [`Session`] is made in three lines:
//!
//! ```
//! use foldback_testkit::{Session, lines};
//!
//! let session = Session::new("a failing build")
//!     .user("Mend the build.")
//!     .call("bash", "{\"command\":\"cargo test\"}", lines("log", 9_000))
//!     .answer("The test passes.");
//! assert_eq!(session.messages().len(), 4);
//! ```

mod drive;
pub mod generate;
pub mod law;
mod review;
mod session;
pub mod stand_in;
mod subject;
pub mod talk;

pub use drive::{DriveEvent, Watch, drive};
pub use review::{compaction, diff, fires};
pub use session::{Session, lines};
pub use subject::Subject;

#[doc(hidden)]
pub use insta;

/// The example of the page compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
