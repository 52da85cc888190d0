"""Runs the scripted agent of the closed loop under presets, and keeps what each run cost and came to.

    python3 tests/trial/bank.py FOLDBACK_BINARY BANK [--preset none,indexed] [--units 40]

A run takes some seconds. The folder BANK gets a folder for each preset.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "examples/trial"))

import scripted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("bank", type=Path)
    parser.add_argument("--preset", default="none,indexed")
    parser.add_argument("--units", type=int, default=40)
    given = parser.parse_args()
    for preset in given.preset.split(","):
        folder = given.bank / preset
        folder.mkdir(parents=True, exist_ok=True)
        # A trial has two arms; nearly every unit gets the first.
        other = "indexed" if preset == "none" else "none"
        more = ["--weights", "1000000,1", "--no-guard"]
        args = argparse.Namespace(binary=given.binary, trial=f"{preset},{other}", seed=0)
        args.file, args.window, args.more = folder / "trial.jsonl", 60_000, more
        with (folder / "outcomes.csv").open("w", encoding="utf-8") as table:
            table.write("unit,solved\n")
            for unit in range(1, given.units + 1):
                name, solved = scripted.solved(args, unit)
                table.write(f"{name},{solved}\n")


if __name__ == "__main__":
    main()
