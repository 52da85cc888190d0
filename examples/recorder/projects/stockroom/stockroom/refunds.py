"""Giving money back (R6.2 to R6.4)."""

from . import money, tax
from .errors import RefundError
from .ledger import Movement
from .orders import REFUNDABLE


class RefundDesk:
    """Refunds amounts or lines of an order."""

    def __init__(self, gateway, ledger, clock):
        self.gateway = gateway
        self.ledger = ledger
        self.clock = clock

    def refund_amount(self, order, amount, reason):
        """Gives back an amount. The order is REFUNDED when nothing is left, PARTIALLY_REFUNDED before."""
        if order.state not in REFUNDABLE:
            raise RefundError(f"order {order.id} is {order.state}", order=order.id, state=order.state)
        if amount <= 0:
            raise RefundError("refund something", order=order.id, amount=amount)
        left = order.left_to_refund()
        if amount >= left and amount != order.paid:
            raise RefundError(
                f"order {order.id}: {money.show(amount)} wanted, {money.show(left)} left",
                order=order.id,
                left=left,
            )
        key = f"refund:{order.id}:{len(order.refunds) + 1}"
        receipt = self.gateway.refund(order.id, amount, key)
        order.refunds.append((amount, reason))
        state = "REFUNDED" if order.left_to_refund() == 0 else "PARTIALLY_REFUNDED"
        if order.state != state:
            order.move(state, self.clock.now(), reason)
        return receipt

    def refund_line(self, order, sku, reason, restock=True):
        """Gives back a whole line with its share of the tax (R6.4) and puts the pieces back on the shelf."""
        index = order.line_index(sku)
        amount = order.totals.line_nets[index] + self.tax_shares(order)[index]
        receipt = self.refund_amount(order, amount, reason)
        if restock:
            _, quantity = order.lines[index]
            self.ledger.record(Movement(sku, quantity, "return", self.clock.now(), order.id))
        return receipt

    def tax_shares(self, order):
        """Tax of each line of goods. Shipping is left out: it is given back only with the whole order."""
        lines = list(zip(order.totals.line_nets, order.totals.line_rates))
        return tax.share_of_lines(lines)

    def refund_rest(self, order, reason):
        """Gives back what is left, shipping included."""
        return self.refund_amount(order, order.left_to_refund(), reason)
