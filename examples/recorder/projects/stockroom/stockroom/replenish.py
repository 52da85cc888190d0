"""What to buy, and how much (R8)."""

from dataclasses import dataclass

from .clock import DAY


@dataclass(frozen=True)
class Policy:
    """How an item is replenished. Days are whole days, ``safety`` is pieces."""

    lead_days: int = 5
    review_days: int = 7
    look_back_days: int = 28
    safety: int = 0


@dataclass(frozen=True)
class Proposal:
    """One line of a purchase proposal."""

    sku: str
    available: int
    on_order: int
    point: int
    quantity: int


def demand_per_day(ledger, sku, now, policy):
    """Pieces sold per day over the days looked at."""
    sold = ledger.sold_between(sku, now - policy.look_back_days * DAY, now)
    return max(0, sold) // policy.look_back_days


def reorder_point(demand, policy):
    """Pieces at which to order (R8.1)."""
    return demand * policy.lead_days + policy.safety


def order_quantity(item, demand, available, on_order, policy):
    """Pieces to order, in full packs (R8.2); 0 when there is enough."""
    if available > reorder_point(demand, policy):
        return 0
    wanted = reorder_point(demand, policy) + demand * policy.review_days - available
    if wanted <= 0:
        return 0
    packs = wanted // item.pack_size
    return packs * item.pack_size


def propose(catalog, ledger, desk, now, policies=None, on_order=None):
    """Proposals for all items that need one, by SKU."""
    policies, on_order = policies or {}, on_order or {}
    proposals = []
    for item in sorted(catalog, key=lambda item: item.sku):
        policy = policies.get(item.sku, Policy())
        demand = demand_per_day(ledger, item.sku, now, policy)
        available = desk.available(item.sku)
        coming = on_order.get(item.sku, 0)
        quantity = order_quantity(item, demand, available, coming, policy)
        if quantity:
            proposals.append(Proposal(item.sku, available, coming, reorder_point(demand, policy), quantity))
    return proposals
