import unittest

from stockroom.cart import Cart
from stockroom.discounts import Coupon, CouponBook
from stockroom.errors import BadTransition, HoldGone, OutOfStock, PaymentDeclined
from stockroom.orders import Order, OrderBook
from stockroom.payments import FakeGateway
from stockroom.reservations import HOLD_SECONDS
from tests.helpers import COFFEE, MUG, POT, TEA, catalog, stocked


class CartTests(unittest.TestCase):
    def setUp(self):
        self.ledger, self.clock, self.desk = stocked(100)
        self.cart = Cart(catalog(), self.desk, "ada")

    def test_put_holds_stock(self):
        self.cart.put(TEA, 3)
        self.assertEqual(self.desk.available(TEA), 97)

    def test_put_again_replaces_the_hold(self):
        self.cart.put(TEA, 3)
        self.cart.put(TEA, 5)
        self.assertEqual(self.desk.available(TEA), 95)

    def test_put_zero_removes(self):
        self.cart.put(TEA, 3)
        self.cart.put(TEA, 0)
        self.assertEqual(self.cart.lines, {})
        self.assertEqual(self.desk.available(TEA), 100)

    def test_out_of_stock_leaves_no_line(self):
        self.assertRaises(OutOfStock, self.cart.put, TEA, 101)
        self.assertEqual(self.cart.lines, {})

    def test_totals_without_coupon(self):
        self.cart.put(TEA, 2)
        self.cart.put(MUG, 1)
        totals = self.cart.totals()
        self.assertEqual(totals.goods, 2 * 890 + 1190)
        self.assertEqual(totals.shipping, 490)
        self.assertEqual(totals.total, totals.goods + totals.shipping + totals.tax)

    def test_coupon_is_for_goods_only(self):
        self.cart.put(MUG, 2)
        self.cart.use_coupon(CouponBook([Coupon("BIG", amount=10_000)]), "big", self.clock.now())
        totals = self.cart.totals()
        self.assertEqual(totals.coupon, 2_380)
        self.assertEqual(totals.shipping, 490)
        self.assertEqual(totals.total, 490 + totals.tax)

    def test_hints_name_the_next_tier(self):
        self.cart.put(TEA, 8)
        self.cart.put(POT, 4)
        self.assertEqual(self.cart.hints(), {TEA: (2, 820)})


class TransitionTests(unittest.TestCase):
    def order(self, *states):
        order = Order("SO-1", "ada", (), None)
        for state in states:
            order.move(state, 0)
        return order

    def test_the_usual_way(self):
        order = self.order("PLACED", "PAID", "SHIPPED", "DELIVERED")
        self.assertEqual(len(order.history), 4)

    def test_no_way_back(self):
        order = self.order("PLACED", "PAID", "SHIPPED")
        with self.assertRaises(BadTransition) as caught:
            order.move("PAID", 0)
        self.assertEqual(caught.exception.code, "ORD-409")

    def test_shipped_orders_are_not_cancelled(self):
        self.assertRaises(BadTransition, self.order("PLACED", "PAID", "SHIPPED").move, "CANCELLED", 0)

    def test_partial_refund_can_be_completed(self):
        order = self.order("PLACED", "PAID", "PARTIALLY_REFUNDED", "REFUNDED")
        self.assertEqual(order.state, "REFUNDED")


class OrderBookTests(unittest.TestCase):
    def setUp(self):
        self.ledger, self.clock, self.desk = stocked(100)
        self.book = OrderBook(self.desk, self.clock)
        self.gateway = FakeGateway()
        self.cart = Cart(catalog(), self.desk, "ada")
        self.cart.put(COFFEE, 6)

    def test_place_and_pay(self):
        order = self.book.place(self.cart)
        self.book.pay(order, self.gateway)
        self.assertEqual(order.state, "PAID")
        self.assertEqual(order.paid, order.totals.total)
        self.assertEqual(self.ledger.on_hand(COFFEE), 94)

    def test_ids_count_up(self):
        first = self.book.place(self.cart)
        self.assertEqual(first.id, "SO-000001")

    def test_empty_cart(self):
        self.assertRaises(ValueError, self.book.place, Cart(catalog(), self.desk, "bob"))

    def test_declined_payment_keeps_the_order_placed(self):
        order = self.book.place(self.cart)
        self.gateway.decline.add(order.id)
        self.assertRaises(PaymentDeclined, self.book.pay, order, self.gateway)
        self.assertEqual(order.state, "PLACED")
        self.assertEqual(self.ledger.on_hand(COFFEE), 100)

    def test_expired_hold_takes_no_money(self):
        order = self.book.place(self.cart)
        self.clock.advance(HOLD_SECONDS)
        self.assertRaises(HoldGone, self.book.pay, order, self.gateway)
        self.assertEqual(self.gateway.balance(), 0)

    def test_cancel_gives_stock_back(self):
        order = self.book.place(self.cart)
        self.book.cancel(order)
        self.assertEqual(self.desk.available(COFFEE), 100)

    def test_by_state(self):
        order = self.book.place(self.cart)
        self.assertEqual(self.book.by_state("PLACED"), [order])
        self.assertEqual(self.book.by_state("PAID"), [])
