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
        let time = line.at().unwrap_or(0);
        self.note_results();
        let ids = value::list(metadata, "compactedToolIds").iter().filter_map(Value::as_str);
        let ids: HashSet<&str> = ids.collect();
        let known = &self.results.1;
        let mut cleared: Vec<PartPos> =
            ids.iter().filter_map(|id| known.get(*id)).flatten().copied().collect();
        cleared.sort_unstable();
        let cleared = cleared.into_iter().map(|at| Cleared { at, time });
        self.out.session.cleared.extend(cleared);
    }

    /// Notes where results are in the messages that were not looked at yet. They come as messages of their own.
    fn note_results(&mut self) {
        let (seen, results) = &mut self.results;
        for (item, message) in self.out.messages.iter().enumerate().skip(*seen) {
            for (part, of) in message.parts.iter().enumerate() {
                if let Some(result) = of.as_result() {
                    let places = results.entry(result.call_id.clone()).or_default();
                    places.push(PartPos { item, part });
                }
            }
        }
        *seen = self.out.messages.len();
    }
}
