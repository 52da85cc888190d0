"""What figures say about solved tasks: the arms of a study, ranked by figure and by solve rate.

    python3 tests/evidence/outcomes.py [DRAWS]

`outcomes.tsv` has what each run of the study solved, `figures.tsv` what each arm keeps as strategy
(README.md says of which sessions). The first half of the arms chooses a figure, the second reports.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, nan, sqrt
from pathlib import Path

HERE = Path(__file__).parent
# The half that chooses: one small model and one set of tasks, which no run of the other half has.
CHOOSING = "lite-50"
# Units of a pair, raw and arm by model and tasks.
RAW = "raw"

FIGURES = {
    "frr_obs_far": "kept",
    "frr_obs": "kept, whatever the distance",
    "frr_far": "kept, whoever had said it",
    "far_5": "the same, beyond five calls",
    "far_10": "the same, beyond ten calls",
    "frr": "references, all of them",
    "own": "what the agent had said itself, which nothing brings back",
    "verbatim_far": "verbatim",
    "verbatim": "verbatim, whatever the distance",
    "c_obs_far": "calls with all that kept counts",
    "c_frr": "calls with all their references",
    "last_error": "last error in view",
    "size": "size alone",
}


@dataclass
class Unit:
    """An arm under a model: what each of its runs solved, by task."""

    dataset: str
    model: str
    arm: str
    runs: list[str]

    @property
    def group(self) -> tuple[str, str]:
        return self.dataset, self.model

    def rate(self, tasks: Sequence[int]) -> float:
        solved = sum(run[task] == "1" for run in self.runs for task in tasks)
        return solved / (len(self.runs) * len(tasks))


def lines(name: str) -> list[list[str]]:
    text = (HERE / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


def units() -> list[Unit]:
    """By data set, model and arm, in the order of the file; the lines of tasks have no arm."""
    found: dict[tuple[str, str, str], Unit] = {}
    for dataset, model, arm, solved in lines("outcomes.tsv")[1:]:
        if arm:
            unit = found.setdefault((dataset, model, arm), Unit(dataset, model, arm, []))
            unit.runs.append(solved)
    return list(found.values())


def figures() -> dict[str, dict[str, float]]:
    """By figure, by arm; more is better in each."""
    head, *rows = lines("figures.tsv")
    out: dict[str, dict[str, float]] = {name: {} for name in head[1:]}
    for arm, *values in rows:
        for name, value in zip(head[1:], values, strict=True):
            out[name][RAW if arm == "none" else arm] = float(value)
    return out


def ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda at: values[at])
    out = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for place in order[at : end + 1]:
            out[place] = (at + end) / 2
        at = end + 1
    return out


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    a, b = ranks(x), ranks(y)
    middle = (len(a) - 1) / 2
    a, b = [v - middle for v in a], [v - middle for v in b]
    scale = sqrt(sum(v * v for v in a) * sum(v * v for v in b))
    return sum(v * w for v, w in zip(a, b, strict=True)) / scale if scale else nan


def kendall(x: Sequence[float], y: Sequence[float], groups: Sequence[object]) -> float:
    """Tau-b over the pairs of a group."""
    score = left = right = 0
    for i, j in combinations(range(len(x)), 2):
        if groups[i] != groups[j]:
            continue
        dx, dy = (x[i] > x[j]) - (x[i] < x[j]), (y[i] > y[j]) - (y[i] < y[j])
        score, left, right = score + dx * dy, left + dx * dx, right + dy * dy
    return score / sqrt(left * right) if left and right else nan


def interval(draws: list[float]) -> tuple[float, float]:
    """The middle 95 % of those draws that have a value."""
    kept = sorted(draw for draw in draws if draw == draw)
    if not kept:
        return nan, nan
    return kept[int(0.025 * (len(kept) - 1))], kept[int(0.975 * (len(kept) - 1) + 0.5)]


def all_tasks(some: list[Unit]) -> dict[str, list[int]]:
    return {unit.dataset: list(range(len(unit.runs[0]))) for unit in some}


def successes(some: list[Unit], every: list[Unit], tasks: dict[str, list[int]]) -> list[float]:
    """What each solves of what raw solves, of the same tasks with the same model."""
    raw = {unit.group: unit.rate(tasks[unit.dataset]) for unit in every if unit.arm == RAW}
    rates = [(unit.rate(tasks[unit.dataset]), raw[unit.group]) for unit in some]
    return [rate / base if base else nan for rate, base in rates]


def fitted(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """The line of least squares: its value at 0, and its slope."""
    a, b = sum(x) / len(x), sum(y) / len(y)
    spread = sum((v - a) ** 2 for v in x)
    slope = sum((v - a) * (w - b) for v, w in zip(x, y, strict=True)) / spread if spread else 0.0
    return b - slope * a, slope


def missed(line: tuple[float, float], x: Sequence[float], y: Sequence[float]) -> float:
    """By how much a line misses, in points, root mean square."""
    squares = [(line[0] + line[1] * v - w) ** 2 for v, w in zip(x, y, strict=True)]
    return 100 * sqrt(sum(squares) / len(squares))


def measured(
    table: dict[str, dict[str, float]], first: Drawn, second: Drawn
) -> dict[tuple[str, str], float]:
    """By figure: rank correlations in both halves, and how far a line fitted to one misses."""
    got: dict[tuple[str, str], float] = {}
    for name in FIGURES:
        at = table[name]
        x, z = ([at[unit.arm] for unit in half.units] for half in (first, second))
        line = fitted(x, first.success)
        for which, values, half in (("first", x, first), ("second", z, second)):
            got[name, which + " spearman"] = spearman(values, half.success)
            groups = [unit.group for unit in half.units]
            got[name, which + " kendall"] = kendall(values, half.success, groups)
            # Raw is 1 by definition in both.
            others = [k for k, unit in enumerate(half.units) if unit.arm != RAW]
            pairs = [values[k] for k in others], [half.success[k] for k in others]
            got[name, which + " missed"] = missed(line, *pairs) if others else nan
    for name, kind in list(got):
        got[name, kind + " more"] = got[name, kind] - got["size", kind]
    return got


@dataclass
class Drawn:
    """Arms with their success on the tasks that were drawn."""

    units: list[Unit]
    success: list[float]


def compared(draws: int, seed: int) -> dict[tuple[str, str], list[float]]:
    """Of every measure value, lo and hi. A draw takes arms with replacement, and tasks apart."""
    table = figures()
    generator = random.Random(seed)
    both = halves()

    def drawn(half: list[Unit], redraw: bool) -> Drawn:
        tasks = all_tasks(half)
        chosen = half
        if redraw:
            chosen = generator.choices(half, k=len(half))
            tasks = {name: generator.choices(those, k=len(those)) for name, those in tasks.items()}
        return Drawn(chosen, successes(chosen, half, tasks))

    value = measured(table, *(drawn(half, False) for half in both))
    many = [measured(table, *(drawn(half, True) for half in both)) for _ in range(draws)]
    return {key: [number, *interval([one[key] for one in many])] for key, number in value.items()}


def paired(one: Unit, other: Unit, draws: int, seed: int) -> dict[str, float]:
    """The points that `one` solves more than `other`, their interval, and McNemar's exact p."""
    a, b = one.runs[0], other.runs[0]
    differences = [int(x) - int(y) for x, y in zip(a, b, strict=True)]
    n = len(differences)
    generator = random.Random(seed)
    means = [100 * sum(generator.choices(differences, k=n)) / n for _ in range(draws)]
    lo, hi = interval(means)
    gained, lost = differences.count(1), differences.count(-1)
    tail = sum(comb(gained + lost, k) for k in range(min(gained, lost) + 1))
    p = min(1.0, 2 * tail / 2 ** (gained + lost))
    value = 100 * sum(differences) / n
    return {"value": value, "lo": lo, "hi": hi, "gained": gained, "lost": lost, "p": p}


