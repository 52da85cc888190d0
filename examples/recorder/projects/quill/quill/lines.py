"""What kind of line each line is."""

import re
from dataclasses import dataclass

_HEADING = re.compile(r"(={1,4}) (.+)$")
_ITEM = re.compile(r"((?:  )*)\* (.+)$")
_NUMBER = re.compile(r"((?:  )*)\d\. (.+)$")
_NOTE = re.compile(r"> ?(.*)$")


@dataclass(frozen=True)
class Line:
    """A line: its kind, its level where it has one, and its text without the mark."""

    number: int
    kind: str
    text: str
    level: int = 0

    def __str__(self):
        level = f" {self.level}" if self.level else ""
        return f"{self.number:>4} {self.kind}{level} {self.text!r}"


def scan(text):
    """All lines of a document."""
    found, raw = [], False
    for number, line in enumerate(text.splitlines(), 1):
        line = line.rstrip()
        if line == "----":
            raw = not raw
            found.append(Line(number, "fence", ""))
        elif raw:
            found.append(Line(number, "raw", line))
        elif not line:
            found.append(Line(number, "empty", ""))
        elif match := _HEADING.match(line):
            found.append(Line(number, "heading", match[2], len(match[1])))
        elif match := _ITEM.match(line):
            found.append(Line(number, "item", match[2], len(match[1]) // 2 + 1))
        elif match := _NUMBER.match(line):
            found.append(Line(number, "number", match[2], len(match[1]) // 2 + 1))
        elif match := _NOTE.match(line):
            found.append(Line(number, "note", match[1]))
        else:
            found.append(Line(number, "text", line.strip()))
    return found
