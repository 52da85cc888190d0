"""The payment provider, as an interface and as a fake for tests and simulations."""

from dataclasses import dataclass

from .errors import PaymentDeclined


@dataclass(frozen=True)
class Receipt:
    """What the provider answers. ``amount`` is negative for refunds."""

    id: str
    order: str
    amount: int


class FakeGateway:
    """Accepts everything but the orders it was told to decline. Every call with one key is done once."""

    def __init__(self, decline=()):
        self.decline = set(decline)
        self.receipts = []
        self._by_key = {}

    def charge(self, order, amount, key=None):
        """Takes money. The same key gives the same receipt again instead of charging twice."""
        return self._book(order, amount, key or f"charge:{order}")

    def refund(self, order, amount, key):
        """Gives money back."""
        return self._book(order, -amount, key)

    def _book(self, order, amount, key):
        if key in self._by_key:
            return self._by_key[key]
        if order in self.decline:
            raise PaymentDeclined(f"order {order}: declined", order=order, amount=amount)
        receipt = Receipt(f"rc_{len(self.receipts) + 1:05d}", order, amount)
        self.receipts.append(receipt)
        self._by_key[key] = receipt
        return receipt

    def balance(self):
        """Money taken minus money given back."""
        return sum(receipt.amount for receipt in self.receipts)
