"""A provider on this machine: Anthropic's Messages API, with a prompt cache and an agent in it.

It counts tokens as `docs/definitions.md` does and reads from its cache the longest beginning that
an earlier request had. Nothing in the cache expires, because a run takes seconds.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "judge"))

from bill import MILLION, Terms
from prices import regimes
from session import PER_MESSAGE
from tokens import count

from agent import Action, Agent

__all__ = ["MILLION", "Provider", "Request", "Server", "Terms", "compact", "regimes"]


@lru_cache(maxsize=200_000)
def tokens(block: tuple[str, ...]) -> int:
    """Tokens of a block: its texts, without its kind and role."""
    return sum(count(text) for text in block[2:])


@dataclass
class Request:
    """One request as it arrived."""

    input: int
    read: int
    write: int
    output: int
    messages: int

    @property
    def usage(self) -> dict[str, int]:
        return {
            "input_tokens": self.input - self.read - self.write,
            "cache_read_input_tokens": self.read,
            "cache_creation_input_tokens": self.write,
            "output_tokens": self.output,
        }


@dataclass
class Provider:
    """Answers requests for an agent and notes what was sent."""

    agent: Agent
    terms: Terms
    requests: list[Request] = field(default_factory=list)
    # What was wrong with requests that no provider would take.
    refused: list[str] = field(default_factory=list)
    # Beginnings of earlier requests, by the beginning before and the message behind it.
    nodes: dict[tuple[int, Any], int] = field(default_factory=dict)

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        wrong = broken(body["messages"])
        if wrong:
            self.refused.append(wrong)
            error = {"type": "invalid_request_error", "message": wrong}
            return 400, {"type": "error", "error": error}
        size = read = self.frame(body)
        node, known = self.nodes.get((0, size)), True
        if node is None:
            node, known, read = self.nodes.setdefault((0, size), len(self.nodes) + 1), False, 0
        texts: list[str] = []
        for message in body["messages"]:
            key = tuple(blocks(message))
            kinds = [block[0] for block in key]
            size += sum(map(tokens, key)) + PER_MESSAGE * max(1, kinds.count("tool_result"))
            # Results and what the user says beside them are messages of their own.
            if "tool_result" in kinds and "text" in kinds:
                size += PER_MESSAGE
            texts += (text for block in key for text in block[2:])
            following = self.nodes.get((node, key))
            if following is None:
                known = False
                following = self.nodes[node, key] = len(self.nodes) + 1
            node = following
            read = size if known else read
        read, end = self.terms.cacheable(read), self.terms.cacheable(size)
        action = self.agent.act(texts)
        content = said(action, len(self.requests))
        output = PER_MESSAGE + sum(
            tokens(block) for block in blocks({"role": "assistant", "content": content})
        )
        request = Request(size, read, end - read, output, len(body["messages"]))
        self.requests.append(request)
        return 200, {
            "id": f"msg_{len(self.requests):05}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": content,
            "stop_reason": "tool_use" if action.tool else "end_turn",
            "stop_sequence": None,
            "usage": request.usage,
        }

    @staticmethod
    def frame(body: dict[str, Any]) -> int:
        """Tokens of the system prompt and the tools."""
        system = body.get("system") or ""
        if isinstance(system, list):
            system = "\n".join(block["text"] for block in system)
        return count(system) + count(compact(body.get("tools") or []))


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def said(action: Action, number: int) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = [{"type": "text", "text": action.text}]
    if action.tool:
        call = {"type": "tool_use", "id": f"toolu_{number:05}"}
        content.append({**call, "name": action.tool, "input": action.arguments})
    return content


def blocks(message: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The blocks of a message: kind, role, then its texts. Ids and cache marks are no content."""
    content, role = message["content"], message["role"]
    if isinstance(content, str):
        yield "text", role, content
        return
    for block in content:
        kind = block["type"]
        if kind == "text":
            yield kind, role, block["text"]
        elif kind == "tool_use":
            yield kind, role, block["name"], compact(block["input"])
        elif kind == "tool_result":
            inner = block.get("content") or ""
            parts = [inner] if isinstance(inner, str) else [one["text"] for one in inner]
            yield kind, role, "\n".join(parts)
        else:
            yield kind, role, compact(block)


def broken(messages: list[dict[str, Any]]) -> str:
    """What Anthropic's API would refuse about the order of messages; empty if nothing."""
    if not messages or messages[0]["role"] != "user":
        return "the first message is not the user's"
    waiting: list[str] = []
    for number, message in enumerate(messages):
        content = message["content"]
        parts = [] if isinstance(content, str) else content
        results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            return f"message {number} has results of {results} where {waiting} were called"
        if not content or any(part["type"] == "text" and not part["text"] for part in parts):
            return f"message {number} is empty"
        waiting = [part["id"] for part in parts if part["type"] == "tool_use"]
    return "the last calls have no results" if waiting else ""


class Handler(BaseHTTPRequestHandler):
    """Takes requests on connections that stay open."""

    protocol_version = "HTTP/1.1"
    # Head and body go out together and at once.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        with self.server.lock:
            status, answer = self.server.provider.answer(json.loads(body))
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class Server(ThreadingHTTPServer):
    """The provider at an address, in a thread."""

    daemon_threads = True

    def __init__(self, provider: Provider) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.provider, self.lock = provider, threading.Lock()

    def __enter__(self) -> Server:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"