def halves() -> tuple[list[Unit], list[Unit]]:
    every = units()
    # The runs of the 500 tasks of a model that is there with 150 of them are left to the pairs.
    again = [
        unit for unit in every if (unit.dataset, unit.model) == ("verified-500", "gpt-4.1-mini")
    ]
    return (
        [unit for unit in every if unit.dataset == CHOOSING],
        [unit for unit in every if unit.dataset != CHOOSING and unit not in again],
    )


def auc(values: Sequence[float], solved: Sequence[bool]) -> float:
    """How often a session that was solved has more than one that was not; half for as much."""
    wins = sum(rank for rank, yes in zip(ranks(values), solved, strict=True) if yes)
    yes = sum(solved)
    no = len(solved) - yes
    return (wins - yes * (yes - 1) / 2) / (yes * no) if yes and no else nan


def separations(draws: int, seed: int) -> dict[str, list[float]]:
    """By column of `sessions.tsv`, the AUC for solved, with its interval over tasks."""
    head, *rows = lines("sessions.tsv")
    solved = [row[2] == "1" for row in rows]
    by_task: dict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        by_task[row[0]].append(at)
    generator = random.Random(seed)
    tasks = sorted(by_task)
    chosen = [
        [at for task in generator.choices(tasks, k=len(tasks)) for at in by_task[task]]
        for _ in range(draws)
    ]
    out = {}
    for column in range(3, len(head)):
        sign = -1 if head[column] == "calls" else 1
        values = [sign * float(row[column]) for row in rows]
        drawn = [auc([values[at] for at in some], [solved[at] for at in some]) for some in chosen]
        out[head[column]] = [auc(values, solved), *interval(drawn)]
    return out


