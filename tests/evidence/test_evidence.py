"""The tables of docs/evidence.md, made again from the extracts."""

from __future__ import annotations

import json
import unittest
from functools import cache
from pathlib import Path

import outcomes
import outside
import reread
import summaries
from reread import edits
from texts import Place

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


def reread_tables() -> tuple[list[str], list[str]]:
    """The rows of the excess and of the prediction, without their heads."""
    made: list[str] = []
    reread.report(reread.read(), 1_000, made.append)
    at = made.index("")
    return made[2:at], made[at + 3 :]


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


class Rereads(unittest.TestCase):
    """A session of four reads, a compaction and what follows."""

    def session(self) -> reread.Reader:
        first = "\n".join(f"the first file has line {n}" for n in range(30))
        other = "\n".join(f"quite another file, line {n}" for n in range(30))
        told = [first, other, "no such file", first, first]
        messages = []
        for number, text in enumerate(told):
            call = {"type": "call", "call_id": f"c{number}", "tool": "read", "arguments": "{}"}
            answer = {"id": f"a{number}", "role": "assistant", "answer": {}, "parts": [call]}
            result = {"type": "result", "call_id": f"c{number}", "tool": "read", "text": text}
            messages += [answer, {"id": f"r{number}", "role": "tool", "parts": [result]}]
        # The boundary stands behind the third read.
        old = "quite another file, line 3\nquite another file, line 4"
        arguments = json.dumps({"file_path": "other", "old_string": old, "new_string": ""})
        call = {"type": "call", "call_id": "e", "tool": "edit", "arguments": arguments}
        messages.append({"id": "e", "role": "assistant", "answer": {}, "parts": [call]})
        boundary = {"before": 6, "kind": "sealed", "original_kept": True}
        header = {"id": "s", "format": "codex"}
        session = reread.Session(
            header, [reread.Message(message) for message in messages], [boundary]
        )
        return reread.Reader(session, "sessions", "session 0")

    def test_a_line_counts_once_behind_a_place(self) -> None:
        reader = self.session()
        tokens, calls, which = reader.again(3, 3)
        self.assertEqual((tokens, calls), (reader.results[3].tokens, 1))
        self.assertEqual(which, {id(reader.results[3].place)})
        self.assertEqual(reader.again(2, 1)[:2], (0, 0))

    def test_what_an_edit_lacks_is_predicted_to_come_back(self) -> None:
        reader = self.session()
        [cut] = reread.cuts(reader, Path("none"))
        needs = reread.needed(reader)
        told = reread.predicted(cut, 3, needs)
        self.assertEqual((told.tokens, told.calls), (reader.results[1].tokens, 1))
        # What stands elsewhere is in view, unless the agent had to read it again for that.
        gone, again = reader.results[0].place, reader.results[3].place

        def need(*places: Place) -> reread.Need:
            return edits.Edit("the first file has", None, places)

        for elsewhere, missed in ((reader.log.places[-1], 0), (again, 1)):
            needs[5] = [need(gone, elsewhere)]
            told = reread.predicted(cut, 3, needs)
            self.assertEqual((told.missed, told.back), (missed, missed))
        # Once it is back, it is in view.
        needs[4] = needs[5] = [need(gone)]
        told = reread.predicted(cut, 3, needs)
        self.assertEqual((told.missed, told.calls), (2, 1))
        cut.hidden.clear()
        self.assertEqual(reread.predicted(cut, 3, needs).missed, 0)

    def test_long_results_come_back_around_what_is_needed(self) -> None:
        def text(lines: int) -> str:
            return "\n".join(f"line {n}." for n in range(lines))

        table = [
            (400, ["line 7."], 0, 400),
            (1_000, ["line 500.\nline 501."], 300, 702),
            (1_000, ["line 300.", "line 500."], 100, 701),
            (1_000, ["line 3."], 0, 204),
            (1_000, ["nowhere", "line 3."], 0, 1_000),
        ]
        for lines, needs, start, end in table:
            expected = "\n".join(text(lines).split("\n")[start:end])
            self.assertEqual(reread.around(text(lines), needs), expected, msg=f"{lines} {needs}")

    def test_reading_commands(self) -> None:
        table = [
            ("Read", "src/a.rs", True),
            ("Edit", "src/a.rs", False),
            ("Bash", "cd src && sed -n '1,20p' a.rs | head", True),
            ("exec_command", "git diff --stat", True),
            ("Bash", "cargo test", False),
            ("Bash", "grep -n x a.rs && cargo test", False),
            ("Bash", "sed -i s/a/b/ a.rs", False),
            ("todowrite", "", False),
        ]
        for tool, said, expected in table:
            self.assertEqual(reread.is_reading(tool, said), expected, msg=f"{tool} {said}")


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

    def test_re_reads_are_what_the_rows_give(self) -> None:
        excess, prediction = reread_tables()
        heads = rows("tests/evidence/README.md", "All re-reads")
        second = next(at for at, line in enumerate(heads) if "predicted: tokens" in line)
        self.assertEqual(heads[:second], excess)
        self.assertEqual(heads[second + 1 :], prediction)
        below = rows("docs/evidence.md", "What is read again")
        self.assertTrue(below)
        self.assertLessEqual(set(below), set(excess))
        text = " ".join((ROOT / "docs/evidence.md").read_text(encoding="utf-8").split())
        by_tokens = {line.split(" | ")[1]: line.split(" | ")[6] for line in prediction[::6]}
        for value in by_tokens.values():
            self.assertIn(value, text)

    def test_the_first_page_has_its_figures(self) -> None:
        cells = {line.split(" | ")[0]: line.split(" | ") for line in printed()}
        kept, size = (cells[f"| {name}"][2] for name in ("kept", "size alone"))
        said = f"rank correlation with them, {kept}, is that of plain size ({size.split(' ')[0]})"
        text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
        self.assertIn(said, text)

    def test_areas_are_what_the_extracts_give(self) -> None:
        areas = [line for line in printed() if line.startswith("AUC")]
        beside = (ROOT / "tests/evidence/README.md").read_text(encoding="utf-8").splitlines()
        self.assertLessEqual({f"- {line}" for line in areas}, set(beside))
        text = " ".join((ROOT / "docs/evidence.md").read_text(encoding="utf-8").split())
        values = dict(line.removeprefix("AUC, ").split(": ") for line in areas)
        for column in ("calls", "summary-13-0 frr_obs_far"):
            self.assertIn(values[column], text)


