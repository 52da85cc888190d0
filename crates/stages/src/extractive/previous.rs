//! An earlier summary, taken apart into items by topic, so that it is merged instead of nested.

use super::style::{Topic, topic_of};

/// Items of an earlier summary in order. Sections whose heading is known give items of their topic;
/// everything else belongs to [`Topic::Earlier`].
pub(super) fn items(summary: &str) -> Vec<(Topic, String)> {
    let known = summary.lines().any(|line| topic_of(line).is_some());
    let mut out: Vec<(Topic, String)> = Vec::new();
    let mut topic = Topic::Earlier;
    // Lines before the first heading of a summary of our own introduce it; they say nothing.
    let mut opening = known;
    let mut new_item = true;
    for line in summary.lines() {
        if let Some(found) = topic_of(line) {
            topic = found;
            opening = false;
            new_item = true;
            continue;
        }
        if line.trim().is_empty() || (opening && is_wrapper(line)) {
            new_item = true;
            continue;
        }
        if let Some(heading) = line.strip_prefix('#') {
            if !heading.starts_with("##") {
                topic = Topic::Earlier;
            }
            new_item = true;
            continue;
        }
        let bullet = ["- ", "* "].iter().find_map(|mark| line.strip_prefix(mark));
        match (bullet, line.strip_prefix("  ")) {
            (Some(text), _) => out.push((topic, text.to_owned())),
            (None, Some(continuation)) if !new_item => append(&mut out, topic, continuation),
            // Prose without list marks: one item a paragraph.
            (None, _) if !new_item && !known => append(&mut out, topic, line),
            (None, _) => out.push((topic, line.trim().to_owned())),
        }
        new_item = false;
    }
    out
}

fn append(out: &mut Vec<(Topic, String)>, topic: Topic, line: &str) {
    match out.last_mut() {
        Some((_, item)) => {
            item.push('\n');
            item.push_str(line);
        }
        None => out.push((topic, line.to_owned())),
    }
}

/// Whether a line only introduces what follows: `[Previous conversation summary]`, `So far:`, a tag.
fn is_wrapper(line: &str) -> bool {
    let line = line.trim();
    let bracketed = line.starts_with('[') && line.ends_with(']');
    let tag = line.starts_with('<') && line.ends_with('>');
    bracketed || tag || line.ends_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_as_a_table() {
        use Topic::{Decisions, Earlier, Files, Instructions};
        let cases: [(&str, &[(Topic, &str)]); 5] = [
            (
                "[Previous conversation summary]\n\n## User instructions\n- one\n  two\n- three\n\n## Decisions\n- four",
                &[(Instructions, "one\ntwo"), (Instructions, "three"), (Decisions, "four")],
            ),
            ("## Relevant Files\n- a.rs (read)", &[(Files, "a.rs (read)")]),
            (
                "A model wrote this.\nIn prose.\n\nTwice.",
                &[(Earlier, "A model wrote this.\nIn prose."), (Earlier, "Twice.")],
            ),
            ("## Goal\nplain\n## Weather\n- sun", &[(Instructions, "plain"), (Earlier, "sun")]),
            ("", &[]),
        ];
        for (summary, expected) in cases {
            let expected: Vec<(Topic, String)> =
                expected.iter().map(|(topic, text)| (*topic, (*text).to_owned())).collect();
            assert_eq!(items(summary), expected, "{summary:?}");
        }
    }
}
