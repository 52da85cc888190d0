"""Compares what the judge makes with what foldback says."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import as_recorded
import bill
import net
import prices
import recorded
from foldback import Foldback, Rows
from retention import SHARES, Needs, Retention
from session import Session, input_total
from view import Call, calls, digest, written

# How far two numbers may be apart: of each other for sizes and dollars, in points for shares.
TOKENS = 0.01
CALIBRATED = 0.02
DOLLARS = 0.01
SHARE = 0.02

# By regime, and whether turns of recordings without times begin with a cold cache.
Bills = dict[tuple[str, bool], bill.Bill]


@dataclass
class Paid:
    """The bill of a file that savings are measured against, and those of presets, in dollars."""

    base: str
    sessions: int
    usd: float
    by_label: dict[str, float]


@dataclass
class Findings:
    """What was compared, what differs, and the widest gaps."""

    compared: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    widest: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    details: list[str] = field(default_factory=list)
    # Presets that changed something in some session.
    acted: set[str] = field(default_factory=set)
    # Figures that foldback does not have.
    missing: set[str] = field(default_factory=set)
    # A file each.
    paid: list[Paid] = field(default_factory=list)

    def exact(self, what: str, ours: object, theirs: object, where: str) -> None:
        self.compared[what] += 1
        if ours != theirs:
            self.differing[what] += 1
            self.tell(what, ours, theirs, where)

    def taken(self, what: str, there: Counter[Any], one: Any, where: str) -> None:
        """Takes one away from those that there are."""
        self.exact(what, f"{one!r:.60}" if there[one] > 0 else None, f"{one!r:.60}", where)
        there[one] -= 1

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
        self.acted |= other.acted
        self.missing |= other.missing
        self.paid += other.paid
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
    check_reading(found, file, sessions)
    paid = {session.id: Paying(session) for session in sessions}
    lines = {line["preset"]: line for line in report["presets"]}
    plain: Bills = {}
    starts = exam_starts(rows)
    needs = {session.id: Needs(session) for session in sessions}
    recorder: Bills = defaultdict(bill.Bill)
    by_label: dict[str, Bills] = {}
    billed = plain_tokens = 0
    for preset in presets:
        label = preset
        bills: Bills = defaultdict(bill.Bill)
        runs: dict[str, Run] = {}
        retention = Retention()
        over: int | None = None
        for session in sessions:
            if not any(message.is_call for message in session.log):
                continue
            plans = program.plans(file, session, preset, several)
            label = plans["preset"]
            if plans["folds"]:
                found.acted.add(preset)
            path = f"{file}#{session.id}" if several else str(file)
            ours = list(calls(session, plans["folds"]))
            theirs = rows[path, label]
            check_views(found, ours, plans["calls"], f"{path} {label}")
            check_calls(found, ours, theirs, f"{path} {label}")
            if preset == "none":
                sent = check_recorder(found, session, ours, rows, path)
                paid[session.id].recorder(sent, Run(session, ours, []))
            over = add(over, check_calibrated(found, session, ours, theirs, f"{path} {label}"))
            exam = [call.number >= starts[path] for call in ours]
            retention.add(needs[session.id].replay(ours, exam))
            retention.rows(theirs)
            check_summaries(found, plans, theirs, f"{path} {label}")
            fired = sorted({fold["call"] for fold in plans["folds"]})
            check_exam(found, fired, exam, theirs, f"{path} {label}")
            asked = check_asked(found, plans["asked"], theirs, f"{path} {label}")
            runs[session.id] = Run(session, ours, asked)
        known = any(one.is_known for one in paid.values())
        counted = [run for ident, run in runs.items() if paid[ident].is_known or not known]
        for run in counted:
            paid[run.session.id].add(bills, run)
        if preset == "none":
            plain = bills
            for run in counted:
                paid[run.session.id].add_recorder(recorder, run)
            billed = len(counted)
        by_label[label] = bills
        if preset in net.PRESETS and label in lines:
            chance = report["reporting"]["reread"]["value"]
            made = {
                ident: net.replay(program, run.session, needs[ident], preset, chance)
                for ident, run in runs.items()
            }
            told = {
                ident: rows[f"{file}#{ident}" if several else str(file), label] for ident in runs
            }
            check_reads(found, made, told, f"{file} {label}")
            nets: Bills = defaultdict(bill.Bill)
            billed_again = [made[run.session.id] for run in counted]
            for again in billed_again:
                if again is not None:
                    run = Run(again.session, again.calls, again.summaries, again.recorded)
                    paid[run.session.id].add(nets, run)
            if None not in billed_again:
                check_nets(found, nets, lines[label], f"{file} {label}")
        if label in lines:
            check_bills(found, bills, lines[label], f"{file} {label}")
            tokens = sum(call.input_tokens for run in runs.values() for call in run.calls)
            plain_tokens = plain_tokens or tokens
            told = lines[label]["metrics"]["token_ratio"]["value"]
            found.share("token_ratio", tokens / max(plain_tokens, 1), told, DOLLARS, label)
            check_retention(found, retention, lines[label], f"{file} {label}")
            # Measured tokens stand in where no usage calibrates them.
            if over is not None and len(runs) == 1:
                told = lines[label]["gate"]["over"]
                found.share("calibrated over", over, told, 0, f"{file} {label}")
    if as_recorded.NAME in lines and plain:
        check_bills(found, recorder, lines[as_recorded.NAME], f"{file} {as_recorded.NAME}")
    bases = by_label | {as_recorded.NAME: recorder}
    if (base := report["base"]) is not None and base["preset"] in bases:
        for label in (label for label in by_label if label in lines):
            check_ratios(found, by_label[label], bases[base["preset"]], report, lines[label])
        check_savings(found, report, bases, by_label, billed)
    return found


def check_recorder(
    found: Findings, session: Session, calls: list[Call], rows: Rows, path: str
) -> list[as_recorded.Request] | None:
    """Sizes of what the recorder sent; empty where it never compacted, None where nothing is known."""
    theirs = rows[path, as_recorded.NAME]
    compacted = bool(session.boundaries) or session.is_headless
    if not compacted and as_recorded.is_plain(theirs, rows[path, "none"]):
        return []
    sent = as_recorded.requests(session, calls)
    found.exact("recorder's calls", len(sent or []), len(theirs), path)
    for request, row in zip(sent or [], theirs, strict=False):
        at = f"{path} {as_recorded.NAME} call {row['call']}"
        found.near("recorder's tokens", request.tokens, row["input_tokens"], TOKENS, at)
        found.near("recorder's reads", request.read, row["cache_read"], TOKENS, at)
    return sent


def check_reading(found: Findings, file: Path, sessions: list[Session]) -> None:
    """The session as foldback reads it, against the recorder's own file."""
    told = recorded.read(file, str(sessions[0].header["format"])) if sessions else None
    if told is None:
        return
    for message in (message for session in sessions for message in session.log):
        at = f"{file} {message.id}"
        usage = message.usage if message.is_call else None
        if usage and (size := input_total(usage)):
            found.taken("recorded input", told.inputs, size, at)
        for part in message.parts:
            if part.kind == "call":
                found.taken("recorded call", told.calls, recorded.canonical(part.shown), at)
            elif part.kind == "result":
                found.taken("recorded result", told.results, part.shown, at)


