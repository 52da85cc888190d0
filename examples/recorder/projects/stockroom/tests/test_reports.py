import unittest

from stockroom import reports
from stockroom.clock import DAY
from stockroom.ledger import Movement
from tests.helpers import MUG, TEA, catalog, stocked


class TableTests(unittest.TestCase):
    def test_numbers_to_the_right(self):
        text = reports.table(("name", "n"), [("a", 5), ("bcd", 120)])
        self.assertEqual(text.splitlines(), ["name    n", "----  ---", "a       5", "bcd   120"])

    def test_no_rows(self):
        self.assertEqual(reports.table(("a", "b"), []).splitlines()[0], "a  b")


class ReportTests(unittest.TestCase):
    def setUp(self):
        self.ledger, self.clock, self.desk = stocked(10)

    def test_stock(self):
        self.desk.hold(TEA, 4, "ada")
        text = reports.stock_report(catalog(), self.ledger, self.desk)
        self.assertRegex(text, rf"{TEA}\s+Assam\s+10\s+4\s+6")

    def test_sales_per_day(self):
        start = self.clock.now()
        self.ledger.record(Movement(TEA, -2, "sale", start))
        self.ledger.record(Movement(TEA, -3, "sale", start + DAY))
        text = reports.sales_report(catalog(), self.ledger, start, 2)
        self.assertRegex(text, rf"{TEA}\s+2\s+3\s+5")

    def test_movements_carry_a_balance(self):
        self.ledger.record(Movement(MUG, -4, "sale", self.clock.now(), "SO-1"))
        text = reports.movement_report(self.ledger, MUG)
        self.assertRegex(text, rf"{MUG}\s+sale\s+-4\s+6\s+SO-1")
