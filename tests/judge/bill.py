"""What the requests of a session cost: a prompt cache, and prices that are data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from session import Session, output_total
from tokens import ROOT
from view import Call

DATA = ROOT / "crates/providers/data"
# Longer than any prefix lives.
LONG_MS = 30 * 24 * 3_600_000
MILLION = 1e6
# The name of a session's own prices.
OWN = "own"


@dataclass(frozen=True)
class Terms:
    """A price regime: how a provider caches and what it charges, in dollars per million tokens."""

    name: str
    input: float
    read: float
    # To a cache that lives five minutes, and to one that lives an hour.
    write_5m: float
    write_1h: float
    output: float
    # The share of what is written that lives an hour, where nobody counted it.
    hour: float
    minimum: int
    granularity: int
    ttl_ms: int | None
    # Dollars for a thousand searches of the web.
    web_search: float = 0.0
    # Above so many input tokens: input, read, both writes, output.
    tier: tuple[int, float, float, float, float, float] | None = None

    @property
    def write(self) -> float:
        return self.write_5m + (self.write_1h - self.write_5m) * self.hour

    def at(self, tokens: int) -> Terms:
        """The prices of a request of so many input tokens."""
        if self.tier is None or tokens <= self.tier[0]:
            return self
        _, plain, read, short, long, output = self.tier
        return replace(
            self, input=plain, read=read, write_5m=short, write_1h=long, output=output, tier=None
        )

    def alike(self, read: float | None, write: float | None) -> Terms:
        """With one price for whatever is written, and with multiples of plain input where they are given."""

        def one(terms: Terms) -> Terms:
            wrote = terms.write if write is None else write * terms.input
            reads = terms.read if read is None else read * terms.input
            return replace(terms, read=reads, write_5m=wrote, write_1h=wrote)

        plain = one(self)
        if self.tier is None:
            return plain
        above = one(self.at(self.tier[0] + 1))
        prices = (above.input, above.read, above.write_5m, above.write_1h, above.output)
        return replace(plain, tier=(self.tier[0], *prices))

    def cacheable(self, tokens: int) -> int:
        return 0 if tokens < self.minimum else tokens - tokens % max(self.granularity, 1)


def web_searches(answer: dict[str, Any]) -> int:
    return int(answer.get("web_searches", 0))


@dataclass
class Sent:
    """A request as the cache sees it."""

    blocks: list[tuple[Any, int]]
    start_ms: int | None
    turn: int
    output_tokens: int
    web_searches: int = 0

    @property
    def input_tokens(self) -> int:
        return sum(tokens for _, tokens in self.blocks)


def sent(call: Call, frame_tokens: int) -> Sent:
    """The request of a call: the frame, then one block per message."""
    blocks: list[tuple[Any, int]] = [("frame", frame_tokens)]
    blocks += [(shown.key, shown.tokens) for shown in call.view]
    searches = web_searches(call.answer.answer)
    return Sent(blocks, call.start_ms, call.turn, output_tokens(call), searches)


def output_tokens(call: Call) -> int:
    """The size of the answer: as recorded, but not where that is less than half of its text."""
    usage = call.answer.usage
    recorded = 0 if usage is None else output_total(usage)
    if usage is None or recorded * 2 < call.answer.tokens:
        return call.answer.tokens
    return recorded


def input_usd(total: int, read: int, terms: Terms) -> float:
    """Dollars for a request of which so much is read from the cache."""
    end = max(terms.cacheable(total), read)
    prices = terms.at(total)
    dollars = read * prices.read + (end - read) * prices.write + (total - end) * prices.input
    return dollars / MILLION


@dataclass(frozen=True)
class Asked:
    """A request to a summarizer."""

    # Number of the request that came next.
    call: int
    tokens: int
    written: int
    # What of it the request before had.
    shared: int = 0


@dataclass
class Bill:
    """Dollars of one session, or of several."""

    input_usd: float = 0.0
    output_usd: float = 0.0
    summaries_usd: float = 0.0
    input_tokens: int = 0
    read_tokens: list[int] = field(default_factory=list)

    @property
    def usd(self) -> float:
        return self.input_usd + self.output_usd + self.summaries_usd

    def add_request(self, total: int, read: int, output: int, terms: Terms) -> None:
        self.input_tokens += total
        self.input_usd += input_usd(total, read, terms)
        self.output_usd += output * terms.at(total).output / MILLION

    def add_summaries(self, summaries: Iterable[Asked], cold: list[bool], terms: Terms) -> None:
        for one in summaries:
            prices = terms.at(one.tokens)
            held = not (one.call < len(cold) and cold[one.call])
            read = min(one.shared, one.tokens) if held else 0
            dollars = read * prices.read + (one.tokens - read) * prices.input
            self.summaries_usd += (dollars + one.written * prices.output) / MILLION

    def times(self, factor: float) -> Bill:
        """The bill with every dollar times a factor."""
        return replace(
            self,
            input_usd=self.input_usd * factor,
            output_usd=self.output_usd * factor,
            summaries_usd=self.summaries_usd * factor,
        )

    def add(self, other: Bill) -> None:
        self.input_usd += other.input_usd
        self.output_usd += other.output_usd
        self.summaries_usd += other.summaries_usd
        self.input_tokens += other.input_tokens
        self.read_tokens += other.read_tokens


def times(requests: list[Sent], cold_turns: bool) -> list[int | None]:
    """When each request is taken to be sent: recorded times only where all have one."""
    if requests and all(request.start_ms is not None for request in requests):
        return [request.start_ms for request in requests]
    return [request.turn * LONG_MS if cold_turns else None for request in requests]


# Of a request, prefixes that earlier requests began with, shortest first: their tokens, and when
# the last of those requests was sent (None before anything has a time).
Prefixes = list[tuple[int, int | None]]


def prefixes(
    requests: list[Sent], starts: list[int | None]
) -> Iterator[tuple[int | None, Prefixes]]:
    """When each request is sent, and what of it was sent before."""
    nodes: dict[tuple[int, Any], int] = {}
    last_sent: dict[int, int | None] = {}
    now: int | None = None
    for request, start in zip(requests, starts, strict=True):
        if start is not None:
            now = start if now is None else max(now, start)
        node = tokens = 0
        before: Prefixes = []
        for block in request.blocks:
            tokens += block[1]
            node = nodes.setdefault((node, block), len(nodes) + 1)
            if node in last_sent:
                # Of prefixes that were sent at the same time, the longest is enough.
                if before and before[-1][1] == last_sent[node]:
                    before.pop()
                before.append((tokens, last_sent[node]))
            last_sent[node] = now
        yield now, before


# By call, what was read of what could have been read, where the recording tells.
Held = list[tuple[int, int] | None]


def held_of(session: Session) -> Held:
    """What the cache of the recorder's provider still had."""
    out: Held = []
    before: tuple[int, int] | None = None
    befores = [boundary["before"] for boundary in session.boundaries]
    for index, message in enumerate(session.messages):
        if not message.is_call:
            continue
        if not message.sent:
            out.append(None)
            continue
        cuts = sum(one <= index for one in befores)
        could: int | None = None
        if before is not None:
            could = before[0] if before[1] == cuts and before[0] <= message.sent else None
        elif cuts == 0 and not out:
            could = message.sent
        before = (message.sent, cuts)
        read = (message.usage or {}).get("cache_read", 0)
        out.append(None if could is None else (min(read, could), could))
    return out if any(one and one[0] for one in out) else []


