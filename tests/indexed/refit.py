"""`indexed` chosen anew without one repository or one agent, and what that is worth there.

    python3 tests/indexed/refit.py FOLDBACK_BINARY FOLDER [--window N]…

The values of the preset are chosen from the ground up on all sessions but those left out: one value
after the other, twice, from a note in which every word is worth the same. The best has the highest
mean of kept, verbatim and edits for a bill that is no higher than that of the shipped values. What was chosen is then compared on the sessions left out.
Intervals are of 95 %, over draws of sessions. The table is Markdown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import totals
from corpus import AGENTS, JUDGES
from totals import Sessions, paired, together

ROOT = Path(__file__).parent.parent.parent
WINDOWS = (60_000, 100_000, 200_000)
# Values by name, in the order in which they are chosen.
VALUES = {
    "cold_trigger": (0.5, 0.6, 0.7),
    "target": (0.15, 0.2, 0.25, 0.3),
    "target_tokens": (16_000, 24_000, 32_000),
    "note": (0.5, 0.6, 0.65, 0.7, 0.8),
    "results": (0.0, 0.25, 0.5, 1.0),
    "recency": (0.0, 1.5, 3.0, 5.0, 7.0),
    "block": (0.0, 1.0, 2.0, 4.0),
    "again": (0.0, 0.3, 0.5),
}
START = {
    "cold_trigger": 0.6,
    "target": 0.2,
    "target_tokens": 24_000,
    "note": 0.5,
    "results": 0.0,
    "recency": 0.0,
    "block": 0.0,
    "again": 0.0,
}
PASSES = 2
# The bill may be higher by so much: values in steps do not meet it to the cent.
SLACK = 1.005

Setting = tuple[float, ...]


def strategy(setting: Setting) -> str:
    value = dict(zip(VALUES, setting, strict=True))
    facts = ("results", "recency", "block", "again")
    worth = ", ".join(f"{fact} = {value[fact]}" for fact in facts)
    return f"""
schema = "foldback/strategy/1"
name = "{named(setting)}"
extends = "indexed"

[overflow]
cold_trigger = {value["cold_trigger"]}
target = {value["target"]}

[filter]
target = {value["target"]}
target_tokens = {value["target_tokens"]}
note = {value["note"]}
worth = {{ {worth} }}
"""


def named(setting: Setting) -> str:
    return "s" + "-".join(f"{value:g}" for value in setting)


@dataclass
class Study:
    """Presets and settings on one folder in one window, each replayed once."""

    binary: str
    folder: str
    window: int
    known: dict[str, Sessions]

    def of(self, presets: list[str]) -> None:
        wanted = [preset for preset in presets if Path(preset).stem not in self.known]
        if wanted:
            self.known |= totals.of(self.binary, [self.folder], wanted, self.window)

    def settings(self, settings: list[Setting]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for setting in dict.fromkeys(settings):
                if named(setting) not in self.known:
                    file = Path(folder, f"{len(files)}.toml")
                    file.write_text(strategy(setting), encoding="utf-8")
                    files.append(str(file))
            if files:
                self.known |= totals.of(self.binary, [self.folder], files, self.window)

    def chosen(self, folds: dict[str, set[str]], own: str) -> dict[str, Setting]:
        """What is chosen for each fold without the sessions that it leaves out."""
        best = dict.fromkeys(folds, tuple(START.values()))
        for _ in range(PASSES):
            for at, values in enumerate(VALUES.values()):
                tried = {
                    fold: [(*of[:at], value, *of[at + 1 :]) for value in values]
                    for fold, of in best.items()
                }
                self.settings([setting for of in tried.values() for setting in of])
                for fold, left_out in folds.items():
                    most = SLACK * self.sum(own, left_out).usd
                    sums = {setting: self.sum(named(setting), left_out) for setting in tried[fold]}
                    # Where nothing is cheap enough, the cheapest.
                    best[fold] = max(
                        sums,
                        key=lambda setting: (
                            min(0.0, most - sums[setting].usd),
                            sums[setting].mean,
                        ),
                    )
        return best

    def sum(self, preset: str, left_out: set[str]) -> totals.Totals:
        of = self.known[preset]
        return together(of[session] for session in of if session not in left_out)


def said(first: Sessions, second: Sessions, sessions: set[str]) -> str:
    """Cells with the difference of two presets in some sessions."""
    both = [{session: of[session] for session in sessions} for of in (first, second)]
    cells = []
    for value, low, high in paired(*both).values():
        cells.append(f"{value:+.1f} ({low:+.1f} to {high:+.1f})")
    return " | ".join(cells).replace("-", "−")


def repository(session: str) -> str:
    """By the name of the file: the owner or repository stands first."""
    return Path(session).name.split("-")[0]


def agent(session: str) -> str:
    return next((agent for agent in AGENTS if f"/{agent}/" in session), "others")


HEAD = "| bill, % | " + " | ".join(f"{judge}, points" for judge in JUDGES) + " |"


def refit(study: Study, own: str) -> None:
    rivals = ["drop-oldest", "openhands"]
    study.of([own, *rivals])
    sessions = set(study.known[own])
    folds: dict[str, set[str]] = {"nothing": set()}
    for by in (repository, agent):
        for session in sessions:
            folds.setdefault(by(session), set()).add(session)
    # An agent of one repository is left out with it, and nothing is chosen on no sessions.
    apart: dict[str, set[str]] = {}
    for fold, of in folds.items():
        if of not in apart.values() and of != sessions:
            apart[fold] = of
    folds = apart
    chosen = study.chosen(folds, own)
    print(f"\n{study.folder}, {study.window:,} tokens: chosen without those left out\n")
    print(f"| left out | {' | '.join(VALUES)} |\n|{'---|' * (len(VALUES) + 1)}")
    for fold, setting in chosen.items():
        print(f"| {fold} | {' | '.join(f'{value:g}' for value in setting)} |")
    print(f"\nOn those left out, against each\n\n| left out | against {HEAD}\n|{'---|' * 6}")
    for fold, left_out in folds.items():
        for rival in [own, *rivals]:
            first = study.known[named(chosen[fold])]
            cells = said(first, study.known[rival], left_out or sessions)
            print(f"| {fold} | {rival} | {cells} |")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("folder")
    parser.add_argument("--window", type=int, action="append")
    args = parser.parse_args()
    for window in args.window or WINDOWS:
        study = Study(args.binary, args.folder, window, {})
        refit(study, "indexed")


if __name__ == "__main__":
    main()
