"""What presets cost and keep, session by session: sums that groups of any sessions share."""

from __future__ import annotations

import csv
import random
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "judge"))

from bill import Asked, Bill, Terms, alive
from prices import regimes

from corpus import JUDGES, compared, name

TERMS = next(terms for terms in regimes() if terms.name == "anthropic-5m")
DRAWS = 1_000


@dataclass
class Totals:
    """Of one session, or of several."""

    usd: float = 0.0
    input_tokens: int = 0
    kept: dict[str, int] = field(default_factory=lambda: dict.fromkeys(JUDGES, 0))
    needed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(JUDGES, 0))

    def add(self, other: Totals) -> None:
        self.usd += other.usd
        self.input_tokens += other.input_tokens
        for judge in JUDGES:
            self.kept[judge] += other.kept[judge]
            self.needed[judge] += other.needed[judge]

    def share(self, judge: str) -> float:
        """In percent; everything where nothing is needed."""
        return 100 * self.kept[judge] / self.needed[judge] if self.needed[judge] else 100.0

    @property
    def mean(self) -> float:
        return sum(self.share(judge) for judge in JUDGES) / len(JUDGES)


# By session.
Sessions = dict[str, Totals]


def of(binary: str, paths: list[str], presets: list[str], window: int) -> dict[str, Sessions]:
    """The totals of presets, by name and session."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.csv")
        args = ["--preset", ",".join(presets), "--window", str(window), "--rows", str(rows)]
        found = compared(binary, [*paths, *args])
        with rows.open(encoding="utf-8", newline="") as file:
            out = read(csv.DictReader(file))
    for line in found["presets"]:
        # What recorders sent has their own summaries, which rows do not price.
        if line["preset"] != "as-recorded":
            check(line, out)
    return out


def check(line: dict[str, Any], out: dict[str, Sessions]) -> None:
    """The sums must be those of the comparison. Its dollars are scaled by what was paid, session by session, so the sizes of the
    requests are held against each other in their place."""
    totals = together(out[name(line["preset"])].values())
    if totals.input_tokens != line["input_tokens"]:
        sums = f"{totals.input_tokens} tokens by rows, {line['input_tokens']}"
        raise RuntimeError(f"{line['preset']}: {sums}")
    for judge, metric in JUDGES.items():
        value = line["metrics"][metric]["value"]
        if value is not None and abs(totals.share(judge) - 100 * value) > 1e-6:
            raise RuntimeError(f"{line['preset']}: {totals.share(judge)} {judge}, {100 * value}")


def read(rows: Iterable[dict[str, str]]) -> dict[str, Sessions]:
    out: dict[str, Sessions] = {}
    calls: list[dict[str, str]] = []
    for row in rows:
        if calls and (calls[0]["preset"], calls[0]["session"]) != (row["preset"], row["session"]):
            of_session(calls, out)
            calls = []
        calls.append(row)
    if calls:
        of_session(calls, out)
    return out


def of_session(calls: list[dict[str, str]], out: dict[str, Sessions]) -> None:
    totals = Totals(usd(calls, TERMS), sum(int(row["input_tokens"]) for row in calls))
    for row in calls:
        if row["exam"] != "true":
            continue
        for judge, metric in JUDGES.items():
            totals.kept[judge] += int(row[f"{metric}_kept"])
            totals.needed[judge] += int(row[f"{metric}_needed"])
    first = calls[0]
    out.setdefault(name(first["preset"]), {})[first["session"]] = totals


def usd(calls: list[dict[str, str]], terms: Terms) -> float:
    """The bill by rows: a prefix lives as long as the cache, from one request to the next."""
    bill = Bill()
    timed = all(row["start_ms"] for row in calls)
    now: int | None = None
    for row in calls:
        last = now
        if timed:
            now = max(int(row["start_ms"]), now or 0)
        total = int(row["input_tokens"])
        living = alive(last, now, terms.ttl_ms)
        read = terms.cacheable(int(row["cache_read"])) if living else 0
        bill.add_request(total, read, int(row["output_tokens"]), terms)
        bill.output_usd += int(row["web_searches"]) * terms.web_search / 1000
        if int(row["summary_requests"]):
            summary = Asked(0, int(row["summary_input"]), int(row["summary_output"]))
            bill.add_summaries([summary], [], terms)
    return bill.usd


def together(totals: Iterable[Totals]) -> Totals:
    out = Totals()
    for one in totals:
        out.add(one)
    return out


def paired(first: Sessions, second: Sessions) -> dict[str, tuple[float, float, float]]:
    """The ratio of bills in percent, and the differences of the judges in points, each with an
    interval of 95 % over draws of sessions."""
    pairs = [(first[session], second[session]) for session in sorted(first)]
    rng = random.Random(0)
    draws = [rng.choices(pairs, k=len(pairs)) for _ in range(DRAWS)]
    sums = [
        (together(one for one, _ in draw), together(other for _, other in draw))
        for draw in [pairs, *draws]
    ]
    measures: dict[str, Callable[[Totals, Totals], float]] = {
        "bill": lambda one, other: 100 * (one.usd / other.usd - 1)
    }
    for judge in JUDGES:
        measures[judge] = lambda one, other, of=judge: one.share(of) - other.share(of)
    out = {}
    for measure, difference in measures.items():
        value, *drawn = (difference(*both) for both in sums)
        drawn.sort()
        out[measure] = (value, drawn[DRAWS // 40], drawn[-1 - DRAWS // 40])
    return out
