"""What agents read again after a compaction, and how that compares with what a replay predicts.

    python3 tests/evidence/reread.py FOLDBACK_BINARY FILE_OR_FOLDER… --rows FILE
    python3 tests/evidence/reread.py

The first form measures recordings and writes one row for each place. The second prints the tables
of README.md from `reread.tsv`.

A place is the moment before a call. After it, the next calls of the agent are followed. A line that
a reading call brings counts as read again if a result had shown it before the place and none has
since. Without a compaction agents read again, too, so each place is compared with matched places:
the same kind of agent, about as many calls and as much read so far, and no compaction near.

The prediction is the counterfactual one: each old text and each piece that the next calls take from
earlier results, and that the compacted view lacks, brings back the result that had shown it. What
the agent read again itself is left out of the view for this, because a recording without the
compaction would not have it.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from math import log, nan
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "judge"))

import edits
import net
import verbatim
from foldback import Foldback
from judge import files
from session import Message, Session
from texts import Log, Place
from tokens import count

from outcomes import interval, lines
from summaries import compactions

HERE = Path(__file__).parent
HORIZONS = (10, 20, 40)
# Calls that a place needs on either side, so that there is something to read again.
LEAST_BEFORE = 10
LEAST_AFTER = 5
# No compaction is this near to a matched place, in calls.
FREE = 40
MATCHES = 10
PLACEBOS = 3
# Characters of a line that is evidence; shorter ones stand in every file.
TELLING = 16
# A result that has this share of its telling characters from before is read again.
AGAIN = 0.5
# A result of more lines is not read whole: so many before and behind what is needed. As `net` does.
WHOLE = 400
AROUND = 200

READING_TOOLS = re.compile(r"read|view|open|grep|glob|search_files|codesearch|find_file|^ls$|^rg$")
READING_PROGRAMS = frozenset(
    "awk cat echo find grep head jq less ls nl rg sed sort tail tree wc".split()
)
READING_GIT = frozenset("blame diff grep log show".split())
# What stands before a program without being one.
PREFIX = re.compile(r"^(?:cd\s+\S+|[A-Za-z_]\w*=\S*|sudo|time)$")


@dataclass
class Row:
    """A place: what was read again after it, at matched places, and what is predicted."""

    # compaction, or placebo.
    what: str
    corpus: str
    session: str
    agent: str
    # summary, sealed or clear; none of a placebo.
    kind: str
    horizon: int
    # Calls that were followed.
    followed: int
    tokens: float
    calls: float
    matched_tokens: float
    matched_calls: float
    predicted_tokens: int = 0
    predicted_calls: int = 0
    # Old texts and pieces that the view lacked, and those of them that the agent had read again
    # before it used them.
    missed: int = 0
    back: int = 0

    @property
    def excess(self) -> float:
        return self.tokens - self.matched_tokens

    @property
    def excess_calls(self) -> float:
        return self.calls - self.matched_calls


@dataclass(eq=False)
class Result:
    """A tool result with the lines that tell something, and the call that it belongs to."""

    place: Place
    # Number of calls that were answered before it, that of its own call among them.
    answers: int
    reading: bool

    @cached_property
    def lines(self) -> list[str]:
        plain = (edits.without_number(line).strip() for line in self.place.text.split("\n"))
        return [line for line in plain if len(line) >= TELLING]

    @cached_property
    def tokens(self) -> int:
        return count(self.place.text)

    def share(self, known: set[str]) -> float:
        """The share of its telling characters that stand in known lines."""
        total = sum(map(len, self.lines))
        return sum(len(line) for line in self.lines if line in known) / total if total else 0.0


def is_reading(tool: str, said: str) -> bool:
    """Whether a call only looks: by its tool, or by every program of its command."""
    if re.search(r"write|edit|todo", tool, re.IGNORECASE):
        return False
    if READING_TOOLS.search(tool.lower()):
        return True
    if not re.search(r"bash|exec|shell|terminal|command", tool.lower()):
        return False
    command = said.split("\n")[0]
    programs = []
    for step in re.split(r"&&|\|\||[;|]", command):
        words = step.strip().split()
        while words and PREFIX.match(words[0]):
            words = words[1:]
        if not words or words[0] == "cd":
            continue
        git = words[0] == "git" and len(words) > 1 and words[1] in READING_GIT
        programs.append(git or words[0] in READING_PROGRAMS)
    return bool(programs) and all(programs) and " > " not in command and "sed -i" not in command


class Reader:
    """A session with its results by call."""

    def __init__(self, session: Session, corpus: str, name: str) -> None:
        self.session, self.corpus, self.name = session, corpus, name
        self.agent = str(session.header["format"])
        self.log = Log(session)
        asked: dict[str, tuple[str, str]] = {}
        self.results: list[Result] = []
        for place in self.log.places:
            part = session.log[place.ordinal].parts[place.part]
            if part.kind == "call":
                asked[str(part.raw["call_id"])] = str(part.raw["tool"]), place.text
            elif part.kind == "result":
                unknown = str(part.raw.get("tool", "")), ""
                tool, said = asked.get(str(part.raw["call_id"]), unknown)
                self.results.append(Result(place, place.answers, is_reading(tool, said)))
        self.positions = {id(message): at for at, message in enumerate(session.messages)}

    @property
    def calls(self) -> int:
        return len(self.log.calls)

    def call_at(self, before: int) -> int:
        """The first call at or behind a position in the session's messages."""
        places = (self.positions[id(answer)] for answer, _ in self.log.calls)
        return sum(place < before for place in places)

    @cached_property
    def compacted(self) -> list[int]:
        return [self.call_at(boundary["before"]) for boundary in self.session.boundaries]

    @cached_property
    def read_so_far(self) -> list[int]:
        """By call, tokens of what reading calls had brought before it."""
        out = [0] * (self.calls + 1)
        for result in self.results:
            if result.reading:
                out[min(result.answers, self.calls)] += result.tokens
        for at in range(1, len(out)):
            out[at] += out[at - 1]
        return out

    def free(self, call: int) -> bool:
        """Whether a place can be followed and no compaction is near."""
        inside = call >= LEAST_BEFORE and call + LEAST_AFTER <= self.calls
        return inside and all(abs(call - other) >= FREE for other in self.compacted)

    def followed(self, call: int, horizon: int) -> int:
        """Calls up to the horizon, the next compaction, or the end."""
        until = min([other for other in self.compacted if other > call], default=self.calls)
        return min(horizon, until - call)

    def split(self, call: int, number: int) -> tuple[list[Result], list[Result]]:
        before = [result for result in self.results if result.answers <= call]
        after = [r for r in self.results if call < r.answers <= call + number]
        return before, after

    def again(self, call: int, number: int) -> tuple[float, int, set[int]]:
        """Tokens read again after a place, the calls that did, and which results those were."""
        before, after = self.split(call, number)
        known = {line for result in before for line in result.lines}
        tokens, numbers, which = 0.0, set(), set()
        for result in after:
            if result.reading:
                share = result.share(known)
                tokens += share * result.tokens
                if share >= AGAIN:
                    numbers.add(result.answers)
                    which.add(id(result.place))
            known.difference_update(result.lines)
        return tokens, len(numbers), which


