"""Verbatim reuse: pieces of a call's arguments that a tool had said word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from references import FAR
from texts import Log, Place, Standing, arguments, leaves

LEAST = 16
WORD = re.compile(r"\w+")
# Something like a name, a number or a path.
TELLING = re.compile(r"\d|_|[a-z][A-Z]|\w(?:[/\\.@#-]|::?)\w")
# Parts of a text are kept apart by something that no text holds.
SEAM = "\x00"


def holds(text: str, piece: str) -> bool:
    """Whether a text has a piece from the start of a word to the end of one."""
    at = text.find(piece)
    while at >= 0:
        end = at + len(piece)
        before, behind = text[at - 1 : at] if at else "", text[end : end + 1]
        if not WORD.match(before) and not WORD.match(behind):
            return True
        at = text.find(piece, at + 1)
    return False


@dataclass(frozen=True)
class Piece:
    """A piece that a call reuses, and the tool results that hold it."""

    text: str
    distance: int
    places: tuple[Place, ...]

    @property
    def far(self) -> bool:
        return self.distance > FAR

    def kept(self, standing: Standing) -> bool:
        if any(standing.shows(place) for place in reversed(self.places)):
            return True
        return any(holds(text, self.text) for text in standing.written)


class Results:
    """The tool results so far, and where their words start."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.known: dict[str, int] = {}
        self.starts: dict[str, list[tuple[int, int]]] = {}

    def add(self, place: Place) -> None:
        self.places.append(place)
        text = place.text
        # A text that came before is found where it stood first.
        if text in self.known:
            return
        number = self.known[text] = len(self.places) - 1
        for word in WORD.finditer(text):
            seed = text[word.start() : word.start() + LEAST]
            if len(seed) == LEAST:
                self.starts.setdefault(seed, []).append((number, word.start()))

    def holding(self, piece: str) -> tuple[Place, ...]:
        return tuple(place for place in self.places if holds(place.text, piece))

    def longest(self, text: str) -> Iterator[tuple[int, int]]:
        """The maximal spans of a text, from word start to word end, that a result holds."""
        # By result and offset between the two texts: up to where they were found to be the same.
        same: dict[tuple[int, int], int] = {}
        reached = 0
        ends = {word.end() for word in WORD.finditer(text)}
        for word in WORD.finditer(text):
            start = word.start()
            best = 0
            for number, at in self.starts.get(text[start : start + LEAST], ()):
                other = self.places[number].text
                diagonal = (number, at - start)
                until = same.get(diagonal, 0)
                if until <= start:
                    until = same[diagonal] = start + common(text, start, other, at)
                best = max(best, last_end(ends, start, until, other, at - start))
            if best - start >= LEAST and best > reached:
                reached = best
                yield start, best


def common(one: str, at: int, other: str, there: int) -> int:
    """How many characters are the same from two places on."""
    low, high = 0, min(len(one) - at, len(other) - there)
    step = 64
    while low < high and one[at + low : at + low + step] == other[there + low : there + low + step]:
        low += step
        step *= 2
    low, high = min(low, high), min(low + step, high)
    while low < high:
        middle = (low + high + 1) // 2
        if one[at + low : at + middle] == other[there + low : there + middle]:
            low = middle
        else:
            high = middle - 1
    return low


def last_end(ends: set[int], start: int, until: int, other: str, shift: int) -> int:
    """The last end of a word, in both texts, that is not behind `until`."""
    for end in range(until, start, -1):
        behind = other[end + shift : end + shift + 1]
        if end in ends and not (behind and WORD.match(behind)):
            return end
    return 0


def pieces(log: Log) -> list[list[Piece]]:
    """By call, the pieces that it reuses."""
    results = Results()
    said = ""
    out = []
    at = 0
    for call, (answer, until) in enumerate(log.calls):
        for place in log.places[at:until]:
            if place.role == "tool":
                results.add(place)
            elif place.role in ("user", "assistant"):
                said += SEAM + place.text
        at = until
        texts = dict.fromkeys(
            leaf for part in answer.parts if part.kind == "call" for leaf in leaves(arguments(part))
        )
        names = dict.fromkeys(
            text[start:end] for text in texts for start, end in results.longest(text)
        )
        out.append(
            [
                Piece(name, call + 1 - holding[-1].answers, holding)
                for name in names
                if TELLING.search(name) and not holds(said, name)
                if (holding := results.holding(name))
            ]
        )
    return out
