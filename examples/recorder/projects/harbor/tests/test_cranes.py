import unittest

from harbor.cranes import Cranes
from tests.test_berths import call


def busy(moves):
    found = call()
    found.moves = moves
    return found


class AssignTests(unittest.TestCase):
    def test_one_crane(self):
        self.assertEqual(len(Cranes().assign(busy(100), 0)), 1)

    def test_420_moves_get_one(self):
        self.assertEqual(len(Cranes().assign(busy(420), 0)), 1)

    def test_421_moves_get_two(self):
        self.assertEqual(len(Cranes().assign(busy(421), 0)), 2)

    def test_second_crane_comes_later(self):
        cranes, first, second = Cranes(2), busy(100), busy(500)
        cranes.assign(first, 0)
        self.assertEqual(len(cranes.assign(second, 0)), 1)
        cranes.release(first)
        self.assertEqual(len(cranes.assign(second, 10)), 1)


class WorkTests(unittest.TestCase):
    def test_26_moves_an_hour(self):
        cranes, one = Cranes(), busy(100)
        crane = cranes.assign(one, 0)[0]
        self.assertEqual(sum(cranes.work(crane, 10) for _ in range(6)), 26)

    def test_break_down_keeps_what_is_left(self):
        cranes, one = Cranes(), busy(100)
        crane = cranes.assign(one, 0)[0]
        cranes.work(crane, 60)
        cranes.break_down(crane, 60)
        self.assertEqual(one.left, 74)

    def test_repair_takes_three_hours(self):
        cranes = Cranes(1)
        cranes.break_down(cranes.all[0], 60)
        self.assertEqual(cranes.assign(busy(5), 239), [])
        self.assertEqual(len(cranes.assign(busy(5), 240)), 1)
