//! What a provider takes does not depend on what a strategy believes of its window.

use foldback_replay::{ReplayOptions, replay};
use foldback_tests::{Script, file, options, strategy};

#[test]
fn one_session_has_one_ceiling() {
    let mut script = Script::default();
    script.user("read the sources");
    for step in 0..30 {
        let name = format!("src/m{step}.rs");
        let arguments = format!("{{\"path\":\"{name}\"}}");
        script.call("", &[("read", &arguments, &file(&name, 4_000))]);
    }
    let session = script.session();
    // A small window of its own, as of a preset that knows nothing of the model.
    for (ceiling, refused) in [(Some(200_000), false), (None, true)] {
        let options = ReplayOptions { ceiling, ..options(10_000, 1_000) };
        let rows = replay(&session, &strategy("none"), &options).rows;
        assert!(rows.iter().all(|row| row.ceiling == ceiling.or(Some(10_000))));
        assert_eq!(rows.iter().any(|row| row.overflow), refused);
    }
}
