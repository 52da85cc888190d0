//! Attributes for tests that need something that is not part of the project. They are macros because
//! the test harness takes the word `ignored` from the code alone and not from a running test.

use proc_macro::TokenStream;
use std::path::Path;
use std::process::Command;

/// Where the recorded sessions lie, from the folder of this crate.
const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/sessions");
/// Where small inputs that went wrong lie.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases");

/// Stands above `#[test]` and has the test ignored, with the reason, where the recorded sessions are
/// missing when it is compiled.
#[proc_macro_attribute]
pub fn sessions(_: TokenStream, test: TokenStream) -> TokenStream {
    needs(Path::new(SESSIONS).is_dir(), "needs ../shared/sessions", test)
}

/// The same for a test that needs the inputs that went wrong.
#[proc_macro_attribute]
pub fn cases(_: TokenStream, test: TokenStream) -> TokenStream {
    needs(Path::new(CASES).is_dir(), "needs ../shared/cases", test)
}

/// The same for a test that runs `tests/judge`, where Python or tiktoken are missing.
#[proc_macro_attribute]
pub fn judge(_: TokenStream, test: TokenStream) -> TokenStream {
    needs(python_has("tiktoken, tomllib"), "needs python3 (3.11 or later) with tiktoken", test)
}

/// The same for a test that reads YAML, where Python or its parser are missing.
#[proc_macro_attribute]
pub fn yaml(_: TokenStream, test: TokenStream) -> TokenStream {
    needs(python_has("yaml"), "needs python3 with PyYAML", test)
}

/// Whether Python is there and has these modules.
fn python_has(modules: &str) -> bool {
    let run = Command::new("python3").args(["-c", &format!("import {modules}")]).output();
    run.is_ok_and(|output| output.status.success())
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
