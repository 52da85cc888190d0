"""Holds what `foldback compare` predicts against what the closed loop cost.

    python3 tests/closed-loop/check.py FOLDBACK_BINARY --work FOLDER [--seeds 3] [--window 60000,…]
        [--agent reads,searches] [--preset A,B]

For each agent, seed and window: the run without compaction is compared under every preset, which
predicts `bill` and `net`; each preset runs through the proxy, which is the truth; and the log of
that run is replayed under the preset, which must give what was served. Finished runs stay in the
folder, so that a check that was stopped goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from math import nan
from pathlib import Path
from typing import Any

from loop import HABITS, LARGE, PATIENCE, PRESETS, REGIME, label, run, terms_of, written

# Presets that edit old results one by one, whose bills are the hardest to predict.
MASKS = ("masking-10", "swe-agent-last-5", "langchain-context-editing")
# What may be wrong: the replay of a served log; `net`, and of masks; pairs in the wrong order.
SERVED, NET, MASKED, PAIRS = 0.005, 0.05, 0.10, 0.05


@dataclass
class Case:
    """A preset with an agent, a seed and a window: what was predicted and what came."""

    agent: str
    seed: int
    window: int
    preset: str
    calls: int
    plain_calls: int
    again: int
    ended: str
    largest: int
    refused: int
    # Dollars: as served, of the summaries, and what a replay of the served log makes of them.
    served: float
    summaries: float
    replayed: float
    # Predicted from the run without compaction.
    bill: float
    # Of this agent, who reads everything again that it misses.
    net: float | None
    near: float
    loses: bool

    @property
    def true(self) -> float:
        return self.served + self.summaries

    @property
    def passes(self) -> bool:
        """Whether the task was done with requests that fit the window."""
        return self.ended == "solved" and self.largest <= self.window


def compared(binary: str, logs: list[Path], presets: list[str], window: int) -> dict[str, Any]:
    """By preset, what `compare` says: dollars, and whether the near gate lets it pass."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [binary, "compare", *map(str, logs), "--preset", ",".join(presets)]
        command += ["--window", str(window), "--prices", REGIME, "--quiet", "--store=none"]
        command += ["--json", str(report)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
        out: dict[str, Any] = {}
        for line in json.loads(report.read_text(encoding="utf-8"))["presets"]:
            # Pauses are recorded, so that both scenarios are the same.
            found = [one for one in line["costs"] if one["regime"] == REGIME]
            if found:
                near = line["metrics"]["frr_obs_near"]["value"]
                shown = {"near": 1.0 if near is None else near, "loses": line["loses_near"]}
                out[label(line["preset"])] = {**found[0], **shown}
        return out


def kept(file: Path, make: Callable[[], Any]) -> Any:
    """What a file holds; it is made where it is missing."""
    if not file.exists():
        text = json.dumps(make())
        file.write_text(text, encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


def cases(args: argparse.Namespace) -> Iterator[Case]:
    program = hashlib.sha256(Path(args.binary).read_bytes()).hexdigest()[:12]
    folder = args.work / program
    folder.mkdir(parents=True, exist_ok=True)
    presets, terms = args.preset.split(","), terms_of(REGIME)
    those = hashlib.sha256(args.preset.encode()).hexdigest()[:8]

    def played(agent: str, seed: int, preset: str, window: int, most: int) -> dict[str, Any]:
        name = f"{agent}-{seed}-{label(preset)}-{window}"
        log = folder / f"{name}.jsonl"

        def play() -> dict[str, Any]:
            made = run(args.binary, agent, seed, preset, window, most)
            written(made, log)
            numbers = {"calls": made.calls, "again": made.again, "largest": made.largest}
            ended = {"ended": made.ended, "refused": len(made.refused)}
            return {**numbers, **ended, "served": made.usd(terms), "outcomes": made.outcomes}

        def again() -> dict[str, Any]:
            return dict(compared(args.binary, [log], [preset], window)[label(preset)])

        out = kept(folder / f"{name}.run.json", play)
        return {**out, "log": log, "replay": again, "name": name}

    for agent in args.agent.split(","):
        seeds = range(1, args.seeds + 1)
        bases = {seed: played(agent, seed, "none", LARGE, 2_000) for seed in seeds}
        for window in map(int, args.window.split(",")):

            def told_of(
                name: str, bases: list[dict[str, Any]], agent: str = agent, window: int = window
            ) -> dict[str, Any]:
                logs = [base["log"] for base in bases]
                file = folder / f"{agent}-{name}-{window}-of-{those}.json"
                return dict(kept(file, lambda: compared(args.binary, logs, presets, window)))

            # The gate is that of all seeds together, as a user has more than one session.
            gates = told_of(f"1..{args.seeds}", list(bases.values()))
            for seed, base in bases.items():
                predicted = told_of(str(seed), [base])
                for preset in presets:
                    made = played(agent, seed, preset, window, PATIENCE * base["calls"])
                    replay = kept(folder / f"{made['name']}.replay.json", made["replay"])
                    told = predicted[label(preset)]
                    yield Case(
                        agent=agent,
                        seed=seed,
                        window=window,
                        preset=label(preset),
                        calls=made["calls"],
                        plain_calls=base["calls"],
                        again=made["again"],
                        ended=made["ended"],
                        largest=made["largest"],
                        refused=made["refused"],
                        served=made["served"],
                        summaries=replay["summaries_usd"],
                        replayed=replay["input_usd"] + replay["output_usd"],
                        bill=told["usd"],
                        net=told["net_all_usd"],
                        near=gates[label(preset)]["near"],
                        loses=gates[label(preset)]["loses"],
                    )


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else nan


def error(case: Case, predicted: float | None) -> float:
    return nan if predicted is None else predicted / case.true - 1


def percent(value: float) -> str:
    return "–" if value != value else f"{100 * value:+.1f}".replace("-", "−")


def table(some: list[Case]) -> Iterator[str]:
    head = "preset bill calls again largest ended bill:_error net:_error near gate served".split()
    yield "| " + " | ".join(cell.replace("_", " ") for cell in head) + " |"
    yield "|---" * len(head) + "|"
    for preset in dict.fromkeys(case.preset for case in some):
        these = [case for case in some if case.preset == preset]
        ended = [case.ended for case in these]
        cells = [preset, f"{mean([case.true for case in these]):.3f}"]
        cells += [f"{mean([case.calls / case.plain_calls for case in these]):.2f}"]
        cells += [f"{mean([case.again for case in these]):.0f}"]
        cells += [f"{max(case.largest for case in these):,}"]
        cells += [", ".join(f"{ended.count(what)} {what}" for what in dict.fromkeys(ended))]
        cells += [percent(mean([error(case, case.bill) for case in these]))]
        cells += [percent(mean([error(case, case.net) for case in these]))]
        cells += [f"{100 * these[0].near:.1f}", "loses" if these[0].loses else ""]
        worst = max(these, key=lambda case: abs(case.replayed / case.served - 1))
        cells += [f"{100 * (worst.replayed / worst.served - 1):+.2f}"]
        yield "| " + " | ".join(cells) + " |"


def wrong_pairs(some: list[Case], predicted: Callable[[Case], float | None]) -> tuple[int, int]:
    """Pairs of presets whose bills over the seeds are predicted in the wrong order, of how many."""
    sums: dict[str, tuple[float, float]] = {}
    for preset in dict.fromkeys(case.preset for case in some):
        these = [case for case in some if case.preset == preset]
        told = [predicted(case) for case in these]
        if all(case.passes for case in these) and None not in told:
            sums[preset] = sum(case.true for case in these), sum(value or 0 for value in told)
    pairs = list(combinations(sums.values(), 2))
    return sum((a[0] < b[0]) != (a[1] < b[1]) for a, b in pairs), len(pairs)


def complaints(some: list[Case]) -> Iterator[str]:
    """What misses its bound."""
    for case in some:
        where = f"{case.agent} {case.seed} {case.window} {case.preset}"
        if case.refused:
            yield f"{where}: {case.refused} requests that no provider takes"
        off = case.replayed / case.served - 1
        # In a replay the provider refuses what is over the window; this one takes it.
        if abs(off) > SERVED and case.largest <= case.window:
            yield f"{where}: the replay of what was served is off by {percent(off)} %"
    groups: dict[tuple[str, int, str], list[Case]] = {}
    for case in some:
        groups.setdefault((case.agent, case.window, case.preset), []).append(case)
    for (agent, window, preset), these in groups.items():
        where = f"{agent} {window} {preset}"
        ends = ", ".join(dict.fromkeys(case.ended for case in these))
        if these[0].loses != (ends != "solved"):
            says = "it loses" if these[0].loses else "it does not lose"
            yield f"{where}: the near gate says that {says} what was just read; the agents: {ends}"
        known = [error(case, case.net) for case in these if case.net is not None]
        bound = MASKED if preset in MASKS else NET
        if known and all(case.passes for case in these) and abs(mean(known)) > bound:
            yield f"{where}: net is off by {percent(mean(known))} %"
    for agent, window in dict.fromkeys((agent, window) for agent, window, _ in groups):
        these = [case for case in some if (case.agent, case.window) == (agent, window)]
        wrong, of = wrong_pairs(these, lambda case: case.net)
        if wrong > PAIRS * of:
            yield f"{agent} {window}: {wrong} of {of} pairs in the wrong order by net"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--work", type=Path, required=True, help="a folder for runs and logs")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--window", default="60000")
    parser.add_argument("--agent", default=",".join(HABITS))
    parser.add_argument("--preset", default=",".join(PRESETS))
    parser.add_argument("--json", type=Path, help="a file for every case")
    args = parser.parse_args()
    found = list(cases(args))
    if args.json:
        args.json.write_text(json.dumps([asdict(case) for case in found]), encoding="utf-8")
    for agent in args.agent.split(","):
        for window in map(int, args.window.split(",")):
            some = [case for case in found if (case.agent, case.window) == (agent, window)]
            print(f"\n{agent}, window {window:,}, {args.seeds} seeds\n")
            print("\n".join(table(some)))
            for name, told in (("bill", lambda case: case.bill), ("net", lambda case: case.net)):
                wrong, of = wrong_pairs(some, told)
                if of:
                    print(f"\n{name}: {wrong} of {of} pairs in the wrong order")
    told = list(complaints(found))
    print("\n" + "\n".join(told or ["All within bounds."]))
    return 1 if told else 0


if __name__ == "__main__":
    raise SystemExit(main())
