"""Texts of a session as later calls may refer to them, and where they stand in a view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from session import Message, Part, Session
from view import Call, Shown


def no_constant(name: str) -> Any:
    raise ValueError(name)


def arguments(part: Part) -> Any:
    """The arguments of a call as JSON; text that is none is a string."""
    try:
        return json.loads(part.shown, parse_constant=no_constant)
    except ValueError:
        return part.shown


def leaves(value: Any) -> Iterator[str]:
    """The strings and numbers in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from leaves(member)
    elif isinstance(value, list):
        for member in value:
            yield from leaves(member)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def names(value: Any) -> Iterator[str]:
    """The names of the members of all objects in a JSON value."""
    if isinstance(value, dict):
        yield from value
        for member in value.values():
            yield from names(member)
    elif isinstance(value, list):
        for member in value:
            yield from names(member)


def content(part: Part) -> str:
    """What a part says: of a call its arguments without JSON's syntax, one value a line."""
    if part.kind != "call":
        return part.shown
    return "".join(leaf + "\n" for leaf in leaves(arguments(part)))


@dataclass(frozen=True)
class Place:
    """A part of the log and what it says."""

    ordinal: int
    part: int
    role: str
    text: str
    # Calls that were answered when the part came, its own included.
    answers: int


class Log:
    """The parts of a session's log, in order."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.places: list[Place] = []
        # By call: its answer, and the number of places before it.
        self.calls: list[tuple[Message, int]] = []
        for ordinal, message in enumerate(session.log):
            if message.is_call:
                self.calls.append((message, len(self.places)))
            for index, part in enumerate(message.parts):
                said = content(part)
                place = Place(ordinal, index, message.role, said, len(self.calls))
                self.places.append(place)

    @cached_property
    def by_message(self) -> dict[int, list[Place]]:
        """The places of each message of the log."""
        out: dict[int, list[Place]] = {}
        for place in self.places:
            out.setdefault(id(self.session.log[place.ordinal]), []).append(place)
        return out


class Standing:
    """What a view shows: parts as they were recorded, and texts that compactions wrote or cut."""

    def __init__(self, log: Log, view: list[Shown]) -> None:
        self.original: set[tuple[int, int]] = set()
        self.written: set[str] = set()
        for shown in view:
            places = log.by_message.get(id(shown.message))
            if places is None:
                self.written.update(shown.texts)
                continue
            for place in places:
                if place.part in shown.edits:
                    self.written.add(shown.edits[place.part][1])
                else:
                    self.original.add((place.ordinal, place.part))

    def shows(self, place: Place) -> bool:
        return (place.ordinal, place.part) in self.original


def standings(log: Log, calls: list[Call]) -> Iterator[tuple[Call, Standing]]:
    for call in calls:
        yield call, Standing(log, call.view)
