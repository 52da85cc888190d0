"""A trial with the scripted agent of the closed loop, which needs no key and no model.

    python3 examples/trial/scripted.py FOLDBACK_BINARY [--trial indexed,none] [--units 30]

Each task runs through a proxy of its own; all write one file. What came of the tasks goes into
outcomes.csv beside it, and `foldback trial` says what that shows. Run again, it goes on with
further tasks.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests/closed-loop"))

from agent import Agent
from loop import HABITS, REGIME, Client, proxy, terms_of
from provider import Provider, Server
from world import made, planned

# Calls after which a run is stopped: about three times those of a run without compaction.
MOST = 300


def solved(args: argparse.Namespace, unit: int) -> tuple[str, int]:
    """One task, and whether the agent solved it."""
    kind = ("reads", "searches")[unit % 2]
    world, name = made(unit), f"task-{unit}"
    # Some tasks are longer than others.
    habits = replace(HABITS[kind], steps=40 + 10 * (unit % 7), phases=3)
    task = planned(world, unit, habits, kind == "reads")
    agent = Agent(task, world, searches=kind == "searches")
    trial = ["--trial", args.trial, "--trial-file", str(args.file), "--seed", str(args.seed)]
    trial += args.more
    provider = Provider(agent, terms_of(REGIME))
    with Server(provider) as server, proxy(args.binary, "", args.window, server.url, *trial) as url:
        client = Client(url, world, task)
        client.headers["x-foldback-unit"] = name
        with closing(client.connection):
            client.drive(MOST)
    return name, int(agent.finished and world.edits == sum(map(len, task.phases)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--trial", default="indexed,none", help="the arms")
    parser.add_argument("--units", type=int, default=30)
    parser.add_argument("--first", type=int, help="the first task; the next one by default")
    parser.add_argument("--window", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, default=Path("trial.jsonl"))
    args, args.more = parser.parse_known_args()
    if not shutil.which(args.binary):
        parser.error(f"no program {args.binary}; `cargo build` makes target/debug/foldback")
    outcomes = args.file.with_name("outcomes.csv")
    rows = outcomes.read_text().count("\n") if outcomes.exists() else 0
    args.first = args.first or max(rows, 1)
    with outcomes.open("a", encoding="utf-8", newline="") as file, ThreadPoolExecutor(2) as runs:
        table = csv.writer(file)
        if not file.tell():
            table.writerow(["unit", "solved"])
        units = range(args.first, args.first + args.units)
        try:
            for row in runs.map(lambda unit: solved(args, unit), units):
                table.writerow(row)
                file.flush()
                print(*row, flush=True)
        except RuntimeError as error:
            sys.exit(str(error))
    ended = subprocess.run([args.binary, "trial", args.file, "--outcomes", outcomes], check=False)
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
