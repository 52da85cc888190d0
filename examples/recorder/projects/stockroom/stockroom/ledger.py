"""Pieces on hand, as the sum of movements. A movement is never changed; a mistake is corrected by another one."""

from collections import defaultdict
from dataclasses import dataclass

from .errors import OutOfStock

KINDS = ("receipt", "sale", "return", "correction", "scrap")


@dataclass(frozen=True)
class Movement:
    """``quantity`` is positive for pieces that come in and negative for pieces that go out."""

    sku: str
    quantity: int
    kind: str
    at: int
    reference: str = ""

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind of movement: {self.kind}")
        if self.quantity == 0:
            raise ValueError("a movement moves something")


class Ledger:
    """All movements, with a running balance per SKU."""

    def __init__(self):
        self.movements = []
        self._balance = defaultdict(int)

    def record(self, movement):
        """Appends a movement. The balance can not become negative, except by a correction."""
        after = self._balance[movement.sku] + movement.quantity
        if after < 0 and movement.kind != "correction":
            raise OutOfStock(
                f"{movement.sku}: {self._balance[movement.sku]} on hand, {-movement.quantity} wanted",
                sku=movement.sku,
                on_hand=self._balance[movement.sku],
                wanted=-movement.quantity,
            )
        self.movements.append(movement)
        self._balance[movement.sku] = after
        return after

    def on_hand(self, sku):
        """Pieces in the warehouse, held or not."""
        return self._balance[sku]

    def skus(self):
        """All SKUs that ever moved, sorted."""
        return sorted({movement.sku for movement in self.movements})

    def sold_between(self, sku, start, end):
        """Pieces sold in ``start <= at < end``, net of returns."""
        return -sum(
            movement.quantity
            for movement in self.movements
            if movement.sku == sku and movement.kind in ("sale", "return") and start <= movement.at < end
        )

    def audit(self):
        """SKUs whose running balance differs from the sum of their movements; empty when all is well."""
        sums = defaultdict(int)
        for movement in self.movements:
            sums[movement.sku] += movement.quantity
        return {sku: (self._balance[sku], sums[sku]) for sku in sums if self._balance[sku] != sums[sku]}
