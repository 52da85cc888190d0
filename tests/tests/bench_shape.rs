//! The session that the benches run on has the sizes that their tables give. Here and not there, because
//! unit tests of the benches would have every test run build Criterion.

use foldback_benches::shape::{messages, messages_in};
use foldback_core::stage::Estimator;
use foldback_stages::estimator::{Rounding, Unit, chars};

#[test]
fn sizes() {
    let count = chars(Unit::CodePoints, Rounding::Floor);
    let table = [
        (100, 222, 45_000..60_000),
        (500, 1_102, 240_000..290_000),
        (1_000, 2_202, 490_000..550_000),
    ];
    for (turns, expected, tokens) in table {
        let messages = messages(turns);
        assert_eq!(messages.len(), expected, "{turns} turns");
        assert_eq!(messages.len(), messages_in(turns), "{turns} turns");
        let total: u64 = messages.iter().map(|message| count.count(message).total()).sum();
        assert!(tokens.contains(&total), "{turns} turns: {total} tokens");
    }
    assert_eq!(messages_in(5_000), 11_002);
}

#[test]
fn a_longer_session_begins_like_a_shorter_one() {
    assert_eq!(messages(20), messages(40)[..messages_in(20)]);
}
