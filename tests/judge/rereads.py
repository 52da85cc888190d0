"""Results that would have to be read again, and what that would cost at worst."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bill import MILLION, Terms
from texts import Log, Place, Standing

# Output tokens of a call that reads something again.
REQUEST = 60


@dataclass(frozen=True)
class Reread:
    """A tool result that a call misses."""

    call: int
    tokens: int
    # Size of the request at that call.
    input_tokens: int


class Rereads:
    """Follows the calls of one replay. Read again once, a result is back until it leaves again."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.left: dict[tuple[int, int], int] = {}
        self.known: set[tuple[int, int, int]] = set()
        self.found: list[Reread] = []

    def look(self, call: int, standing: Standing) -> None:
        """Notes since which call the view lacks a result."""
        _, until = self.log.calls[call]
        for place in self.log.places[:until]:
            if place.role != "tool":
                continue
            if standing.shows(place):
                self.left.pop((place.ordinal, place.part), None)
            else:
                self.left.setdefault((place.ordinal, place.part), call)

    def miss(self, call: int, input_tokens: int, places: Iterable[Place]) -> None:
        """Something that stood in these parts is missed: its latest result is read again."""
        results = [place for place in places if place.role == "tool"]
        if not results:
            return
        at = (results[-1].ordinal, results[-1].part)
        key = (*at, self.left[at])
        if key not in self.known:
            self.known.add(key)
            tokens = self.log.session.log[at[0]].parts[at[1]].tokens
            self.found.append(Reread(call, tokens, input_tokens))


def extra(rereads: list[Reread], fired: list[int], calls: int, terms: Terms) -> float:
    """Dollars of reading all of it again, each carried until the next compaction or the end."""
    total = 0.0
    for reread in rereads:
        until = min((call for call in fired if call > reread.call), default=calls)
        carried, prices = REQUEST + reread.tokens, terms.at(reread.input_tokens)
        total += reread.input_tokens * prices.read + REQUEST * prices.output
        total += carried * prices.write + carried * prices.read * (until - reread.call)
    return total / MILLION
