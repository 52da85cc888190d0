"""Whether values of agents' settings that are chosen on one half of the sessions lose on the other.

    python3 tests/verdict/settings.py FOLDBACK FOLDER... [--splits N] [--agent NAME]

For each agent of `recommend --for` (crates/replay/data/agents.toml) and each split of the files by
chance, the values with the least net bill of those that keep 95 % of what the default keeps are
chosen on one half. Their bill on the other half is set beside that of the default there. The exit
code is 1 where the mean of that ratio over both directions of all splits is above 1.01.
"""

import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEEP, SEED, MOST = 0.95, 7, 1.01


def strategies(agent, folder):
    """A file for each combination of values, the default first."""
    # A pruner can't be changed by a field alone in a file.
    settings = [
        setting for setting in agent["setting"] if not setting["field"].startswith("pruner.")
    ]
    defaults = tuple(setting.get("default") for setting in settings)
    values = [setting["try"] for setting in settings]
    made = {}
    for combination in [defaults, *itertools.product(*values)]:
        if combination in made:
            continue
        fields = dict(agent.get("fixed", {}))
        for setting, value in zip(settings, combination, strict=True):
            if value is not None:
                above = setting.get("plus", 0)
                fields[setting["field"]] = value - above if above else value
        name = f"{agent['name']}-{len(made)}"
        lines = ['schema = "foldback/strategy/1"', f'name = "{name}"']
        lines.append(f'extends = "{agent["preset"]}"')
        lines += [f"{field} = {json.dumps(value)}" for field, value in fields.items()]
        path = folder / f"{name}.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        made[combination] = path
    return made


def compared(program, paths, files, store):
    """Net bill and share kept of each strategy, by its name."""
    presets = itertools.chain.from_iterable(["--preset", str(path)] for path in files)
    command = [program, "-q", "compare", *paths, "--preset", "none", *presets]
    command += ["--store", store, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip())
    lines = json.loads(done.stdout)["presets"]
    figures = {line["preset"].split("+")[0]: line["metrics"] for line in lines}
    # What did the same as another is listed with it.
    found = {}
    for path in files:
        metrics = figures.get(path.stem)
        if metrics:
            found[path.stem] = metrics["net_ratio"]["value"], metrics["frr_obs_far"]["value"]
    return found


def chosen(figures, default):
    """The cheapest of those that keep enough, the default if nothing is cheaper."""
    bill, kept = figures[default]
    keeps = lambda its: None in (kept, its) or its >= KEEP * kept  # noqa: E731
    billed = [(its, name) for name, (its, share) in figures.items() if its and keeps(share)]
    best = min(billed, default=(bill, default))
    return best[1] if bill is not None and best[0] < bill else default


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--agent", action="append")
    given = parser.parse_args()
    found = (path for folder in given.folders for path in folder.rglob("*") if path.is_file())
    files = sorted(str(path) for path in found if path.suffix in {".json", ".jsonl"})
    table = (ROOT / "crates/replay/data/agents.toml").read_text(encoding="utf-8")
    agents = [agent for agent in tomllib.loads(table)["agent"] if "setting" in agent]
    lost = False
    print("| agent | halves | another value | bill on the other half, to the default's | worst |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        for agent in agents:
            if given.agent and agent["name"] not in given.agent:
                continue
            made = strategies(agent, pathlib.Path(work))
            default = next(iter(made.values())).stem
            rng, ratios, other_value = random.Random(SEED), [], 0
            for _ in range(given.splits):
                drawn = rng.sample(files, len(files))
                halves = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
                store, paths = f"{work}/store", made.values()
                one, other = (compared(given.program, half, paths, store) for half in halves)
                for here, there in ((one, other), (other, one)):
                    name = chosen(here, default)
                    other_value += name != default
                    if name in there and there[default][0]:
                        ratios.append(there[name][0] / there[default][0])
            mean = sum(ratios) / len(ratios)
            lost |= mean > MOST
            cells = [agent["title"], 2 * given.splits, other_value, f"{mean:.3f}"]
            print("|", " | ".join(map(str, [*cells, f"{max(ratios):.3f}"])), "|", flush=True)
    sys.exit(lost)


if __name__ == "__main__":
    main()
