//! What a session holds, as lists of facts that can be distinguished.

use crate::fit;
use crate::prelude::*;
use std::borrow::Cow;

type Facts<'a> = Vec<Cow<'a, str>>;

/// One kind of fact.
pub(super) struct Kind {
    /// Its name, for one and for several.
    pub(super) what: [&'static str; 2],
    /// All facts of a session, equal ones repeated.
    pub(super) of: for<'a> fn(&'a Session) -> Facts<'a>,
    /// Whether a text counts as kept inside a longer one: texts get joined.
    joined: bool,
}

const fn kind(
    one: &'static str,
    many: &'static str,
    of: for<'a> fn(&'a Session) -> Facts<'a>,
) -> Kind {
    Kind { what: [one, many], of, joined: false }
}

const fn joined(kind: Kind) -> Kind {
    Kind { joined: true, ..kind }
}

/// Every kind of fact, the weightiest first.
pub(super) const KINDS: &[Kind] = &[
    joined(kind("text", "texts", |session| said(session).map(|(_, text)| text.into()).collect())),
    kind("blank text", "blank texts", |session| {
        in_parts(session, |kind| match kind {
            PartKind::Text { text, ignored: false, .. } if text.trim().is_empty() => {
                Some("".into())
            }
            _ => None,
        })
    }),
    kind("message with nothing in it", "messages with nothing in them", |session| {
        let empty = session.log().filter(|message| message.parts.is_empty());
        empty.map(|message| message.role.as_str().into()).collect()
    }),
    // Arguments are compared as JSON: writers may space them otherwise, and spell none in two ways.
    kind("tool call", "tool calls", |session| {
        let arguments = |call: &ToolCall| match call.arguments.trim() {
            "" => json!({}),
            _ => call.arguments_value(),
        };
        calls(session).map(|call| format!("{} {}", call.tool, arguments(call)).into()).collect()
    }),
    joined(kind("tool result", "tool results", |session| {
        let calls: BTreeSet<&str> = calls(session).map(|call| &*call.call_id).collect();
        let answers = results(session).filter(|result| calls.contains(&*result.call_id));
        answers.map(|result| result.text.as_str().into()).collect()
    })),
    kind("result without a call", "results without a call", |session| {
        fit::orphans(&log(session)).iter().map(|_| "".into()).collect()
    }),
    kind(
        "message between a call and its result (it stands behind the result now)",
        "messages between a call and its result (they stand behind the result now)",
        |session| fit::between(&log(session)).iter().map(|_| "".into()).collect(),
    ),
    kind("id of a tool call", "ids of tool calls", |session| {
        calls(session).map(|call| call.call_id.as_str().into()).collect()
    }),
    // The call that a result answers, by its number: ids may change.
    kind("join of a result with its call", "joins of results with their calls", |session| {
        let numbers: BTreeMap<&str, usize> =
            (0..).zip(calls(session)).map(|(number, call)| (&*call.call_id, number)).collect();
        let joined = results(session).filter_map(|result| numbers.get(&*result.call_id));
        joined.map(|number| number.to_string().into()).collect()
    }),
    joined(kind("reasoning text", "reasoning texts", |session| {
        in_parts(session, |kind| match kind {
            PartKind::Reasoning { text, .. } if !text.is_empty() => Some(text.into()),
            _ => None,
        })
    })),
    kind("reasoning signature", "reasoning signatures", |session| {
        in_parts(session, |kind| match kind {
            PartKind::Reasoning { opaque, .. } => Some(opaque.as_ref()?.into()),
            _ => None,
        })
    }),
    // It goes back in another form than a signature.
    kind(
        "mark of reasoning that its provider hid",
        "marks of reasoning that its provider hid",
        |session| {
            let hidden = parts(session).filter_map(|part| match &part.kind {
                PartKind::Reasoning { opaque: Some(opaque), .. } if part.redacted => {
                    Some(opaque.as_str().into())
                }
                _ => None,
            });
            hidden.collect()
        },
    ),
    kind("file or image", "files and images", files),
    kind("part of an unknown type", "parts of unknown types", |session| unknown(session, false)),
    kind(
        "compaction that only its provider takes",
        "compactions that only their provider takes",
        |session| unknown(session, true),
    ),
    joined(kind("system prompt around the history", "system prompts around the history", prompts)),
    kind("tool definition", "tool definitions", tools),
    kind("other segment around the history", "other segments around the history", |session| {
        segments(session, |kind| !matches!(kind, SegmentKind::System | SegmentKind::Tools))
    }),
    kind(
        "message that the recorder's compaction wrote",
        "messages that the recorder's compactions wrote",
        |session| {
            let written = session.messages.iter().filter_map(|message| match message.origin {
                Origin::Entry(kind) => Some(format!("{kind:?} {}", message.shown_text()).into()),
                Origin::Log => None,
            });
            written.collect()
        },
    ),
    kind("compaction boundary", "compaction boundaries", |session| {
        let describe = |made: &Boundary| {
            let Boundary { kind, trigger, tokens_before, tokens_after, .. } = made;
            format!("{kind} {trigger} {tokens_before:?} {tokens_after:?}").into()
        };
        session.boundaries.iter().map(describe).collect()
    }),
    kind(
        "mark of a cleared result (its content is written in full)",
        "marks of cleared results (their content is written in full)",
        |session| {
            let describe = |mark: &Cleared| {
                let part = session.messages.get(mark.at.item)?.parts.get(mark.at.part)?;
                Some(format!("{} {}", mark.time, part.shown()).into())
            };
            session.cleared.iter().filter_map(describe).collect()
        },
    ),
    kind(
        "state of a result that did not complete",
        "states of results that did not complete",
        |session| {
            let states = results(session).map(|result| result.status);
            let states = states.filter(|status| *status != ResultStatus::Completed);
            states.map(|status| format!("{status:?}").into()).collect()
        },
    ),
    kind("result with structured content", "results with structured content", |session| {
        results(session)
            .filter_map(|result| Some(result.structured.as_ref()?.to_string().into()))
            .collect()
    }),
    kind("token count of a call", "token counts of calls", |session| {
        in_answers(session, |answer| {
            let usage = answer.usage.filter(|usage| !usage.is_zero())?;
            let output = usage.output_total();
            let classes = [usage.uncached, usage.cache_read, usage.cache_write, output];
            Some(format!("{classes:?}").into())
        })
    }),
    kind(
        "count of reasoning tokens apart from the output",
        "counts of reasoning tokens apart from the output",
        |session| counts(session, |usage| usage.reasoning),
    ),
    kind(
        "count of tokens in a cache of one hour",
        "counts of tokens in a cache of one hour",
        |session| counts(session, |usage| usage.cache_write_1h),
    ),
    kind(
        "usage of a compaction of the provider's own",
        "usages of compactions of the provider's own",
        |session| in_answers(session, |answer| Some(format!("{:?}", answer.compaction?).into())),
    ),
    kind("answer beside the log", "answers beside the log", |session| {
        session.unlogged.iter().map(|answer| format!("{answer:?}").into()).collect()
    }),
    kind("way in which a call was served", "ways in which calls were served", |session| {
        let unusual = |answer: &Answer| answer.service != Service::Standard;
        in_answers(session, |answer| {
            unusual(answer).then(|| format!("{:?}", answer.service).into())
        })
    }),
    kind("timestamp", "timestamps", |session| {
        session.log().filter_map(|message| Some(message.at?.to_string().into())).collect()
    }),
    kind("reason why the model stopped", "reasons why the model stopped", |session| {
        in_answers(session, |answer| Some(format!("{:?}", answer.finish?).into()))
    }),
    kind("model name of a call", "model names of calls", |session| {
        in_answers(session, |answer| Some(answer.model.as_ref()?.into()))
    }),
    kind("provider name of a call", "provider names of calls", |session| {
        in_answers(session, |answer| Some(answer.provider.as_ref()?.into()))
    }),
    kind("error of a call", "errors of calls", |session| {
        in_answers(session, |answer| Some(answer.error.as_ref()?.into()))
    }),
    kind("start or end time of a call", "start and end times of calls", |session| {
        let started = in_answers(session, |call| Some(format!("started {}", call.started?).into()));
        let ended = in_answers(session, |call| Some(format!("ended {}", call.ended?).into()));
        [started, ended].concat()
    }),
    // Speakers of messages, by their number: a text that is lost is not lost twice.
    kind("speaker of a text", "speakers of texts", |session| {
        let spoken = session.log().filter(|message| !message.said().is_empty());
        spoken.map(|message| message.role.as_str().into()).collect()
    }),
    kind("beginning of a user turn", "beginnings of user turns", |session| {
        let beginnings = session.log().filter(|message| message.begins_turn());
        beginnings.map(|message| message.said().into()).collect()
    }),
    kind(
        "mark of a text that the harness wrote",
        "marks of texts that the harness wrote",
        |session| {
            let marked = said(session).filter(|(synthetic, _)| *synthetic);
            marked.map(|(_, text)| text.into()).collect()
        },
    ),
    kind(
        "text that was stored and never sent",
        "texts that were stored and never sent",
        |session| {
            in_parts(session, |kind| match kind {
                PartKind::Text { text, ignored: true, .. } => Some(text.into()),
                _ => None,
            })
        },
    ),
    kind(
        "border between texts, or order of parts",
        "borders between texts, or orders of parts",
        |session| {
            let several = session.log().filter(|message| message.parts.len() > 1);
            several
                .map(|message| {
                    let kinds: Vec<&str> = message.parts.iter().map(Part::kind_name).collect();
                    format!("{} {}", message.role.as_str(), kinds.join(" ")).into()
                })
                .collect()
        },
    ),
    kind("message id", "message ids", |session| {
        session.log().map(|message| message.id.as_str().into()).collect()
    }),
    kind("link to a parent message", "links to parent messages", |session| {
        session.log().filter_map(|message| Some(message.parent.as_ref()?.into())).collect()
    }),
    kind("agent name", "agent names", |session| {
        session.log().filter_map(|message| Some(message.agent.as_ref()?.into())).collect()
    }),
    kind("annotation of a message", "annotations of messages", |session| {
        let annotations = session.log().flat_map(|message| &message.annotations);
        annotations.map(|(name, value)| format!("{name}: {value}").into()).collect()
    }),
    kind("session id", "session ids", |session| vec![session.id.as_str().into()]),
    kind("model name of the session", "model names of sessions", |session| {
        session.model.iter().map(Cow::from).collect()
    }),
    kind("limit of the model", "limits of the model", |session| {
        let Limits { context, input, output, .. } = session.limits;
        let limits = [("context", context), ("input", input), ("output", output)].into_iter();
        let stated = limits.filter(|(_, tokens)| *tokens > 0);
        stated.map(|(which, tokens)| format!("{which} {tokens}").into()).collect()
    }),
    kind("name of the repository or task", "names of the repository or task", |session| {
        session.cluster.iter().map(Cow::from).collect()
    }),
];

