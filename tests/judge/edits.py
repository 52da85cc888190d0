"""Edits: the old texts that calls name, and whether a view still has them word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from texts import Log, Place, Standing, arguments

OLD_TEXT = {"old_string", "oldString", "old_str", "oldStr", "old_text", "oldText", "search"}
EDITING = ("edit", "replace", "patch", "diff", "write")
GUTTER = re.compile(r" *[0-9]+(?:→|\t|\| |\|$)")


@dataclass(frozen=True)
class Edit:
    """The old text of an edit, and the parts of the log that held it."""

    old: str
    places: tuple[Place, ...]

    def kept(self, standing: Standing) -> bool:
        if any(standing.shows(place) for place in reversed(self.places)):
            return True
        return any(self.old in text or self.old in bare(text) for text in standing.written)


def edits(log: Log) -> list[list[Edit]]:
    """By call, the edits whose old text had stood in the log."""
    out = []
    for answer, until in log.calls:
        before = log.places[:until]
        here = []
        for part in answer.parts:
            if part.kind != "call":
                continue
            tool = str(part.raw["tool"]).lower()
            for old in old_texts(arguments(part), any(word in tool for word in EDITING)):
                places = tuple(place for place in before if old in bare(place.text))
                if old.strip() and places:
                    here.append(Edit(old, places))
        out.append(here)
    return out


@lru_cache(maxsize=100_000)
def bare(text: str) -> str:
    """A listing without its line numbers; other texts as they are."""
    lines = split_lines(text)
    if not any(GUTTER.match(line) for line in lines[:8]):
        return text
    return "\n".join(GUTTER.sub("", line, count=1) for line in lines)


def split_lines(text: str) -> list[str]:
    """Lines end at a line feed, with a carriage return before it or without."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def old_texts(value: Any, editing: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            named = name in OLD_TEXT and (editing or name != "search")
            if named and isinstance(member, str):
                yield member
            else:
                yield from old_texts(member, editing)
    elif isinstance(value, list):
        for member in value:
            yield from old_texts(member, editing)
    elif isinstance(value, str):
        if "*** Begin Patch" in value:
            yield from hunks(value)
        elif " SEARCH" in value:
            yield from search_blocks(value)


def hunks(patch: str) -> Iterator[str]:
    """Context and removed lines of the hunks of a patch that change files."""
    hunk: list[str] = []
    update = False
    for line in [*split_lines(patch), "*** End of File"]:
        if line.startswith(("*** ", "@@")):
            if hunk:
                yield "\n".join(hunk)
            hunk = []
            if line.startswith("*** ") and not line.startswith("*** End of File"):
                update = line.startswith(("*** Update File", "*** Move to"))
        elif update and (not line or line[0] in " -"):
            hunk.append(line[1:])


def search_blocks(text: str) -> Iterator[str]:
    """The upper halves of search-and-replace blocks."""
    block: list[str] | None = None
    for line in split_lines(text):
        fence = line.rstrip()
        if fence.endswith(" SEARCH") and fence.startswith(("<<<", "---")):
            block = []
        elif len(fence) >= 5 and not fence.strip("="):
            if block is not None:
                yield "\n".join(block)
            block = None
        elif block is not None and fence != "-------" and not fence.startswith(":start_line:"):
            block.append(line)
