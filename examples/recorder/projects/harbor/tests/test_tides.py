import unittest

from harbor import tides


class TideTests(unittest.TestCase):
    def test_first_high_water(self):
        self.assertEqual(tides.height(190), 210)

    def test_second_high_water(self):
        self.assertEqual(tides.height(190 + 745), 210)

    def test_low_water_is_halfway(self):
        self.assertLessEqual(tides.height(190 + 372), -189)

    def test_hundredth_high_water(self):
        self.assertEqual(tides.height(190 + 99 * 745), 210)

    def test_lowest_includes_the_end(self):
        self.assertEqual(tides.lowest(190, 250), tides.height(250))
