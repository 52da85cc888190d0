//! Attributes for tests that need something that is not part of the project. They are macros because
//! the test harness takes the word `ignored` from the code alone and not from a running test.

use proc_macro::TokenStream;
use std::path::Path;
use std::process::Command;

/// Where the recorded sessions lie, from the folder of this crate.
const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/sessions");

/// Stands above `#[test]` and has the test ignored, with the reason, where the recorded sessions are
/// missing when it is compiled.
#[proc_macro_attribute]
pub fn sessions(_: TokenStream, test: TokenStream) -> TokenStream {
    needs(Path::new(SESSIONS).is_dir(), "needs ../shared/sessions", test)
}

/// The same for a test that runs `tests/judge`, where Python or tiktoken are missing.
#[proc_macro_attribute]
pub fn judge(_: TokenStream, test: TokenStream) -> TokenStream {
    let run = Command::new("python3").args(["-c", "import tiktoken, tomllib"]).output();
    let there = run.is_ok_and(|output| output.status.success());
    needs(there, "needs python3 (3.11 or later) with tiktoken", test)
}

fn needs(there: bool, reason: &str, test: TokenStream) -> TokenStream {
    // Below `#[test]` it would come too late: the test would run, and fail where what it needs is missing.
    let attributes = test.to_string().replace(' ', "");
    let attributes = attributes.split("fn").next().unwrap_or_default();
    if !["test]", "test("].iter().any(|test| attributes.contains(test)) {
        return "compile_error!(\"this stands above `#[test]`\");".parse().unwrap_or_default();
    }
    if there {
        return test;
    }
    let ignored: TokenStream = format!("#[ignore = {reason:?}]").parse().unwrap_or_default();
    ignored.into_iter().chain(test).collect()
}
