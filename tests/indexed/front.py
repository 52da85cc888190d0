"""Whether anything beats `indexed`: is cheaper and better by two of kept, verbatim and edits.

    python3 tests/indexed/front.py FOLDBACK_BINARY FILE_OR_FOLDER… [--window N]… [--exclude TEXT]…

Every folder is looked at for itself, once with all its sessions and once for each of the agents.
A rival is a shipped preset or the timed drop that keeps to the window: at most 0.2 % of its
requests are over it, by the size that the recording's provider would have counted. A preset of ours
answers in the windows that it is meant for. The same share is asked of ours, of the requests
that a rival keeps under the window. The tables are Markdown. The exit code is 1 if a preset of
ours is beaten or sends too many requests over the window.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from corpus import JUDGES, Comparison, Group, groups, name

OURS = ("indexed", "indexed-large")
# The control that is timed as well as anybody would time it.
DROP = "drop-oldest"
# Share of requests that may be over the window.
MOST_OVER = 0.002
WINDOWS = (60_000, 100_000, 200_000)


def meant_for(preset: str, window: int) -> bool:
    """As their descriptions say."""
    return preset == "indexed" or window >= 80_000


@dataclass
class Over:
    """Requests over the window by calibrated size."""

    all: int
    # Those that a rival keeps under it.
    avoidable: int


def over(rows: Path, rivals: set[str]) -> dict[str, Over]:
    """What each preset sends over the window."""
    sent: dict[str, set[tuple[str, str]]] = {}
    under: set[tuple[str, str]] = set()
    with rows.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            preset = name(row["preset"])
            size, ceiling = row["calibrated_input"], row["ceiling"]
            if not size or not ceiling:
                continue
            request = (row["session"], row["call"])
            if int(size) > int(ceiling):
                sent.setdefault(preset, set()).add(request)
            elif preset in rivals:
                under.add(request)
    return {preset: Over(len(of), len(of & under)) for preset, of in sent.items()}


def look(binary: str, group: Group, window: int, everything: bool) -> list[str]:
    """Prints the table of a group and gives what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.csv")
        compared = Comparison.of(binary, group, ["all"], window, rows)
        names = {
            name
            for name, line in compared.lines.items()
            if line.kind == "strategy" or name == DROP
        }
        sent = over(rows, names)
    none = Over(0, 0)
    most = MOST_OVER * compared.calls
    wrong, shown = [], []
    for name in sorted(names, key=lambda name: compared.lines[name].cost):
        line, requests = compared.lines[name], sent.get(name, none)
        keeps = requests.all <= most
        beaten = [
            us
            for us in OURS
            if us != name and name not in OURS and line.beats(compared.lines[us])
        ]
        for us in beaten:
            if keeps and meant_for(us, window):
                wrong.append(f"{group.name}, {window:,}: {name} beats {us}")
        if name in OURS and meant_for(name, window) and requests.avoidable > most:
            wrong.append(
                f"{group.name}, {window:,}: {name} sends {requests.avoidable} of "
                f"{compared.calls:,} requests over the window that others keep under it"
            )
        if everything or beaten or name in (*OURS, DROP, "openhands"):
            remark = ", ".join(beaten)
            if beaten and not keeps:
                remark += " (over the window)"
            shown.append(
                f"| {name} | {line} | {requests.all} / {requests.avoidable} | {remark} |"
            )
    print(f"\n{group.name}, {window:,} tokens, {compared.calls:,} calls\n")
    print(f"| preset | cost %: {'/'.join(JUDGES)} | over / avoidable | beats |\n|---|---|---|---|")
    print("\n".join(shown), flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--window", type=int, action="append")
    parser.add_argument("--exclude", action="append", default=[])
    parser.add_argument("--all", action="store_true", help="show every preset")
    args = parser.parse_args()
    wrong = []
    for path in args.paths:
        for group in groups(args.binary, path, args.exclude):
            for window in args.window or WINDOWS:
                wrong += look(args.binary, group, window, args.all)
    print()
    for text in wrong or ["nothing beats a preset of ours in a window that it is meant for"]:
        print(f"- {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
