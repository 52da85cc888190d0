"""What the recorders really sent, and what it would have cost under every regime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bill import Bill, Terms, input_usd, output_tokens
from session import Session
from view import Call

# Usage is believed where this share of the calls has it.
LEAST_SHARE = 0.9

NAME = "as-recorded"


@dataclass(frozen=True)
class Request:
    """A request of the recorder, in tokens of the measure."""

    tokens: int
    read: int


def requests(session: Session, calls: list[Call]) -> list[Request] | None:
    """The requests of a recorder that compacted; None where its usage does not tell."""
    told = [call.answer.sent for call in calls]
    known = sum(size is not None for size in told)
    if session.is_headless or session.scale is None or known < LEAST_SHARE * len(calls):
        return None
    out: list[Request] = []
    for call, size in zip(calls, told, strict=True):
        if size is None:
            out.append(out[-1] if out else Request(call.input_tokens, 0))
            continue
        tokens = session.scale.under(size)
        read = min((call.answer.usage or {}).get("cache_read", 0), size)
        out.append(Request(tokens, tokens * read // size))
    return out


def summaries(session: Session, calls: list[Call], sent: list[Request]) -> list[tuple[int, int]]:
    """Input and output of the requests for the recorder's own summaries, estimated where no usage is recorded."""
    out: list[tuple[int, int]] = []
    number = 0
    for message in session.messages:
        if message.is_call:
            number += 1
        elif message.raw.get("origin") == {"entry": "summary"} and 0 < number <= len(sent):
            usage = (message.raw.get("answer") or {}).get("usage") or {}
            taken, made = (
                sum(usage.get(name, 0) for name in names)
                for names in (("uncached", "cache_read", "cache_write"), ("output", "reasoning"))
            )
            if session.scale is not None and taken + made > 0:
                out.append((session.scale.under(taken), made))
                continue
            asked = sent[number - 1].tokens + output_tokens(calls[number - 1])
            out.append((asked, message.tokens))
    return out


def sealed(session: Session, sent: list[Request]) -> list[Request]:
    """The requests before compactions of the provider's, whose summaries only it can read: they are sent once more."""
    ends = [boundary["before"] for boundary in session.boundaries if boundary["kind"] == "sealed"]
    numbers = [sum(message.is_call for message in session.messages[:end]) for end in ends]
    return [sent[number - 1] for number in numbers if 0 < number <= len(sent)]


def is_plain(theirs: list[dict[str, Any]], plain: list[dict[str, Any]]) -> bool:
    """Whether foldback takes the recorder for one that never compacted."""
    sizes = [row["input_tokens"] for row in theirs]
    return sizes == [row["input_tokens"] for row in plain] and bool(sizes)


def bill(
    sent: list[Request],
    outputs: list[int],
    asked: list[tuple[int, int]],
    again: list[Request],
    terms: Terms,
) -> Bill:
    def read(request: Request) -> int:
        return min(terms.cacheable(request.read), terms.cacheable(request.tokens))

    out = Bill()
    for request, output in zip(sent, outputs, strict=True):
        out.add_request(request.tokens, read(request), output, terms)
        out.read_tokens.append(read(request))
    out.add_summaries(asked, terms)
    out.summaries_usd += sum(input_usd(one.tokens, read(one), terms) for one in again)
    return out
