import unittest
from fractions import Fraction

from stockroom import replenish
from stockroom.clock import DAY
from stockroom.ledger import Ledger, Movement
from stockroom.replenish import Policy
from stockroom.reservations import Desk
from stockroom.clock import ManualClock
from tests.helpers import TEA, catalog


class DemandTests(unittest.TestCase):
    def setUp(self):
        self.clock = ManualClock()
        self.ledger = Ledger()
        self.ledger.record(Movement(TEA, 500, "receipt", self.clock.now()))

    def sell(self, quantity, days_ago):
        self.ledger.record(Movement(TEA, -quantity, "sale", self.clock.now() - days_ago * DAY))

    def test_exact_ratio(self):
        self.sell(10, 3)
        self.assertEqual(replenish.demand_per_day(self.ledger, TEA, self.clock.now(), Policy()), Fraction(10, 28))

    def test_only_the_days_looked_at(self):
        self.sell(28, 29)
        self.sell(56, 1)
        self.assertEqual(replenish.demand_per_day(self.ledger, TEA, self.clock.now(), Policy()), 2)

    def test_returns_are_taken_off(self):
        self.sell(28, 2)
        self.ledger.record(Movement(TEA, 28, "return", self.clock.now() - DAY))
        self.assertEqual(replenish.demand_per_day(self.ledger, TEA, self.clock.now(), Policy()), 0)


class PointTests(unittest.TestCase):
    def test_rounded_up_at_the_end(self):
        self.assertEqual(replenish.reorder_point(Fraction(10, 28), Policy(lead_days=5)), 2)
        self.assertEqual(replenish.reorder_point(Fraction(10, 28), Policy(lead_days=5, safety=3)), 5)

    def test_whole_numbers_stay(self):
        self.assertEqual(replenish.reorder_point(2, Policy(lead_days=5)), 10)


class QuantityTests(unittest.TestCase):
    def setUp(self):
        self.item = catalog().get(TEA)

    def test_enough(self):
        self.assertEqual(replenish.order_quantity(self.item, 2, 11, 0, Policy()), 0)

    def test_full_packs(self):
        self.assertEqual(replenish.order_quantity(self.item, 2, 10, 0, Policy()), 24)

    def test_on_order_counts_as_there(self):
        self.assertEqual(replenish.order_quantity(self.item, 2, 4, 12, Policy()), 0)
        self.assertEqual(replenish.order_quantity(self.item, 2, 4, 6, Policy()), 24)

    def test_nothing_sold_nothing_bought(self):
        self.assertEqual(replenish.order_quantity(self.item, 0, 0, 0, Policy()), 0)


class ProposeTests(unittest.TestCase):
    def test_sorted_by_sku_and_only_what_is_needed(self):
        clock = ManualClock()
        ledger = Ledger()
        for item in catalog():
            ledger.record(Movement(item.sku, 60, "receipt", clock.now()))
        ledger.record(Movement(TEA, -56, "sale", clock.now()))
        clock.advance(DAY)
        found = replenish.propose(catalog(), ledger, Desk(ledger, clock), clock.now())
        self.assertEqual([proposal.sku for proposal in found], [TEA])
        self.assertEqual(found[0].available, 4)
