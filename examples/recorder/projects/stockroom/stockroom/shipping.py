"""Parcel prices by weight (R5)."""

from .errors import TooHeavy

# Upper bound in grams (inclusive) and price in cents.
BRACKETS = ((2_000, 490), (5_000, 690), (31_500, 1290))
FREE_FROM = 7_500
FREE_UP_TO_GRAMS = 5_000


def weight_of(lines):
    """Grams of ``(item, quantity)`` pairs."""
    return sum(item.grams * quantity for item, quantity in lines)


def bracket_price(grams):
    """Price of a parcel of this weight."""
    for bound, price in BRACKETS:
        if grams < bound:
            return price
    raise TooHeavy(f"{grams} g is above {BRACKETS[-1][0]} g", grams=grams)


def quote(lines, goods_after_coupon):
    """Shipping for a cart; free from 75.00 of goods for parcels up to 5 kg (R5.2)."""
    grams = weight_of(lines)
    price = bracket_price(grams)
    if goods_after_coupon >= FREE_FROM and grams <= FREE_UP_TO_GRAMS:
        return 0
    return price


def split_parcels(lines, limit=31_500):
    """Packs lines into parcels of at most ``limit`` grams, first fit in the order given.

    Returns lists of ``(item, quantity)``. A single piece above the limit raises ``TooHeavy``.
    """
    parcels = []
    for item, quantity in lines:
        if item.grams > limit:
            raise TooHeavy(f"one piece of {item.sku} weighs {item.grams} g", grams=item.grams)
        for _ in range(quantity):
            for parcel in parcels:
                if weight_of(parcel) + item.grams <= limit:
                    parcel.append((item, 1))
                    break
            else:
                parcels.append([(item, 1)])
    return [_merge(parcel) for parcel in parcels]


def _merge(parcel):
    merged = {}
    for item, quantity in parcel:
        merged[item.sku] = (item, merged.get(item.sku, (item, 0))[1] + quantity)
    return list(merged.values())
