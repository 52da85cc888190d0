"""Stock keeping units: ``GGG-NNNNN-C``, a group of three letters, five digits and a check digit.

The check digit is the weighted sum (weights 3 and 1 in turn, letters count as their place in the alphabet)
modulo 10, so that a swap of two neighbours is found in most cases.
"""

import re

from .errors import SkuError

_SHAPE = re.compile(r"^([A-Z]{3})-(\d{5})-(\d)$")


def _value(char):
    return int(char) if char.isdigit() else ord(char) - ord("A") + 1


def check_digit(group, number):
    """The digit that belongs to ``group`` and ``number``."""
    total = 0
    for index, char in enumerate(group + number):
        total += _value(char) * (3 if index % 2 == 0 else 1)
    return (10 - total % 10) % 10


def make(group, number):
    """A full SKU from its group and a number."""
    digits = f"{int(number):05d}"
    if not re.fullmatch(r"[A-Z]{3}", group) or len(digits) != 5:
        raise SkuError("group needs three capital letters and the number at most five digits", group=group, number=number)
    return f"{group}-{digits}-{check_digit(group, digits)}"


def parse(text):
    """Upper-cased, checked SKU."""
    candidate = text.strip().upper()
    match = _SHAPE.match(candidate)
    if not match:
        raise SkuError(f"malformed: {text!r}", sku=text)
    group, number, digit = match.groups()
    expected = check_digit(group, number)
    if int(digit) != expected:
        raise SkuError(f"check digit of {candidate} should be {expected}", sku=text, expected=expected)
    return candidate


def group_of(sku):
    """The three letters that name the product group."""
    return sku[:3]
