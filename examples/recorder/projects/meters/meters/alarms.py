"""What a person must look at (M5)."""

from dataclasses import dataclass

from .reading import QUARTER, clock

GAP_FROM = 4
FLAT_FROM = 12
PEAK_TIMES = 6
LOOK_BACK = 96
LEAST_KNOWN = 48
BACK_ABOVE = 500_000


@dataclass(frozen=True)
class Alarm:
    """An alarm at a quarter hour of a meter."""

    meter: str
    minute: int
    kind: str
    text: str

    def __str__(self):
        return f"{self.meter} {clock(self.minute)} {self.kind:<4} {self.text}"


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def of(series):
    """All alarms of a series, by time."""
    found = [*gaps(series), *flats(series), *peaks(series), *backs(series)]
    return sorted(found, key=lambda alarm: (alarm.minute, alarm.kind))


def gaps(series):
    for first, last in series.gaps():
        count = (last - first) // QUARTER + 1
        if count >= GAP_FROM:
            yield Alarm(series.meter, first, "GAP", f"{count} readings missing")


def flats(series):
    run = 0
    for minute, use in series.quarters():
        run = run + 1 if use == 0 else 0
        if run == FLAT_FROM:
            yield Alarm(series.meter, minute, "FLAT", f"no use in {run} quarter hours")


def peaks(series):
    before = []
    for minute, use in series.quarters():
        known = [value for value in before[-LOOK_BACK:] if value is not None]
        if use is not None and len(known) >= LEAST_KNOWN and use > PEAK_TIMES * median(known):
            yield Alarm(series.meter, minute, "PEAK", f"{use} Wh, median {median(known)} Wh")
        before.append(use)


def backs(series):
    for minute, use in series.quarters():
        if use is not None and use > BACK_ABOVE:
            yield Alarm(series.meter, minute, "BACK", f"{use} Wh would be an overflow")
