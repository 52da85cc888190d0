"""Retention of one session under one preset: what calls needed, and what of it was still there."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import edits
import rules
import verbatim
from references import References
from session import Session
from texts import Log, standings
from view import Call


@dataclass(frozen=True)
class Share:
    """A share of the comparison, and how many points the judge may be away from it."""

    metric: str
    within: float

    @property
    def kept(self) -> str:
        """The column of rows with what was kept."""
        return self.metric if self.metric.startswith("rules_") else f"{self.metric}_kept"

    @property
    def needed(self) -> str:
        return "rules_needed" if self.metric.startswith("rules_") else f"{self.metric}_needed"


SHARES = (
    Share("frr_obs", 0.02),
    Share("frr_far", 0.02),
    Share("frr_obs_far", 0.02),
    Share("epr", 0.02),
    Share("verbatim_far", 0.01),
    Share("rules_kept", 0.0),
    Share("rules_named", 0.0),
)


@dataclass
class Retention:
    """By metric, how much was kept of how much: by the judge, and as the rows have it."""

    counts: dict[str, tuple[int, int]] = field(default_factory=lambda: defaultdict(lambda: (0, 0)))
    told: dict[str, tuple[int, int]] = field(default_factory=lambda: defaultdict(lambda: (0, 0)))

    def count(self, metric: str, kept: bool) -> None:
        before = self.counts[metric]
        self.counts[metric] = (before[0] + kept, before[1] + 1)

    def add(self, other: Retention) -> None:
        for metric, (kept, needed) in other.counts.items():
            before = self.counts[metric]
            self.counts[metric] = (before[0] + kept, before[1] + needed)

    def rows(self, rows: list[dict[str, Any]]) -> None:
        """Takes over what the rows with `exam` say."""
        for share in SHARES:
            if not rows or share.needed not in rows[0]:
                continue
            for row in rows:
                if row["exam"]:
                    kept, needed = self.told[share.metric]
                    more = row[share.kept], row[share.needed]
                    self.told[share.metric] = (kept + more[0], needed + more[1])


class Needs:
    """What the calls of a session need. No preset can change any of it."""

    def __init__(self, session: Session) -> None:
        self.log = Log(session)
        self.references = References(self.log)
        self.edits = edits.edits(self.log)
        self.pieces = verbatim.pieces(self.log)
        self.rules = rules.Rules(self.log)

    def replay(self, calls: list[Call], exam: list[bool]) -> Retention:
        """What the views of the calls that count still had."""
        out = Retention()
        for (call, standing), counts in zip(standings(self.log, calls), exam, strict=True):
            shares = out if counts else Retention()
            written = self.references.written(standing)
            for reference in self.references.needs[call.number]:
                kept = self.references.kept(reference, standing, written)
                if reference.observed:
                    shares.count("frr_obs", kept)
                if reference.far:
                    shares.count("frr_far", kept)
                if reference.observed and reference.far:
                    shares.count("frr_obs_far", kept)
            for edit in self.edits[call.number]:
                shares.count("epr", edit.kept(standing))
            for kept, named in self.rules.kept(call.number, standing) if counts else []:
                shares.count("rules_kept", kept)
                shares.count("rules_named", kept or named)
            for piece in self.pieces[call.number] if counts else []:
                kept = piece.kept(standing)
                if piece.far:
                    shares.count("verbatim_far", kept)
        return out
