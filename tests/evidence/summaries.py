"""Recorded summaries against the stand-in: the same cut with the recorder's own summary, with the
extractive one, and with none.

    python3 tests/evidence/summaries.py FOLDBACK_BINARY FILE_OR_FOLDER… [--rows FILE]
    python3 tests/evidence/summaries.py FOLDBACK_BINARY --fixtures CLONE

What calls need and what a view shows is what `tests/judge` says. Counted are the calls between a
compaction and the next; a view is the summary, what the recorder left as it was, and everything
since. Files that Claude Code shows again behind a summary are left out of all three.

With a clone of algal/pi-openai-server-compaction: whether the preset `pi` cuts its fixtures where
the package did, and how many of the facts before the cut its summary has and the stand-in.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "judge"))

import verbatim
from foldback import Foldback
from judge import files
from references import References
from session import Message, Session
from texts import Log, Standing
from tokens import count

from extract import blob, said
from outcomes import interval

WRITERS = ("recorded", "stand-in", "empty")
# One summary stands for everything, whatever the writer: the cut is made here.
STRATEGY = """
name = "all"
extends = "claude-code"

[filter]
use = "claude-code.summary"
prefix = "summary"
"""


@dataclass
class Compaction:
    """A compaction of the recorder, by positions in the session's messages."""

    number: int
    # What was summarized, the summary before among it.
    start: int
    # The first message that stayed as it was.
    end: int
    before: int
    until: int
    summary: str


@dataclass
class Row:
    """What a summary keeps, by writer."""

    session: str
    writer: str
    compaction: int
    calls: int = 0
    kept: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WRITERS, 0))
    needed: int = 0
    # The same of all references, whoever had said them and when.
    every: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WRITERS, 0))
    asked_for: int = 0
    verbatim: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WRITERS, 0))
    pieces: int = 0
    said: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WRITERS, 0))
    asked: int = 0
    tokens: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WRITERS, 0))

    @property
    def lost(self) -> int:
        """References that no view has without a summary."""
        return self.asked_for - self.every["empty"]

    @property
    def back(self) -> dict[str, int]:
        """Those of them that a summary has."""
        return {writer: kept - self.every["empty"] for writer, kept in self.every.items()}


def first_kept(session: Session, file: Path, number: int, before: int) -> int:
    """Where the messages begin that a compaction left as they were. pi alone leaves some."""
    if session.header["format"] != "pi":
        return before
    records = []
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    marks = [record for record in records if record.get("type") == "compaction"]
    kept = marks[number].get("firstKeptEntryIndex")
    known = [at for at, message in enumerate(session.messages[:before]) if message.is_log]
    places = [at for at in known if record_of(session.messages[at]) >= kept]
    return min(places, default=before)


def record_of(message: Message) -> int:
    record = message.raw.get("record")
    return int(record["index"] if isinstance(record, dict) else record or 0)


def compactions(session: Session, file: Path) -> Iterator[Compaction]:
    """Those with a summary that can be read and whose messages are still there."""
    marks = [
        mark for mark in session.boundaries if mark["kind"] == "summary" and mark["original_kept"]
    ]
    written = [at for at, message in enumerate(session.messages) if is_summary(message)]
    start = 0
    for number, mark in enumerate(marks):
        before = mark["before"]
        near = min(written, key=lambda at: abs(at - before), default=None)
        if near is None or abs(near - before) > 3:
            continue
        later = [other["before"] for other in session.boundaries if other["before"] > before]
        end = first_kept(session, file, number, before)
        text = session.messages[near].shown
        until = min(later, default=len(session.messages))
        yield Compaction(number, start, end, before, until, text)
        start = end


def is_summary(message: Message) -> bool:
    origin = message.raw.get("origin")
    return isinstance(origin, dict) and origin.get("entry") == "summary"


def answered(messages: list[Message]) -> list[Message]:
    """The messages up to an answer whose results came later: before them nothing is summarized."""
    parts = [part for message in messages for part in message.parts]
    results = {part.raw["call_id"] for part in parts if part.kind == "result"}
    for at, message in enumerate(messages):
        calls = [part.raw["call_id"] for part in message.parts if part.kind == "call"]
        if at > len(messages) - 20 and any(call not in results for call in calls):
            return messages[:at]
    return messages


