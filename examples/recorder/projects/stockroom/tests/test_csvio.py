import unittest

from stockroom import csvio
from stockroom.catalog import Catalog
from stockroom.errors import ImportProblem
from tests.helpers import MUG, TEA, catalog

HEADER = "sku;name;grams;tax;price;tiers;pack;flags\n"


def row(sku=TEA, name="Assam", grams="280", tax="7", price="8.90", tiers="", pack="12", flags=""):
    return ";".join((sku, name, grams, tax, price, tiers, pack, flags)) + "\n"


class ReadTests(unittest.TestCase):
    def test_separator_is_found(self):
        text = f"sku,name,grams,tax,price\n{TEA},Assam,280,7,8.90\n"
        report = csvio.import_prices(Catalog(), text)
        self.assertEqual(report.added, [TEA])

    def test_byte_order_mark(self):
        report = csvio.import_prices(Catalog(), "\ufeff" + HEADER + row())
        self.assertEqual(report.added, [TEA])

    def test_missing_columns_are_named(self):
        with self.assertRaises(ImportProblem) as caught:
            csvio.read_rows("sku;name\n")
        self.assertEqual(caught.exception.details["missing"], ["grams", "tax", "price"])

    def test_decimal_comma(self):
        made = Catalog()
        csvio.import_prices(made, HEADER + row(price="8,90", tiers="10:8,20"))
        self.assertEqual(made.get(TEA).tiers, ((1, 890), (10, 820)))


class ImportTests(unittest.TestCase):
    def test_added_changed_unchanged(self):
        made = Catalog()
        csvio.import_prices(made, HEADER + row() + row(sku=MUG, name="Mug"))
        report = csvio.import_prices(made, HEADER + row() + row(sku=MUG, name="Mug, large"))
        self.assertEqual((report.added, report.changed, report.unchanged), ([], [MUG], [TEA]))

    def test_lines_are_counted_as_an_editor_does(self):
        report = csvio.import_prices(Catalog(), HEADER + row() + row(tax="16"))
        self.assertEqual([line for line, _ in report.problems], [3])

    def test_a_bad_line_does_not_stop_the_others(self):
        made = Catalog()
        report = csvio.import_prices(made, HEADER + row(price="7,3O") + row(sku=MUG, name="Mug"))
        self.assertEqual(len(report.problems), 1)
        self.assertIn(MUG, made)

    def test_strict_writes_nothing(self):
        made = Catalog()
        csvio.import_prices(made, HEADER + row(price="x") + row(sku=MUG, name="Mug"), strict=True)
        self.assertEqual(len(made), 0)

    def test_price_of_zero_needs_the_flag(self):
        report = csvio.import_prices(Catalog(), HEADER + row(price="0") + row(sku=MUG, price="0", flags="sample"))
        self.assertEqual([line for line, _ in report.problems], [2])
        self.assertEqual(report.added, [MUG])

    def test_export_is_read_back_unchanged(self):
        made = catalog()
        report = csvio.import_prices(made, csvio.export_prices(made))
        self.assertEqual(len(report.unchanged), 4)
