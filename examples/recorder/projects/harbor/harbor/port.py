"""The port, minute by minute."""

from . import cranes, tides
from .berths import Quay
from .traffic import Dice, calls, fleet

STEP = 10
MOORING = 30


def stamp(minute):
    """A time as the log shows it."""
    return f"d{minute // 1_440 + 1:02d} {minute % 1_440 // 60:02d}:{minute % 60:02d}"


class Port:
    """Runs days; ``out`` gets every line of the log."""

    def __init__(self, days, seed, out, breakdowns=True):
        self.dice, self.out, self.days = Dice(seed), out, days
        self.expected = calls(self.dice, fleet(self.dice), days)
        self.quay, self.cranes = Quay(), cranes.Cranes()
        self.waiting, self.lying, self.gone = [], [], []
        self.breakdowns = breakdowns
        self.now = 0
        self.steps = 0

    def log(self, level, text):
        self.out(f"{stamp(self.now)} {level:<5} {text}")

    def planned(self, call):
        """When a call would be done if it were berthed now."""
        hours = -(-call.moves * 60 // cranes.MOVES_PER_HOUR)
        return self.now + MOORING + hours

    def arrive(self):
        while self.expected and self.expected[0].arrival <= self.now:
            call = self.expected.pop(0)
            self.waiting.append(call)
            ship = call.ship
            self.log(
                "INFO",
                f"{call.id} {ship.name} ({ship.line}) at the roads: {ship.length} cm, draft {ship.draft}, "
                f"{ship.tonnage} t, {call.moves} moves{', dangerous' if call.dangerous else ''}",
            )

    def berth(self):
        for call in list(self.waiting):
            until = self.planned(call)
            berth = self.quay.find(call, self.now, until)
            if berth is None:
                break
            self.waiting.remove(call)
            self.quay.take(berth, call, self.now, until)
            self.lying.append(call)
            water = berth.depth + tides.height(self.now)
            self.log(
                "INFO",
                f"{call.id} {call.ship.name} to berth {berth.number}, water {water} cm, waited {call.waited} min, "
                f"planned until {stamp(until)}",
            )

    def unload(self):
        for call in list(self.lying):
            if self.now < call.berthed + MOORING:
                continue
            for crane in self.cranes.assign(call, self.now):
                self.log("INFO", f"crane {crane.number} to {call.id}, {call.left} moves left")
            for crane in self.cranes.at(call):
                self.cranes.work(crane, STEP)
                if self.breakdowns and self.dice.roll(900) == 0:
                    self.cranes.break_down(crane, self.now)
                    self.log("WARN", f"crane {crane.number} broke down at {call.id}, {call.left} moves left")
            if call.left == 0:
                self.depart(call)

    def depart(self, call):
        call.departed = self.now
        self.cranes.release(call)
        self.lying.remove(call)
        berth = self.quay.leave(call)
        self.gone.append(call)
        self.log(
            "INFO",
            f"{call.id} {call.ship.name} leaves berth {berth.number} after {call.departed - call.berthed} min, "
            f"{call.moved} moves",
        )

    def watch(self):
        """What must never be: a ship aground, a berth with two calls, a call without its berth."""
        for call in self.lying:
            berth = self.quay.berths[call.berth - 1]
            if berth.call is not call:
                other = berth.call.id if berth.call else "nobody"
                self.log("ERROR", f"{call.id} lies at berth {call.berth}, which belongs to {other}")
            keel = berth.depth + tides.height(self.now) - call.ship.draft
            if keel < 100:
                # Later than planned is a matter of luck; within the plan it must not be.
                level = "ERROR" if self.now <= berth.until else "WARN"
                self.log(level, f"{call.id} {call.ship.name} has {keel} cm below the keel at berth {call.berth}")

    def run(self):
        end = self.days * 1_440
        while self.now < end:
            self.steps += 1
            self.arrive()
            self.berth()
            self.unload()
            if self.now % 60 == 0:
                self.watch()
            if self.now % 360 == 0:
                waiting = " ".join(call.id for call in self.waiting) or "nobody"
                taken = " ".join(f"{berth.number}:{berth.call.id if berth.call else '-'}" for berth in self.quay.berths)
                self.log("INFO", f"tide {tides.height(self.now):+d} cm, waiting {waiting}, berths {taken}")
            self.now += STEP
        return self
