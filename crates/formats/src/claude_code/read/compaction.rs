//! What the client's own compactions leave in a file.

use super::super::block;
use super::super::line::Line;
use super::Reader;
use crate::prelude::*;

impl<'a> Reader<'a> {
    pub(super) fn boundary(&mut self, line: &Line) {
        let metadata = line.compact_metadata.as_ref().unwrap_or(&Value::Null);
        let original_kept = self.out.holds_log();
        let boundary =
            self.out.boundary("summary", metadata["trigger"].as_str().unwrap_or("unknown"));
        let before = metadata["preTokens"].as_u64();
        boundary.tokens_before = before.or(metadata["pre_tokens"].as_u64());
        boundary.tokens_after = metadata["postTokens"].as_u64();
        boundary.original_kept = original_kept;
        self.awaits_summary = true;
        self.after_boundary = original_kept;
    }

    /// The summary that the client wrote. Where what it stands for is not in the file, it is the head
    /// of the log.
    pub(super) fn summary(&mut self, line: &'a Line) {
        if !self.awaits_summary {
            // Early versions write no boundary line.
            self.boundary(&Line::default());
        }
        self.awaits_summary = false;
        let kept = self.out.session.boundaries.last().is_some_and(|b| b.original_kept);
        let mut parts: Vec<Part> = match line.content() {
            Some(Value::String(text)) => vec![Part::text(text).at(block::CONTENT)],
            Some(Value::Array(blocks)) => {
                blocks.iter().enumerate().map(|(index, raw)| block::part(raw, index)).collect()
            }
            _ => return,
        };
        mark_synthetic(&mut parts);
        let message = self.push(line, line.id(), Role::User, parts);
        if kept {
            message.origin = Origin::Entry(EntryKind::Summary);
            message.mid_turn = true;
        }
    }

    /// Results that the client cleared in place. The file keeps their text.
    pub(super) fn microcompact(&mut self, line: &Line) {
        let metadata = line.microcompact_metadata.as_ref().unwrap_or(&Value::Null);
        let before = metadata["preTokens"].as_u64();
        let saved = metadata["tokensSaved"].as_u64();
        let boundary =
            self.out.boundary("clear", metadata["trigger"].as_str().unwrap_or("unknown"));
        boundary.tokens_before = before;
        boundary.tokens_after = before.zip(saved).map(|(b, s)| b.saturating_sub(s));
        let ids = value::list(metadata, "compactedToolIds").iter();
        let ids: HashSet<&str> = ids.filter_map(Value::as_str).collect();
        let time = line.at().unwrap_or(0);
        let mut cleared = Vec::new();
        for (item, message) in self.out.messages.iter().enumerate() {
            for (part, of) in message.parts.iter().enumerate() {
                if of.as_result().is_some_and(|r| ids.contains(r.call_id.as_str())) {
                    cleared.push(Cleared { at: PartPos { item, part }, time });
                }
            }
        }
        self.out.session.cleared.append(&mut cleared);
    }
}
