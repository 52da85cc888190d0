import unittest

from meters.reading import Reading
from meters.series import by_meter
from tests.helpers import counters


class UseTests(unittest.TestCase):
    def test_difference(self):
        self.assertEqual(counters(100, 130, 150).quarters(), [(0, 30), (15, 20)])

    def test_missing_reading(self):
        self.assertEqual([use for _, use in counters(100, None, 150, 160).quarters()], [None, None, 10])

    def test_overflow(self):
        self.assertEqual(counters(999_990, 15).quarters(), [(0, 25)])

    def test_exchange_has_no_use(self):
        self.assertEqual([use for _, use in counters(500, 10, 40, flags="AXA").quarters()], [None, 30])


class SameMinuteTests(unittest.TestCase):
    def test_later_wins(self):
        series = by_meter([Reading("1", 0, 5), Reading("1", 0, 7, "E")])[0]
        self.assertEqual(series.by_minute[0].counter, 7)

    def test_corrected_wins(self):
        series = by_meter([Reading("1", 0, 5, "C"), Reading("1", 0, 7)])[0]
        self.assertEqual(series.by_minute[0].counter, 5)


class GapTests(unittest.TestCase):
    def test_first_and_last_missing(self):
        self.assertEqual(counters(1, None, None, 2, 3).gaps(), [(15, 30)])

    def test_none(self):
        self.assertEqual(counters(1, 2, 3).gaps(), [])
