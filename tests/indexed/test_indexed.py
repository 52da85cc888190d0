"""What beats what, and sums of rows."""

from __future__ import annotations

import csv
import itertools
import tempfile
import unittest
from pathlib import Path

import front
import hindsight
import totals
from corpus import Line

PRICES = totals.TERMS


def line(cost: float, *judged: float | None) -> Line:
    return Line("strategy", cost, list(judged))


class Front(unittest.TestCase):
    def test_beats(self) -> None:
        ours = line(70.0, 90.0, 80.0, 80.0)
        cases = [
            ("cheaper, better by two", line(69.0, 80.0, 81.0, 81.0), True),
            ("cheaper, better by one", line(69.0, 80.0, 80.0, 81.0), False),
            ("as cheap", line(70.0, 91.0, 81.0, 81.0), False),
            ("nothing to edit", line(69.0, 91.0, 81.0, None), True),
            ("nothing to edit, better by one", line(69.0, 91.0, 80.0, None), False),
        ]
        for name, rival, beats in cases:
            self.assertEqual(rival.beats(ours), beats, name)

    def test_windows(self) -> None:
        meant = {
            window: [us for us in front.OURS if front.meant_for(us, window)]
            for window in front.WINDOWS
        }
        self.assertEqual(
            meant,
            {
                60_000: ["indexed"],
                100_000: ["indexed", "indexed-large"],
                200_000: ["indexed", "indexed-large"],
            },
        )

    def test_over(self) -> None:
        # Preset, call, calibrated size: the ceiling is 100, and only `b` is a rival.
        sizes = [("a+x", 0, 101), ("a+x", 1, 102), ("a+x", 2, 100), ("b", 0, 90), ("b", 1, 103)]
        sizes.append(("c", 1, 90))
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder, "rows.csv")
            with rows.open("w", encoding="utf-8", newline="") as file:
                out = csv.writer(file)
                out.writerow(["preset", "session", "call", "calibrated_input", "ceiling"])
                out.writerows([preset, "s", call, size, 100] for preset, call, size in sizes)
                out.writerow(["a+x", "s", 3, "", 100])
            sent = front.over(rows, {"b"})
        self.assertEqual(sent, {"a": front.Over(2, 1), "b": front.Over(1, 0)})


def row(session: str, call: int, start_ms: int | str, read: int, needed: int) -> dict[str, str]:
    numbers = {
        "call": call,
        "start_ms": start_ms,
        "input_tokens": 10_000,
        "cache_read": read,
        "output_tokens": 0,
        "web_searches": 0,
        "summary_requests": 0,
        "summary_input": 0,
        "summary_output": 0,
    }
    for metric in ("frr_obs_far", "verbatim_far", "epr"):
        numbers |= {f"{metric}_needed": needed, f"{metric}_kept": needed // 2}
    texts = {"preset": "a+x", "session": session, "exam": "true" if call else "false"}
    return texts | {name: str(value) for name, value in numbers.items()}


class Totals(unittest.TestCase):
    def test_bill(self) -> None:
        new = 10_000 * PRICES.write / 1e6
        again = (9_000 * PRICES.read + 1_000 * PRICES.write) / 1e6
        cases = [
            ("in time", 300_000, again),
            ("too late", 300_001, new),
            ("without times nothing is too late", "", again),
        ]
        for name, later, second in cases:
            first = 0 if later else ""
            calls = [row("s", 0, first, 0, 4), row("s", 1, later, 9_000, 4)]
            self.assertAlmostEqual(totals.usd(calls, PRICES), new + second, 9, name)

    def test_sums(self) -> None:
        rows = [row("s", 0, "", 0, 4), row("s", 1, "", 0, 4), row("t", 1, "", 0, 12)]
        sessions = totals.read(rows)["a"]
        # The first call of `s` is none that counts.
        needed = {name: of.needed["kept"] for name, of in sessions.items()}
        self.assertEqual(needed, {"s": 4, "t": 12})
        self.assertEqual(totals.together(sessions.values()).share("edits"), 50.0)

    def test_paired(self) -> None:
        rows = [row(name, 1, "", 0, 4) for name in "stuv"]
        sessions = totals.read(rows)["a"]
        self.assertEqual(set(totals.paired(sessions, sessions).values()), {(0.0, 0.0, 0.0)})


class Hindsight(unittest.TestCase):
    def test_no_schedule_is_cheaper_than_the_best(self) -> None:
        grows = [0, 30, 35, 60, 90, 100, 130, 131, 150]
        # Window, and whether the cache lives on at each call.
        for window, warm in [(1_000, [True] * 9), (90, [True] * 9), (1_000, [True, False] * 5)]:
            calls = hindsight.Calls(grows, warm[:9], 20, window)
            schedules = [
                list(folds)
                for count in range(9)
                for folds in itertools.combinations(range(1, 9), count)
                if fits(calls, list(folds))
            ]
            least = min(calls.bill(folds, 15, PRICES) for folds in schedules)
            self.assertAlmostEqual(calls.best(15, PRICES), least, 9, f"{window} {warm}")

    def test_a_fold_reads_the_frame_and_writes_the_rest(self) -> None:
        calls = hindsight.Calls([0, 100, 110], [True] * 3, 20, 1_000)
        prices = [
            20 * PRICES.write,
            20 * PRICES.read + 50 * PRICES.write,
            70 * PRICES.read + 10 * PRICES.write,
        ]
        self.assertAlmostEqual(calls.bill([1], 50, PRICES), sum(prices), 9)


def fits(calls: hindsight.Calls, folds: list[int]) -> bool:
    """Whether every request is within the window."""
    ends = [*folds, len(calls.log)]
    starts = [None, *folds]
    return all(
        len(calls.stretch(start, 15, PRICES)) >= end - (start or 0)
        for start, end in zip(starts, ends, strict=True)
    )


if __name__ == "__main__":
    unittest.main()
