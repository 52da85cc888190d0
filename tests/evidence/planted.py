"""What becomes of rules of eight kinds that are planted in sessions, after one, three and five folds.

    python3 tests/evidence/planted.py FOLDBACK_BINARY ../shared/sessions [--window 100000]

The largest recordings, without what their recorders wrote for compactions, and generated sessions get
one rule of each kind, in messages of the user's at places that are drawn from their first third. Every
other message has a log around the rule, as users paste them. Under every preset, the first request after
so many folds either says a rule word for word, or has all of its names, or neither: it is gone. The
tables of `docs/findings.md` must be those that are made here; `UPDATE_DOCS=1` writes them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "judge"))
from foldback import Foldback
from judge import files
from session import Message, Session
from view import calls

FINDINGS = Path(__file__).parents[2] / "docs" / "findings.md"
RECORDED, GENERATED = 6, 4
#: Calls of a generated session, and lines of a result: some 4,000 tokens each.
CALLS, LINES = 160, 270
#: Lines of a log that are pasted before and behind a rule.
PASTED = 30
FOLDS = (1, 3, 5)
#: By kind, what the user says first, where it is an exception or revokes something, and the rule.
#: `{a}` and `{b}` are drawn.
KINDS = {
    "prohibition": ("", "Never edit anything below `db/{a}_migrations/`."),
    "format": ("", "Begin every commit message with `[{a}]` and keep it in lower case."),
    "path": ("", "New tests belong into `tests/{a}/{b}_regress.rs`, nowhere else."),
    "number": ("", "A request to the {a}_pool may take 7{n} ms at the longest."),
    "preference": ("", "I like `{a}_result` better than exceptions here."),
    "deadline": ("", "The `{a}_release` is due on 2027-03-{d} at 17:00."),
    "exception": (
        "Do not change any file below `vendor/{a}/`.",
        "The one file that you may change there is `vendor/{a}/{b}_shim.c`.",
    ),
    "revoked": (
        "Always run `make {a}-check` before a commit.",
        "What I said about `make {a}-check` is off: it takes too long.",
    ),
}
WORDS = (
    "amber birch cedar delta ember fjord grove haven inlet jetty kelso larch maple nacre".split()
)


@dataclass
class Plant:
    """A rule, what it takes back, and the number of the call before which it stands."""

    kind: str
    earlier: str
    rule: str
    names: list[str]
    call: int


def draw(rng: random.Random, kind: str) -> tuple[str, str, list[str]]:
    given = {key: f"{rng.choice(WORDS)}{rng.randrange(100, 999)}" for key in "ab"}
    given |= {"n": f"{rng.randrange(10, 99)}", "d": f"{rng.randrange(10, 28)}"}
    earlier, rule = (text.format(**given) for text in KINDS[kind])
    quoted = rule.split("`")[1::2] or [f"{given['a']}_pool", f"7{given['n']}"]
    return earlier, rule, quoted + [word for word in rule.split() if word.startswith("2027-")]


def plant(session: Session, seed: str) -> tuple[list[dict[str, Any]], list[Plant]]:
    """The messages of a session with a rule of every kind, and the rules."""
    rng = random.Random(seed)
    log = [message.raw for message in session.log]
    free = [
        at
        for at, (before, message) in enumerate(pairwise(log), 1)
        if "answer" in message and before["role"] != "assistant"
    ]
    free = free[1 : max(len(free) // 3, 2 * len(KINDS))]
    drawn = {kind: sorted(rng.sample(free, 2)) for kind in KINDS}
    said: dict[int, list[str]] = defaultdict(list)
    plants = []
    for kind, (first, second) in drawn.items():
        earlier, rule, names = draw(rng, kind)
        pasted = [f"12:00:{at:02} worker {at % 7} took {at * 37 % 911} ms" for at in range(PASTED)]
        around = "\n".join(pasted) if rng.random() < 0.5 else ""
        said[first] += [f"I had a look. {earlier} Go on."] if earlier else []
        said[second].append(f"Fine so far.\n{around}\n{rule}\n{around}\nGo on.")
        number = sum("answer" in message for message in log[:second])
        plants.append(Plant(kind, earlier, rule, names, number))
    out: list[dict[str, Any]] = []
    for at, message in enumerate(log):
        for text in said[at]:
            part = {"type": "text", "text": text}
            given = {"id": f"planted-{len(out)}", "role": "user", "parts": [part]}
            out.append(given | ({"at": message["at"]} if "at" in message else {}))
        out.append(message)
    return out, plants


def generated(number: int) -> Session:
    """An agent that reads one file after the other."""
    log = [
        Message({"id": "u", "role": "user", "parts": [{"type": "text", "text": "Read it all."}]})
    ]
    for at in range(CALLS):
        text = f"src/part_{number}_{at}.rs"
        call = {"type": "call", "call_id": f"c{at}", "tool": "read"}
        call["arguments"] = json.dumps({"path": text})
        lines = (f"let value_{at}_{line} = load({line * 7919 + at});" for line in range(LINES))
        result = {"type": "result", "call_id": f"c{at}", "tool": "read", "status": "ok"}
        result["text"] = "\n".join(lines)
        answer = {"id": f"a{at}", "role": "assistant", "parts": [call], "answer": {}}
        log += [Message(answer), Message({"id": f"r{at}", "role": "tool", "parts": [result]})]
    header = {"foldback": 1, "id": f"generated-{number}", "format": "foldback", "frame": []}
    return Session(header, log)


def largest(program: Foldback, paths: list[Path]) -> list[Session]:
    sessions = [session for file in files(paths) for session in readable(program, file)]
    sessions.sort(key=lambda session: -sum(len(message.shown) for message in session.log))
    return sessions[:RECORDED]


def readable(program: Foldback, file: Path) -> list[Session]:
    try:
        return program.sessions(file)
    except RuntimeError:
        return []


Planted = tuple[Path, Session, list[Plant]]


class Found:
    """How often rules were whole, named and gone, and of exceptions, how often what they except stood alone."""

    def __init__(self) -> None:
        self.counts: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
        #: Whether a view hid what a user said.
        self.hides = False

    def look(self, plants: list[Plant], session: Session, folds: list[dict[str, Any]]) -> None:
        due = [(one, after) for one in plants for after in FOLDS]
        for call in calls(session, folds):
            since = Counter(fold["call"] for fold in folds if fold["call"] <= call.number)
            ready = [
                (one, after)
                for one, after in due
                if sum(many for at, many in since.items() if at > one.call) >= after
            ]
            if not ready:
                continue
            due = [each for each in due if each not in ready]
            view = "\n".join(text for shown in call.view for text in shown.texts)
            for one, after in ready:
                fate = "whole" if one.rule in view else "gone"
                if fate == "gone" and all(name in view for name in one.names):
                    fate = "named"
                self.counts[after, one.kind][fate] += 1
                if fate == "gone" and one.earlier and one.earlier in view:
                    self.counts[after, one.kind]["stale"] += 1
                self.hides |= fate != "whole"

    def sum(self, after: int, kinds: Any = KINDS) -> Counter[str]:
        return sum((self.counts[after, kind] for kind in kinds), Counter())


def rate(counts: Counter[str]) -> str:
    """Percent word for word, by all names, and gone, of how many."""
    all_of_them = counts["whole"] + counts["named"] + counts["gone"]
    if not all_of_them:
        return "–"
    shares = (f"{100 * counts[fate] / all_of_them:.0f}" for fate in ("whole", "named", "gone"))
    return f"{' / '.join(shares)} ({all_of_them})"


def run(program: Foldback, preset: str, planted: list[Planted]) -> Found:
    found = Found()
    for file, session, plants in planted:
        found.look(plants, session, program.plans(file, session, preset, False)["folds"])
    return found


def tables(program: Foldback, paths: list[Path]) -> list[str]:
    sessions = largest(program, paths) + [generated(number) for number in range(GENERATED)]
    listed = subprocess.run([program.binary, "presets", "--json"], capture_output=True, check=True)
    presets = [line for line in json.loads(listed.stdout) if line["runs"]]
    names = [line["preset"] for line in presets if line["preset"] != "none"]
    with tempfile.TemporaryDirectory() as folder:
        planted = []
        for number, session in enumerate(sessions):
            file = Path(folder, f"{number}.jsonl")
            messages, plants = plant(session, f"{number} {session.header['id']}")
            header = {"foldback": 1, "id": session.header["id"], "format": "foldback", "frame": []}
            header |= {"model": session.header.get("model") or "gpt-5.5"}
            lines = [header, *({"message": message} for message in messages)]
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
            planted.append((file, program.sessions(file)[0], plants))
        with ThreadPool() as pool:
            found = dict(
                zip(names, pool.map(lambda name: run(program, name, planted), names), strict=True)
            )
    for name, one in found.items():
        print(name, *(rate(one.sum(after)) for after in FOLDS), sep=" | ", file=sys.stderr)
    same: dict[tuple[str, ...], list[str]] = {}
    for name, one in found.items():
        same.setdefault(tuple(rate(one.sum(after)) for after in FOLDS), []).append(name)
    heads = ["after one fold", "after three", "after five"]
    by_preset = [["presets", *heads], ["---"] * 4]
    by_preset += [[", ".join(named), *cells] for cells, named in same.items()]
    by_kind = [["kind", *heads], ["---"] * 4]
    hiding = [one for one in found.values() if one.hides]
    for kind in KINDS:
        sums = [sum((one.counts[after, kind] for one in hiding), Counter()) for after in FOLDS]
        by_kind.append([kind, *map(rate, sums)])
        if kind in ("exception", "revoked"):
            stale = [f"{100 * one['stale'] / max(1, one['gone']):.0f}" for one in sums]
            print(
                f"{kind}: of those gone, what they take back stood alone in % {stale}",
                file=sys.stderr,
            )
    return [
        "".join(f"| {' | '.join(line)} |\n" for line in table) for table in (by_preset, by_kind)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--window", default="100000")
    args = parser.parse_args()
    page, made = FINDINGS.read_text(), []
    for table in tables(Foldback(args.binary, ["--window", args.window]), args.paths):
        head = table.split("\n")[0]
        start = page.find(head)
        end = page.find("\n\n", start) + 1
        if start >= 0 and page[start:end] != table:
            made.append(head)
            page = page[:start] + table + page[end:]
        print(table)
    if made and os.environ.get("UPDATE_DOCS"):
        FINDINGS.write_text(page)
    elif made:
        sys.exit(f"{FINDINGS} has other tables than these; UPDATE_DOCS=1 writes them")


if __name__ == "__main__":
    main()
