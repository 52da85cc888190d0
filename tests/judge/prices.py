"""Whose prices a request has, and what a recording says was paid."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

from bill import DATA, MILLION, OWN, Terms, web_searches
from session import Session, input_total, output_total

HOUR = 3600
VENDORS = (
    "anthropic|openai|google|deepseek|moonshotai|moonshot|minimax|mistralai|mistral|x-ai|xai|zai"
)
# What stands around a name, taken off one after the other.
AROUND = [
    r"\[1m\]$",
    r"-1m$",
    r"-fast$",
    r"(:thinking|:nitro|:floor|:beta|:exacto|:online)$",
    r"(-thinking|-latest|-preview|-maas|-minimal|-low|-medium|-xhigh|-high)$",
    r"@[^@]*$",
    r":\d+k?$",
    r"-v\d+$",
    r"(-\d{4}-\d\d-\d\d|-\d{8}|-\d\d-\d\d)$",
    rf"^(us-gov|us|eu|apac|global|jp|au|ca|{VENDORS})[-:](?=.)",
]


@cache
def tables() -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """Models, regimes, and the model whose prices stand in."""
    regimes = tomllib.loads((DATA / "regimes.toml").read_text())
    models = tomllib.loads((DATA / "models.toml").read_text())["model"]
    return models, regimes["regime"], regimes["stand_in"]


def normalised(name: str) -> str:
    return name.rsplit("/", 1)[-1].lower().replace(".", "-")


@cache
def model_of(name: str) -> tuple[dict[str, Any], bool] | None:
    """The model of a recorded name, and whether the name asks for fast mode."""
    by_name = {name: model for model in tables()[0] for name in model.get("names", [])}
    by_name |= {normalised(model["id"]): model for model in tables()[0]}
    rest, fast = normalised(name), False
    while rest not in by_name:
        shorter = next(
            (cut for around in AROUND if (cut := re.sub(around, "", rest)) != rest), None
        )
        if shorter is None:
            return None
        fast |= rest.endswith("-fast") and shorter == rest[: -len("-fast")]
        rest = shorter
    return by_name[rest], fast


def price_of(model: dict[str, Any], service: str, at_ms: int | None) -> dict[str, Any] | None:
    """What the model costs, served like that, on that day."""
    if service in model:
        return dict(model[service])
    if at_ms is not None:
        day = datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC).date().isoformat()
        for earlier in model.get("earlier", []):
            if day < earlier["until"]:
                return dict(earlier["price"])
    return model.get("price")


def rates(price: dict[str, Any], hour: float, rules: dict[str, Any], name: str) -> Terms:
    """Prices with the rules of a regime; so much of what is written lives for an hour."""

    def classes(given: dict[str, Any]) -> tuple[float, float, float, float]:
        short = given.get("cache_write_5m") or given["input"]
        long = given.get("cache_write_1h") or short
        return given["input"], given.get("cache_read") or given["input"], short, long

    plain, read, short, long = classes(price)
    tier = price.get("tier")
    above = None
    if tier:
        t_plain, t_read, t_short, t_long = classes(tier)
        above = (tier["above"], t_plain, t_read, t_short, t_long, tier["output"])
    return Terms(
        name=name,
        input=plain,
        read=read,
        write_5m=short,
        write_1h=long,
        hour=hour,
        output=price["output"],
        minimum=rules["minimum"],
        granularity=rules["granularity"],
        ttl_ms=rules["ttl_seconds"] * 1000 or None,
        web_search=price.get("web_search", 0.0),
        tier=above,
    )


def regimes() -> list[Terms]:
    """The named regimes of the table, which bill all sessions alike."""
    out = []
    for regime in tables()[1]:
        found = model_of(regime["base"])
        assert found is not None, regime["base"]
        hour = 1.0 if regime["ttl_seconds"] >= HOUR else 0.0
        terms = rates(found[0]["price"], hour, regime, regime["name"])
        out.append(terms.alike(regime.get("read"), regime.get("write")))
    return out


def own(session: Session) -> Terms:
    """The prices of a session's own model on its day, with the cache that its requests asked for."""
    written = long = 0
    began = None
    for message in session.log:
        usage = message.usage or {}
        written += usage.get("cache_write", 0)
        long += usage.get("cache_write_1h", 0)
        if message.raw.get("answer") and began is None:
            began = time_of(message.answer)
    hour = long / max(written, 1)
    return (
        own_of(session.header.get("model"), hour, began) or own_of(tables()[2], hour, began) or NONE
    )


def own_of(name: str | None, hour: float, at_ms: int | None) -> Terms | None:
    found = model_of(name) if name else None
    if found is None:
        return None
    model, fast = found
    ident = model["id"].lower()
    fitting = [
        one for one in tables()[1] if any(ident.startswith(of) for of in one.get("models", []))
    ]
    price = model.get("fast") if fast else price_of(model, "standard", at_ms)
    if not fitting or price is None:
        return None
    longest = max(fitting, key=lambda one: one["ttl_seconds"])
    return rates(price, hour, longest if hour > 0.5 else fitting[0], OWN)


NONE = Terms(OWN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 1, None)


def time_of(answer: dict[str, Any]) -> int | None:
    started = answer.get("started")
    return started if started is not None else answer.get("ended")


def used(session: Session) -> Iterator[tuple[dict[str, Any], dict[str, int], int]]:
    """Every usage with its answer and its searches: of the log, of the recorder's summaries, beside the log."""
    answers = [message.raw.get("answer") or {} for message in session.messages]
    for answer in [*answers, *session.unlogged]:
        both = [(answer.get("usage"), web_searches(answer)), (answer.get("compaction"), 0)]
        for usage, searches in both:
            if usage and input_total(usage) + output_total(usage) > 0:
                yield answer, usage, searches


def usage_usd(usage: dict[str, int], searches: int, terms: Terms) -> float:
    prices = terms.at(input_total(usage))
    long = min(usage.get("cache_write_1h", 0), usage.get("cache_write", 0))
    dollars = usage.get("uncached", 0) * prices.input + usage.get("cache_read", 0) * prices.read
    dollars += (usage.get("cache_write", 0) - long) * prices.write_5m + long * prices.write_1h
    dollars += output_total(usage) * prices.output
    return dollars / MILLION + searches * terms.web_search / 1000


def spent(session: Session) -> dict[str, float]:
    """What was paid for a session by its usage, by regime; nothing without usage."""
    out: dict[str, float] = {}
    for answer, usage, searches in used(session):
        for terms in [*regimes(), own_price(session, answer)]:
            out[terms.name] = out.get(terms.name, 0.0) + usage_usd(usage, searches, terms)
    return out


def own_price(session: Session, answer: dict[str, Any]) -> Terms:
    """The prices of one answer."""
    rules = tables()[1][0]
    for name, at_ms in (
        (answer.get("model") or session.header.get("model"), time_of(answer)),
        (tables()[2], None),
    ):
        found = model_of(name) if name else None
        if found is not None:
            model, fast = found
            service = "fast" if fast else answer.get("service", "standard")
            price = price_of(model, service, at_ms)
            if price is not None:
                return rates(price, 0.0, rules, OWN)
    return NONE
