"""Holds what `foldback trial` says against trials whose truth is known.

    python3 tests/trial/simulate.py FOLDBACK_BINARY [--of FOLDER] [--trials 200] [--units 60]

Trials draw their units from those of a real one, with their arms by chance. A planted difference
multiplies the dollars of an arm, and units are solved by chance, so the truth is known.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

NONE, FOLDING = "none", "indexed"
# Whose runs an arm has, a factor for their dollars, and how often it solves.
Arm = tuple[str, float, float]


def runs_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """By arm, the lines of a trial's units. Each is one conversation."""
    out: dict[str, list[dict[str, Any]]] = {}
    for text in Path(folder, "trial.jsonl").read_text(encoding="utf-8").splitlines()[1:]:
        line = json.loads(text)
        if "conversation" in line:
            out.setdefault(line["arm"], []).append(line)
    return out


def trial(
    runs: dict[str, list[dict[str, Any]]], arms: dict[str, Arm], units: int, seed: int
) -> tuple[str, str]:
    """A file and its outcomes: by arm, whose runs it has, and a factor for their dollars."""
    draw = random.Random(seed)
    head = {
        "foldback_trial": 1,
        "version": "simulated",
        "seed": seed,
        "arms": [{"name": arm, "hash": arm, "weight": 1} for arm in arms],
    }
    lines, outcomes = [json.dumps(head)], ["unit,solved"]
    for unit in range(units):
        arm = draw.choice(list(arms))
        source, factor, solves = arms[arm]
        run = dict(draw.choice(runs[source]))
        outcomes.append(f"u{unit},{int(draw.random() < solves)}")
        run |= {"conversation": f"c{unit}", "unit": f"u{unit}", "arm": arm, "first_ms": unit}
        run |= {"usd": run["usd"] * factor, "last_ms": unit + 1}
        lines.append(json.dumps(run))
    return "\n".join(lines) + "\n", "\n".join(outcomes) + "\n"


def told(binary: str, file: str, outcomes: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "trial.jsonl"), Path(folder, "outcomes.csv")
        for path, text in zip(paths, (file, outcomes), strict=True):
            path.write_text(text, encoding="utf-8")
        command = [binary, "trial", str(paths[0]), "--outcomes", str(paths[1]), "--json", "-", "-q"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout))


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def needed(runs: list[dict[str, Any]], difference: float) -> int:
    """Units of each of two arms, as `foldback trial --plan` reckons them from the runs."""
    bills = [run["usd"] for run in runs]
    spread = math.sqrt(sum((usd - mean(bills)) ** 2 for usd in bills) / (len(bills) - 1)) / mean(
        bills
    )
    one_in_ten, four_in_five = 1.2815515655446004, 0.8416212335729143
    ratio = (one_in_ten + four_in_five) * 2 * spread / -math.log(1 - difference)
    return math.ceil(math.ceil(ratio**2 + one_in_ten**2 / 2) / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--of", type=Path, default=Path(__file__).parents[2] / "examples/trial")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--units", type=int, default=60)
    args = parser.parse_args()
    runs = runs_of(args.of)
    print({arm: len(lines) for arm, lines in runs.items()})

    # Nothing differs: three arms with the same runs.
    same = dict.fromkeys("abc", (NONE, 1.0, 0.7))
    found = [told(args.binary, *trial(runs, same, args.units, seed)) for seed in range(args.trials)]
    figures = ("usd", "calls", "solved", "usd_per_solved")
    for figure in figures:
        tests = [[one[figure]["p_holm"] for one in result["contrasts"]] for result in found]
        wrong = sum(any(p is not None and p <= 0.05 for p in some) for some in tests)
        print(f"no difference: {figure} is rejected in {wrong} of {args.trials} trials")
    advised = sum(result["sentence"].startswith("Use") for result in found)
    print(f"no difference: another arm is advised in {advised} of {args.trials}")

    # Intervals: no difference, a planted one, and that of two presets.
    truth = mean([run["usd"] for run in runs[FOLDING]]) / mean([run["usd"] for run in runs[NONE]])
    for place, (name, arms, ratio) in enumerate(
        (
            ("none", {"a": (NONE, 1.0, 0.7), "b": (NONE, 1.0, 0.7)}, 1.0),
            ("-20 %", {"a": (NONE, 1.0, 0.8), "b": (NONE, 0.8, 0.6)}, 0.8),
            (FOLDING, {"a": (NONE, 1.0, 0.5), "b": (FOLDING, 1.0, 0.8)}, truth),
        ),
        1,
    ):
        covered = {"usd": 0, "solved": 0}
        for seed in range(args.trials):
            told_here = told(args.binary, *trial(runs, arms, args.units, place * 1_000_000 + seed))
            [it] = told_here["contrasts"]
            for figure, true in (("usd", ratio), ("solved", arms["b"][2] - arms["a"][2])):
                low, high = it[figure]["lo"], it[figure]["hi"]
                covered[figure] += low is not None and low - 1e-9 <= true <= high + 1e-9
        print(f"difference {name} ({ratio:.3f}): intervals hold it in {covered} of {args.trials}")

    # Planted differences with as many units as the plan says.
    for difference in (0.1, 0.2):
        each = needed(runs[NONE], difference)
        arms = {"a": (NONE, 1.0, 0.7), "b": (NONE, 1 - difference, 0.7)}
        saves = 0
        for seed in range(args.trials):
            [it] = told(args.binary, *trial(runs, arms, 2 * each, 9_000_000 + seed))["contrasts"]
            saves += it["usd"]["value"] < 1 and it["usd"]["p_holm"] / 2 <= 0.1
        print(f"-{difference:.0%} with {each} units of each arm: found in {saves} of {args.trials}")


if __name__ == "__main__":
    main()
