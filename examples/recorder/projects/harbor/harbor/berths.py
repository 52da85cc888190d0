"""Berths, and who lies where (P1)."""

from dataclasses import dataclass

from . import tides

QUAY = 1_000
UNDER_KEEL = 100


@dataclass
class Berth:
    """A berth; ``call`` is who lies there."""

    number: int
    length: int
    depth: int
    call: object = None
    until: int = 0


STANDARD = ((1, 16_000, 1_080), (2, 21_000, 1_150), (3, 26_000, 1_290), (4, 26_000, 1_240), (5, 36_000, 1_520))


class Quay:
    """All berths."""

    def __init__(self, berths=STANDARD):
        self.berths = [Berth(*berth) for berth in berths]
        self.looked = 0

    def free(self):
        return [berth for berth in self.berths if berth.call is None]

    def fits(self, berth, call, start, end):
        """Whether a call can lie at a berth from ``start`` to ``end`` (P1.1, P1.2)."""
        self.looked += 1
        if call.ship.length + QUAY > berth.length:
            return False
        water = berth.depth + tides.height(start)
        return water >= call.ship.draft + UNDER_KEEL

    def find(self, call, start, end):
        """The berth for a call, or ``None`` (P1.3)."""
        fitting = [berth for berth in self.free() if self.fits(berth, call, start, end)]
        return min(fitting, key=lambda berth: berth.length, default=None)

    def take(self, berth, call, now, until):
        """Puts a call at a berth."""
        if berth.call is not None:
            raise ValueError(f"berth {berth.number} is taken by {berth.call.id}, not free for {call.id}")
        berth.call, berth.until = call, until
        call.berth, call.berthed = berth.number, now

    def leave(self, call):
        """Frees the berth of a call."""
        for berth in self.berths:
            if berth.call is not None and berth.call.ship.name == call.ship.name:
                berth.call = None
                return berth
        raise ValueError(f"{call.id} lies at no berth")
