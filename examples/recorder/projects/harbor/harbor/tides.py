"""The height of the tide (P2)."""

PERIOD = 720
FIRST_HIGH = 190
HIGH, LOW = 210, -190


def height(minute):
    """Height in centimeters, rounded down."""
    phase = (minute - FIRST_HIGH) % PERIOD
    span = HIGH - LOW
    half = PERIOD / 2
    if phase <= half:
        return int(HIGH - span * phase / half)
    return int(LOW + span * (phase - half) / half)


def lowest(start, end):
    """The lowest height at the full hours from ``start`` to ``end``, both included."""
    hours = range(start, end, 60)
    return min(height(minute) for minute in [*hours, end])
