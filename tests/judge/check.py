"""Compares what the judge makes with what foldback says."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bill
from foldback import Foldback
from retention import SHARES, Needs, Retention
from session import Session
from view import Call, calls

# How far two numbers may be apart: of each other for sizes and dollars, in points for shares.
TOKENS = 0.01
DOLLARS = 0.01


@dataclass
class Findings:
    """What was compared, what differs, and the widest gaps."""

    compared: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    widest: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    details: list[str] = field(default_factory=list)
    # Figures that foldback does not have.
    missing: set[str] = field(default_factory=set)

    def exact(self, what: str, ours: object, theirs: object, where: str) -> None:
        self.compared[what] += 1
        if ours != theirs:
            self.differing[what] += 1
            self.tell(what, ours, theirs, where)

    def near(self, what: str, ours: float, theirs: float, within: float, where: str) -> None:
        """Within a share of the larger."""
        gap = abs(ours - theirs) / max(abs(ours), abs(theirs), 1e-12)
        self.gap(what, gap, within, ours, theirs, where)

    def share(
        self, what: str, ours: float | None, theirs: float | None, within: float, where: str
    ) -> None:
        """Shares within some points."""
        if ours is None or theirs is None:
            self.exact(what, ours, theirs, where)
        else:
            self.gap(what, abs(ours - theirs), within, ours, theirs, where)

    def gap(
        self, what: str, gap: float, within: float, ours: float, theirs: float, where: str
    ) -> None:
        self.compared[what] += 1
        self.widest[what] = max(self.widest[what], gap)
        if gap > within:
            self.differing[what] += 1
            self.tell(what, f"{ours:.6g}", f"{theirs:.6g}", where)

    def tell(self, what: str, ours: object, theirs: object, where: str) -> None:
        self.details.append(f"{what}: judge {ours}, foldback {theirs} ({where})")

    def add(self, other: Findings) -> None:
        self.compared += other.compared
        self.differing += other.differing
        self.details += other.details
        self.missing |= other.missing
        for what, gap in other.widest.items():
            self.widest[what] = max(self.widest[what], gap)

    def agrees(self) -> bool:
        return not self.details and bool(self.compared)

    def line(self) -> str:
        return "; ".join(self.says(what) for what in self.compared)

    def summary(self) -> str:
        lines = [self.says(what) for what in self.compared]
        lines += [f"{metric}: foldback has no such figure" for metric in sorted(self.missing)]
        return "\n".join([*lines, "agrees" if self.agrees() else "does not agree"])

    def says(self, what: str) -> str:
        same = self.compared[what] - self.differing[what]
        gap = f", widest gap {self.widest[what]:.4%}" if what in self.widest else ""
        return f"{what} {same}/{self.compared[what]}{gap}"


def judge_file(program: Foldback, file: Path, presets: list[str]) -> Findings:
    """Judges a file under some presets."""
    found = Findings()
    sessions = program.sessions(file)
    report, rows = program.compare(file, presets)
    several = len(sessions) > 1
    lines = {line["preset"]: line for line in report["presets"]}
    needs = {session.id: Needs(session) for session in sessions}
    for preset in presets:
        label = preset
        bills: dict[tuple[str, bool], bill.Bill] = defaultdict(bill.Bill)
        retention = Retention()
        for session in sessions:
            if not any(message.is_call for message in session.log):
                continue
            plans = program.plans(file, session, preset, several)
            label = plans["preset"]
            path = f"{file}#{session.id}" if several else str(file)
            ours = list(calls(session, plans["folds"]))
            theirs = rows[path, label]
            check_calls(found, ours, theirs, f"{path} {label}")
            add_bills(bills, session, ours, theirs)
            exam = [row["exam"] for row in theirs]
            retention.add(needs[session.id].kept(ours, exam))
            retention.rows(theirs)
        if label in lines:
            check_bills(found, bills, lines[label], f"{file} {label}")
            check_retention(found, retention, lines[label], f"{file} {label}")
    return found


def check_calls(
    found: Findings, ours: list[Call], theirs: list[dict[str, Any]], where: str
) -> None:
    """Views and sizes of the requests."""
    found.exact("calls", len(ours), len(theirs), where)
    for call, row in zip(ours, theirs, strict=False):
        at = f"{where} call {call.number}"
        found.exact("messages", len(call.view), row["messages"], at)
        found.exact("turn", call.turn, row["turn"], at)
        found.exact("sent at", call.start_ms, row["start_ms"], at)
        found.near("tokens", call.input_tokens, row["input_tokens"], TOKENS, at)


def add_bills(
    bills: dict[tuple[str, bool], bill.Bill],
    session: Session,
    ours: list[Call],
    rows: list[dict[str, Any]],
) -> None:
    """Bills a session under every regime."""
    requests = [bill.sent(call, session.frame_tokens) for call in ours]
    summaries = [(row["summary_input"], row["summary_output"]) for row in rows]
    for terms in bill.regimes():
        for cold in (False, True):
            bills[terms.name, cold].add(bill.bill(requests, summaries, terms, cold))


def check_bills(
    found: Findings,
    bills: dict[tuple[str, bool], bill.Bill],
    line: dict[str, Any],
    where: str,
) -> None:
    for cost in line["costs"]:
        key = (cost["regime"], cost["pauses"] == "recorded-or-cold")
        if key not in bills:
            continue
        ours, at = bills[key], f"{where} {cost['regime']} {cost['pauses']}"
        found.near("input bill", ours.input_usd, cost["input_usd"], DOLLARS, at)
        found.near("output bill", ours.output_usd, cost["output_usd"], DOLLARS, at)
        found.near("summary bill", ours.summaries_usd, cost["summaries_usd"], DOLLARS, at)
        found.near("bill", ours.usd, cost["usd"], DOLLARS, at)


def check_retention(found: Findings, ours: Retention, line: dict[str, Any], where: str) -> None:
    """The shares of the comparison, and the counts of the rows behind them."""
    for share in SHARES:
        metric = line["metrics"].get(share.metric)
        if metric is None:
            found.missing.add(share.metric)
            continue
        kept, needed = ours.counts[share.metric]
        value = kept / needed if needed else None
        found.share(share.metric, value, metric["value"], share.within, where)
        if share.metric in ours.told:
            found.near(f"{share.metric} needed", needed, ours.told[share.metric][1], 0.02, where)
