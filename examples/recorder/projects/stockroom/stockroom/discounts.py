"""Coupons (R3.2, R3.3)."""

from dataclasses import dataclass

from . import money
from .errors import CouponError


@dataclass(frozen=True)
class Coupon:
    """Either ``percent`` or ``amount`` is set. ``expires`` is a time in seconds, 0 for never."""

    code: str
    percent: int = 0
    amount: int = 0
    minimum: int = 0
    expires: int = 0

    def __post_init__(self):
        if bool(self.percent) == bool(self.amount):
            raise ValueError(f"{self.code}: set either percent or amount")


class CouponBook:
    """Coupons by code; codes are compared without regard to case."""

    def __init__(self, coupons=()):
        self._coupons = {coupon.code.upper(): coupon for coupon in coupons}

    def find(self, code, goods, now):
        """The coupon if it can be used for this sum of goods at this time."""
        coupon = self._coupons.get(code.strip().upper())
        if coupon is None:
            raise CouponError(f"unknown coupon {code!r}", coupon=code)
        if coupon.expires and now >= coupon.expires:
            raise CouponError(f"coupon {coupon.code} has expired", coupon=code, expired=coupon.expires)
        if goods < coupon.minimum:
            raise CouponError(
                f"coupon {coupon.code} needs goods of {money.show(coupon.minimum)}",
                coupon=code,
                minimum=coupon.minimum,
            )
        return coupon


def reduction(coupon, goods):
    """Cents that the coupon takes off the goods, never more than the goods (R3.3)."""
    wanted = coupon.amount or money.percent(goods, coupon.percent)
    return min(wanted, goods)


def spread(coupon, line_totals):
    """The reduction per line, so that tax and refunds know their share."""
    total = reduction(coupon, money.add_up(line_totals))
    return money.allocate(total, line_totals) if total else [0] * len(line_totals)
