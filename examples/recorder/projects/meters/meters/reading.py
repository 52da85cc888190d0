"""One reading of one meter (M1)."""

from dataclasses import dataclass

QUARTER = 15
DAY = 1_440
TURNS_AT = 1_000_000
FLAGS = "AECX"


@dataclass(frozen=True)
class Reading:
    """What a counter showed at a minute."""

    meter: str
    minute: int
    counter: int
    flag: str = "A"


class ArchiveError(Exception):
    """A file that can not be used; says the line."""

    def __init__(self, line, message):
        super().__init__(f"line {line}: {message}")
        self.line = line


def clock(minute):
    """A minute as ``day hh:mm``."""
    return f"{minute // DAY:>3} {minute % DAY // 60:02d}:{minute % 60:02d}"
