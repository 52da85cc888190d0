"""References: identifiers in the arguments of calls, and whether a view still has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache

from identifiers import Found, identifiers, telling
from texts import Log, Place, Standing, arguments, names

FAR = 3


@lru_cache(maxsize=100_000)
def found(text: str) -> frozenset[Found]:
    return frozenset(identifiers(text))


@cache
def suffixes(path: str) -> tuple[str, ...]:
    """The suffixes of a path on component boundaries, the path itself first."""
    cuts = [at + 1 for at, char in enumerate(path) if char in "/\\"]
    return (path, *(path[cut:] for cut in cuts if path[cut:]))


@cache
def components(path: str) -> int:
    return sum(1 for part in path.replace("\\", "/").split("/") if part)


@dataclass(frozen=True)
class Reference:
    """An identifier that a call needs."""

    identifier: str
    # Calls since it last stood in the log; 1 for what the call before brought.
    distance: int
    # No text or arguments of the model had it before.
    observed: bool
    places: tuple[Place, ...]

    @property
    def far(self) -> bool:
        return self.distance > FAR


@dataclass
class Seen:
    """Where an identifier stood so far."""

    places: list[Place] = field(default_factory=list)
    by_model: bool = False


class Common:
    """The whole numbers that a session has said so far, and who was first to say a flag."""

    def __init__(self) -> None:
        self.numbers: dict[int, set[str]] = {}
        self.flags: dict[str, str] = {}

    def take(self, place: Place) -> None:
        for kind, text in found(place.text):
            if kind == "number" and text.isdigit():
                self.numbers.setdefault(len(text), set()).add(text)
            elif kind == "flag":
                self.flags.setdefault(text, place.role)

    def explains(self, kind: str, text: str) -> bool:
        """Whether chance does, or what everybody knows."""
        if kind == "number" and text.isdigit():
            all_of_them = 9 * 10 ** (len(text) - 1)
            return bool(3 * len(self.numbers.get(len(text), ())) >= all_of_them)
        return kind == "flag" and self.flags.get(text) == "assistant"


class References:
    """What the calls of a session refer to. No preset can change any of it."""

    def __init__(self, log: Log) -> None:
        asked = [dict(asks(answer_texts(log, call))) for call in range(len(log.calls))]
        self.asked = {text: kind for ask in reversed(asked) for text, kind in ask.items()}
        # By proper suffix, the paths that calls ask for and that end with it.
        self.longer: dict[str, list[str]] = {}
        for text, kind in self.asked.items():
            if kind == "path":
                for suffix in suffixes(text)[1:]:
                    self.longer.setdefault(suffix, []).append(text)
        self.presence: dict[str, frozenset[str]] = {}
        head = self.head(log)
        self.schema = schema(log)
        self.needs = [
            self.of(log, seen, common, call, asked[call], head)
            for call, seen, common in self.walk(log)
        ]

    def present(self, text: str) -> frozenset[str]:
        """The identifiers that calls ask for and that a text makes present."""
        known = self.presence.get(text)
        if known is None:
            known = frozenset(self.among(found(text)))
            self.presence[text] = known
        return known

    def among(self, spoken: Iterable[Found]) -> Iterator[str]:
        for kind, text in spoken:
            names = suffixes(text) if kind == "path" else (text,)
            yield from (name for name in names if name in self.asked)
            if kind == "path" and components(text) >= 2:
                yield from self.longer.get(text, ())

    def head(self, log: Log) -> frozenset[str]:
        """What the head of every request has: the frame and the first user message."""
        texts = [segment["text"] for segment in log.session.header.get("frame") or []]
        first = next((place for place in log.places if place.role == "user"), None)
        if first:
            same = (place for place in log.places if place.ordinal == first.ordinal)
            texts += [place.text for place in same]
        return frozenset().union(*(self.present(text) for text in texts))

    def walk(self, log: Log) -> Iterator[tuple[int, dict[str, Seen], Common]]:
        """The calls, each with where identifiers stood before it."""
        seen: dict[str, Seen] = {}
        common = Common()
        at = 0
        for call, (_, until) in enumerate(log.calls):
            for place in log.places[at:until]:
                common.take(place)
                for name in self.present(place.text):
                    known = seen.setdefault(name, Seen())
                    known.places.append(place)
                    known.by_model |= place.role == "assistant"
            at = until
            yield call, seen, common

    def of(
        self,
        log: Log,
        seen: dict[str, Seen],
        common: Common,
        call: int,
        asked: dict[str, str],
        head: frozenset[str],
    ) -> list[Reference]:
        out = []
        for name in asked:
            known = seen.get(name)
            if known and name not in head and self.is_evidence(name, common):
                distance = call + 1 - known.places[-1].answers
                places = tuple(known.places)
                out.append(Reference(name, distance, not known.by_model, places))
        return out

    def is_evidence(self, name: str, common: Common) -> bool:
        """Whether that it stood before is evidence that a call refers to it."""
        kind = self.asked[name]
        return telling(kind, name) and name not in self.schema and not common.explains(kind, name)

    def kept(self, reference: Reference, standing: Standing, written: frozenset[str]) -> bool:
        """Whether it stands in a view; `written` is what the texts of compactions make present."""
        name = reference.identifier
        return name in written or any(standing.shows(p) for p in reversed(reference.places))

    def written(self, standing: Standing) -> frozenset[str]:
        return frozenset().union(*(self.present(text) for text in standing.written))


def answer_texts(log: Log, call: int) -> list[str]:
    """What the arguments of a call's answer say."""
    answer, _ = log.calls[call]
    places = log.by_message[id(answer)] if answer.parts else []
    return [place.text for place in places if answer.parts[place.part].kind == "call"]


def asks(texts: list[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        for kind, name in sorted(found(text)):
            yield name, kind


def schema(log: Log) -> frozenset[str]:
    """The names of tools and of their arguments."""
    calls = (part for message in log.session.log for part in message.parts if part.kind == "call")
    return frozenset(
        name for part in calls for name in (str(part.raw["tool"]), *names(arguments(part)))
    )
