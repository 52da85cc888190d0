import unittest
from fractions import Fraction

from stockroom import money


class ParseTests(unittest.TestCase):
    def test_accepts_point_and_comma(self):
        self.assertEqual(money.parse("12.90"), 1290)
        self.assertEqual(money.parse("12,90"), 1290)

    def test_accepts_whole_and_short(self):
        for text, cents in (("12", 1200), ("12.5", 1250), (".05", 5), ("-0.05", -5)):
            with self.subTest(text=text):
                self.assertEqual(money.parse(text), cents)

    def test_refuses_what_is_no_amount(self):
        for text in ("", "1.234.50", "12.345", "7,3O", "--1", "1e3"):
            with self.subTest(text=text):
                self.assertRaises(ValueError, money.parse, text)

    def test_show_is_the_inverse(self):
        for cents in (0, 5, 1290, -1, -1290):
            self.assertEqual(money.parse(money.show(cents)), cents)


class PercentTests(unittest.TestCase):
    def test_rounds_half_to_even(self):
        self.assertEqual(money.percent(50, 1), 0)
        self.assertEqual(money.percent(150, 1), 2)
        self.assertEqual(money.percent(250, 1), 2)

    def test_takes_fractions(self):
        self.assertEqual(money.percent(1000, Fraction(15, 2)), 75)

    def test_refuses_floats(self):
        self.assertRaises(TypeError, money.percent, 1000, 7.5)


class AllocateTests(unittest.TestCase):
    def test_even_split(self):
        self.assertEqual(money.allocate(900, [1, 1, 1]), [300, 300, 300])

    def test_no_cent_is_lost(self):
        for cents in (1, 100, 101, 9_999):
            for weights in ([1, 1, 1], [3, 5, 7], [1, 0, 2]):
                with self.subTest(cents=cents, weights=weights):
                    self.assertEqual(sum(money.allocate(cents, weights)), cents)

    def test_remainder_goes_to_the_largest_fraction(self):
        self.assertEqual(money.allocate(100, [1, 2, 4]), [14, 29, 57])

    def test_ties_go_to_the_earlier_part(self):
        self.assertEqual(money.allocate(100, [1, 1, 1]), [34, 33, 33])

    def test_negative_amounts_mirror_positive_ones(self):
        self.assertEqual(money.allocate(-100, [1, 1, 1]), [-34, -33, -33])

    def test_all_zero_weights_mean_equal_parts(self):
        self.assertEqual(money.allocate(10, [0, 0]), [5, 5])

    def test_refuses_nothing_and_negative_weights(self):
        self.assertRaises(ValueError, money.allocate, 10, [])
        self.assertRaises(ValueError, money.allocate, 10, [1, -1])


class AddUpTests(unittest.TestCase):
    def test_sums_ints(self):
        self.assertEqual(money.add_up([1, 2, 3]), 6)

    def test_refuses_floats(self):
        self.assertRaises(TypeError, money.add_up, [1, 2.0])
