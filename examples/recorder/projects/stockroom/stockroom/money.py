"""Amounts in whole cents (R1). There is no Money class on purpose: an ``int`` can not be mixed up with a float
by accident as long as nobody divides, so division lives here and nowhere else.
"""

from fractions import Fraction


def parse(text):
    """Cents from ``"12.90"``, ``"12,90"``, ``"12"`` or ``"-0.05"``. Thousands separators are not accepted."""
    cleaned = text.strip().replace(",", ".")
    if cleaned.count(".") > 1:
        raise ValueError(f"not an amount: {text!r}")
    sign = -1 if cleaned.startswith("-") else 1
    digits = cleaned.lstrip("+-")
    whole, _, cents = digits.partition(".")
    if not (whole or cents) or not (whole + cents).isdigit() or len(cents) > 2:
        raise ValueError(f"not an amount: {text!r}")
    return sign * (int(whole or 0) * 100 + int((cents + "00")[:2]))


def show(cents):
    """``1290`` -> ``"12.90"``; negative amounts keep their sign in front."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def round_half_even(value):
    """A fraction of cents as whole cents, half to even (R1.2)."""
    return round(Fraction(value))


def percent(cents, rate):
    """``rate`` percent of an amount. ``rate`` is an int or a Fraction, never a float."""
    if isinstance(rate, float):
        raise TypeError("rates are exact: use int or Fraction")
    return round_half_even(Fraction(cents) * Fraction(rate) / 100)


def allocate(cents, weights):
    """Splits an amount in proportion to ``weights`` so that the parts add up to it (R1.3).

    Negative amounts are split like positive ones and negated. All weights zero means equal parts.
    """
    weights = list(weights)
    if not weights:
        raise ValueError("nothing to allocate to")
    if any(weight < 0 for weight in weights):
        raise ValueError("weights can not be negative")
    if cents < 0:
        return [-part for part in allocate(-cents, weights)]
    total = sum(weights)
    if total == 0:
        weights, total = [1] * len(weights), len(weights)
    return [cents * weight // total for weight in weights]


def add_up(amounts):
    """Sum that refuses floats, which ``sum`` would take silently."""
    total = 0
    for amount in amounts:
        if not isinstance(amount, int):
            raise TypeError(f"amounts are ints, got {amount!r}")
        total += amount
    return total
