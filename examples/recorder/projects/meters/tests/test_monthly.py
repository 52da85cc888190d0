import unittest

from meters import monthly
from meters.reading import DAY
from tests.helpers import counters


class MonthTests(unittest.TestCase):
    def test_february_has_29_days(self):
        self.assertEqual(monthly.month_of(59 * DAY), 2)
        self.assertEqual(monthly.month_of(60 * DAY), 3)

    def test_last_day(self):
        self.assertEqual(monthly.month_of(365 * DAY + 1_425), 12)

    def test_missing_is_counted(self):
        self.assertEqual(monthly.table(counters(1, 3, None, 9)), {1: [2, 2]})
