"""An outside judge: makes foldback's numbers again from its plans and the sessions, and compares.

    python3 tests/judge/judge.py FOLDBACK_BINARY FILE_OR_FOLDER… [--preset A,B] [--limits OPTIONS]

It is written from docs/definitions.md and shares no code with foldback.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from check import Findings, judge_file
from foldback import Foldback

# Every preset that ships but the clairvoyant, which knows the future and can't be asked for a plan.
PRESETS = (
    "none,brutus,opencode,opencode-1.17,tiered,tiered-doc-exact,tunacode,tunacode-local,"
    "window,window-faithful,drop-oldest,keep-last-1,random"
)


def files(paths: list[Path]) -> Iterator[Path]:
    """The files below the paths, in order; pages that say what they are left out."""
    for path in paths:
        if path.is_dir():
            yield from files(sorted(path.iterdir()))
        elif path.suffix != ".md":
            yield path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--preset", default=PRESETS, help="presets, with commas")
    parser.add_argument("--limits", default="", help="options for foldback, e.g. '--window 60000'")
    parser.add_argument("--quiet", action="store_true", help="print the last lines only")
    args = parser.parse_args()
    program = Foldback(args.binary, args.limits.split())
    findings = Findings()
    for file in files(args.paths):
        found = judge_file(program, file, args.preset.split(","))
        findings.add(found)
        if not args.quiet:
            print(f"{file}: {found.line()}", flush=True)
            for detail in found.details[:5]:
                print(f"  {detail}", flush=True)
    print(findings.summary())
    return 0 if findings.agrees() else 1


if __name__ == "__main__":
    sys.exit(main())
