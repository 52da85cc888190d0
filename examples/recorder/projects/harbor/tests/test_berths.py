import unittest

from harbor.berths import Quay
from harbor.ships import Call, Ship


def call(number=1, length=15_000, draft=900, name="Test"):
    return Call(f"C{number:04d}", Ship(name, "Line", length, draft, 20_000), 0, 100)


class FitTests(unittest.TestCase):
    def setUp(self):
        self.quay = Quay()

    def test_length_with_quay(self):
        self.assertTrue(self.quay.fits(self.quay.berths[0], call(length=15_000, draft=500), 190, 200))
        self.assertFalse(self.quay.fits(self.quay.berths[0], call(length=15_001, draft=500), 190, 200))

    def test_water_at_the_start(self):
        self.assertTrue(self.quay.fits(self.quay.berths[0], call(draft=1_190), 190, 190))
        self.assertFalse(self.quay.fits(self.quay.berths[0], call(draft=1_191), 190, 190))

    def test_water_until_the_end(self):
        # High water at the start, low water six hours later.
        self.assertFalse(self.quay.fits(self.quay.berths[0], call(draft=1_000), 190, 560))

    def test_shortest_berth_then_lower_number(self):
        self.assertEqual(self.quay.find(call(draft=500), 0, 10).number, 1)
        self.assertEqual(self.quay.find(call(length=24_000, draft=500), 0, 10).number, 3)

    def test_taken_berths_are_not_offered(self):
        first = call(1)
        self.quay.take(self.quay.find(call(length=24_000, draft=500), 0, 10), first, 0, 10)
        self.assertEqual(self.quay.find(call(2, length=24_000, draft=500), 0, 10).number, 4)


class LeaveTests(unittest.TestCase):
    def test_a_berth_belongs_to_a_call(self):
        quay = Quay()
        first, second = call(1), call(2)
        quay.take(quay.berths[1], first, 0, 10)
        quay.take(quay.berths[2], second, 5, 20)
        self.assertEqual(quay.leave(second).number, 3)
        self.assertIs(quay.berths[1].call, first)

    def test_who_lies_nowhere_can_not_leave(self):
        with self.assertRaises(ValueError):
            Quay().leave(call())