@dataclass
class Cut:
    """A compaction of the recorder: what its view no longer shows, and what it says instead."""

    reader: Reader
    call: int
    kind: str
    hidden: set[tuple[int, int]]
    summary: str


def cuts(reader: Reader, file: Path) -> Iterator[Cut]:
    session = reader.session
    places = {id(message): at for at, message in enumerate(session.log)}
    by_id = {message.id: (at, message) for at, message in enumerate(session.messages)}
    told = {cut.before: cut for cut in compactions(session, file)}
    hidden: set[tuple[int, int]] = set()
    for boundary in session.boundaries:
        before, kind = boundary["before"], str(boundary["kind"])
        if not boundary["original_kept"]:
            continue
        if kind == "clear":
            now = time_of(session.messages[before:])
            for line in session.cleared:
                at, message = by_id.get(line["message"], (before, None))
                if message is not None and at < before and line.get("time", 0) <= now:
                    hidden.add((places[id(message)], line["part"]))
        else:
            end = told[before].end if before in told else before
            for message in session.messages[:end]:
                stays = kind == "sealed" and message.role == "user"
                if message.is_log and not stays:
                    ordinal = places[id(message)]
                    hidden.update((ordinal, part) for part in range(len(message.parts)))
        summary = told[before].summary if before in told else ""
        yield Cut(reader, reader.call_at(before), kind, set(hidden), summary)


