"""Comparisons of groups of sessions, by agent and repository."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# What is asked of a view, by name in the tables and in the JSON of a comparison.
JUDGES = {"kept": "frr_obs_far", "verbatim": "verbatim_far", "edits": "epr"}
# Agents that have sessions enough to be looked at apart.
AGENTS = ("claude-code", "codex", "opencode")


@dataclass
class Group:
    """Sessions that are compared together."""

    name: str
    args: list[str]


@dataclass
class Line:
    """What a preset costs and keeps, in percent."""

    kind: str
    cost: float
    judged: list[float | None]

    @classmethod
    def of(cls, preset: dict[str, Any]) -> Line:
        def percent(metric: str) -> float | None:
            value = preset["metrics"][metric]["value"]
            return None if value is None else 100 * value

        judged = [percent(metric) for metric in JUDGES.values()]
        return cls(preset["kind"], percent("cost_ratio") or 0.0, judged)

    def beats(self, other: Line) -> bool:
        """Whether it is cheaper and better by two judges."""
        pairs = zip(self.judged, other.judged, strict=True)
        better = sum(a is not None and b is not None and a > b for a, b in pairs)
        return self.cost < other.cost and better >= 2

    @property
    def mean(self) -> float:
        """The mean of the judges that say something."""
        known = [value for value in self.judged if value is not None]
        return sum(known) / len(known) if known else 0.0

    def __str__(self) -> str:
        judged = ["–" if value is None else f"{value:.1f}" for value in self.judged]
        return f"{self.cost:.1f}: {'/'.join(judged)}"


@dataclass
class Comparison:
    """What a group's presets cost and keep, by name."""

    calls: int
    lines: dict[str, Line] = field(default_factory=dict)

    @classmethod
    def of(
        cls, binary: str, group: Group, presets: list[str], window: int, rows: Path | None = None
    ) -> Comparison:
        more = ["--rows", str(rows)] if rows else []
        args = ["--preset", ",".join(presets), "--window", str(window), *more]
        found = compared(binary, [*group.args, *args])
        calls = sum(session["calls"] for session in found["corpus"]["sessions"])
        lines = {name(line["preset"]): Line.of(line) for line in found["presets"]}
        return cls(calls, lines)


def name(preset: str) -> str:
    """Without the stand-in for a model, which follows it as in NAME+STAND-IN."""
    return preset.split("+")[0]


def compared(binary: str, args: list[str]) -> dict[str, Any]:
    """The document of a comparison. One thread: there is other work on the machine."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "comparison.json")
        command = [binary, "compare", *args, "--jobs", "1", "--quiet", "--json", str(out)]
        run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        if run.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{run.stderr}")
        return dict(json.loads(out.read_text(encoding="utf-8")))


def groups(binary: str, path: Path, exclude: list[str]) -> list[Group]:
    """All sessions of a folder, and those of each agent that it has some of."""
    excluded = [arg for text in exclude for arg in ("--exclude", text)]
    everything = [str(path), *excluded]
    sessions = compared(binary, [*everything, "--preset", "window"])["corpus"]["sessions"]
    formats = {session["format"] for session in sessions}
    agents = [agent for agent in AGENTS if agent in formats]
    return [
        Group(path.name, everything),
        *(Group(f"{path.name}, {agent}", [*everything, "--agent", agent]) for agent in agents),
    ]
