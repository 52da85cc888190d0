"""What the recorders really sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bill import Asked, Sent, output_tokens, web_searches
from session import Session, input_total, output_total
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


def summaries(session: Session, calls: list[Call], sent: list[Request]) -> list[Asked]:
    """The requests for the recorder's own summaries, estimated where no usage is recorded."""
    out: list[Asked] = []
    number = 0
    for message in session.messages:
        if message.is_call:
            number += 1
        elif message.raw.get("origin") == {"entry": "summary"} and 0 < number <= len(sent):
            usage = (message.raw.get("answer") or {}).get("usage") or {}
            taken, made = input_total(usage), output_total(usage)
            if session.scale is not None and taken + made > 0:
                out.append(Asked(number, session.scale.under(taken), made))
                continue
            asked = sent[number - 1].tokens + output_tokens(calls[number - 1])
            out.append(Asked(number, asked, message.tokens))
    return out + sealed(session, sent)


def sealed(session: Session, sent: list[Request]) -> list[Asked]:
    """The requests before compactions of the provider's, whose summaries only it can read: they are sent once more."""
    ends = [boundary["before"] for boundary in session.boundaries if boundary["kind"] == "sealed"]
    numbers = [sum(message.is_call for message in session.messages[:end]) for end in ends]
    sizes = [(number, sent[number - 1].tokens) for number in numbers if 0 < number <= len(sent)]
    return [Asked(number, tokens, 0, shared=tokens) for number, tokens in sizes]


def blocks(session: Session, calls: list[Call], sent: list[Request]) -> list[Sent]:
    """The requests as their cache sees them: a block for what each call added, behind the frame."""
    out: list[Sent] = []
    held: list[tuple[Any, int]] = []
    for number, (call, request) in enumerate(zip(calls, sent, strict=True)):
        size, frame = request.tokens, min(session.frame_tokens, request.tokens)
        if held and size < sum(tokens for _, tokens in held):
            kept = min(max(request.read, frame), size)
            while held and sum(tokens for _, tokens in held) > kept:
                held.pop()
        for end in (frame, size):
            before = sum(tokens for _, tokens in held)
            if end > before:
                held.append(((number, end), end - before))
        searches = web_searches(call.answer.answer)
        out.append(Sent(list(held), call.start_ms, call.turn, output_tokens(call), searches))
    return out


def is_plain(theirs: list[dict[str, Any]], plain: list[dict[str, Any]]) -> bool:
    """Whether foldback takes the recorder for one that never compacted."""
    sizes = [row["input_tokens"] for row in theirs]
    return sizes == [row["input_tokens"] for row in plain] and bool(sizes)
