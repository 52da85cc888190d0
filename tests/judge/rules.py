"""Rules: sentences of the user's that forbid or demand something, and whether a view still has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from references import components, found, suffixes
from texts import Log, Place, Standing

RULE = re.compile(
    r"\b(?:never|always|must not|mustn['’]t|may not|from now on)\b"  # noqa: RUF001
    r"|(?:^|[^\w\s]|\b(?:please|and|but|or|also|just|then|so))\s*\b(?:do not|don['’]t)\b",  # noqa: RUF001
    re.IGNORECASE,
)
END = re.compile(r"[。！？]|[.!?](?=\s)")  # noqa: RUF001


def sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        rest = line.strip()
        while rest:
            ends = (
                end.end() for end in END.finditer(rest, 0, len(rest)) if ends_one(rest, end.end())
            )
            at = next(ends, len(rest))
            yield rest[:at].rstrip()
            rest = rest[at:].lstrip()


def ends_one(text: str, at: int) -> bool:
    """Whether the sign before this place ends a sentence: no abbreviation, and no number of a list."""
    if text[at - 1] != ".":
        return True
    behind, before = text[at:].lstrip(), text[: at - 1]
    return not behind[:1].islower() and re.fullmatch("[0-9]*", before) is None


@cache
def says(text: str) -> frozenset[str]:
    """The identifiers that a text makes present because they are in it, or in one of its paths."""
    return frozenset(
        name
        for kind, said in found(text)
        for name in (suffixes(said) if kind == "path" else (said,))
    )


@cache
def paths(text: str) -> frozenset[str]:
    """The paths of a text that make longer ones present."""
    return frozenset(said for kind, said in found(text) if kind == "path" and components(said) >= 2)


@dataclass
class Rule:
    text: str
    names: frozenset[tuple[str, str]]
    # Number of the first part of the log that says it, and all those parts.
    first: int
    places: list[Place]

    def said_in(self, texts: list[str]) -> bool:
        """Whether these make all of its names present."""
        return bool(self.names) and all(
            any(
                name in says(text)
                or (kind == "path" and not paths(text).isdisjoint(suffixes(name)[1:]))
                for text in texts
            )
            for kind, name in self.names
        )


class Rules:
    """The rules of a session, each once, in the order in which they were given."""

    def __init__(self, log: Log) -> None:
        self.log = log
        by_text: dict[str, Rule] = {}
        for number, place in enumerate(log.places):
            raw = log.session.log[place.ordinal].parts[place.part].raw
            ours = place.role == "user" and raw["type"] == "text" and place.text.strip()
            if not ours or raw.get("synthetic") or raw.get("ignored"):
                continue
            for sentence in filter(RULE.search, sentences(place.text)):
                rule = by_text.setdefault(sentence, Rule(sentence, found(sentence), number, []))
                rule.places.append(place)
        self.rules = list(by_text.values())

    def kept(self, call: int, standing: Standing) -> Iterator[tuple[bool, bool]]:
        """Of each rule before a call, whether it is in view word for word, and whether by its names."""
        _, until = self.log.calls[call]
        given = [rule for rule in self.rules if rule.first < until]
        if not given:
            return
        texts = [place.text for place in self.log.places if standing.shows(place)]
        texts += sorted(standing.written)
        for rule in given:
            kept = any(standing.shows(place) for place in rule.places)
            kept = kept or any(rule.text in text for text in standing.written)
            yield kept, rule.said_in(texts)