def told_of(held: Held, number: int) -> tuple[int, int] | None:
    return held[number] if number < len(held) else None


def cache_reads(
    requests: list[Sent], terms: Terms, starts: list[int | None], held: Held | None = None
) -> list[int]:
    """Tokens that each request reads: the longest prefix of an earlier one that is still alive, or what is told of it."""
    reads = []
    previous: list[tuple[Any, int]] = []
    for number, (now, before) in enumerate(prefixes(requests, starts)):
        request = requests[number]
        living = max(
            (tokens for tokens, last in before if alive(last, now, terms.ttl_ms)), default=0
        )
        told = told_of(held or [], number)
        if told:
            # What the request before has is held by as much as is told, and not by its age.
            shared = request.input_tokens if number == 0 else common(previous, request.blocks)
            living = max(living, shared) * told[0] // told[1]
        # What is told was cut by the provider already.
        reads.append(living if told else terms.cacheable(living))
        previous = request.blocks
    return reads


def common(one: list[tuple[Any, int]], other: list[tuple[Any, int]]) -> int:
    """Tokens of the blocks that both begin with."""
    tokens = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        tokens += left[1]
    return tokens


def alive(last: int | None, now: int | None, ttl_ms: int | None) -> bool:
    return ttl_ms is None or last is None or now is None or now - last <= ttl_ms


def cold_calls(starts: list[int | None], terms: Terms, held: Held | None = None) -> list[bool]:
    """By request, whether the cache had lost the one before: most of it by what is told, else by the pause."""
    out, before = [], None
    for number, start in enumerate(starts):
        now = before if start is None else start if before is None else max(start, before)
        told = told_of(held or [], number)
        lost = told[0] * 2 < told[1] if told else not alive(before, now, terms.ttl_ms)
        out.append(number > 0 and lost)
        before = now
    return out


def bill(
    requests: list[Sent],
    summaries: Iterable[Asked],
    terms: Terms,
    cold_turns: bool = False,
    held: Held | None = None,
) -> Bill:
    """The bill of a session. What is told of the cache of the provider that served it is no other provider's."""
    out = Bill()
    held = held if terms.name == OWN else None
    starts = times(requests, cold_turns)
    out.read_tokens = cache_reads(requests, terms, starts, held)
    for request, read in zip(requests, out.read_tokens, strict=True):
        out.add_request(request.input_tokens, read, request.output_tokens, terms)
        out.output_usd += request.web_searches * terms.web_search / 1000
    out.add_summaries(summaries, cold_calls(starts, terms, held), terms)
    return out
