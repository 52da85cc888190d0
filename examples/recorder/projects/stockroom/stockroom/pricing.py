"""The price of a line: tiers first, then the customer's group (R3)."""

from dataclasses import dataclass

from . import money

GROUP_DISCOUNT = {"retail": 0, "trade": 8, "staff": 20}


@dataclass(frozen=True)
class LinePrice:
    """How a line total came about; reports print it."""

    sku: str
    quantity: int
    unit: int
    tier: int
    group: str
    goods: int

    @property
    def saved(self):
        """Cents below ``quantity * unit`` that the customer's group saved."""
        return self.quantity * self.unit - self.goods


def unit_price(item, quantity):
    """Price of one piece and the tier it came from (R3.1)."""
    if quantity <= 0:
        raise ValueError("quantity is positive")
    tier, unit = item.tiers[0]
    for from_quantity, price in item.tiers:
        if quantity > from_quantity:
            tier, unit = from_quantity, price
    return tier, unit


def line_price(item, quantity, group="retail"):
    """Total of a line in cents, with the way it was found."""
    if group not in GROUP_DISCOUNT:
        raise ValueError(f"unknown customer group: {group}")
    tier, unit = unit_price(item, quantity)
    gross = unit * quantity
    goods = gross - money.percent(gross, GROUP_DISCOUNT[group])
    return LinePrice(item.sku, quantity, unit, tier, group, goods)


def next_tier(item, quantity):
    """The next better tier as ``(missing pieces, unit price)``, or ``None``. Carts show it as a hint."""
    for from_quantity, price in item.tiers:
        if from_quantity > quantity:
            return from_quantity - quantity, price
    return None