impl Kind {
    /// The number of facts of `before` that `after` lacks.
    pub(super) fn lost(&self, before: &Session, after: &Session) -> usize {
        let mut left: BTreeMap<Cow<'_, str>, usize> = BTreeMap::new();
        for fact in (self.of)(after) {
            *left.entry(fact).or_default() += 1;
        }
        let mut missing = Vec::new();
        for fact in (self.of)(before) {
            match left.get_mut(&fact) {
                Some(count) if *count > 0 => *count -= 1,
                _ => missing.push(fact),
            }
        }
        if self.joined {
            left.retain(|_, count| *count > 0);
            // A system message that opens a session is its prompt in formats that know no other.
            let longer: Vec<Cow<'_, str>> = left.into_keys().chain(prompts(after)).collect();
            missing.retain(|text| !longer.iter().any(|longer| longer.contains(&**text)));
        }
        missing.len()
    }
}

fn log(session: &Session) -> Vec<&Message> {
    session.log().map(|message| &**message).collect()
}

fn parts(session: &Session) -> impl Iterator<Item = &Part> {
    session.log().flat_map(|message| &message.parts)
}

fn calls(session: &Session) -> impl Iterator<Item = &ToolCall> {
    parts(session).filter_map(Part::as_call)
}

fn results(session: &Session) -> impl Iterator<Item = &ToolResult> {
    parts(session).filter_map(Part::as_result)
}

