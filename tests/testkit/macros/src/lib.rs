//! An attribute for tests that need the recorded sessions beside the project. It is a macro because
//! the test harness takes the word `ignored` from the code alone and not from a running test.

use proc_macro::TokenStream;
use std::path::Path;

/// Where the recorded sessions lie, from the folder of this crate.
const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/sessions");

/// Stands above `#[test]` and has the test ignored, with the reason, where the recorded sessions are
/// missing when it is compiled.
#[proc_macro_attribute]
pub fn needs_sessions(_: TokenStream, test: TokenStream) -> TokenStream {
    if Path::new(SESSIONS).is_dir() {
        return test;
    }
    let ignored: TokenStream =
        "#[ignore = \"needs ../shared/sessions\"]".parse().unwrap_or_default();
    ignored.into_iter().chain(test).collect()
}
