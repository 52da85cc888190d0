import unittest

from harbor import tariff


class TariffTests(unittest.TestCase):
    def test_dues_per_started_thousand(self):
        self.assertEqual(tariff.dues(20_000), 83_000)
        self.assertEqual(tariff.dues(20_001), 87_150)

    def test_hire_of_exactly_six_hours_is_one_unit(self):
        self.assertEqual(tariff.hire(359), 9_600)
        self.assertEqual(tariff.hire(360), 9_600)
        self.assertEqual(tariff.hire(361), 19_200)

    def test_moves(self):
        self.assertEqual(tariff.handling(300), 546_000)
        self.assertEqual(tariff.handling(301), 547_460)

    def test_waiting(self):
        self.assertEqual(tariff.waiting(240, 9_600), 0)
        self.assertEqual(tariff.waiting(299, 9_600), 0)
        self.assertEqual(tariff.waiting(300, 9_600), 1_200)

    def test_waiting_gives_back_the_hire_at_most(self):
        self.assertEqual(tariff.waiting(2_000, 9_600), 9_600)

    def test_dangerous_goods_half_up(self):
        self.assertEqual(tariff.dangerous(1_820), 109)
        self.assertEqual(tariff.dangerous(75), 5)
        self.assertEqual(tariff.dangerous(25), 2)
