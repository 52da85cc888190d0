//! What is left to do: sentences that say so.

/// Whether a sentence names something that is left to do. What comes "next" is no such thing: it is
/// part of the current state, or it was done.
pub(super) fn is_open(sentence: &str) -> bool {
    const MARKS: [&str; 8] = [
        "still need",
        "still have to",
        "remaining",
        "remains to",
        "not yet",
        "left to do",
        "to do:",
        "follow-up",
    ];
    if sentence.contains("TODO") || sentence.contains("FIXME") {
        return true;
    }
    let lower = sentence.to_lowercase();
    MARKS.iter().any(|mark| lower.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_as_a_table() {
        let cases = [
            ("We still need to update the docs.", true),
            ("TODO: remove the shim", true),
            ("Next, I'll run the tests.", false),
            ("All tests pass.", false),
            ("The next line is fine.", false),
        ];
        for (sentence, expected) in cases {
            assert_eq!(is_open(sentence), expected, "{sentence:?}");
        }
    }
}
