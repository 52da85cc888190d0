"""The tables of the page of `indexed`: what it costs and keeps, and what its ingredients are worth.

    python3 tests/indexed/page.py FOLDBACK_BINARY ../shared/sessions ../shared/training

Costs are `net` at each session's own prices, in percent of the base of the comparison.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from corpus import AGENTS, JUDGES, compared, name

ABLATIONS = Path(__file__).resolve().parents[2] / "strategies/indexed/ablations"
WINDOWS = (60_000, 100_000, 200_000)
OTHERS = ("drop-oldest", "openhands", "opencode-1.18")
#: Repositories of the training sessions, of which there are sessions in the other folder, too.
TRAINED = ("entire-cli", "packmind", "agentv", "nimbus")

Document = dict[str, Any]


def share(metric: Document, interval: bool = True) -> str:
    """In percent, with its interval."""
    value, lo, hi = (metric.get(part) for part in ("value", "lo", "hi"))
    if value is None:
        return "–"
    text = f"{100 * value:.0f}"
    return (
        text
        if not interval or lo is None or hi is None or lo == hi
        else f"{text} ({100 * lo:.0f}–{100 * hi:.0f})"
    )


def ratio(difference: Document) -> str:
    """A ratio of bills."""
    return "{value:.2f} ({lo:.2f}–{hi:.2f})".format(**difference)


def change(difference: Document, minus: float) -> str:
    """A difference in points."""
    value, lo, hi = (100 * (difference[part] - minus) for part in ("value", "lo", "hi"))
    return f"{value:+.1f} ({lo:+.1f} to {hi:+.1f})".replace("-", "−")


def lines(document: Document) -> dict[str, Document]:
    """The lines of a comparison by the name of the preset."""
    return {name(line["preset"]): line for line in document["presets"]}


def pair(document: Document, first: str, second: str) -> Document:
    """The contrast of two presets."""
    pairs = document["contrasts"]
    return next(
        pair for pair in pairs if [name(pair["first"]), name(pair["second"])] == [first, second]
    )


def row(*cells: str) -> None:
    """One row of a table."""
    print(f"| {' | '.join(cells)} |")


def heading(*cells: str) -> None:
    """The first rows of a table."""
    print()
    row(*cells)
    print("|---" * len(cells) + "|")


def beside_others(documents: dict[int, list[Document]]) -> None:
    """What presets cost and keep."""
    columns = ["net %", "kept %", "verbatim %", "edits %", "over"]
    heading(
        "window",
        "preset",
        *(f"{where}{column}" for where in ("here: ", "training: ") for column in columns),
    )
    for window, both in documents.items():
        for preset in ("indexed", *(["indexed-large"] if window == 200_000 else []), *OTHERS):
            cells = []
            for document in both:
                line = lines(document)[preset]
                metrics = line["metrics"]
                shares = [
                    share(metrics[judge], judge == "frr_obs_far") for judge in JUDGES.values()
                ]
                cells += [share(metrics["net_ratio"]), *shares, f"{line['gate']['over']:,}"]
            row(f"{window:,}", preset, *cells)


def paired(documents: dict[int, list[Document]]) -> None:
    """`indexed` against others, session by session."""
    heading("window", "preset", "here: net", "kept", "training: net", "kept")
    for window, both in documents.items():
        for preset in OTHERS[1:]:
            pairs = [pair(document, "indexed", preset) for document in both]
            cells = [[ratio(found["net"]), change(found["frr_obs_far"], 0)] for found in pairs]
            row(f"{window:,}", preset, *(cell for two in cells for cell in two))


def by_agent(documents: dict[int, list[list[Document]]]) -> None:
    """The same for each agent."""
    names = ("Claude Code", "Codex", "OpenCode")
    heading(
        "window",
        "preset",
        *(f"{where}: {agent}" for where in ("here", "training") for agent in names),
    )
    for window, both in documents.items():
        for preset in ("indexed", *(["indexed-large"] if window == 200_000 else []), *OTHERS[:2]):
            cells = []
            for document in (one for folder in both for one in folder):
                line = lines(document)[preset]
                metrics, over = line["metrics"], line["gate"]["over"]
                kept = "/".join(share(metrics[judge], False) for judge in JUDGES.values())
                cells.append(
                    f"{share(metrics['net_ratio'], False)}: {kept}{f' !{over}' if over else ''}"
                )
            row(f"{window:,}", preset, *cells)


def ablations(documents: dict[int, list[Document]]) -> None:
    """What is lost with each ingredient."""
    columns = ["net %", "kept", "verbatim", "edits"]
    heading(
        "window",
        "without",
        *(
            f"{where}{column}"
            for where in ("training: ", "all of sessions: ")
            for column in columns
        ),
    )
    for window, both in documents.items():
        for without in sorted(path.stem for path in ABLATIONS.glob("*.toml")):
            cells = []
            for document in both:
                found, known = pair(document, without, "indexed"), lines(document)
                cells += [change(found["net"], 1), change(found["frr_obs_far"], 0)]
                for judge in list(JUDGES.values())[1:]:
                    mine, its = (
                        known[preset]["metrics"][judge]["value"] for preset in (without, "indexed")
                    )
                    cells.append(
                        "–"
                        if mine is None or its is None
                        else f"{100 * (mine - its):+.1f}".replace("-", "−")
                    )
            row(f"{window:,}", f"`{without}`", *cells)


def main(binary: str, sessions: str, training: str) -> None:
    """All tables."""
    here = [sessions, *(arg for text in TRAINED for arg in ("--exclude", text))]
    presets = ",".join(["indexed", "indexed-large", *OTHERS[1:]])

    def documents(*groups: list[str], preset: str = presets) -> dict[int, list[Document]]:
        return {
            window: [
                compared(binary, [*group, "--preset", preset, "--window", str(window)])
                for group in groups
            ]
            for window in WINDOWS
        }

    both = documents(here, [training])
    beside_others(both)
    paired(both)
    apart = [
        documents(*([*group, "--agent", agent] for agent in AGENTS)) for group in (here, [training])
    ]
    by_agent({window: [part[window] for part in apart] for window in WINDOWS})
    files = sorted(str(path) for path in ABLATIONS.glob("*.toml"))
    ablations(documents([training], [sessions], preset=",".join([*files, "indexed"])))


if __name__ == "__main__":
    main(*sys.argv[1:])