def check_views(
    found: Findings, ours: list[Call], theirs: list[dict[str, Any]], where: str
) -> None:
    """The views, to the last character."""
    found.exact("calls in plan", len(ours), len(theirs), where)
    for call, told in zip(ours, theirs, strict=False):
        same = digest(call.view) == told["sha256"]
        found.exact("views", same, True, f"{where} call {call.number}")


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
        found.exact("output", bill.output_tokens(call), row["output_tokens"], at)
        found.near("tokens", call.input_tokens, row["input_tokens"], TOKENS, at)


def check_calibrated(
    found: Findings,
    session: Session,
    ours: list[Call],
    theirs: list[dict[str, Any]],
    where: str,
) -> int | None:
    """Sizes as the recording's provider would count them, and how many of them are over."""
    over = 0
    for call, row in zip(ours, theirs, strict=False):
        at, told = f"{where} call {call.number}", row["calibrated_input"]
        size = session.scale.request(call.input_tokens) if session.scale else None
        if size is None or told is None:
            found.exact("calibrated", size, told, at)
        else:
            found.near("calibrated", size, told, CALIBRATED, at)
            over += row["ceiling"] is not None and size > row["ceiling"]
    return over if session.scale else None


def add(sum_of: int | None, more: int | None) -> int | None:
    """A sum over what is known."""
    return sum_of if more is None else (sum_of or 0) + more


@dataclass
class Run:
    """A session under a preset, as far as bills need it."""

    session: Session
    calls: list[Call]
    summaries: list[bill.Asked]
    # The recorded number of each call, None of those that read something again.
    recorded: list[int | None] | None = None


