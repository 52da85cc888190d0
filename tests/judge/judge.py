"""An outside judge: makes foldback's numbers again from its plans and the sessions, and compares.

    python3 tests/judge/judge.py FOLDBACK_BINARY FILE_OR_FOLDER… [--preset A,B] [--limits OPTIONS]

Without --preset it judges every preset that the command lists and that can be asked for a plan.
`none` is always judged.

It is written from docs/definitions.md and rules.md, and shares no code with foldback.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from check import Findings, check_together, judge_file
from foldback import Foldback


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
    parser.add_argument("--preset", help="presets, with commas")
    parser.add_argument("--limits", default="", help="options for foldback, e.g. '--window 60000'")
    parser.add_argument("--acting", action="store_true", help="every preset but none must act")
    parser.add_argument("--quiet", action="store_true", help="print the last lines only")
    args = parser.parse_args()
    program = Foldback(args.binary, args.limits.split())
    presets = args.preset.split(",") if args.preset else program.presets()
    # What was paid is known by the requests without compaction, so these come first.
    presets = ["none", *(preset for preset in presets if preset != "none")]
    findings = Findings()
    for file in files(args.paths):
        found = judge_file(program, file, presets)
        findings.add(found)
        if not args.quiet:
            print(f"{file}: {found.line()}", flush=True)
            for detail in found.details[:5]:
                print(f"  {detail}", flush=True)
    if len(findings.paid) > 1:
        told = check_together(findings, program.together(args.paths, presets))
        print("savings over all files " + ("were recomputed" if told else "have no base in each"))
    idle = [preset for preset in presets if preset not in findings.acted and preset != "none"]
    if idle:
        print(f"did nothing: {', '.join(idle)}")
    print(f"{len(presets)} presets")
    print(findings.summary())
    if args.acting and idle:
        return 1
    return 0 if findings.agrees() else 1


if __name__ == "__main__":
    sys.exit(main())
