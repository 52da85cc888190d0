import unittest

from stockroom import sku
from stockroom.catalog import Catalog, Item
from stockroom.errors import SkuError, UnknownSku
from tests.helpers import MUG, TEA, catalog


class SkuTests(unittest.TestCase):
    def test_made_skus_parse(self):
        for group, number in (("TEA", 101), ("COF", 99_999), ("ZZZ", 0)):
            made = sku.make(group, number)
            self.assertEqual(sku.parse(made), made)

    def test_case_and_blanks_do_not_matter(self):
        self.assertEqual(sku.parse(f"  {TEA.lower()} "), TEA)

    def test_wrong_check_digit_names_the_right_one(self):
        wrong = TEA[:-1] + str((int(TEA[-1]) + 1) % 10)
        with self.assertRaises(SkuError) as caught:
            sku.parse(wrong)
        self.assertEqual(caught.exception.details["expected"], int(TEA[-1]))

    def test_malformed(self):
        for text in ("", "TEA-101-0", "TEA00101-0", "TE1-00101-0"):
            with self.subTest(text=text):
                self.assertRaises(SkuError, sku.parse, text)

    def test_group(self):
        self.assertEqual(sku.group_of(MUG), "MUG")


class CatalogTests(unittest.TestCase):
    def test_get_and_contains(self):
        items = catalog()
        self.assertIn(TEA, items)
        self.assertEqual(items.get(TEA).name, "Assam")
        self.assertEqual(len(items), 4)

    def test_unknown_sku_has_a_code(self):
        with self.assertRaises(UnknownSku) as caught:
            catalog().get(sku.make("TEA", 999))
        self.assertEqual(caught.exception.code, "CAT-404")

    def test_search_needs_all_words(self):
        self.assertEqual([item.sku for item in catalog().search("mug")], [MUG])
        self.assertEqual(catalog().search("mug blue"), [])

    def test_tiers_must_rise_from_one(self):
        for tiers in (((2, 100),), ((1, 100), (1, 90)), ((1, 100), (10, 90), (5, 80))):
            with self.subTest(tiers=tiers):
                self.assertRaises(ValueError, Item, TEA, "x", 1, 7, tiers)

    def test_add_checks_the_sku(self):
        self.assertRaises(SkuError, Catalog().add, Item("TEA-1", "x", 1, 7))
