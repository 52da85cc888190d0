"""Edits: the old texts that calls name, and whether a view still has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from session import Part
from texts import Log, Place, Standing, arguments

OLD_TEXT = {"old_string", "oldString", "old_str", "oldStr", "old_text", "oldText", "search"}
EDITING = ("edit", "replace", "patch", "diff", "write")
FILE = (
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "target_file",
    "filename",
    "file",
    "path",
    "filepath",
)
NUMBERED = re.compile(r" *[0-9]+[→\t|:\-]")
TELLING = 16

Old = tuple[str, str | None]


@dataclass(frozen=True)
class Edit:
    """The old text of an edit, and the parts of the log that held it."""

    old: str
    name: str | None
    places: tuple[Place, ...]

    def kept(self, standing: Standing) -> bool:
        if any(standing.shows(place) for place in reversed(self.places)):
            return True
        return any(self.stands(text) for text in standing.written)

    def stands(self, text: str) -> bool:
        long = len(self.old.encode()) >= TELLING
        if not any(self.old in reading for reading in readings(text)):
            return False
        return long or self.name is None or says(text, self.name)


def named(call: Part) -> Iterator[Old]:
    """The old texts that a call names, with their files."""
    tool = str(call.raw["tool"]).lower()
    return old_texts(arguments(call), any(word in tool for word in EDITING), None)


def names_old_text(call: Part) -> bool:
    """Whether a call is an edit by old text."""
    return any(old.strip() for old, _ in named(call))


def edits(log: Log) -> list[list[Edit]]:
    """By call, the edits whose old text had stood in the log."""
    asked = questions(log)
    out = []
    for answer, until in log.calls:
        before = log.places[:until]
        here = []
        for part in answer.parts:
            if part.kind != "call":
                continue
            for old, file in named(part):
                lines, name = plain(old), base_name(file) if file else None
                if not lines:
                    continue
                places = tuple(
                    place
                    for place in before
                    if any(lines in reading for reading in readings(place.text))
                    and (not name or any(says(t, name) for t in (place.text, asked.get(place, ""))))
                )
                if places:
                    here.append(Edit(lines, name, places))
        out.append(here)
    return out


def questions(log: Log) -> dict[Place, str]:
    """By part with a result, what the call says that asked for it."""
    asked: dict[str, str] = {}
    out = {}
    for place in log.places:
        part = log.session.log[place.ordinal].parts[place.part]
        if part.kind == "call":
            asked[str(part.raw["call_id"])] = place.text
        elif part.kind == "result":
            out[place] = asked.get(str(part.raw["call_id"]), "")
    return out


def base_name(path: str) -> str:
    return re.split(r"[/\\]", path.strip().rstrip("/\\"))[-1]


@lru_cache(maxsize=100_000)
def says(text: str, name: str) -> bool:
    """Whether a text says the name of a file, and not only as a piece of a longer one."""
    behind = r"(?:-[0-9]|\.(?![A-Za-z0-9])|[^A-Za-z0-9_.\-]|$)"
    return bool(re.search(r"(?<![A-Za-z0-9_.\-])" + re.escape(name) + behind, text))


@lru_cache(maxsize=100_000)
def readings(text: str) -> tuple[str, ...]:
    """The ways to read a text as lines of a file."""
    lines = split_lines(text)
    out = [joined(lines)]
    bare = [without_number(line) for line in lines]
    if bare != lines:
        out.append(joined(bare))
    if "\n@@" in text or text.startswith("@@") or "*** Begin Patch" in text:
        for here, there in ("+-", "-+"):
            out.append(joined(line.removeprefix(here) for line in lines if line[:1] != there))
    return tuple(out)


def plain(text: str) -> str:
    return joined(split_lines(text))


def joined(lines: Iterable[str]) -> str:
    trimmed = (line.strip() for line in lines)
    return "\n".join(line for line in trimmed if line)


def without_number(line: str, signs: str = ":-") -> str:
    if (match := NUMBERED.match(line)) and (match[0][-1] in signs or match[0][-1] not in ":-"):
        return line[match.end() :]
    if line.lstrip(" ")[:1].isdigit():
        return line
    bare = line.lstrip(" ")
    for sign in signs:
        for match in re.finditer(sign + "[0-9]+" + sign, bare):
            before = bare[: match.start()]
            if any(c in " \t" for c in before):
                break
            if any(c in "./\\" for c in before):
                return bare[match.end() :]
    return line


def beside_match(line: str) -> bool:
    """Whether a search shows a line beside what it found: its number ends with a hyphen."""
    return without_number(line) != line and without_number(line, ":") == line


def split_lines(text: str) -> list[str]:
    """Lines end at a line feed, with a carriage return before it or without."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def old_texts(value: Any, editing: bool, file: str | None) -> Iterator[Old]:
    """Old texts with the file that the call names around them."""
    if isinstance(value, dict):
        file = next((value[name] for name in FILE if isinstance(value.get(name), str)), file)
        for name, member in value.items():
            named = name in OLD_TEXT and (editing or name != "search")
            if named and isinstance(member, str):
                yield member, file
            else:
                yield from old_texts(member, editing, file)
    elif isinstance(value, list):
        for member in value:
            yield from old_texts(member, editing, file)
    elif isinstance(value, str):
        if "*** Begin Patch" in value:
            yield from hunks(value)
        elif " SEARCH" in value:
            yield from ((block, file) for block in search_blocks(value))


def hunks(patch: str) -> Iterator[Old]:
    """Context and removed lines of the hunks of a patch that change files."""
    hunk: list[str] = []
    file: str | None = None
    for line in [*split_lines(patch), "*** End of File"]:
        if line.startswith(("*** ", "@@")):
            if hunk:
                yield "\n".join(hunk), file
            hunk = []
            if line.startswith("*** Update File:"):
                file = line.removeprefix("*** Update File:").strip()
            elif line.startswith("*** ") and not line.startswith(
                ("*** End of File", "*** Move to")
            ):
                file = None
        elif file is not None and (not line or line[0] in " -"):
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
