//! What the builder of an agent's loop asks for, and what it hands on.

use foldback::core::SegmentKind;
use foldback::core::services::FixedClock;
use foldback::{AgentBuilder, AgentError, Missing};
use std::sync::Arc;

fn whole() -> AgentBuilder {
    foldback::agent("opencode-1.17").window(200_000).system("prompt").tools("[]")
}

#[test]
fn what_was_not_said_is_asked_for_all_at_once() {
    use Missing::{System, Tools, Window};
    let agent = || foldback::agent("opencode-1.17");
    let table: [(AgentBuilder, &[Missing]); 5] = [
        (agent(), &[Window, System, Tools]),
        (agent().window(200_000), &[System, Tools]),
        (agent().window(200_000).no_system(), &[Tools]),
        (agent().system("prompt").no_tools(), &[Window]),
        (agent().window(200_000).tools("[]"), &[System]),
    ];
    for (builder, expected) in table {
        let error = builder.build().unwrap_err();
        let words = error.to_string();
        assert!(matches!(&error, AgentError::Missing(missing) if missing == expected), "{words}");
        // Each says what to call and why it matters.
        assert!(words.starts_with("say `") && words.matches(": ").count() >= expected.len());
    }
    whole().build().unwrap();
}

#[test]
fn what_was_said_is_counted() {
    let agent = whole().max_output(32_000).model_name("m").build().unwrap();
    let conversation = agent.conversation();
    let limits = conversation.limits();
    assert_eq!((limits.context, limits.output), (200_000, 32_000));
    assert_eq!(conversation.frame().text_of(SegmentKind::System), Some("prompt"));
    assert_eq!(conversation.frame().text_of(SegmentKind::Tools), Some("[]"));
    assert!(conversation.tokens() > 0);
    let bare = foldback::agent("opencode-1.17").window(200_000).no_system().no_tools();
    assert_eq!(bare.build().unwrap().conversation().tokens(), 0);
}

#[test]
fn the_clock_is_that_of_the_machine_unless_another_is_given() {
    let now =
        |builder: AgentBuilder| builder.build().unwrap().conversation().services().clock.now();
    // 2020 is past.
    assert!(now(whole()) > 1_577_836_800_000);
    assert_eq!(now(whole().clock(Arc::new(FixedClock::at(7)))), 7);
}

#[test]
fn what_cannot_work_is_refused() {
    let unknown = foldback::agent("opencod").window(200_000).no_system().no_tools();
    let error = unknown.build().unwrap_err().to_string();
    assert!(error.contains("opencod"), "{error}");
    let small = foldback::agent("window").window(8_000).max_output(7_000).no_system().no_tools();
    let error = small.build().unwrap_err();
    assert!(matches!(error, AgentError::Window { .. }), "{error}");
}
