import unittest

from stockroom import discounts, pricing
from stockroom.discounts import Coupon, CouponBook
from stockroom.errors import CouponError
from tests.helpers import MUG, TEA, catalog


class TierTests(unittest.TestCase):
    def setUp(self):
        self.tea = catalog().get(TEA)

    def test_first_tier(self):
        self.assertEqual(pricing.unit_price(self.tea, 1), (1, 890))
        self.assertEqual(pricing.unit_price(self.tea, 9), (1, 890))

    def test_tiers_are_inclusive(self):
        self.assertEqual(pricing.unit_price(self.tea, 10), (10, 820))
        self.assertEqual(pricing.unit_price(self.tea, 50), (50, 760))

    def test_between_tiers(self):
        self.assertEqual(pricing.unit_price(self.tea, 49), (10, 820))

    def test_quantity_is_positive(self):
        self.assertRaises(ValueError, pricing.unit_price, self.tea, 0)

    def test_next_tier_hint(self):
        self.assertEqual(pricing.next_tier(self.tea, 8), (2, 820))
        self.assertEqual(pricing.next_tier(self.tea, 10), (40, 760))
        self.assertIsNone(pricing.next_tier(self.tea, 50))


class GroupTests(unittest.TestCase):
    def test_trade_discount_is_rounded_half_even(self):
        line = pricing.line_price(catalog().get(MUG), 1, "trade")
        self.assertEqual(line.goods, 1190 - 95)
        self.assertEqual(line.saved, 95)

    def test_unknown_group(self):
        self.assertRaises(ValueError, pricing.line_price, catalog().get(MUG), 1, "vip")


class CouponTests(unittest.TestCase):
    def setUp(self):
        self.book = CouponBook(
            [
                Coupon("TEN", percent=10, minimum=2_000),
                Coupon("FIVER", amount=500),
                Coupon("OLD", amount=100, expires=1_000),
            ]
        )

    def test_case_does_not_matter(self):
        self.assertEqual(self.book.find(" ten ", 5_000, 0).percent, 10)

    def test_minimum(self):
        self.assertRaises(CouponError, self.book.find, "TEN", 1_999, 0)
        self.assertTrue(self.book.find("TEN", 2_000, 0))

    def test_expiry_is_exclusive(self):
        self.assertTrue(self.book.find("OLD", 500, 999))
        self.assertRaises(CouponError, self.book.find, "OLD", 500, 1_000)

    def test_never_more_than_the_goods(self):
        self.assertEqual(discounts.reduction(self.book.find("FIVER", 300, 0), 300), 300)

    def test_spread_adds_up(self):
        coupon = self.book.find("FIVER", 5_000, 0)
        parts = discounts.spread(coupon, [890, 1190, 1750])
        self.assertEqual(sum(parts), 500)

    def test_percent_or_amount(self):
        self.assertRaises(ValueError, Coupon, "X")
        self.assertRaises(ValueError, Coupon, "X", 10, 500)
