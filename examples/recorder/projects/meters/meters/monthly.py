"""Tables for billing (M6)."""

from .reading import DAY

LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def month_of(minute):
    """The month of 2024 of a minute, from 1."""
    day = minute // DAY
    for month, length in enumerate(LENGTHS, 1):
        if day < length:
            return month
        day -= length
    raise ValueError(f"minute {minute} is not in 2024")


def table(series):
    """``month: [use, missing quarter hours]`` of a series."""
    found = {}
    for minute, use in series.quarters():
        entry = found.setdefault(month_of(minute), [0, 0])
        if use is None:
            entry[1] += 1
        else:
            entry[0] += use
    return found
