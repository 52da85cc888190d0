//! A limit for a test that waits for another process or for a message.

use std::io::Write as _;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Far more than any test takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// Ends the test program if it is still held after five minutes.
#[must_use = "it counts only while it is held"]
pub struct Deadline(#[expect(dead_code, reason = "its end is the message")] Sender<()>);

/// A deadline for the test that calls this. Without one, a test that waits for what never comes fails only by hanging.
pub fn deadline() -> Deadline {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let (held, done) = channel();
    std::thread::spawn(move || {
        if done.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            // Printing macros would be captured and lost.
            let _ = writeln!(std::io::stderr(), "{test} has not ended after {LIMIT:?}");
            std::process::exit(101);
        }
    });
    Deadline(held)
}