class Outside(unittest.TestCase):
    """The measurements of others."""

    def test_tables_are_what_the_extracts_give(self) -> None:
        page = (ROOT / "docs/evidence.md").read_text(encoding="utf-8")
        chapters = page.split("\n## Measurements of others\n")[1]
        told = {line for line in chapters.splitlines() if line.startswith("| ")}
        made: set[str] = set()
        for name, table in outside.TABLES.items():
            lines = table()
            rows_made = [line for line in lines if line.startswith("| ")]
            self.assertEqual(rows("tests/evidence/README.md", f"All {name}"), rows_made[1:], name)
            self.assertTrue(told & set(rows_made[1:]), name)
            made |= set(rows_made)
        self.assertLessEqual(told, made)

    def test_the_text_has_the_figures(self) -> None:
        text = " ".join((ROOT / "docs/evidence.md").read_text(encoding="utf-8").split())
        held = [line for line in outside.predictions() if line.endswith("| yes |")]
        failed = [line for line in outside.predictions() if line.endswith("| **no** |")]
        self.assertIn(f"Of 17 predictions with an interval [{len(held)} held]", text)
        self.assertEqual(len(held) + len(failed), 17)
        value, lo, hi, p = outside.pair("provider-cm")
        points = f"{value:.1f} points ({lo:.1f} to {hi:.1f})".replace("-", "−")
        self.assertIn(points, text)
        self.assertAlmostEqual(p, 0.1153, places=4)
        gaps = outside.missing()
        self.assertAlmostEqual(sum(gaps.values()), 100)
        self.assertIn(f"{gaps['frame']:.0f} % of the difference is the frame", text)
        self.assertIn(f"{gaps['caches']:.0f} % is what caches lost", text)
        got = outside.came()
        self.assertIn(f"{got['minmax-bench', 'none, two sessions']:.2f} times theirs", text)
        self.assertIn(f"Solved were {got['distil', 'solved, by the line of kept']:.1f} %", text)
        theirs = outside.table(outside.OUTSIDE / "minmax.tsv")
        some = [row for row in theirs if (row["arm"], row["own"]) == ("condense", "1")]
        self.assertLess(max(int(row["largest"]) for row in some), 44_000)

    def test_predictions_are_those_of_the_replay(self) -> None:
        said = {
            (row["source"], row["figure"]): row
            for row in outside.table(outside.OUTSIDE / outside.PREDICTIONS)
        }
        replays = outside.by(outside.table(outside.OUTSIDE / "swe-agent.tsv"), "preset")
        row, base = replays["distil-provider-cm"], replays["none"]
        size = (int(row["read"]) + int(row["written"])) / int(row["whole"])
        figures = {
            "steps": 100 * int(row["rereads"]) / int(row["calls"]),
            "input tokens": 100 * (size - 1),
            "cost": outside.percent(float(row["net"]), float(base["net"])),
        }
        for name, value in figures.items():
            predicted = float(said["distil", name]["predicted"])
            self.assertAlmostEqual(predicted, value, delta=0.06, msg=name)
        arms, (_, reporting) = outcomes.figures(), outcomes.halves()
        success = outcomes.successes(reporting, reporting, outcomes.all_tasks(reporting))
        lines = [
            ("kept", "frr_obs_far", float(row["kept"])),
            ("all references", "frr", float(row["references"])),
            ("size", "size", size),
        ]
        for name, figure, value in lines:
            x = [arms[figure][unit.arm] for unit in reporting]
            at_none, slope = outcomes.fitted(x, success)
            predicted = float(said["distil", f"solved, by the line of {name}"]["predicted"])
            self.assertAlmostEqual(predicted, 100 * (at_none + slope * value), delta=0.5, msg=name)

    def test_the_chance_is_that_of_the_replay(self) -> None:
        chance = (ROOT / "crates/replay/src/judge/reread/chance.rs").read_text(encoding="utf-8")
        value, lo, hi = outside.RHO
        self.assertIn(f"value: {value}, lo: {lo}, hi: {hi}", chance)

    def test_the_first_page_has_them(self) -> None:
        told = outside.table(outside.OUTSIDE / "answered.tsv")
        text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
        for arm in ("summarized", "all"):
            row = next(it for it in told if it["arm"] == arm)
            given, there = (float(row[it]) for it in ("answered, %", "in context, %"))
            self.assertIn(f"{given:.0f} of {there:.0f} %", text)


if __name__ == "__main__":
    unittest.main()