def stand_in(program: Foldback, session: Session, cut: Compaction, previous: str) -> str:
    """What the extractive summarizer writes of what the recorder summarized."""
    lines: list[dict[str, Any]] = [{**session.header, "source": None}]
    if previous:
        part = {"type": "text", "text": previous}
        lines.append({"message": {"id": "previous", "role": "user", "parts": [part]}})
    for message in answered(session.messages[cut.start : cut.end]):
        if message.is_log:
            raw = {key: value for key, value in message.raw.items() if key != "record"}
            raw["parts"] = [
                {key: value for key, value in part.items() if key != "source"}
                for part in raw["parts"]
            ]
            lines.append({"message": raw})
    lines[0].pop("source")
    with tempfile.TemporaryDirectory() as folder:
        file, strategy = Path(folder, "cut.jsonl"), Path(folder, "all.toml")
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        strategy.write_text(STRATEGY, encoding="utf-8")
        args = ["--from", "foldback", "--preset", str(strategy), "--when", "manual", "--show", "plan-json"]
        plans = json.loads(program.written("compact", str(file), *args, to="-o"))
    folds = [fold for fold in plans["folds"] if fold.get("entries")]
    if not folds:
        raise RuntimeError(f"{session.id}: no summary of {cut.start} to {cut.end}")
    return "\n".join(part["text"] for entry in folds[-1]["entries"] for part in entry["parts"])


def shown(log: Log, session: Session, cut: Compaction, call: int, summary: str) -> Standing:
    """The view of a call behind a compaction."""
    standing = Standing(log, [])
    ordinals = {id(message): at for at, message in enumerate(session.log)}
    kept = [m for m in session.messages[cut.end :] if m.is_log]
    first = ordinals[id(kept[0])] if kept else len(session.log)
    _, until = log.calls[call]
    places = log.places[:until]
    standing.original = {(p.ordinal, p.part) for p in places if p.ordinal >= first}
    standing.written = {summary} if summary else set()
    return standing


def judged(program: Foldback, file: Path, number: int) -> Iterator[Row]:
    """A row for each compaction of a file. Its name does not matter, nor that of its sessions."""
    for session in program.sessions(file):
        cuts = list(compactions(session, file))
        if not cuts:
            continue
        log = Log(session)
        references, pieces = References(log), verbatim.pieces(log)
        positions = {id(message): at for at, message in enumerate(session.messages)}
        previous = ""
        for cut in cuts:
            texts = dict(
                zip(
                    WRITERS,
                    (cut.summary, stand_in(program, session, cut, previous), ""),
                    strict=True,
                )
            )
            row = Row(f"session {number}", session.header["format"], cut.number)
            row.tokens = {writer: count(text) for writer, text in texts.items()}
            said = [m for m in session.messages[cut.start : cut.end] if m.begins_turn and m.shown]
            row.asked = len(said)
            for writer, text in texts.items():
                row.said[writer] = sum(message.shown.strip() in text for message in said)
            for call, (answer, _) in enumerate(log.calls):
                if not cut.before <= positions[id(answer)] < cut.until:
                    continue
                row.calls += 1
                far = [r for r in references.needs[call] if r.observed and r.far]
                old = [piece for piece in pieces[call] if piece.far]
                row.asked_for += len(references.needs[call])
                row.needed += len(far)
                row.pieces += len(old)
                for writer, text in texts.items():
                    standing = shown(log, session, cut, call, text)
                    written = references.written(standing)
                    for reference in references.needs[call]:
                        kept = references.kept(reference, standing, written)
                        row.every[writer] += kept
                        row.kept[writer] += kept and reference in far
                    row.verbatim[writer] += sum(piece.kept(standing) for piece in old)
            previous = cut.summary
            yield row


def share(rows: list[Row], what: str, of: str, writer: str) -> float:
    total = sum(getattr(row, of) for row in rows)
    return 100 * sum(getattr(row, what)[writer] for row in rows) / total if total else float("nan")


def compared(rows: list[Row], what: str, of: str, draws: int, seed: int) -> list[float]:
    """Points that recorded summaries keep more than the stand-in, interval over sessions."""
    by: dict[str, list[Row]] = {}
    for row in rows:
        by.setdefault(row.session, []).append(row)

    def more(some: list[Row]) -> float:
        return share(some, what, of, "recorded") - share(some, what, of, "stand-in")

    generator = random.Random(seed)
    names = sorted(by)
    drawn = [
        more([row for name in generator.choices(names, k=len(names)) for row in by[name]])
        for _ in range(draws)
    ]
    return [more(rows), *interval(drawn)]


