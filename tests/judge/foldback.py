"""Runs the command that is judged."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from session import Session, read

Rows = dict[tuple[str, str], list[dict[str, Any]]]


class Foldback:
    """A foldback binary with the options that every run gets."""

    def __init__(self, binary: str, limits: list[str]) -> None:
        self.binary = binary
        self.limits = limits

    def run(self, *args: str) -> None:
        command = [self.binary, *args]
        run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        if run.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{run.stderr}")

    def written(self, *args: str, to: str) -> str:
        """What a run writes into a file; `to` is the option that names it, or nothing."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "out")
            self.run(*args, *([to] if to else []), str(file))
            return file.read_bytes().decode()

    def presets(self) -> list[str]:
        """Every preset that can be asked for a plan, no compaction first: others are compared with it."""
        run = subprocess.run([self.binary, "presets", "--json"], capture_output=True, check=True)
        names = [line["preset"] for line in json.loads(run.stdout) if line["runs"]]
        return sorted(names, key=lambda name: name != "none")

    def sessions(self, file: Path) -> list[Session]:
        """The sessions of a file."""
        return list(read(self.written("convert", "--to", "foldback", str(file), to="")))

    def plans(self, file: Path, session: Session, preset: str, several: bool) -> dict[str, Any]:
        """What a preset does in a session, moment by moment."""
        which = ["--session", session.id] if several else []
        args = ["--when", "live", "--show", "plan-json", "--preset", preset, *which, *self.limits]
        plans = json.loads(self.written("compact", str(file), *args, to="-o"))
        if plans["schema_version"] != 1:
            raise RuntimeError(f"plans of version {plans['schema_version']}")
        return dict(plans)

    def together(self, paths: list[Path], presets: list[str]) -> dict[str, Any]:
        """The comparison over all files below the paths."""
        args = [*map(str, paths), "--preset", ",".join(presets), "--store=none", *self.limits]
        return dict(json.loads(self.written("compare", *args, to="--json")))

    def compare(self, file: Path, presets: list[str]) -> tuple[dict[str, Any], Rows]:
        """The comparison, and its rows by session and preset."""
        with tempfile.TemporaryDirectory() as folder:
            report, rows = Path(folder, "report.json"), Path(folder, "rows.jsonl")
            args = ["--store=none", "--json", str(report), "--rows", str(rows)]
            self.run("compare", str(file), "--preset", ",".join(presets), *args, *self.limits)
            by_run: Rows = defaultdict(list)
            for line in rows.read_bytes().decode().split("\n"):
                if line:
                    row = json.loads(line)
                    by_run[row["session"], row["preset"]].append(row)
            return json.loads(report.read_text(encoding="utf-8")), by_run