def shown(value: list[float], digits: int = 2) -> str:
    low, high = (f"{number:.{digits}f}" for number in value[1:])
    return f"{value[0]:.{digits}f} ({low} to {high})".replace("-", "−")


def report(draws: int, say: Callable[[str], object] = print) -> None:
    got = compared(draws, 1)
    head = ["Spearman: choosing", "reporting", "misses by: choosing", "reporting", "more than size"]
    say("| figure | " + " | ".join(head) + " |")
    say("|---" * 6 + "|")
    for name, title in FIGURES.items():
        cells = [shown(got[name, f"{half} spearman"]) for half in ("first", "second")]
        cells += [f"{got[name, f'{half} missed'][0]:.1f}" for half in ("first", "second")]
        cells.append("" if name == "size" else shown(got[name, "second missed more"], 1))
        say(f"| {title} | " + " | ".join(cells) + " |")
    say("")
    for name, title in FIGURES.items():
        cells = [shown(got[name, f"{half} kendall"]) for half in ("first", "second")]
        say(f"Kendall, {title}: {' '.join(cells)}")
    say("")
    say("| model | arm | raw | arm | points | p |")
    say("|---|---|---|---|---|---|")
    every = units()
    for unit in every:
        if unit.dataset != "verified-500" or unit.arm == RAW:
            continue
        raw = next(other for other in every if other.group == unit.group and other.arm == RAW)
        pair = paired(unit, raw, draws, 1)
        rates = [100 * one.rate(all_tasks(every)[unit.dataset]) for one in (raw, unit)]
        points = "{value:+.1f} ({lo:+.1f} to {hi:+.1f})".format(**pair).replace("-", "−")
        cells = [
            unit.model,
            unit.arm,
            *(f"{rate:.1f}" for rate in rates),
            points,
            f"{pair['p']:.3f}",
        ]
        say("| " + " | ".join(cells) + " |")
    say("")
    for column, value in separations(draws, 1).items():
        say(f"AUC, {column}: {shown(value)}")


if __name__ == "__main__":
    report(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
