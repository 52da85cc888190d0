"""The life of an order (R6). Only ``Order.move`` changes the state."""

from dataclasses import dataclass, field

from .errors import BadTransition

TRANSITIONS = {
    "DRAFT": ("PLACED", "CANCELLED"),
    "PLACED": ("PAID", "CANCELLED"),
    "PAID": ("SHIPPED", "CANCELLED", "PARTIALLY_REFUNDED", "REFUNDED"),
    "SHIPPED": ("DELIVERED", "PARTIALLY_REFUNDED", "REFUNDED"),
    "DELIVERED": ("PARTIALLY_REFUNDED", "REFUNDED"),
    "PARTIALLY_REFUNDED": (),
    "REFUNDED": (),
    "CANCELLED": (),
}

REFUNDABLE = ("PAID", "SHIPPED", "DELIVERED")


@dataclass
class Order:
    """``lines`` are ``(sku, quantity)``; ``totals`` is the ``cart.Totals`` of the moment it was placed."""

    id: str
    owner: str
    lines: tuple
    totals: object
    state: str = "DRAFT"
    paid: int = 0
    refunds: list = field(default_factory=list)
    history: list = field(default_factory=list)

    def move(self, state, at, note=""):
        """Changes the state if R6.1 and R6.2 allow it."""
        if state not in TRANSITIONS[self.state]:
            raise BadTransition(f"order {self.id}: {self.state} -> {state}", order=self.id, from_=self.state, to=state)
        self.history.append((at, self.state, state, note))
        self.state = state
        return self

    def refunded(self):
        """Sum of all refunds so far."""
        return sum(amount for amount, _ in self.refunds)

    def left_to_refund(self):
        """What could still be refunded."""
        return self.paid - self.refunded()

    def line_index(self, sku):
        """Place of a SKU among the lines."""
        for index, (line_sku, _) in enumerate(self.lines):
            if line_sku == sku:
                return index
        raise KeyError(sku)


class OrderBook:
    """Places orders from carts and keeps them by id."""

    def __init__(self, desk, clock, prefix="SO"):
        self.desk = desk
        self.clock = clock
        self.prefix = prefix
        self.orders = {}

    def place(self, cart):
        """Makes an order of a cart. The stock stays held until the order is paid."""
        if not cart.lines:
            raise ValueError("an order needs a line")
        order_id = f"{self.prefix}-{len(self.orders) + 1:06d}"
        order = Order(order_id, cart.owner, tuple(cart.lines.items()), cart.totals())
        order.move("PLACED", self.clock.now())
        order.holds = tuple(cart.holds.values())
        self.orders[order_id] = order
        return order

    def pay(self, order, gateway):
        """Charges the customer, then commits the holds."""
        receipt = gateway.charge(order.id, order.totals.total)
        for hold in order.holds:
            self.desk.commit(hold.id, order.id)
        order.paid = receipt.amount
        order.move("PAID", self.clock.now(), receipt.id)
        return receipt

    def cancel(self, order, note=""):
        """Cancels an order; holds that still exist are given back."""
        was_paid = order.state == "PAID"
        order.move("CANCELLED", self.clock.now(), note)
        if not was_paid:
            for hold in order.holds:
                if hold.state == "active":
                    self.desk.release(hold.id)
        return order

    def by_state(self, state):
        """Orders in a state, oldest first."""
        return [order for order in self.orders.values() if order.state == state]
