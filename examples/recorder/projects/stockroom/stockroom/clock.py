"""Time as whole seconds since the epoch, from a clock that is handed in."""

import time


class SystemClock:
    """The clock of the machine."""

    def now(self):
        return int(time.time())


class ManualClock:
    """A clock that moves only when told to; for tests and simulations."""

    def __init__(self, start=1_700_000_000):
        self._now = start

    def now(self):
        return self._now

    def advance(self, seconds):
        if seconds < 0:
            raise ValueError("time does not run backwards")
        self._now += seconds
        return self._now


DAY = 86_400
