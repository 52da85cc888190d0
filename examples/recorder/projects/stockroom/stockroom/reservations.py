"""Holds on stock while a customer pays (R2).

A hold counts against what is available from the moment it is made until it is released, committed or
expires. The desk keeps an index of held pieces per SKU so that ``available`` does not walk all holds.
"""

from collections import defaultdict
from dataclasses import dataclass

from .errors import HoldGone, OutOfStock
from .ledger import Movement

HOLD_SECONDS = 900


@dataclass
class Hold:
    """``state`` is ``active``, ``released``, ``committed`` or ``expired``."""

    id: int
    sku: str
    quantity: int
    made_at: int
    owner: str
    state: str = "active"

    def expires_at(self):
        return self.made_at + HOLD_SECONDS


class Desk:
    """Makes and ends holds."""

    def __init__(self, ledger, clock):
        self.ledger = ledger
        self.clock = clock
        self.holds = {}
        self._held = defaultdict(int)
        self._next_id = 1

    def available(self, sku):
        """On hand minus held (R2.2). Expires what is due first."""
        self.expire_due()
        return self.ledger.on_hand(sku) - self._held[sku]

    def hold(self, sku, quantity, owner):
        """Holds pieces for ``owner`` or raises ``OutOfStock`` (R2.4)."""
        if quantity <= 0:
            raise ValueError("hold at least one piece")
        free = self.available(sku)
        if quantity > free:
            raise OutOfStock(f"{sku}: {free} available, {quantity} wanted", sku=sku, available=free, wanted=quantity)
        hold = Hold(self._next_id, sku, quantity, self.clock.now(), owner)
        self._next_id += 1
        self.holds[hold.id] = hold
        self._held[sku] += quantity
        return hold

    def release(self, hold_id):
        """Ends a hold without a sale."""
        hold = self._active(hold_id)
        hold.state = "released"
        return hold

    def commit(self, hold_id, reference=""):
        """Turns a hold into a sale (R2.3)."""
        self.expire_due()
        hold = self._active(hold_id)
        self.ledger.record(Movement(hold.sku, -hold.quantity, "sale", self.clock.now(), reference or hold.owner))
        hold.state = "committed"
        self._held[hold.sku] -= hold.quantity
        return hold

    def expire_due(self):
        """Ends all holds whose time is over (R2.1) and returns them."""
        now = self.clock.now()
        expired = []
        for hold in self.holds.values():
            if hold.state == "active" and hold.expires_at() < now:
                hold.state = "expired"
                self._held[hold.sku] -= hold.quantity
                expired.append(hold)
        return expired

    def active(self, owner=None):
        """Holds that still count, of one owner or of all."""
        self.expire_due()
        return [hold for hold in self.holds.values() if hold.state == "active" and owner in (None, hold.owner)]

    def _active(self, hold_id):
        hold = self.holds.get(hold_id)
        if hold is None or hold.state != "active":
            state = "unknown" if hold is None else hold.state
            raise HoldGone(f"hold {hold_id} is {state}", hold=hold_id, state=state)
        return hold
