#!/usr/bin/env python3
"""Makes the outline of an OpenCode export: its structure, its sizes and its marks, and none of its text.

    python3 outline.py EXPORT.json > OUTLINE.json

Numbers, flags and the words of the format (roles, kinds of parts, names of tools and models) stay. Ids are
numbered anew in the same lengths, equal ones alike. Every other string becomes `~NUMBER:UNITS:BYTES`: which of
the distinct texts it is, and its size in UTF-16 units and in bytes of UTF-8 (left out where both are the same).
`foldback_testkit::outline` fills texts of these sizes in again.
"""

import json
import re
import sys

WORDS = {
    "agent", "finish", "format", "livecrawl", "mode", "modelID", "providerID", "reason", "role", "status",
    "subagent_type", "tool", "type", "variant", "version",
}
IDS = {
    "callID", "hash", "id", "itemId", "messageID", "parentID", "projectID", "sessionID", "sessionId", "snapshot",
}
ids, texts = {}, {}


def numbered(text):
    """An id of the same length and prefix, with a number that counts up; a mark of the recorder stays."""
    if text == "REDACTED":
        return text
    if text not in ids:
        prefix = re.match(r"[a-z]*_|", text).group()
        number = str(len(ids))
        ids[text] = prefix + number.rjust(len(text) - len(prefix), "0")
    return ids[text]


def sized(text):
    if not text:
        return text
    number = texts.setdefault(text, len(texts))
    units, size = len(text.encode("utf-16-le")) // 2, len(text.encode())
    return f"~{number}:{units}" + (f":{size}" if size != units else "")


def outline(value, key=""):
    if isinstance(value, dict):
        for name in value:
            assert re.fullmatch(r"\w+", name), f"a key that may be text: {name}"
        return {name: outline(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [outline(inner, key) for inner in value]
    if not isinstance(value, str) or key in WORDS:
        return value
    return numbered(value) if key in IDS else sized(value)


with open(sys.argv[1], encoding="utf-8") as file:
    export = outline(json.load(file))
lines = ",\n".join(json.dumps(message, separators=(",", ":")) for message in export.pop("messages"))
rest = json.dumps(export, separators=(",", ":"))
print(f'{rest[:-1]},"messages":[\n{lines}\n]}}')