/// What `of` finds in the parts.
fn in_parts(session: &Session, of: fn(&PartKind) -> Option<Cow<'_, str>>) -> Facts<'_> {
    parts(session).filter_map(|part| of(&part.kind)).collect()
}

/// Parts of unknown types: compactions of the provider's own, or all others.
fn unknown(session: &Session, compacts: bool) -> Facts<'_> {
    let wanted = parts(session).filter(|part| part.is_compaction() == compacts);
    let raw = wanted.filter_map(|part| match &part.kind {
        PartKind::Unknown { raw, .. } => Some(raw.to_string().into()),
        _ => None,
    });
    raw.collect()
}

/// What `of` finds in the answers.
fn in_answers(session: &Session, of: impl Fn(&Answer) -> Option<Cow<'_, str>>) -> Facts<'_> {
    session.log().filter_map(|message| of(message.answer.as_ref()?)).collect()
}

/// The token counts of answers, without zeros.
fn counts(session: &Session, of: fn(&Usage) -> u64) -> Facts<'_> {
    in_answers(session, |answer| {
        let count = Some(of(&answer.usage?)).filter(|count| *count > 0)?;
        Some(count.to_string().into())
    })
}

/// The texts that are sent, each with whether the harness wrote it in the user's name.
fn said(session: &Session) -> impl Iterator<Item = (bool, &str)> {
    parts(session).filter_map(|part| match &part.kind {
        PartKind::Text { text, synthetic, ignored: false } if !text.trim().is_empty() => {
            Some((*synthetic, text.as_str()))
        }
        _ => None,
    })
}