def time_of(messages: Iterable[Message]) -> float:
    times = (message.raw.get("at") for message in messages)
    return next((float(time) for time in times if time is not None), float("inf"))


@dataclass
class Prediction:
    tokens: int = 0
    calls: int = 0
    missed: int = 0
    back: int = 0


def predicted(cut: Cut, number: int, needs: list[list[Need]]) -> Prediction:
    """What comes back if everything that the next calls need and that is gone is read again.

    It comes back with the result that the replay of `net` reads. A read brings back all that a call
    misses of a result, as there.
    """
    reader, out = cut.reader, Prediction()
    of_edits = net.results_of_edits(reader.session)
    by_place = {id(result.place): result for result in reader.results}
    _, _, again = reader.again(cut.call, number)
    numbers = {by_place[key].answers for key in again}
    # What came back, by result.
    brought: dict[int, list[str]] = defaultdict(list)
    for call in range(cut.call, cut.call + number):
        # A call that reads again would not have been made.
        if call + 1 in numbers:
            continue
        wanted: dict[int, list[str]] = defaultdict(list)
        for need in needs[call]:
            text, places = text_of(need), need.places
            gone = [place for place in places if (place.ordinal, place.part) in cut.hidden]
            stand = [place for place in places if place not in gone and id(place) not in again]
            if not gone or stand or verbatim.holds(cut.summary, text):
                continue
            out.missed += 1
            out.back += any(id(place) in again for place in places)
            if any(text in said for place in gone for said in brought[id(place)]):
                continue
            known = (place for place in gone if id(place) in by_place)
            source = net.source_of(need, known, of_edits)
            if source:
                wanted[id(source)].append(text)
        for key, texts in wanted.items():
            said = around(by_place[key].place.text, texts)
            brought[key].append(edits.plain(said) + "\n" + said)
            out.tokens += count(said)
            out.calls += 1
    return out


Need = edits.Edit | verbatim.Piece


def text_of(need: Need) -> str:
    return need.old if isinstance(need, edits.Edit) else need.text


def needed(reader: Reader) -> list[list[Need]]:
    """By call, the old texts and pieces that it takes from before."""
    old, pieces = edits.edits(reader.log), verbatim.pieces(reader.log)
    return [[*of_edits, *of_pieces] for of_edits, of_pieces in zip(old, pieces, strict=True)]


def around(text: str, needs: list[str]) -> str:
    """What is read of a result: the lines around pieces or old texts where it is long."""
    told = text.split("\n")
    firsts = [need.split("\n")[0] for need in needs]
    found = [next((at for at, line in enumerate(told) if first in line), None) for first in firsts]
    known = [at for at in found if at is not None]
    if len(told) <= WHOLE or len(known) < len(needs):
        return text
    last = max(at + need.count("\n") for at, need in zip(known, needs, strict=True))
    return "\n".join(told[max(0, min(known) - AROUND) : last + AROUND + 1])


class Matcher:
    """The places without a compaction, by agent."""

    def __init__(self, readers: list[Reader]) -> None:
        self.places: dict[str, list[tuple[Reader, int]]] = defaultdict(list)
        for reader in readers:
            for call in range(reader.calls):
                if reader.free(call):
                    self.places[reader.agent].append((reader, call))
        self.known: dict[tuple[int, int, int], tuple[float, int]] = {}

    def nearest(self, reader: Reader, call: int, number: int) -> list[tuple[Reader, int]]:
        """Matched places: none overlaps the calls that are followed here, nor another of them."""
        read = reader.read_so_far[call]

        def distance(place: tuple[Reader, int]) -> float:
            other, at = place
            position = log(at + 1) - log(call + 1)
            much = log(other.read_so_far[at] + 1_000) - log(read + 1_000)
            return position * position + much * much

        out: list[tuple[Reader, int]] = []
        for other, at in sorted(self.places[reader.agent], key=distance):
            if other.followed(at, number) < number:
                continue
            taken = [(reader, call), *out]
            if all(other is not one or abs(at - there) >= number for one, there in taken):
                out.append((other, at))
            if len(out) == MATCHES:
                break
        return out

    def mean(self, reader: Reader, call: int, number: int) -> tuple[float, float] | None:
        found = self.nearest(reader, call, number)
        if len(found) < MATCHES // 2:
            return None
        both = []
        for other, at in found:
            key = (id(other), at, number)
            if key not in self.known:
                self.known[key] = other.again(at, number)[:2]
            both.append(self.known[key])
        return sum(t for t, _ in both) / len(both), sum(c for _, c in both) / len(both)


