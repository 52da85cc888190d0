"""Writes rows/oracle.json: random pydantic-ai histories and what the real package clears in them.

    python3 -m venv venv && venv/bin/pip install tunacode-cli==0.1.40
    venv/bin/python oracle.py [CASES [SEED]] > ../rows/oracle.json

Histories are kept in a short form, so that the file stays small: `[kind, unit, n]` is a part whose
content is `unit` n times over (a string repeated, or a list of n values); n is null for `unit` itself.
"""

import json
import random
import sys

from pydantic_ai.messages import ModelMessagesTypeAdapter
from tunacode.core import compaction

STRINGS = ["x", "é", "漢字", "😀", "it's \"so\"\n", "a b", "\\\t\u200b\u00a0\u0007"]
VALUES = [
    None, True, False, 0, -17, 12345678901234567890 % 2**63, 0.1, 1e16, 1e-7, -0.0, 2.5e300, "", "plain",
    "it's", 'say "hi"', "it's \"so\"", "a\nb\\c\u2028\ue000\U0010ffff", [], {}, {"k": None, "it's": [1, 2.0]},
    {"path": "src/lib.rs", "lines": [1, 2, 3], "ok": True},
]


def content(rng, scale):
    kind = rng.random()
    if kind < 0.08:
        return [compaction.PRUNE_PLACEHOLDER, None]
    if kind < 0.12:
        return ["", None]
    if kind < 0.35:
        return [rng.choice(VALUES), None if rng.random() < 0.3 else rng.randint(0, scale // 4)]
    return [rng.choice(STRINGS), rng.randint(0, scale)]


def history(rng):
    scale = rng.choice([40, 400, 4_000, 20_000, 60_000])
    messages = []
    for _ in range(rng.randint(0, 12)):
        parts = []
        for _ in range(rng.randint(1, 4)):
            parts.append(
                rng.choices(
                    [["tool-return", *content(rng, scale)], ["user-prompt"], ["retry-prompt", "x", scale],
                     ["bare-retry"], ["system-prompt"]],
                    [12, 5, 1, 1, 1],
                )[0]
            )
        messages.append(["request", parts])
        if rng.random() < 0.6:
            messages.append(["response", [["text"], ["tool-call"]]])
    return messages


def expand(part):
    kind, *rest = part
    if kind in ("tool-return", "retry-prompt"):
        unit, n = rest
        value = unit if n is None else unit * n if isinstance(unit, str) else [unit] * n
        return {"part_kind": kind, "tool_name": "t", "tool_call_id": "c", "content": value}
    if kind == "bare-retry":
        return {"part_kind": "retry-prompt", "content": "again"}
    if kind == "tool-call":
        return {"part_kind": kind, "tool_name": "t", "tool_call_id": "c", "args": "{}"}
    return {"part_kind": kind, "content": "text"}


def run(messages, local):
    compaction.is_local_mode = lambda: local
    records = [{"kind": kind, "parts": [expand(part) for part in parts]} for kind, parts in messages]
    loaded = ModelMessagesTypeAdapter.validate_json(json.dumps(records))

    def contents():
        return [[repr(getattr(part, "content", None)) for part in message.parts] for message in loaded]

    before = contents()
    _, reclaimed = compaction.prune_old_tool_outputs(loaded, "model")
    cleared = [
        [m, p] for m, message in enumerate(contents()) for p, after in enumerate(message) if after != before[m][p]
    ]
    return {"cleared": cleared, "reclaimed": reclaimed}


def main():
    cases, seed = (int(value) for value in (sys.argv[1:] + ["64", "41"][len(sys.argv) - 1:]))
    rng = random.Random(seed)
    out = []
    while len(out) < cases:
        messages = history(rng)
        case = {"messages": messages, "tunacode": run(messages, False), "tunacode-local": run(messages, True)}
        # Histories in which nothing happens are kept one in eight.
        if case["tunacode-local"]["cleared"] or rng.random() < 0.125:
            out.append(case)
    print("[")
    print(",\n".join(json.dumps(case, ensure_ascii=True, separators=(",", ":")) for case in out))
    print("]")


main()
