"""The view of every call, made again from the log and the plans."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from session import Message, Session


@dataclass(eq=False)
class Shown:
    """A message with the texts that stand in the place of some of its parts."""

    message: Message
    # Position in the history; None for a message that a layout inserted.
    pos: int | None
    edits: dict[int, tuple[str, str]] = field(default_factory=dict)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Same content, same key: what a prompt cache compares."""
        if self.pos is None:
            return ("insert", self.message.id, self.message.role, self.message.parts[0].shown)
        return (self.pos, *((part, text) for part, (_, text) in sorted(self.edits.items())))

    @cached_property
    def texts(self) -> list[str]:
        """What each part shows."""
        parts = enumerate(self.message.parts)
        return [self.edits[i][1] if i in self.edits else part.shown for i, part in parts]

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the role and, behind a zero byte each, of what the parts show."""
        return hashlib.sha256("\0".join([self.message.role, *self.texts]).encode()).digest()

    @cached_property
    def tokens(self) -> int:
        edited = self.edits.items()
        parts = self.message.parts
        change = sum(parts[i].tokens_with(text) - parts[i].tokens for i, (_, text) in edited)
        return self.message.tokens + change


def inserted(insert: dict[str, Any]) -> Message:
    """The message that an insert of a layout shows."""
    part = {"type": "text", "text": insert["text"], "synthetic": True}
    origin = {"entry": insert["origin"]}
    return Message({"id": insert["id"], "role": insert["role"], "origin": origin, "parts": [part]})


class History:
    """The log and what compactions wrote, and the view of it."""

    def __init__(self) -> None:
        self.items: list[Shown] = []
        self.slots: list[int | Shown] = []
        self.tail_from = 0

    def append(self, message: Message) -> None:
        self.items.append(Shown(message, len(self.items)))

    def fold(self, plan: dict[str, Any]) -> None:
        """Puts a plan in force."""
        if plan["history_len"] != len(self.items):
            raise ValueError(f"fold {plan['id']} is said to stand elsewhere")
        for edit in plan["edits"]:
            pos, part = edit["at"]["item"], edit["at"]["part"]
            before = self.items[pos]
            edits = {**before.edits, part: (edit["kind"], edit["text"])}
            self.items[pos] = Shown(before.message, pos, edits)
        for entry in plan.get("entries", []):
            self.append(Message(entry))
        layout = plan.get("layout")
        if layout is None:
            return
        self.slots = []
        for slot in layout["slots"]:
            if "keep" in slot:
                self.slots.extend(range(slot["keep"]["start"], slot["keep"]["end"]))
            else:
                self.slots.append(Shown(inserted(slot["insert"]), None))
        self.tail_from = layout["tail_from"]

    def view(self) -> list[Shown]:
        """What a request sent now would show, in order."""
        slots = [self.items[slot] if isinstance(slot, int) else slot for slot in self.slots]
        return slots + self.items[self.tail_from :]


@dataclass
class Call:
    """A recorded call, as a preset would have sent it."""

    number: int
    answer: Message
    view: list[Shown]
    input_tokens: int
    start_ms: int | None
    turn: int


def digest(view: list[Shown]) -> str:
    """What two views have in common if they are the same to the last character."""
    return hashlib.sha256(b"".join(shown.digest for shown in view)).hexdigest()


@dataclass
class Written:
    """Summaries that folds wrote since the call before."""

    # Number of the call that came next.
    call: int
    tokens: int


def written(plans: list[dict[str, Any]]) -> list[Written]:
    """What of summaries is new in the view, for the calls before which some were written."""
    out: dict[int, Written] = {}
    seen: set[str] = set()
    asked: set[int] = set()
    for plan in plans:
        new = [Message(entry) for entry in plan.get("entries", []) if is_summary(entry)]
        for slot in (plan.get("layout") or {"slots": []})["slots"]:
            insert = slot.get("insert")
            if insert and insert["origin"] == "summary" and insert["id"] not in seen:
                seen.add(insert["id"])
                new.append(inserted(insert))
        if plan.get("summaries"):
            asked.add(plan["call"])
        line = out.setdefault(plan["call"], Written(plan["call"], 0))
        line.tokens += sum(message.tokens for message in new)
    return [line for line in out.values() if line.call in asked]


def is_summary(entry: dict[str, Any]) -> bool:
    origin = entry.get("origin")
    return isinstance(origin, dict) and origin.get("entry") == "summary"


def calls(session: Session, plans: list[dict[str, Any]]) -> Iterator[Call]:
    """The calls of a session with their views, in order."""
    history = History()
    waiting = list(plans)
    number = turn = 0
    in_turn = answered = False
    latest: int | None = None
    results_until = last_results(session)
    for ordinal, message in enumerate(session.log):
        while waiting and waiting[0]["history_len"] == len(history.items):
            history.fold(waiting.pop(0))
        if message.is_call:
            view = history.view()
            size = session.frame_tokens + sum(shown.tokens for shown in view)
            yield Call(number, message, view, size, sent_at(message, latest), turn)
            number += 1
            in_turn = answered = True
        elif ordinal < results_until.get(number, 0):
            # The user speaks between the results of one answer.
            pass
        elif message.begins_turn and (answered or not in_turn):
            turn += 1
            in_turn, answered = True, False
        history.append(message)
        latest = message.raw.get("at")
    while waiting:
        history.fold(waiting.pop(0))


def last_results(session: Session) -> dict[int, int]:
    """By number of calls so far, the ordinal of the last result of the latest before the next."""
    out: dict[int, int] = {}
    answered = 0
    wanted: set[str] = set()
    for ordinal, message in enumerate(session.log):
        if message.is_call:
            answered += 1
            wanted = {part.raw["call_id"] for part in message.parts if part.kind == "call"}
        results = [part for part in message.parts if part.kind == "result"]
        if any(part.raw["call_id"] in wanted for part in results):
            out[answered] = ordinal
    return out


def sent_at(answer: Message, latest: int | None) -> int | None:
    """When a request was sent: as recorded, else when the message before it was stored."""
    times = [answer.answer.get("started"), latest, answer.raw.get("at")]
    return next((time for time in times if time is not None), None)