def read_all(program: Foldback, paths: list[Path]) -> list[tuple[Reader, Path]]:
    """The sessions, each checkpoint of one that goes on left out."""
    longest: dict[str, tuple[Reader, Path]] = {}
    for path in paths:
        for number, file in enumerate(files([path])):
            try:
                sessions = program.sessions(file)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                print(f"{file}: {error}", file=sys.stderr)
                continue
            for session in sessions:
                reader = Reader(session, path.name, f"{path.name} {number}")
                known = longest.get(session.id)
                if known is None or known[0].calls < reader.calls:
                    longest[session.id] = (reader, file)
    return list(longest.values())


def measured(program: Foldback, paths: list[Path], seed: int) -> Iterator[Row]:
    all_of_them = read_all(program, paths)
    readers = [reader for reader, _ in all_of_them]
    matcher = Matcher(readers)
    generator = random.Random(seed)

    def row(reader: Reader, call: int, what: str, kind: str, horizon: int) -> Row | None:
        number = reader.followed(call, horizon)
        if number < LEAST_AFTER or call < LEAST_BEFORE:
            return None
        matched = matcher.mean(reader, call, number)
        if matched is None:
            return None
        tokens, calls, _ = reader.again(call, number)
        who = (what, reader.corpus, reader.name, reader.agent, kind, horizon, number)
        return Row(*who, tokens, calls, *matched)

    for reader, file in all_of_them:
        found = list(cuts(reader, file))
        needs = needed(reader) if found else []
        for cut in found:
            for horizon in HORIZONS:
                if made := row(reader, cut.call, "compaction", cut.kind, horizon):
                    told = predicted(cut, made.followed, needs)
                    made.predicted_tokens, made.predicted_calls = told.tokens, told.calls
                    made.missed, made.back = told.missed, told.back
                    yield made
        free = [call for call in range(reader.calls) if reader.free(call)]
        for call in sorted(generator.sample(free, min(PLACEBOS, len(free)))):
            for horizon in HORIZONS:
                if made := row(reader, call, "placebo", "none", horizon):
                    yield made


def write(rows: Iterable[Row], file: Path) -> None:
    names = [field.name for field in fields(Row)]
    out = ["\t".join(names)]
    for row in rows:
        values = (getattr(row, name) for name in names)
        out.append("\t".join(f"{v:.1f}" if isinstance(v, float) else str(v) for v in values))
    file.write_text("\n".join(out) + "\n", encoding="utf-8")


def read() -> list[Row]:
    """The rows of the recordings that README.md reports on."""
    head, *rows = lines("reread.tsv")
    kinds = {"str": str, "int": int, "float": float}
    types = [kinds[str(field.type)] for field in fields(Row)]
    assert head == [field.name for field in fields(Row)]
    return [Row(*(kind(cell) for kind, cell in zip(types, row, strict=True))) for row in rows]


def bootstrapped(
    rows: list[Row], figure: Callable[[list[Row]], float], draws: int, seed: int
) -> list[float]:
    """A figure with its interval over sessions."""
    by: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by[row.session].append(row)
    names, generator = sorted(by), random.Random(seed)
    drawn = [
        figure([row for name in generator.choices(names, k=len(names)) for row in by[name]])
        for _ in range(draws)
    ]
    return [figure(rows), *interval(drawn)]


def mean(figure: Callable[[Row], float]) -> Callable[[list[Row]], float]:
    return lambda rows: sum(map(figure, rows)) / len(rows) if rows else nan


