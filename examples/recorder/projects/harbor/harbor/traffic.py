"""Which ships call, from one seed."""

from .ships import Call, Ship

LINES = ("Aldebaran", "Borealis", "Cormorant", "Dunlin")
NAMES = (
    "Amaranth", "Bellflower", "Chicory", "Dogwood", "Elder", "Foxglove", "Gentian", "Hawthorn", "Iris", "Juniper",
    "Knotweed", "Larkspur", "Mallow", "Nettle", "Oxlip", "Primrose",
)


class Dice:
    """A linear congruential generator; the same on every version of Python."""

    def __init__(self, seed):
        self.state = (seed * 3_935_559_000_370_003_845 + 2_691_343_689_449_507_681) & ((1 << 64) - 1)

    def roll(self, sides):
        self.state = (self.state * 2_862_933_555_777_941_757 + 3_037_000_493) & ((1 << 64) - 1)
        return (self.state >> 33) % sides

    def pick(self, things):
        return things[self.roll(len(things))]


def fleet(dice):
    """All ships that may call."""
    ships = []
    for index, name in enumerate(NAMES):
        length = 9_500 + dice.roll(24) * 1_000
        draft = 520 + length // 60 + dice.roll(160)
        ships.append(Ship(name, LINES[index % len(LINES)], length, draft, length * length // 9_000 + dice.roll(3_000)))
    return ships


def calls(dice, ships, days, per_day=9):
    """The calls of some days, in the order of their arrival."""
    found = []
    for day in range(days):
        for _ in range(per_day - 2 + dice.roll(5)):
            ship, arrival = dice.pick(ships), day * 1_440 + dice.roll(1_440)
            moves = 60 + dice.roll(1 + ship.length // 45)
            found.append((arrival, len(found), ship, moves, dice.roll(7) == 0))
    found.sort(key=lambda entry: entry[:2])
    return [
        Call(f"C{number:04d}", ship, arrival, moves, dangerous)
        for number, (arrival, _, ship, moves, dangerous) in enumerate(found, 1)
    ]
