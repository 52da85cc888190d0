"""Readings of one meter in order (M4)."""

from .reading import QUARTER, TURNS_AT


class Series:
    """The readings of a meter by minute."""

    def __init__(self, meter):
        self.meter = meter
        self.by_minute = {}

    def add(self, reading):
        """Of two readings with the same minute the later one wins."""
        self.by_minute[reading.minute] = reading

    @property
    def minutes(self):
        return sorted(self.by_minute)

    def use(self, minute):
        """Watt hours of the quarter hour that begins at a minute, or ``None`` (M4.2)."""
        first, second = self.by_minute.get(minute), self.by_minute.get(minute + QUARTER)
        if first is None or second is None:
            return None
        difference = second.counter - first.counter
        if difference < 0:
            difference += TURNS_AT - 1
        return difference

    def quarters(self):
        """``(minute, use)`` of each quarter hour from the first reading to the last."""
        minutes = self.minutes
        if not minutes:
            return []
        return [(minute, self.use(minute)) for minute in range(minutes[0], minutes[-1], QUARTER)]

    def gaps(self):
        """``(first missing, last missing)`` of each gap (M4.3)."""
        minutes = self.minutes
        found = []
        for left, right in zip(minutes, minutes[1:]):
            if right - left > QUARTER:
                found.append((left, right))
        return found


def by_meter(readings):
    """A series for each meter, in the order of the meters' names."""
    found = {}
    for reading in readings:
        found.setdefault(reading.meter, Series(reading.meter)).add(reading)
    return [found[meter] for meter in sorted(found)]