def ratio(upper: Callable[[Row], float], lower: str) -> Callable[[list[Row]], float]:
    def figure(rows: list[Row]) -> float:
        total = sum(getattr(row, lower) for row in rows)
        return sum(map(upper, rows)) / total if total else nan

    return figure


def back(rows: list[Row]) -> float:
    total = sum(row.missed for row in rows)
    return sum(row.back for row in rows) / total if total else nan


# Sessions that an interval is made of, at least.
LEAST_SESSIONS = 5

GROUPS: dict[str, Callable[[Row], bool]] = {
    "all": lambda row: True,
    "`sessions`": lambda row: row.corpus == "sessions",
    "`training`": lambda row: row.corpus == "training",
    "a summary": lambda row: row.kind == "summary",
    "a sealed summary (Codex)": lambda row: row.kind == "sealed",
    "clearing only": lambda row: row.kind == "clear",
}


def excess(row: Row) -> float:
    return row.excess


def excess_calls(row: Row) -> float:
    return row.excess_calls


def report(rows: list[Row], draws: int, say: Callable[[str], object] = print) -> None:
    """The excess, then what a replay predicts of it."""

    def cell(some: list[Row], figure: Callable[[list[Row]], float], digits: int) -> str:
        value, lo, hi = bootstrapped(some, figure, draws, 1)
        text = f"{value:,.{digits}f} ({lo:,.{digits}f} to {hi:,.{digits}f})"
        return text.replace("-", "−")

    head = ["after", "places", "sessions", "within", "tokens more", "calls more", "placebo: tokens"]
    say("| " + " | ".join([*head, "calls"]) + " |")
    say("|---" * (len(head) + 1) + "|")
    for horizon in HORIZONS:
        placebo = [row for row in rows if row.what == "placebo" and row.horizon == horizon]
        for name, some in grouped(rows, horizon):
            cells = [name, str(len(some)), str(sessions(some)), f"{horizon} calls"]
            cells += [cell(some, mean(excess), 0), cell(some, mean(excess_calls), 1)]
            alike = [row for row in placebo if name == f"`{row.corpus}`" or name == "all"]
            if alike:
                cells += [cell(alike, mean(excess), 0), cell(alike, mean(excess_calls), 1)]
            else:
                cells += ["", ""]
            say("| " + " | ".join(cells) + " |")
    say("")
    head = ["after", "within", "predicted: tokens", "calls", "missed", "of them read again"]
    head += ["ρ by tokens", "ρ by calls", "verdict"]
    say("| " + " | ".join(head) + " |")
    say("|---" * len(head) + "|")
    for horizon in HORIZONS:
        for name, some in grouped(rows, horizon):
            tokens = mean(lambda row: row.predicted_tokens)(some)
            calls = mean(lambda row: row.predicted_calls)(some)
            cells = [name, f"{horizon} calls", f"{tokens:,.0f}", f"{calls:.1f}"]
            cells += [str(sum(row.missed for row in some)), cell(some, back, 2)]
            cells += [cell(some, ratio(excess, "predicted_tokens"), 2)]
            cells += [cell(some, ratio(excess_calls, "predicted_calls"), 2)]
            say("| " + " | ".join([*cells, verdict(some, draws)]) + " |")


def grouped(rows: list[Row], horizon: int) -> Iterator[tuple[str, list[Row]]]:
    for name, chosen in GROUPS.items():
        some = [row for row in rows if row.what == "compaction" and chosen(row)]
        yield name, [row for row in some if row.horizon == horizon]


def sessions(rows: list[Row]) -> int:
    return len({row.session for row in rows})


def verdict(rows: list[Row], draws: int) -> str:
    """Whether the excess says anything, and so whether its ratio to the prediction does."""
    if sessions(rows) < LEAST_SESSIONS:
        return "inconclusive: few sessions"
    low = bootstrapped(rows, mean(excess), draws, 1)[1]
    return "read again" if low > 0 else "inconclusive: no clear excess"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary", nargs="?")
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--rows", type=Path, help="a file for one line per place and horizon")
    parser.add_argument("--draws", type=int, default=1_000)
    args = parser.parse_args()
    if args.binary:
        write(measured(Foldback(args.binary, []), args.paths, 1), args.rows)
    else:
        report(read(), args.draws)


if __name__ == "__main__":
    main()