class Paying:
    """What was paid for a session, to what the model of the cache says of it: the factor of all of its bills."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.terms = [*prices.regimes(), prices.own(session)]
        self.factors: dict[tuple[str, bool], float] = {}
        self.sent: Bills | None = None
        self.held = bill.held_of(session)

    @property
    def is_known(self) -> bool:
        return bool(self.factors)

    def recorder(self, sent: list[as_recorded.Request] | None, run: Run) -> None:
        """Takes the recorder's requests: none where it never compacted, `None` where nothing is known of them."""
        if sent is None:
            return
        requests = [bill.sent(call, self.session.frame_tokens) for call in run.calls]
        asked: list[bill.Asked] = []
        if sent:
            requests = as_recorded.blocks(self.session, run.calls, sent)
            asked = as_recorded.summaries(self.session, run.calls, sent)
        told = [call.answer.sent for call in run.calls]
        known = sum(size is not None for size in told)
        paid = prices.spent(self.session)
        self.sent = {}
        for terms in self.terms:
            for cold in (False, True):
                ours = bill.bill(requests, asked, terms, cold, self.held)
                self.sent[terms.name, cold] = ours
                enough = known > 0 and known >= as_recorded.LEAST_SHARE * len(told)
                if enough and ours.usd > 0 and paid.get(terms.name, 0) > 0:
                    self.factors[terms.name, cold] = paid[terms.name] / ours.usd

    def add(self, bills: Bills, run: Run) -> None:
        """Bills the session under a preset, by every regime."""
        requests = [bill.sent(call, run.session.frame_tokens) for call in run.calls]
        held = self.held
        if held is not None and run.recorded is not None:
            held = [None if call is None else bill.told_of(held, call) for call in run.recorded]
        for terms in self.terms:
            for cold in (False, True):
                ours = bill.bill(requests, run.summaries, terms, cold, held)
                key = (terms.name, cold)
                bills[key].add(ours.times(self.factors.get(key, 1.0)))

    def add_recorder(self, bills: Bills, run: Run) -> None:
        """Bills the recorder's own requests."""
        for key, ours in (self.sent or {}).items():
            bills[key].add(ours.times(self.factors.get(key, 1.0)))


def check_asked(
    found: Findings, asked: list[dict[str, Any]], rows: list[dict[str, Any]], where: str
) -> list[bill.Asked]:
    """The requests to a summarizer, as the plan lists them, each with what was written for it."""
    out: list[bill.Asked] = []
    for row in rows:
        until = math.inf if row["call"] == len(rows) - 1 else row["call"]
        own = [one for one in asked if row["call"] <= one["call"] <= until]
        sizes = [one["input_tokens"] for one in own]
        at = f"{where} call {row['call']}"
        found.exact(
            "asked", (len(own), sum(sizes)), (row["summary_requests"], row["summary_input"]), at
        )
        out += [
            bill.Asked(
                one["call"],
                one["input_tokens"],
                0 if number else row["summary_output"],
                one.get("shared_tokens", 0),
            )
            for number, one in enumerate(own)
        ]
    return out


def check_summaries(
    found: Findings, plans: dict[str, Any], rows: list[dict[str, Any]], where: str
) -> None:
    """What was written. A text that stands for a summary and that nobody was asked for is no output."""
    requested = {one["call"] for one in plans["asked"]}
    ours = {line.call: line.tokens for line in written(plans["folds"]) if line.call in requested}
    last = len(rows) - 1
    for row in rows:
        at = f"{where} call {row['call']}"
        behind = ours.get(last + 1, 0) if row["call"] == last else 0
        tokens = ours.get(row["call"], 0) + behind
        asked = row["summary_requests"]
        if tokens or asked:
            found.exact("summaries asked for", asked > 0 or tokens == 0, True, at)
            found.near("summary output", tokens, row["summary_output"], TOKENS, at)


def check_reads(
    found: Findings,
    made: dict[str, net.Made | None],
    told: dict[str, list[dict[str, Any]]],
    where: str,
) -> None:
    """What is read again, and the views of the replay in which it is."""
    for ident, again in made.items():
        if again is None:
            continue
        at = f"{where} {ident}"
        found.exact("views with reads", again.same, True, at)
        found.exact("reads", again.reads, sum(row["rereads"] for row in told[ident]), at)
        tokens = sum(row["reread_tokens"] for row in told[ident])
        found.near("read tokens", again.read_tokens, tokens, TOKENS, at)


