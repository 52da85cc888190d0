"""The tables of docs/evidence.md, made again from the extracts."""

from __future__ import annotations

import unittest
from functools import cache
from pathlib import Path

import outcomes
import summaries

ROOT = Path(__file__).parents[2]

# The pairs against raw as published, in points (`auxiliary-data/paired_ci_diffs_vs_raw.csv`).
PUBLISHED = {
    ("gemini-2.5-flash", "summary-21-10"): (3.2, -0.4, 7.0),
    ("gemini-2.5-flash", "masking-10"): (2.8, -0.8, 6.4),
    ("gemini-2.5-flash-thinking", "summary-21-10"): (-9.0, -13.0, -5.2),
    ("gemini-2.5-flash-thinking", "masking-10"): (-4.0, -7.8, -0.2),
    ("qwen3-32b", "summary-21-10"): (-1.0, -4.6, 2.6),
    ("qwen3-32b", "masking-10"): (-2.0, -5.0, 1.0),
    ("qwen3-32b-thinking", "summary-21-10"): (1.8, -1.8, 5.4),
    ("qwen3-32b-thinking", "masking-10"): (1.6, -2.0, 5.2),
}


@cache
def printed() -> list[str]:
    out: list[str] = []
    outcomes.report(1_000, out.append)
    return out


def rows(file: str, heading: str) -> list[str]:
    """The rows of the first table below a heading, its head left out."""
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = text.split(f"## {heading}\n")[1].split("\n## ")[0].splitlines()
    return [line for line in lines if line.startswith("| ")][1:]


class Statistics(unittest.TestCase):
    def test_rank_correlations(self) -> None:
        self.assertAlmostEqual(outcomes.spearman([1, 2, 3, 4], [2, 4, 6, 9]), 1)
        self.assertAlmostEqual(outcomes.spearman([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]), 0.8207827)
        groups = ["a"] * 5
        self.assertAlmostEqual(
            outcomes.kendall([1, 2, 3, 4, 5], [5, 6, 7, 8, 7], groups), 0.7378648
        )
        # No pair across groups counts.
        self.assertAlmostEqual(outcomes.kendall([1, 2, 1, 2], [3, 4, 2, 1], list("aabb")), 0)

    def test_areas(self) -> None:
        self.assertEqual(outcomes.auc([1, 2, 3, 4], [False, False, True, True]), 1)
        self.assertEqual(outcomes.auc([1, 1, 1], [False, True, True]), 0.5)
        self.assertEqual(outcomes.auc([3, 1, 2], [False, True, True]), 0)

    def test_mcnemar(self) -> None:
        one = outcomes.Unit("", "", "", ["1" * 9 + "0" * 11])
        other = outcomes.Unit("", "", "", ["0" * 9 + "1" + "0" * 10])
        pair = outcomes.paired(one, other, 10, 1)
        self.assertEqual((pair["gained"], pair["lost"], pair["value"]), (9, 1, 40))
        self.assertAlmostEqual(pair["p"], 0.021484375)


class Pages(unittest.TestCase):
    def test_pairs_are_those_that_were_published(self) -> None:
        every = {(unit.dataset, unit.model, unit.arm): unit for unit in outcomes.units()}
        for (model, arm), published in PUBLISHED.items():
            raw, unit = (every["verified-500", model, name] for name in (outcomes.RAW, arm))
            pair = outcomes.paired(unit, raw, 2_000, 1)
            for ours, theirs in zip(
                (pair["value"], pair["lo"], pair["hi"]), published, strict=True
            ):
                # A bound is one of steps of 0.2 points.
                self.assertAlmostEqual(ours, theirs, delta=0.41, msg=f"{model}, {arm}")
            self.assertAlmostEqual(pair["value"], published[0])

    def test_tables_are_what_the_extracts_give(self) -> None:
        ranked = [line for line in printed() if line.startswith("| ")]
        at = next(at for at, line in enumerate(ranked) if line.startswith("| model"))
        figures, pairs = ranked[1:at], ranked[at + 1 :]
        made: list[str] = []
        summaries.report(summaries.read(), made.append)
        tables = [("figures", figures), ("pairs", pairs), ("summaries", made[2:])]
        for name, table in tables:
            self.assertEqual(rows("tests/evidence/README.md", f"All {name}"), table)
        below = {"Against outcomes": figures, "Real summaries against the stand-in": made[2:]}
        for heading, table in below.items():
            some = rows("docs/evidence.md", heading)
            self.assertTrue(some)
            self.assertLessEqual(set(some), set(table))

    def test_the_first_page_has_its_figures(self) -> None:
        cells = {line.split(" | ")[0]: line.split(" | ") for line in printed()}
        kept, size = (cells[f"| {name}"][2] for name in ("kept", "size alone"))
        said = kept.replace(" (", ", ").removesuffix(")") + ", and " + size.split(" ")[0]
        text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
        self.assertIn(f"(Spearman {said})", text)

    def test_areas_are_what_the_extracts_give(self) -> None:
        areas = [line for line in printed() if line.startswith("AUC")]
        beside = (ROOT / "tests/evidence/README.md").read_text(encoding="utf-8").splitlines()
        self.assertLessEqual({f"- {line}" for line in areas}, set(beside))
        text = " ".join((ROOT / "docs/evidence.md").read_text(encoding="utf-8").split())
        values = dict(line.removeprefix("AUC, ").split(": ") for line in areas)
        for column in ("calls", "summary-13-0 frr_obs_far"):
            self.assertIn(values[column], text)


if __name__ == "__main__":
    unittest.main()
