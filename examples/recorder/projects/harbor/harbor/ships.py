"""Ships and their calls."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ship:
    """A ship: lengths in centimeters, gross tonnage in tons."""

    name: str
    line: str
    length: int
    draft: int
    tonnage: int


@dataclass
class Call:
    """One visit of a ship. Times are minutes; those that have not happened are ``None``."""

    id: str
    ship: Ship
    arrival: int
    moves: int
    dangerous: bool = False
    berth: object = None
    berthed: int = None
    departed: int = None
    moved: int = 0
    notes: list = field(default_factory=list)

    @property
    def waited(self):
        """Minutes between the arrival and the berth."""
        return (self.berthed if self.berthed is not None else self.arrival) - self.arrival

    @property
    def left(self):
        """Moves that are still to be made."""
        return self.moves - self.moved