def read() -> list[Row]:
    """The rows of the recordings that docs/evidence.md reports on."""
    lines = (Path(__file__).parent / "summaries.jsonl").read_text(encoding="utf-8").splitlines()
    return [Row(**json.loads(line)) for line in lines]


MEASURES = (("kept", "needed"), ("verbatim", "pieces"), ("back", "lost"), ("said", "asked"))


def report(rows: list[Row], say: Callable[[str], object] = print) -> None:
    """Shares are of recorded summary, stand-in and none, and of how many."""
    what = ["kept", "verbatim", "of what the cut took", "user's words"]
    head = ["writer", "compactions", "tokens", *what, "kept: more", "of what the cut took: more"]
    say("| " + " | ".join(head) + " |")
    say("|---" * len(head) + "|")
    groups = [("all", rows)]
    writers = sorted({row.writer for row in rows})
    groups += [(name, [row for row in rows if row.writer == name]) for name in writers]
    for name, some in groups:
        mean = [sum(row.tokens[writer] for row in some) / len(some) for writer in WRITERS[:2]]
        cells = [name, str(len(some)), " / ".join(f"{value:,.0f}" for value in mean)]
        for which, of in MEASURES:
            total = sum(getattr(row, of) for row in some)
            shares = " / ".join(f"{share(some, which, of, w):.0f}" for w in WRITERS)
            cells.append(f"{shares} of {total}" if total else "–")
        for which, of in (MEASURES[0], MEASURES[2]):
            value = compared(some, which, of, 2_000, 1)
            text = "{:+.1f} ({:+.1f} to {:+.1f})".format(*value).replace("-", "−")
            # One session has no interval.
            alone = len({row.session for row in some}) < 2
            cells.append("–" if "nan" in text else text.split(" ")[0] if alone else text)
        say("| " + " | ".join(cells) + " |")


def fixtures(program: Foldback, clone: str) -> None:
    run = "benchmarks/product-defaults/final-results/2026-07-23_product-defaults-medium_gpt-5.6-sol"
    told = {it["id"]: it for it in json.loads(blob(clone, f"{run}/fixtures.json"))}
    same, had = 0, dict.fromkeys(WRITERS[:2], 0)
    questions = 0
    trials = blob(clone, f"{run}/trials.jsonl").decode().splitlines()
    for trial in map(json.loads, trials):
        fixture, pi = told[trial["fixtureId"]], trial["piDefault"]
        cut = int(pi["firstKeptEntryId"].rsplit("-", 1)[1]) - 1
        at = "2026-07-23T00:00:00.000Z"
        lines = [
            {"type": "session", "version": 3, "id": fixture["id"], "timestamp": at, "cwd": "/x"}
        ]
        for number, message in enumerate(fixture["messages"]):
            parent = f"e{number - 1}" if number else None
            line = {"type": "message", "id": f"e{number}", "parentId": parent, "timestamp": at}
            lines.append({**line, "message": message})
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "fixture.jsonl")
            file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            args = ["--preset", "pi", "--when", "manual", "--show", "plan-json"]
            fold = json.loads(program.written("compact", str(file), *args, to="-o"))["folds"][-1]
        same += fold["layout"]["slots"][-1]["keep"]["start"] == cut
        entries = [part["text"] for entry in fold["entries"] for part in entry["parts"]]
        stayed = " ".join(map(said, fixture["messages"][cut:]))
        old = [it["expected"] for it in fixture["questions"] if it["expected"] not in stayed]
        questions += len(old)
        for writer, text in zip(WRITERS, (pi["summary"], "\n".join(entries)), strict=False):
            had[writer] += sum(literal in text for literal in old)
    print(f"the cut is that of the package in {same} of {len(trials)}")
    print(f"of {questions} facts before it: " + ", ".join(f"{k} {v}" for k, v in had.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--fixtures", metavar="CLONE")
    parser.add_argument("--rows", type=Path, help="a file for one line per compaction")
    args = parser.parse_args()
    program = Foldback(args.binary, [])
    if args.fixtures:
        fixtures(program, args.fixtures)
        return
    rows: list[Row] = []
    for number, file in enumerate(files(args.paths)):
        try:
            rows += judged(program, file, number)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{file}: {error}", file=sys.stderr)
    if args.rows:
        lines = (json.dumps(vars(row)) + "\n" for row in rows)
        args.rows.write_text("".join(lines), encoding="utf-8")
    report(rows)


if __name__ == "__main__":
    main()
