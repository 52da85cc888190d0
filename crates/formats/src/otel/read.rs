//! From spans to the canonical form.

use super::chain::{Chain, Relation, Request, id_of};
use super::index::{ChainMatch, Index};
use super::span;
use crate::prelude::*;
use std::ops::Range;

/// Reads the spans of a file into its conversations.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let found = span::spans(text);
    if found.spans.is_empty() {
        return Err(match found.without_content {
            0 => value::malformed("/resourceSpans", "no span with `gen_ai.input.messages` in it"),
            count => value::malformed(
                "gen_ai.input.messages",
                format!(
                    "{count} call(s) without content; it must be switched on where the spans are \
                     made (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)"
                ),
            ),
        });
    }
    // Records in the order of the file, which is not that of the calls.
    let mut records: Vec<Range<usize>> =
        found.spans.iter().map(|span| span.range.clone()).collect();
    records.sort_by_key(|range| range.start);
    let source = Source { text: text.into(), shape: Shape::Lines, records: records.into() };
    let mut ids = Ids::default();
    let mut chains: Vec<Chain> = Vec::new();
    // Chains by their latest response, and those that changed since they were noted.
    let mut responses: HashMap<String, usize> = HashMap::new();
    let (mut index, mut changed) = (Index::default(), BTreeSet::new());
    let mut repeated = Vec::new();
    for span in &found.spans {
        let record = source.records.partition_point(|range| range.start < span.range.start) as u32;
        let apart = Request::new(span, record);
        let mut request = apart.joined();
        if let Some(previous) = request.previous() {
            let known = responses.get(previous).copied();
            let known = known.filter(|number: &usize| chains[*number].ends_with(previous));
            let number = match known {
                Some(number) => {
                    chains[number].extend_kept(request);
                    number
                }
                None => {
                    let id = ids.unique(&id_of(&request));
                    let mut chain = Chain::new(id, source.clone(), &request);
                    chain.begins_elsewhere(&request);
                    chain.extend(request, &[]);
                    chains.push(chain);
                    chains.len() - 1
                }
            };
            responses.extend(chains[number].response().map(|id| (id.to_owned(), number)));
            changed.insert(number);
            continue;
        }
        for number in std::mem::take(&mut changed) {
            index.note(number, &chains[number]);
        }
        let mut found = index.nearest(&chains, &request);
        // Answers may stand apart that are two: one that the client began, and what the model made of it.
        let continues = |found: &ChainMatch| matches!(found, Some((_, Relation::Continues(_))));
        if !continues(&found) && request.units.len() < apart.units.len() {
            let other = index.nearest(&chains, &apart);
            if continues(&other) {
                (request, found) = (apart, other);
            }
        }
        let number = match found {
            Some((_, Relation::Repeats)) => {
                repeated.push(record);
                continue;
            }
            Some((number, Relation::Continues(other))) => {
                chains[number].extend(request, &other);
                number
            }
            Some((number, Relation::Replaces)) => {
                chains[number].replace(request);
                number
            }
            None => {
                let id = ids.unique(&id_of(&request));
                let mut chain = Chain::new(id, source.clone(), &request);
                chain.extend(request, &[]);
                chains.push(chain);
                chains.len() - 1
            }
        };
        responses.extend(chains[number].response().map(|id| (id.to_owned(), number)));
        changed.insert(number);
    }
    let mut sessions: Vec<Session> = chains.into_iter().map(Chain::finish).collect();
    if let Some(first) = sessions.first_mut() {
        let line = |offset: usize| format!("line {}", source.records.line(text, offset));
        for record in repeated {
            let start = source.records.get(record as usize).map_or(0, |range| range.start);
            first.warn(
                "repeated-call",
                line(start),
                "the request of an earlier call again, retried or abandoned; left out",
            );
        }
        if found.without_content > 0 {
            first.warn(
                "call-without-content",
                "gen_ai.input.messages",
                format!("{} call(s) without content; left out", found.without_content),
            );
        }
        if let Some(start) = found.damaged.first() {
            let count = found.damaged.len();
            first.warn(
                "damaged-line",
                line(*start),
                format!("{count} line(s) are not JSON; left out, the first here"),
            );
        }
    }
    Ok(sessions)
}
