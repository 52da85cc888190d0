import unittest

from stockroom.cart import Cart
from stockroom.errors import RefundError
from stockroom.orders import OrderBook
from stockroom.payments import FakeGateway
from stockroom.refunds import RefundDesk
from tests.helpers import MUG, TEA, catalog, stocked


class RefundTests(unittest.TestCase):
    def setUp(self):
        self.ledger, self.clock, self.desk = stocked(100)
        self.gateway = FakeGateway()
        book = OrderBook(self.desk, self.clock)
        cart = Cart(catalog(), self.desk, "ada")
        cart.put(TEA, 3)
        cart.put(MUG, 2)
        self.order = book.place(cart)
        book.pay(self.order, self.gateway)
        self.refunds = RefundDesk(self.gateway, self.ledger, self.clock)

    def test_everything_at_once(self):
        self.refunds.refund_amount(self.order, self.order.paid, "changed mind")
        self.assertEqual(self.order.state, "REFUNDED")
        self.assertEqual(self.gateway.balance(), 0)

    def test_part_then_rest(self):
        self.refunds.refund_amount(self.order, 500, "scratch")
        self.assertEqual(self.order.state, "PARTIALLY_REFUNDED")
        self.refunds.refund_rest(self.order, "goodwill")
        self.assertEqual(self.order.state, "REFUNDED")
        self.assertEqual(self.gateway.balance(), 0)

    def test_two_parts_stay_partial(self):
        self.refunds.refund_amount(self.order, 500, "scratch")
        self.refunds.refund_amount(self.order, 300, "late")
        self.assertEqual(self.order.state, "PARTIALLY_REFUNDED")
        self.assertEqual(self.order.left_to_refund(), self.order.paid - 800)

    def test_above_what_is_left_changes_nothing(self):
        self.refunds.refund_amount(self.order, 500, "scratch")
        with self.assertRaises(RefundError) as caught:
            self.refunds.refund_amount(self.order, self.order.paid - 499, "too much")
        self.assertEqual(caught.exception.code, "REF-422")
        self.assertEqual(self.order.refunded(), 500)

    def test_nothing_can_not_be_refunded(self):
        self.assertRaises(RefundError, self.refunds.refund_amount, self.order, 0, "x")
        self.assertRaises(RefundError, self.refunds.refund_amount, self.order, -5, "x")

    def test_line_with_its_tax(self):
        shares = self.refunds.tax_shares(self.order)
        self.refunds.refund_line(self.order, MUG, "chipped")
        self.assertEqual(self.order.refunded(), 2 * 1190 + shares[1])
        self.assertEqual(self.ledger.on_hand(MUG), 100)

    def test_line_without_restock(self):
        self.refunds.refund_line(self.order, MUG, "broken", restock=False)
        self.assertEqual(self.ledger.on_hand(MUG), 98)

    def test_unpaid_order(self):
        self.order.state = "PLACED"
        self.assertRaises(RefundError, self.refunds.refund_amount, self.order, 100, "x")