/// A file by its content: names and `data:` prefixes are spelled in many ways.
fn files(session: &Session) -> Facts<'_> {
    let media = parts(session).flat_map(|part| match &part.kind {
        PartKind::File(media) => std::slice::from_ref(media),
        PartKind::Result(result) => &result.media,
        _ => &[],
    });
    media
        .map(|media| media.url.split_once(";base64,").map_or(&*media.url, |(_, data)| data).into())
        .collect()
}

fn segments(session: &Session, wanted: fn(&SegmentKind) -> bool) -> Facts<'_> {
    let segments = session.frame.segments().iter().filter(|segment| wanted(&segment.kind));
    segments.map(|segment| segment.text.as_str().into()).collect()
}

fn prompts(session: &Session) -> Facts<'_> {
    let mut found = segments(session, |kind| *kind == SegmentKind::System);
    found.retain(|text| !text.is_empty());
    found
}

/// Tools by name, if the definitions are in a known shape.
fn tools(session: &Session) -> Facts<'_> {
    segments(session, |kind| *kind == SegmentKind::Tools)
        .into_iter()
        .flat_map(|text| match serde_json::from_str(&text) {
            Ok(Value::Array(tools)) => tools.iter().flat_map(names).collect(),
            _ => vec![text.into_owned()],
        })
        .map(Cow::Owned)
        .collect()
}

fn names(tool: &Value) -> Vec<String> {
    if let Some(declared) = tool.get("functionDeclarations").and_then(Value::as_array) {
        return declared.iter().flat_map(names).collect();
    }
    let inner = tool.get("function").unwrap_or(tool);
    let name = value::first_string(inner, &["name", "type"]);
    vec![name.unwrap_or_else(|| tool.to_string())]
}
