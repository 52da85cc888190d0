"""What `foldback audit` says of the compactions in recordings, made again from outside.

    python3 tests/evidence/audit.py FOLDBACK_BINARY FILE_OR_FOLDER…

Every compaction that a recording marks has its row. What the calls behind it needed and its view
lacked is what `tests/judge` says of the same cut: names, each once, and old texts and pieces;
within 20 calls, and up to the next compaction.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "judge"))

from foldback import Foldback
from judge import files
from references import References
from session import Session
from texts import Standing

from reread import Cut, Reader, cuts, needed

NEAR = 20


def standing(reader: Reader, cut: Cut, summary: str, call: int) -> Standing:
    """The view of a call behind a cut."""
    out = Standing(reader.log, [])
    _, until = reader.log.calls[call]
    places = {(place.ordinal, place.part) for place in reader.log.places[:until]}
    out.original = places - cut.hidden
    out.written = {summary} if summary else set()
    return out


def missing(session: Session, file: Path) -> Iterator[dict[str, tuple[set[str], int]]]:
    """For each compaction whose messages are still there, what was missing behind it."""
    reader = Reader(session, "", "")
    found = sorted(cuts(reader, file), key=lambda cut: cut.call)
    references, texts = References(reader.log), needed(reader)
    summary = ""
    for number, cut in enumerate(found):
        # Clearing leaves the summary before it in view.
        summary = summary if cut.kind == "clear" else cut.summary
        last = found[number + 1].call if number + 1 < len(found) else reader.calls
        names: list[set[str]] = []
        lost: list[int] = []
        for call in range(cut.call, last):
            view = standing(reader, cut, summary, call)
            written = references.written(view)
            needs = references.needs[call]
            names.append({r.identifier for r in needs if not references.kept(r, view, written)})
            lost.append(sum(not need.kept(view) for need in texts[call]))
        yield {
            "near": (set().union(*names[:NEAR]), sum(lost[:NEAR])),
            "missing": (set().union(*names), sum(lost)),
        }


def main() -> int:
    program = Foldback(sys.argv[1], [])
    compared, wrong = 0, []
    for file in files([Path(path) for path in sys.argv[2:]]):
        sessions = program.sessions(file)
        if not any(session.boundaries for session in sessions):
            continue
        audit = json.loads(program.written("audit", str(file), "--json", to=""))
        for session, told in zip(sessions, audit["sessions"], strict=True):
            if len(session.boundaries) != len(told["compactions"]):
                wrong.append(
                    f"{file}: {len(told['compactions'])} of {len(session.boundaries)} rows"
                )
            known = [row["folds"][0] for row in told["compactions"] if row["folds"][0]["folded"]]
            for fold, ours in zip(known, missing(session, file), strict=True):
                for part, (names, texts) in ours.items():
                    compared += 1
                    other = set(fold[part]["names"]) ^ names
                    told_texts = len(fold[part]["texts"])
                    if other or told_texts != texts:
                        what = f"{told_texts} texts, not {texts}; names {sorted(other)}"
                        wrong.append(f"{file} {part}: {what}")
    print("\n".join([*wrong, f"{compared} compared, {len(wrong)} differ"]))
    return int(bool(wrong) or not compared)


if __name__ == "__main__":
    sys.exit(main())
