//! The groups of rows, one test each.

use super::read::rows;
use super::row::check;

/// Declares a test for each group of a file, and the list of them all.
macro_rules! suites {
    ($($name:ident: $file:literal, $group:literal;)*) => {
        /// File and group of every row.
        pub(crate) const GROUPS: &[(&str, &str)] = &[$(($file, $group)),*];

        $(#[test]
        fn $name() {
            check(&rows($file, $group));
        })*
    };
}

suites! {
    a_compaction_of_opencode: "opencode", "compaction";
    an_interrupt: "opencode", "interrupt";
    opencode_1_17: "agent_loop", "v1";
    opencode_v2: "agent_loop", "v2";
    opencode_2: "opencode_2", "loop";
    what_opencode_2_asks_and_sends: "opencode_2", "requests";
    refusals: "agent_loop", "phrases";
    of_checkpoints: "requests", "checkpoints";
    of_media_and_recent_messages: "requests", "media-and-recent";
    what_is_no_summary: "answers", "no-summary";
    a_request_that_is_too_large: "answers", "too-large";
    a_compaction_of_the_window: "window", "compaction";
    what_the_model_is_asked: "window", "prompts";
    when_it_is_asked: "window", "moments";
}
