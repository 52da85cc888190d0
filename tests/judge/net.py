"""The bill of a session in which what was missed is read again.

The judge puts each read into the session by itself, writes the session down with it, and asks for
the plan of that session: what a preset does behind a read is what it does in a session that has the
read. So it judges presets alone that do not decide by recorded usage, which such a session has of
no read.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bill
from edits import (
    Edit,
    beside_match,
    joined,
    names_old_text,
    split_lines,
    without_number,
)
from foldback import Foldback
from retention import Needs
from session import Message, Session
from texts import Place, Standing
from verbatim import Piece, holds
from view import Call, Shown, calls, digest, written

# The presets that are judged. They decide by what stands in the view.
PRESETS = ("keep-last-1", "window", "openhands")
# Lines of a result that is read whole, and lines around what is needed of a longer one.
WHOLE = 400
AROUND = 200
# How often a result is read before one call, if it is compacted in between.
TWICE = 2
# Each read takes a run of the program.
MOST = 120

MASK = (1 << 64) - 1
At = tuple[int, int]


def draw(session: str, call: int, kind: str, text: str) -> float:
    """FNV-1a of all of it, a zero byte behind each, and the finaliser of SplitMix64."""
    state = 0xCBF29CE484222325
    for byte in b"".join(part.encode() + b"\0" for part in (session, str(call), kind, text)):
        state = ((state ^ byte) * 0x100000001B3) & MASK
    state = (state + 0x9E3779B97F4A7C15) & MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return ((state ^ (state >> 31)) >> 11) / (1 << 53)


@dataclass
class Need:
    """An old text or a piece that a call needs and that a tool had shown."""

    what: Edit | Piece
    source: Place
    draw: float

    def lines(self) -> tuple[int, int] | None:
        """The lines of its source that hold it, the last one included."""
        return lines_of(self.what, self.source.text)


def found(text: str, old: str) -> Iterator[tuple[int, int]]:
    """The lines that hold an old text, by each reading that has it."""
    lines = split_lines(text)
    ways = [list(enumerate(lines)), [(n, without_number(line)) for n, line in enumerate(lines)]]
    if "\n@@" in text or text.startswith("@@") or "*** Begin Patch" in text:
        for here, there in ("+-", "-+"):
            ways.append(
                [(n, line.removeprefix(here)) for n, line in enumerate(lines) if line[:1] != there]
            )
    for way in ways:
        reading = joined(line for _, line in way)
        at = reading.find(old)
        if at >= 0:
            numbers = [number for number, line in way if line.strip()]
            first = reading[:at].count("\n")
            yield numbers[first], numbers[first + old.count("\n")]


@dataclass(eq=False)
class Read:
    """A read that stands in a session: its source, and its lines where it has not all."""

    source: At
    answer: Message
    result: Message
    text: str | None


def source_of(need: Edit | Piece, places: Iterable[Place], edits: set[At]) -> Place | None:
    """The latest of the tool results that show it in the best way that there is."""
    results = [place for place in places if place.role == "tool"]
    by = {place: (way(need, place, edits), place.ordinal, place.part) for place in results}
    return max(results, key=lambda place: by[place], default=None)


def way(need: Edit | Piece, place: Place, edits: set[At]) -> int:
    """How a result shows something: beside an edit, beside a match of a search, or as asked for."""
    if (place.ordinal, place.part) in edits:
        return 0
    span = lines_of(need, place.text)
    beside = span is not None and beside_match(place.text.split("\n")[span[0]])
    return 1 if beside else 2


def lines_of(need: Edit | Piece, text: str) -> tuple[int, int] | None:
    """The first lines of a text that hold it, the last one included."""
    if isinstance(need, Edit):
        return next(found(text, need.old), None)
    at = text.find(need.text)
    if at < 0:
        return None
    return text[:at].count("\n"), text[: at + len(need.text)].count("\n")


def results_of_edits(session: Session) -> set[At]:
    """The results of calls that name an old text."""
    asked: dict[str, bool] = {}
    out = set()
    for ordinal, message in enumerate(session.log):
        for number, part in enumerate(message.parts):
            if part.kind == "call":
                asked[str(part.raw["call_id"])] = names_old_text(part)
            elif part.kind == "result" and asked.get(str(part.raw["call_id"])):
                out.add((ordinal, number))
    return out


def needs_of(needs: Needs, session: Session) -> list[list[Need]]:
    """By call, what can be read again."""
    out = []
    edits_of = results_of_edits(session)
    for call, (edits, pieces) in enumerate(zip(needs.edits, needs.pieces, strict=True)):
        here = []
        for edit in edits:
            if source := source_of(edit, edit.places, edits_of):
                here.append(Need(edit, source, draw(session.id, call, "edit", edit.old)))
        for piece in pieces:
            if source := source_of(piece, piece.places, edits_of):
                here.append(Need(piece, source, draw(session.id, call, "piece", piece.text)))
        out.append(here)
    return out


@dataclass
class Again:
    """A session with reads in it."""

    session: Session
    needs: Needs
    chance: float
    reads: list[Read] = field(default_factory=list)
    # The recorded calls that reads were made before.
    before: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log = self.needs.log
        self.made = Session(
            self.session.header,
            list(self.session.messages),
            [dict(boundary) for boundary in self.session.boundaries],
            self.session.warnings,
            self.session.unlogged,
        )
        self.by_call = needs_of(self.needs, self.session)
        self.number = {id(answer): call for call, (answer, _) in enumerate(self.log.calls)}

    def standing(self, view: list[Shown]) -> tuple[Standing, list[tuple[At, str]]]:
        """What a view shows, and the reads of some lines among it."""
        reads = {id(message): read for read in self.reads for message in (read.answer, read.result)}
        standing = Standing(self.log, [shown for shown in view if id(shown.message) not in reads])
        lines = []
        for shown in view:
            read = reads.get(id(shown.message))
            if read is None:
                continue
            if shown.edits:
                standing.written.update(text for _, text in shown.edits.values())
            elif shown.message is read.result and read.text is None:
                standing.original.add(read.source)
            elif shown.message is read.result:
                lines.append((read.source, str(read.text)))
        return standing, lines

    def missed(self, call: int, view: list[Shown]) -> list[Need]:
        standing, lines = self.standing(view)
        return [need for need in self.by_call[call] if not kept(need.what, standing, lines)]

    def next(self, ours: list[Call], since: int) -> tuple[Call, list[Need]] | None:
        """The first call that reads something, and what it misses of its source."""
        for call in ours[since:]:
            number = self.number.get(id(call.answer))
            if number is None:
                continue
            missed = self.missed(number, call.view)
            done = self.done(number, call.view)
            due = [at(need) for need in missed if need.draw < self.chance and at(need) not in done]
            if due:
                return call, [need for need in missed if at(need) == min(due)]
        return None

    def done(self, number: int, view: list[Shown]) -> set[At]:
        """The sources that are not read before a call again: read twice, or read and in view."""
        whole = {id(shown.message) for shown in view if not shown.edits}
        times: dict[At, int] = {}
        for read, before in zip(self.reads, self.before, strict=True):
            if before == number:
                in_view = id(read.result) in whole
                times[read.source] = times.get(read.source, 0) + (TWICE if in_view else 1)
        return {source for source, read in times.items() if read >= TWICE}

    def read(self, call: Call, missed: list[Need]) -> None:
        """Puts a read of what is missed before the answer of a call."""
        source = at(missed[0])
        number = self.number[id(call.answer)]
        asked = self.asked(source)
        ident = f"again-{len(self.reads)}"
        raw = {
            name: value
            for name, value in self.log.session.log[source[0]].parts[source[1]].raw.items()
            if name not in ("pointer", "source_record")
        } | {"call_id": ident}
        text = excerpt(missed)
        if text is not None:
            raw = {
                name: value for name, value in raw.items() if name not in ("media", "structured")
            }
            raw["text"] = text
        time = {} if call.start_ms is None else {"at": call.start_ms}
        tool, arguments, answer = str(raw.get("tool", "")), "{}", {}
        if asked is not None:
            message, part = asked
            tool, arguments = message.parts[part].raw["tool"], message.parts[part].raw["arguments"]
            several = sum(part.kind == "call" for part in message.parts)
            answer = {"usage": {"output": -(-output(message) // several)}}
        question = {"type": "call", "call_id": ident, "tool": tool, "arguments": arguments}
        made = Read(
            source,
            Message(
                {
                    "id": f"{ident}-a",
                    "role": "assistant",
                    "parts": [question],
                    "answer": answer,
                    **time,
                }
            ),
            Message({"id": f"{ident}-r", "role": "tool", "parts": [raw], **time}),
            text,
        )
        where = next(n for n, message in enumerate(self.made.messages) if message is call.answer)
        self.made.messages[where:where] = [made.answer, made.result]
        self.made.__dict__.pop("log", None)
        for boundary in self.made.boundaries:
            boundary["before"] += 2 * (boundary["before"] > where)
        self.reads.append(made)
        self.before.append(number)

    def asked(self, source: At) -> tuple[Message, int] | None:
        """The latest call that the source is the result of."""
        log = self.session.log
        ident = log[source[0]].parts[source[1]].raw.get("call_id")
        places = (
            (message, part) for message in log[: source[0]] for part in range(len(message.parts))
        )
        calls_of = [
            (message, part)
            for message, part in places
            if message.parts[part].kind == "call" and message.parts[part].raw["call_id"] == ident
        ]
        return calls_of[-1] if calls_of else None

    def lines(self) -> str:
        """The session as a file."""
        made = self.made
        values: list[dict[str, Any]] = [made.header]
        values += [{"message": message.raw} for message in made.messages]
        values += [{"boundary": boundary} for boundary in made.boundaries]
        values += [{"warning": warning} for warning in made.warnings]
        return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def at(need: Need) -> At:
    return need.source.ordinal, need.source.part


def kept(what: Edit | Piece, standing: Standing, lines: Iterable[tuple[At, str]]) -> bool:
    if what.kept(standing):
        return True
    if isinstance(what, Piece):
        return any(holds(text, what.text) for _, text in lines)
    places = {(place.ordinal, place.part) for place in what.places}
    return any(
        source in places and any(True for _ in found(text, what.old)) for source, text in lines
    )


def excerpt(missed: list[Need]) -> str | None:
    """The lines that are read; None for all of them."""
    lines = missed[0].source.text.split("\n")
    spans = [need.lines() for need in missed]
    known = [span for span in spans if span is not None]
    if len(lines) <= WHOLE or len(known) < len(spans):
        return None
    first = max(min(span[0] for span in known) - AROUND, 0)
    last = min(max(span[1] for span in known) + 1 + AROUND, len(lines))
    return None if last - first == len(lines) else "\n".join(lines[first:last])


def output(answer: Message) -> int:
    return bill.output_tokens(Call(0, answer, [], 0, None, 0))


@dataclass
class Made:
    """What a replay with reads came to."""

    session: Session
    calls: list[Call]
    summaries: list[bill.Asked]
    # The recorded number of each call, None of those that read something again.
    recorded: list[int | None]
    reads: int
    read_tokens: int
    # Whether the views of all calls are those that foldback made of the session with the reads.
    same: bool


def replay(
    program: Foldback, session: Session, needs: Needs, preset: str, chance: float
) -> Made | None:
    """Reads again until nothing is missed; None where that takes too many reads."""
    again = Again(session, needs, chance)
    same, since = True, 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "session.jsonl")
        while len(again.reads) <= MOST:
            file.write_text(again.lines(), encoding="utf-8")
            plans = program.plans(file, again.made, preset, several=False)
            ours = list(calls(again.made, plans["folds"]))
            told = [call["sha256"] for call in plans["calls"]]
            same = same and told == [digest(call.view) for call in ours]
            step = again.next(ours, since)
            if step is None:
                tokens = sum(read.result.tokens for read in again.reads)
                asked = summaries(plans)
                recorded = [again.number.get(id(call.answer)) for call in ours]
                return Made(again.made, ours, asked, recorded, len(again.reads), tokens, same)
            since = step[0].number
            again.read(*step)
    return None


def summaries(plans: dict[str, Any]) -> list[bill.Asked]:
    """The requests to a summarizer. What was written stands with the first before a call."""
    output = {line.call: line.tokens for line in written(plans["folds"])}
    return [
        bill.Asked(
            one["call"],
            one["input_tokens"],
            output.pop(one["call"], 0),
            one.get("shared_tokens", 0),
        )
        for one in plans["asked"]
    ]