def check_nets(found: Findings, nets: Bills, line: dict[str, Any], where: str) -> None:
    """The bills with what was missed read again."""
    for cost in line["costs"]:
        key = (cost["regime"], cost["pauses"] == "recorded-or-cold")
        if key in nets and cost["net_usd"] is not None:
            at = f"{where} {cost['regime']} {cost['pauses']}"
            found.near("net", nets[key].usd, cost["net_usd"], DOLLARS, at)


def exam_starts(rows: Rows) -> dict[str, float]:
    """By session, the first call before which any preset changed something."""
    starts: dict[str, float] = defaultdict(lambda: math.inf)
    for (path, _), calls_of in rows.items():
        fired = (row["call"] for row in calls_of if row["fired"])
        starts[path] = min(starts[path], next(fired, math.inf))
    return starts


def check_exam(
    found: Findings, fired: list[int], exam: list[bool], rows: list[dict[str, Any]], where: str
) -> None:
    """When something changed the view, and which calls count for retention."""
    for row, counts in zip(rows, exam, strict=False):
        at = f"{where} call {row['call']}"
        found.exact("fired", row["call"] in fired, bool(row["fired"]), at)
        found.exact("exam", counts, row["exam"], at)


def check_bills(
    found: Findings,
    bills: Bills,
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


def check_ratios(
    found: Findings, ours: Bills, plain: Bills, report: dict[str, Any], line: dict[str, Any]
) -> None:
    """What a preset costs in comparison with the base."""
    key = (report["reporting"]["regime"], False)
    if key not in plain or key not in ours or plain[key].usd == 0:
        return
    bill_of, base = ours[key], plain[key]
    theirs = line["metrics"]["cost_ratio"]["value"]
    found.share("cost_ratio", bill_of.usd / base.usd, theirs, DOLLARS, line["preset"])


def check_savings(
    found: Findings,
    report: dict[str, Any],
    bases: dict[str, Bills],
    by_label: dict[str, Bills],
    billed: int,
) -> None:
    """What presets save against the base."""
    base = report["base"]
    if base["sessions"] != billed:
        return
    key = (report["reporting"]["regime"], False)
    bills = {label: bills[key].usd for label, bills in by_label.items()}
    paid = Paid(base["preset"], billed, bases[base["preset"]][key].usd, bills)
    found.paid.append(paid)
    savings_of(found, report, paid)


def savings_of(found: Findings, report: dict[str, Any], paid: Paid) -> None:
    base = report["base"]
    found.near("base", paid.usd / paid.sessions, base["usd"], DOLLARS, base["preset"])
    for line in report["presets"]:
        if line["preset"] not in paid.by_label or paid.usd == 0:
            continue
        usd, metrics = paid.by_label[line["preset"]], line["metrics"]
        ratio = usd / paid.usd
        found.share("saved ratio", ratio, metrics["cost_ratio"]["value"], DOLLARS, line["preset"])
        saved = (paid.usd - usd) / paid.sessions
        told = metrics["saving_usd"]["value"]
        # Of the base, since what is saved may be next to nothing.
        found.gap("saved", abs(saved - told) / base["usd"], DOLLARS, saved, told, line["preset"])


def check_together(found: Findings, report: dict[str, Any]) -> bool:
    """What presets save over all files, from the bills of each; whether they have the bills that it takes."""
    base = report["base"]
    files = [paid for paid in found.paid if base and paid.base == base["preset"]]
    sessions = sum(paid.sessions for paid in files)
    if not files or base["preset"] != as_recorded.NAME or base["sessions"] != sessions:
        return False
    labels = set.intersection(*(set(paid.by_label) for paid in files))
    bills = {label: sum(paid.by_label[label] for paid in files) for label in labels}
    usd = sum(paid.usd for paid in files)
    savings_of(found, report, Paid(base["preset"], sessions, usd, bills))
    return True


def check_retention(found: Findings, ours: Retention, line: dict[str, Any], where: str) -> None:
    """The shares of the comparison, and the counts of the rows behind them."""
    for share in SHARES:
        metric = line["metrics"].get(share.metric)
        if metric is None:
            found.missing.add(share.metric)
            continue
        kept, needed = ours.counts[share.metric]
        value = kept / needed if needed else None
        theirs = metric["value"]
        # Bounds, where only the provider can read the summaries: what is kept beside them is the least.
        if theirs is None and metric.get("hi") is not None:
            theirs = metric["lo"]
            found.exact(f"most of {share.metric}", 1.0, metric["hi"], where)
        found.share(share.metric, value, theirs, share.within, where)
        if share.metric in ours.told:
            found.near(f"{share.metric} needed", needed, ours.told[share.metric][1], SHARE, where)
