"""What the requests of a session cost: a prompt cache, and prices that are data."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from session import output_total
from tokens import ROOT
from view import Call

DATA = ROOT / "crates/providers/data"
# Longer than any prefix lives.
LONG_MS = 30 * 24 * 3_600_000
MILLION = 1e6


@dataclass(frozen=True)
class Terms:
    """A price regime: how a provider caches and what it charges, in dollars per million tokens."""

    name: str
    input: float
    read: float
    write: float
    output: float
    minimum: int
    granularity: int
    ttl_ms: int | None
    # Dollars for a thousand searches of the web.
    web_search: float = 0.0
    # Above so many input tokens all prices but that of output grow by a factor; output costs so much.
    tier: tuple[int, float, float] | None = None

    def at(self, tokens: int) -> Terms:
        """The prices of a request of so many input tokens."""
        if self.tier is None or tokens <= self.tier[0]:
            return self
        _, grown, output = self.tier
        return replace(
            self,
            input=self.input * grown,
            read=self.read * grown,
            write=self.write * grown,
            output=output,
            tier=None,
        )

    def cacheable(self, tokens: int) -> int:
        return 0 if tokens < self.minimum else tokens - tokens % max(self.granularity, 1)


def regimes() -> list[Terms]:
    """The named regimes of the table."""
    models = tomllib.loads((DATA / "models.toml").read_text())["model"]
    by_id = {model["id"]: model for model in models}
    out = []
    for regime in tomllib.loads((DATA / "regimes.toml").read_text())["regime"]:
        model = by_id[regime["base"]]
        price, tier = model["price"], model.get("tier")
        ttl = regime["ttl_seconds"]
        out.append(
            Terms(
                name=regime["name"],
                input=price["input"],
                read=price["input"] * regime["read"],
                write=price["input"] * regime["write"],
                output=price["output"],
                minimum=regime["minimum"],
                granularity=regime["granularity"],
                ttl_ms=ttl * 1000 if ttl else None,
                web_search=regime.get("web_search", 0.0),
                tier=tier and (tier["above"], tier["input"] / price["input"], tier["output"]),
            )
        )
    return out


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
    searches = call.answer.answer.get("web_searches", 0)
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
    end = terms.cacheable(total)
    prices = terms.at(total)
    dollars = read * prices.read + (end - read) * prices.write + (total - end) * prices.input
    return dollars / MILLION


@dataclass
class Bill:
    """Dollars of one session, or of several."""

    input_usd: float = 0.0
    output_usd: float = 0.0
    summaries_usd: float = 0.0
    # What reading everything again that was missed would cost besides.
    rereads_usd: float = 0.0
    input_tokens: int = 0
    read_tokens: list[int] = field(default_factory=list)

    @property
    def usd(self) -> float:
        return self.input_usd + self.output_usd + self.summaries_usd

    def add_request(self, total: int, read: int, output: int, terms: Terms) -> None:
        self.input_tokens += total
        self.input_usd += input_usd(total, read, terms)
        self.output_usd += output * terms.at(total).output / MILLION

    def add_summaries(self, summaries: Iterable[tuple[int, int]], terms: Terms) -> None:
        for asked, written in summaries:
            prices = terms.at(asked)
            self.summaries_usd += (asked * prices.input + written * prices.output) / MILLION

    def add(self, other: Bill) -> None:
        self.input_usd += other.input_usd
        self.output_usd += other.output_usd
        self.summaries_usd += other.summaries_usd
        self.rereads_usd += other.rereads_usd
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


def cache_reads(requests: list[Sent], terms: Terms, starts: list[int | None]) -> list[int]:
    """Tokens that each request reads: the longest prefix of an earlier one that is still alive."""
    reads = []
    for now, before in prefixes(requests, starts):
        living = (tokens for tokens, last in before if alive(last, now, terms.ttl_ms))
        reads.append(terms.cacheable(max(living, default=0)))
    return reads


def alive(last: int | None, now: int | None, ttl_ms: int | None) -> bool:
    return ttl_ms is None or last is None or now is None or now - last <= ttl_ms


def bill(
    requests: list[Sent],
    summaries: Iterable[tuple[int, int]],
    terms: Terms,
    cold_turns: bool = False,
) -> Bill:
    """The bill of a session. `summaries` are input and output tokens of what summarizers got."""
    out = Bill()
    out.read_tokens = cache_reads(requests, terms, times(requests, cold_turns))
    for request, read in zip(requests, out.read_tokens, strict=True):
        out.add_request(request.input_tokens, read, request.output_tokens, terms)
        out.output_usd += request.web_searches * terms.web_search / 1000
    out.add_summaries(summaries, terms)
    return out
