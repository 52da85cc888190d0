"""Judges every preset on the sessions that ship, and on the recorded ones where they lie beside the project.

    python3 tests/judge/everything.py FOLDBACK_BINARY

A window is given at which all presets act; a second run takes the windows of the recordings.
"""

from __future__ import annotations

import subprocess
import sys

from tokens import ROOT

FOLDERS = [
    ROOT / "tests/four-sessions",
    ROOT.parent / "shared/sessions",
    ROOT.parent / "shared/training",
]
LIMITS = ["--window 60000 --max-output 8000", ""]


def main() -> int:
    judge = [sys.executable, str(ROOT / "tests/judge/judge.py"), sys.argv[1], "--quiet"]
    failed = 0
    for folder in filter(lambda folder: folder.is_dir(), FOLDERS):
        for limits in LIMITS:
            print(f"{folder.relative_to(ROOT.parent)} {limits}", flush=True)
            failed += subprocess.run([*judge, str(folder), f"--limits={limits}"]).returncode
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
