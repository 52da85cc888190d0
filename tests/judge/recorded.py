"""What the recorder's own file says, read without foldback: tool calls, results, sizes of requests.

Of three formats: Claude Code, Codex, OpenCode.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

INTERRUPTED = "[Tool execution was interrupted]"


@dataclass
class Recorded:
    """Arguments and results of tools, and requests in input tokens; each as often as it is met."""

    calls: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    inputs: Counter[int] = field(default_factory=Counter)


def read(file: Path, format_id: str) -> Recorded | None:
    """What a file says; None of a format that is not read here."""
    readers = {"claude-code": claude_code, "codex": codex, "opencode": opencode}
    reader = readers.get(format_id)
    return reader(file) if reader else None


def lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_bytes().decode(errors="replace").split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def canonical(arguments: Any) -> str:
    """Arguments without what their spelling as JSON leaves open."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return str(arguments)
    return json.dumps(arguments, sort_keys=True)


def joined(content: Any) -> str:
    """The texts of a content that is a string or a list of blocks; images have none."""
    if not isinstance(content, list):
        return str(content or "")
    texts = []
    for block in content:
        if isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif "image" not in str(block.get("type")):
            texts.append(compact(block))
    return "\n".join(texts)


def claude_code(file: Path) -> Recorded:
    out = Recorded()
    inputs: dict[Any, int] = {}
    known: set[str] = set()
    for line in lines(file):
        message = line.get("message") or {}
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        if line.get("type") == "assistant" and message.get("model") != "<synthetic>":
            usage = message.get("usage") or {}
            names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            inputs[message.get("id")] = sum(usage.get(name) or 0 for name in names)
            for block in blocks:
                if block.get("type") == "tool_use" and block["id"] not in known:
                    known.add(block["id"])
                    out.calls[canonical(block["input"])] += 1
        elif line.get("type") == "user":
            for block in blocks:
                if block.get("type") == "tool_result":
                    out.results[joined(block.get("content"))] += 1
    out.inputs = Counter(inputs.values())
    return out


def codex(file: Path) -> Recorded:
    out = Recorded()
    total: Any = None
    for line in lines(file):
        item = line.get("payload") or {}
        kind = str(item.get("type"))
        if line.get("type") == "response_item":
            if kind.endswith("_call") and "call_id" in item:
                out.calls[canonical(item.get("arguments", item.get("input")))] += 1
            elif kind.endswith("_call_output"):
                out.results[joined(item.get("output"))] += 1
            elif kind == "tool_search_output":
                out.results[compact(item["tools"])] += 1
            continue
        info = item.get("info") if kind == "token_count" else None
        # A count that repeats the total is about something else.
        if info and info["total_token_usage"] != total:
            total = info["total_token_usage"]
            out.inputs[info["last_token_usage"]["input_tokens"]] += 1
    return out


def opencode(file: Path) -> Recorded:
    out = Recorded()
    for message in json.loads(file.read_bytes())["messages"]:
        info = message["info"]
        steps = [part for part in message["parts"] if part["type"] == "step-finish"]
        counts = [step["tokens"] for step in steps] if len(steps) > 1 else [info.get("tokens")]
        if info["role"] == "assistant" and not info.get("summary"):
            for tokens in counts:
                if tokens:
                    cache = tokens.get("cache") or {}
                    cached = (cache.get("read") or 0) + (cache.get("write") or 0)
                    out.inputs[tokens["input"] + cached] += 1
        for part in message["parts"]:
            if part["type"] == "tool":
                state = part["state"]
                out.calls[canonical(state.get("input"))] += 1
                ended = {"completed": state.get("output"), "error": state.get("error")}
                out.results[str(ended.get(state["status"], INTERRUPTED))] += 1
    return out
