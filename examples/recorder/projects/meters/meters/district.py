"""A made-up district: every number comes from one seed."""

from .reading import DAY, QUARTER, TURNS_AT, Reading


class Dice:
    """A linear congruential generator; the same on every version of Python."""

    def __init__(self, seed):
        self.state = (seed * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) & ((1 << 64) - 1)

    def roll(self, sides):
        self.state = (self.state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) & ((1 << 64) - 1)
        return (self.state >> 33) % sides

    def pick(self, things):
        return things[self.roll(len(things))]


def load(kind, quarter):
    """Typical watt hours of a quarter hour of the day for a kind of customer."""
    hour = quarter // 4
    if kind == "home":
        return 60 + (180 if 6 <= hour < 9 else 0) + (260 if 17 <= hour < 22 else 0)
    if kind == "shop":
        return 90 + (900 if 8 <= hour < 19 else 0)
    return 1_500 + (2_200 if 6 <= hour < 22 else 0)


def readings(days, seed, meters=6, start=0):
    """Readings of some meters over some days, meter by meter."""
    dice, found = Dice(seed), []
    for index in range(meters):
        meter = f"{40_011 + index * 3 + dice.roll(2)}"
        kind = ("home", "home", "shop", "plant")[dice.roll(4)]
        counter, skip, flat = dice.roll(TURNS_AT), 0, 0
        for minute in range(start, start + days * DAY + 1, QUARTER):
            flag = "A"
            if skip == 0 and dice.roll(400) == 0:
                skip = 1 + dice.roll(9)
            if flat == 0 and dice.roll(700) == 0:
                flat = 4 + dice.roll(30)
            if dice.roll(600) == 0:
                flag, counter = "X", 0
            elif dice.roll(150) == 0:
                flag = "E"
            if skip:
                skip -= 1
            else:
                found.append(Reading(meter, minute, counter % TURNS_AT, flag))
            if flat:
                flat -= 1
                continue
            usual = load(kind, minute % DAY // QUARTER)
            use = usual * (60 + dice.roll(80)) // 100
            if dice.roll(500) == 0:
                use += usual * (8 + dice.roll(9))
            counter += use
    return found
