import unittest

from meters import alarms
from tests.helpers import counters, uses


def kinds(series):
    return [(alarm.minute, alarm.kind) for alarm in alarms.of(series)]


class GapTests(unittest.TestCase):
    def test_four_missing(self):
        self.assertEqual(kinds(counters(1, *[None] * 4, 2)), [(15, "GAP")])

    def test_three_missing(self):
        self.assertEqual(kinds(counters(1, *[None] * 3, 2)), [])


class FlatTests(unittest.TestCase):
    def test_reported_at_its_first_quarter_hour(self):
        self.assertEqual(kinds(uses(5, 5, *[0] * 14, 5)), [(30, "FLAT")])

    def test_eleven_are_none(self):
        self.assertEqual(kinds(uses(5, *[0] * 11, 5)), [])

    def test_unused_meter(self):
        self.assertEqual(kinds(uses(*[0] * 200)), [])


class PeakTests(unittest.TestCase):
    def test_above_six_times(self):
        self.assertEqual(kinds(uses(*[10] * 60, 61)), [(900, "PEAK")])
        self.assertEqual(kinds(uses(*[10] * 60, 60)), [])

    def test_too_little_known(self):
        self.assertEqual(kinds(uses(*[10] * 47, 100)), [])

    def test_median_of_an_even_number(self):
        self.assertEqual(alarms.median([1, 2, 3, 10]), 2.5)

    def test_a_run_is_reported_once(self):
        self.assertEqual(kinds(uses(*[10] * 60, 100, 100, 100, 10, 100)), [(900, "PEAK"), (960, "PEAK")])


class BackTests(unittest.TestCase):
    def test_backwards(self):
        self.assertEqual(kinds(counters(500, 400, 410)), [(0, "BACK")])

    def test_overflow_is_none(self):
        self.assertEqual(kinds(counters(999_900, 100, 110)), [])
