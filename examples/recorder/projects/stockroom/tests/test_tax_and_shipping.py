import unittest

from stockroom import shipping, tax
from stockroom.catalog import Item
from stockroom.errors import TooHeavy
from tests.helpers import COFFEE, MUG, POT, TEA, catalog


class TaxTests(unittest.TestCase):
    def test_once_per_rate_not_per_line(self):
        self.assertEqual(tax.total_tax([(35, 19), (35, 19), (35, 19)]), 20)

    def test_rates_apart(self):
        lines = tax.tax_lines([(1_000, 7), (2_000, 19), (500, 7)])
        self.assertEqual([(line.rate, line.net, line.tax) for line in lines], [(19, 2_000, 380), (7, 1_500, 105)])

    def test_unknown_rate(self):
        self.assertRaises(ValueError, tax.total_tax, [(100, 16)])

    def test_nothing(self):
        self.assertEqual(tax.tax_lines([]), [])
        self.assertEqual(tax.total_tax([]), 0)

    def test_shares_add_up(self):
        lines = [(35, 19), (35, 19), (35, 19), (890, 7), (333, 7)]
        self.assertEqual(sum(tax.share_of_lines(lines)), tax.total_tax(lines))

    def test_shipping_rate_follows_the_largest_sum(self):
        self.assertEqual(tax.shipping_rate([(1_000, 7), (600, 19), (500, 19)]), 19)
        self.assertEqual(tax.shipping_rate([(1_200, 7), (600, 19), (500, 19)]), 7)

    def test_shipping_rate_tie_takes_the_higher(self):
        self.assertEqual(tax.shipping_rate([(500, 7), (500, 19)]), 19)


class BracketTests(unittest.TestCase):
    def test_bounds_are_inclusive(self):
        for grams, price in ((1, 490), (2_000, 490), (2_001, 690), (5_000, 690), (5_001, 1290), (31_500, 1290)):
            with self.subTest(grams=grams):
                self.assertEqual(shipping.bracket_price(grams), price)

    def test_too_heavy(self):
        with self.assertRaises(TooHeavy) as caught:
            shipping.bracket_price(31_501)
        self.assertEqual(caught.exception.code, "SHP-413")


class QuoteTests(unittest.TestCase):
    def setUp(self):
        self.items = catalog()

    def test_weight(self):
        self.assertEqual(shipping.weight_of([(self.items.get(TEA), 2), (self.items.get(POT), 1)]), 2_010)

    def test_free_from_75(self):
        light = [(self.items.get(MUG), 7)]
        self.assertEqual(shipping.quote(light, 7_499), 690)
        self.assertEqual(shipping.quote(light, 7_500), 0)

    def test_heavy_parcels_are_never_free(self):
        self.assertEqual(shipping.quote([(self.items.get(COFFEE), 6)], 9_000), 1290)

    def test_split_first_fit(self):
        parcels = shipping.split_parcels([(self.items.get(POT), 3), (self.items.get(TEA), 1)], limit=3_000)
        self.assertEqual([[(item.sku, n) for item, n in parcel] for parcel in parcels], [[(POT, 2)], [(POT, 1), (TEA, 1)]])

    def test_split_refuses_a_single_heavy_piece(self):
        anvil = Item(TEA, "Anvil", 40_000, 19)
        self.assertRaises(TooHeavy, shipping.split_parcels, [(anvil, 1)])
