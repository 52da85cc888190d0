"""What a fold at the idle moment saves or costs, by the pauses of recordings.

    python3 tests/evidence/idle.py FOLDBACK_BINARY FILE_OR_FOLDER… [--window N]

Each strategy is compared with itself without the moment, for caches of five minutes and of an hour:
net with the moment in percent of net without it, and the interval that leaves out a repository at a
time. `cold` folds while idle, too, but a minute after the cache has expired: the difference is what
a warm cache is worth. Folds are counted by when the next request came: before the cache expired,
later, or never. `kept` is the change of what calls need and have in view, in points, where the
strategy folds from half.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

# Preset, its usual moments, and whether its summary is made to read the conversation's own prefix.
STRATEGIES = {
    "claude-code": ("claude-code", ["call-start", "provider-overflow"], False),
    "claude-code, shared prefix": ("claude-code", ["call-start", "provider-overflow"], True),
    "opencode-2": ("opencode-2", ["call-start", "provider-overflow"], False),
    "dsh": ("dsh", ["step-end", "provider-overflow"], False),
    "indexed": ("indexed", ["call-start", "provider-overflow"], False),
}
LIFETIMES = {300: "anthropic-5m", 3600: "anthropic-1h"}
# A request is this much older than its answer, or a little more: the cache of `cold` is gone.
EXPIRED = 61
COUNTED = "from-0.8"


def variants(lifetime: int) -> dict[str, dict[str, float]]:
    """The values of `[idle]` by variant."""
    warm = {f"from-{share}": {"from": share, "lifetime": lifetime} for share in (0.5, 0.8, 1.0)}
    return {**warm, "cold": {"from": 0.8, "after": 1.0, "lifetime": lifetime + EXPIRED}}


def strategy(name: str, base: str, when: list[str], shared: bool, idle: dict[str, float]) -> str:
    when = [*when, "idle"] if idle else when
    text = f'name = "{name}"\nextends = "{base}"\n[overflow]\nwhen = {json.dumps(when)}\n'
    if shared:
        text += "[summarizer]\nshares_prefix = true\n"
    return text + "".join(["[idle]\n", *(f"{key} = {value}\n" for key, value in idle.items())])


def bare(label: str) -> str:
    """The name of a strategy without that of its summarizer."""
    return label.split("+")[0]


def counts(rows: Path, comparison: dict[str, Any], lifetime: int) -> tuple[int, int, int]:
    """Folds of the counted variant at the idle moment: the next request in time, late, never."""
    starts: dict[str, dict[int, int]] = {}
    idle: list[tuple[str, int]] = []
    fired = 0
    for line in rows.read_text().splitlines():
        row = json.loads(line)
        if bare(row["preset"]) != COUNTED:
            continue
        starts.setdefault(row["session"], {})[row["call"]] = row["start_ms"]
        folds = [fold for fold in row["fired"] if fold["role"] == "fold"]
        fired += len(folds)
        idle += [(row["session"], row["call"]) for fold in folds if fold["moment"] == "idle"]
    late = Counter(
        starts[session][call] - starts[session][call - 1] > 1000 * lifetime
        for session, call in idle
    )
    preset = next(preset for preset in comparison["presets"] if bare(preset["preset"]) == COUNTED)
    never = preset["compactions"] - preset["prune_operations"] - fired
    return late[False], late[True], never


def percent(contrast: dict[str, float]) -> str:
    value, low, high = (100 * contrast[key] for key in ("value", "lo", "hi"))
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def compare(args: argparse.Namespace, folder: Path, name: str, lifetime: int) -> str:
    base, when, shared = STRATEGIES[name]
    files = []
    for variant, idle in {**variants(lifetime), "base": {}}.items():
        files.append(folder / f"{variant}.toml")
        files[-1].write_text(strategy(variant, base, when, shared, idle))
    report, rows = folder / "report.json", folder / "rows.jsonl"
    command = [args.foldback, "compare", *args.paths, "-q", "--prices", LIFETIMES[lifetime]]
    command += ["--preset", ",".join(map(str, files)), "--json", str(report), "--rows", str(rows)]
    command += ["--window", args.window] if args.window else []
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    comparison = json.loads(report.read_text())
    against = {
        bare(contrast["first"]): contrast
        for contrast in comparison["contrasts"]
        if bare(contrast["second"]) == "base"
    }
    net = [percent(against[variant]["net"]) for variant in variants(lifetime)]
    kept = percent(against["from-0.5"]["frr_obs_far"])
    folds = "/".join(map(str, counts(rows, comparison, lifetime)))
    cells = [name, f"{lifetime // 60} min", folds, *net, kept]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("foldback")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--window")
    args = parser.parse_args()
    shares = "from 0.5 | from 0.8 | from 1.0 | cold | kept"
    print(f"| strategy | cache | folds: in time/late/never | {shares} |")
    print("|---|---|---|---|---|---|---|---|")
    for lifetime in LIFETIMES:
        for name in STRATEGIES:
            with tempfile.TemporaryDirectory() as folder:
                print(compare(args, Path(folder), name, lifetime), flush=True)


if __name__ == "__main__":
    main()
