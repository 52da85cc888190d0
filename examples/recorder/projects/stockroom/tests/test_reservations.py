import unittest

from stockroom.errors import HoldGone, OutOfStock
from stockroom.reservations import HOLD_SECONDS
from tests.helpers import MUG, TEA, stocked


class HoldTests(unittest.TestCase):
    def setUp(self):
        self.ledger, self.clock, self.desk = stocked(10)

    def test_hold_counts_against_available(self):
        self.desk.hold(TEA, 4, "ada")
        self.assertEqual(self.desk.available(TEA), 6)
        self.assertEqual(self.ledger.on_hand(TEA), 10)

    def test_holds_of_other_skus_do_not_count(self):
        self.desk.hold(TEA, 4, "ada")
        self.assertEqual(self.desk.available(MUG), 10)

    def test_more_than_available_fails_with_code(self):
        self.desk.hold(TEA, 8, "ada")
        with self.assertRaises(OutOfStock) as caught:
            self.desk.hold(TEA, 3, "bob")
        self.assertEqual(caught.exception.code, "STK-409")
        self.assertEqual(caught.exception.details["available"], 2)

    def test_hold_needs_a_piece(self):
        self.assertRaises(ValueError, self.desk.hold, TEA, 0, "ada")


class ReleaseTests(unittest.TestCase):
    def setUp(self):
        self.ledger, self.clock, self.desk = stocked(10)

    def test_release_gives_back(self):
        hold = self.desk.hold(TEA, 4, "ada")
        self.desk.release(hold.id)
        self.assertEqual(self.desk.available(TEA), 10)

    def test_release_then_hold_everything(self):
        hold = self.desk.hold(TEA, 10, "ada")
        self.desk.release(hold.id)
        self.assertEqual(self.desk.hold(TEA, 10, "bob").quantity, 10)

    def test_release_twice_fails(self):
        hold = self.desk.hold(TEA, 4, "ada")
        self.desk.release(hold.id)
        with self.assertRaises(HoldGone) as caught:
            self.desk.release(hold.id)
        self.assertEqual(caught.exception.code, "STK-410")


class ExpiryTests(unittest.TestCase):
    def setUp(self):
        self.ledger, self.clock, self.desk = stocked(10)

    def test_alive_one_second_before(self):
        self.desk.hold(TEA, 4, "ada")
        self.clock.advance(HOLD_SECONDS - 1)
        self.assertEqual(self.desk.available(TEA), 6)

    def test_expired_at_exactly_hold_seconds(self):
        self.desk.hold(TEA, 4, "ada")
        self.clock.advance(HOLD_SECONDS)
        self.assertEqual(self.desk.available(TEA), 10)

    def test_expired_hold_can_not_be_committed(self):
        hold = self.desk.hold(TEA, 4, "ada")
        self.clock.advance(HOLD_SECONDS)
        self.assertRaises(HoldGone, self.desk.commit, hold.id)

    def test_expire_due_returns_each_hold_once(self):
        self.desk.hold(TEA, 1, "ada")
        self.desk.hold(MUG, 1, "ada")
        self.clock.advance(HOLD_SECONDS + 1)
        self.assertEqual(len(self.desk.expire_due()), 2)
        self.assertEqual(self.desk.expire_due(), [])

    def test_active_by_owner(self):
        self.desk.hold(TEA, 1, "ada")
        self.clock.advance(600)
        self.desk.hold(TEA, 1, "bob")
        self.clock.advance(300)
        self.assertEqual([hold.owner for hold in self.desk.active()], ["bob"])


class CommitTests(unittest.TestCase):
    def setUp(self):
        self.ledger, self.clock, self.desk = stocked(10)

    def test_commit_takes_from_the_ledger(self):
        hold = self.desk.hold(TEA, 4, "ada")
        self.desk.commit(hold.id, "SO-000001")
        self.assertEqual(self.ledger.on_hand(TEA), 6)
        self.assertEqual(self.desk.available(TEA), 6)
        self.assertEqual(self.ledger.movements[-1].reference, "SO-000001")

    def test_commit_twice_fails(self):
        hold = self.desk.hold(TEA, 4, "ada")
        self.desk.commit(hold.id)
        self.assertRaises(HoldGone, self.desk.commit, hold.id)
        self.assertEqual(self.ledger.on_hand(TEA), 6)
