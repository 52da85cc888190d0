//! Fixtures that are requests: as requests, they are the same bytes again.

use crate::common::fixtures;
use foldback_core::view::ShownMessage;
use foldback_providers::wire::{Dialect, Request};

#[test]
fn fixtures_that_are_requests_go_out_as_they_came() {
    let fixtures = fixtures();
    for dialect in Dialect::ALL {
        let mut requests = 0;
        for (_, name, text) in fixtures.iter().filter(|(format, ..)| format == dialect.as_str()) {
            // Others are bare lists, answers, lines, or damaged on purpose.
            let Ok(request) = Request::parse(dialect, text.as_str()) else { continue };
            requests += 1;
            let all: Vec<_> = request.messages().iter().map(ShownMessage::plain).collect();
            assert_eq!(request.folded(&all).unwrap().body, *text, "{dialect} {name}");
        }
        assert!(requests > 0, "{dialect}");
    }
}
