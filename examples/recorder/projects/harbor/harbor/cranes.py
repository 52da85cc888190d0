"""Cranes (P3)."""

from dataclasses import dataclass

MOVES_PER_HOUR = 26
REPAIR = 180
TWO_FROM = 420


@dataclass
class Crane:
    """A crane; ``rest`` are sixtieths of a move that were begun."""

    number: int
    call: object = None
    broken_until: int = 0
    rest: int = 0
    moves: int = 0

    def ready(self, now):
        return self.broken_until <= now


class Cranes:
    """All cranes of the port."""

    def __init__(self, count=4):
        self.all = [Crane(number) for number in range(1, count + 1)]

    def free(self, now):
        return [crane for crane in self.all if crane.call is None and crane.ready(now)]

    def at(self, call):
        return [crane for crane in self.all if crane.call is call]

    def assign(self, call, now):
        """Gives a call the cranes it may have (P3.2); says which are new."""
        wanted = 2 if call.moves >= TWO_FROM else 1
        new = self.free(now)[: max(0, wanted - len(self.at(call)))]
        for crane in new:
            crane.call = call
        return new

    def work(self, crane, minutes):
        """Lets a crane work; returns the moves that were finished."""
        done, crane.rest = divmod(crane.rest + minutes * MOVES_PER_HOUR, 60)
        done = min(done, crane.call.left)
        crane.call.moved += done
        crane.moves += done
        return done

    def break_down(self, crane, now):
        """A crane breaks; its call goes on without it (P3.3)."""
        crane.broken_until = now + REPAIR
        crane.rest = 0
        call, crane.call = crane.call, None
        if call is not None and not self.at(call):
            call.moved = call.moves
        return call

    def release(self, call):
        for crane in self.at(call):
            crane.call, crane.rest = None, 0
