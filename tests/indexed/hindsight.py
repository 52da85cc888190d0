"""How far the moments at which presets fold are from the best ones in hindsight.

    python3 tests/indexed/hindsight.py FOLDBACK_BINARY FILE_OR_FOLDER… [--preset P,…] [--window N] [--prices R]

A schedule says before which calls a fold is made. Every fold leaves `--left` tokens beside the frame, whatever the preset would
leave, so that nothing but the moment differs. Requests, pauses and what a provider reads from its cache are those of the recording
without compaction; nothing is read again. The best schedule is found by dynamic programming over the last fold; none sends more
than the window. Shown is the input bill of each preset's schedule in percent of the best one's. The table is Markdown.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "judge"))

from bill import Terms, alive
from prices import regimes

from corpus import compared, name

PRESETS = "indexed,indexed-large,openhands,openhands-80,drop-oldest"


@dataclass
class Calls:
    """A session without compaction: by call the tokens of its log and whether the cache still lives; its frame and its window."""

    log: list[int]
    warm: list[bool]
    frame: int
    window: int

    def stretch(self, fold: int | None, left: int, terms: Terms) -> list[float]:
        """The bill of the calls from a fold on, or from the first call, up to each; it ends where the window is full."""
        first = fold or 0
        # A fold leaves no more than there is.
        kept = self.log[first] if fold is None else min(left, self.log[first])
        bills, total, before = [], 0.0, self.frame if fold is not None else 0
        for call in range(first, len(self.log)):
            size = self.frame + kept + self.log[call] - self.log[first]
            if size > self.window and bills:
                break
            read = before if self.warm[call] else 0
            total += read * terms.read + (size - read) * terms.write
            bills.append(total)
            before = size
        return bills

    def bill(self, folds: list[int], left: int, terms: Terms) -> float:
        """The bill of a schedule. Where it leaves the window, what is over it is not sent."""
        points: list[int | None] = [None, *folds]
        total = 0.0
        for at, fold in enumerate(points):
            end = folds[at] if at < len(folds) else len(self.log)
            bills = self.stretch(fold, left, terms)
            count = min(end - (fold or 0), len(bills))
            total += bills[count - 1] if count else 0.0
            # The window is full: the last request once more for each of the others.
            total += (end - (fold or 0) - count) * self.window * terms.read
        return total

    def best(self, left: int, terms: Terms) -> float:
        """The least bill of any schedule."""
        count = len(self.log)
        least = [float("inf")] * (count + 1)
        for fold in [None, *range(1, count)]:
            first = fold or 0
            base = 0.0 if fold is None else least[first]
            if base == float("inf"):
                continue
            for at, bill in enumerate(self.stretch(fold, left, terms)):
                end = first + at + 1
                least[end] = min(least[end], base + bill)
        return least[count]


def sessions(rows: Path, terms: Terms) -> tuple[dict[str, Calls], dict[str, dict[str, list[int]]]]:
    """The sessions, and by preset and session the calls before which it folded."""
    calls: dict[str, Calls] = {}
    folds: dict[str, dict[str, list[int]]] = {}
    last: dict[str, int | None] = {}
    with rows.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            preset, session = name(row["preset"]), row["session"]
            if preset == "none":
                whole, now = int(row["uncompacted_tokens"]), row["start_ms"]
                frame = int(row["input_tokens"]) if session not in calls else calls[session].frame
                found = calls.setdefault(session, Calls([], [], frame, int(row["ceiling"])))
                at = int(now) if now else None
                found.log.append(max(0, whole - found.frame))
                found.warm.append(alive(last.get(session), at, terms.ttl_ms))
                last[session] = at
            made = folds.setdefault(preset, {}).setdefault(session, [])
            if row["fired"] and int(row["call"]) > 0:
                made.append(int(row["call"]))
    return calls, folds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--preset", default=PRESETS)
    parser.add_argument("--window")
    parser.add_argument("--prices", default="anthropic-5m")
    parser.add_argument("--left", type=int, default=24_000)
    args = parser.parse_args()
    terms = next(terms for terms in regimes() if terms.name == args.prices)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.csv")
        window = ["--window", args.window] if args.window else []
        compared(args.binary, [*args.paths, "--preset", args.preset, *window, "--rows", str(rows)])
        calls, folds = sessions(rows, terms)
    best = {session: found.best(args.left, terms) for session, found in calls.items()}
    # Sessions that no schedule can send within the window say nothing.
    known = [session for session, least in best.items() if least < float("inf")]
    total = sum(best[session] for session in known)
    print(f"{len(known)} sessions, at the prices of {args.prices}\n")
    print("| preset | folds | bill, % of the best schedule |\n|---|---|---|")
    for preset in ["none", *args.preset.split(",")]:
        made = folds.get(preset, {})
        count = sum(len(made.get(session, [])) for session in known)
        bills = [calls[one].bill(made.get(one, []), args.left, terms) for one in known]
        print(f"| {preset} | {count} | {100 * sum(bills) / total:.1f} |")


if __name__ == "__main__":
    main()
