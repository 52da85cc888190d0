"""Readings for tests."""

from meters.reading import QUARTER, Reading
from meters.series import by_meter


def counters(*values, start=0, flags=None):
    """A series with these counters every quarter hour; ``None`` is a missing one."""
    readings = [
        Reading("40001", start + place * QUARTER, value, flags[place] if flags else "A")
        for place, value in enumerate(values)
        if value is not None
    ]
    return by_meter(readings)[0]


def uses(*values, start=0):
    """A series with these uses."""
    total, found = 0, [0]
    for value in values:
        total += value
        found.append(total)
    return counters(*found, start=start)
