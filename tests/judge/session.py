"""A session as `foldback convert --to foldback` writes it."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

from tokens import count

PER_MESSAGE = 3
# Of images: pixels of the longer edge, pixels to a token, tokens at most.
EDGE = 1568
PIXELS = 750
MOST = 1600
# Bytes that a token has at least, in the mean over a prompt.
LEAST_BYTES = 2
# Calls behind the first that a scale is made of, at least.
LEAST_CALLS = 5
# Tokens by which the input of a request falls at least where something was cut.
LEAST_FALL = 64_000


def weight(file: dict[str, Any]) -> int:
    """Tokens of a file: of an image by its size, of others none."""
    if not str(file["mime"]).startswith("image/"):
        return 0
    edges = png_size(str(file.get("url", "")))
    if edges is None:
        return MOST
    longer = max(edges)
    width, height = (edge * EDGE // longer if longer > EDGE else edge for edge in edges)
    return min(MOST, math.ceil(width * height / PIXELS))


def png_size(url: str) -> tuple[int, int] | None:
    """Width and height of a PNG by its head, in base64."""
    data = url.split(";base64,", 1)[-1][:32]
    try:
        head = base64.b64decode(data, validate=True)
    except ValueError:
        return None
    if len(head) < 24 or head[:8] != b"\x89PNG\r\n\x1a\n" or head[12:16] != b"IHDR":
        return None
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


@dataclass(eq=False)
class Part:
    """One part of a message."""

    raw: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.raw["type"])

    @cached_property
    def shown(self) -> str:
        """The text that the part puts in front of the model."""
        kind, raw = self.kind, self.raw
        if kind == "call":
            return str(raw["arguments"])
        if kind == "file" or raw.get("ignored"):
            return ""
        if kind == "unknown":
            return json.dumps(raw["raw"], ensure_ascii=False, separators=(",", ":"))
        return str(raw.get("text", ""))

    def tokens_with(self, text: str) -> int:
        """Tokens of the part where it shows `text`."""
        if self.kind == "file":
            return weight(self.raw)
        tokens = count(text)
        if self.kind == "call":
            tokens += count(str(self.raw["tool"]))
        if self.kind == "result" and text == self.shown:
            tokens += sum(weight(file) for file in self.raw.get("media") or [])
        return tokens

    @cached_property
    def tokens(self) -> int:
        return self.tokens_with(self.shown)


@dataclass(eq=False)
class Message:
    """One message: of the log, or written by a compaction."""

    raw: dict[str, Any]

    @cached_property
    def parts(self) -> list[Part]:
        return [Part(part) for part in self.raw["parts"]]

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def role(self) -> str:
        return str(self.raw["role"])

    @property
    def is_log(self) -> bool:
        return bool(self.raw.get("origin", "log") == "log")

    @property
    def is_call(self) -> bool:
        """Whether it answers a recorded model call."""
        return self.is_log and self.role == "assistant" and self.raw.get("answer") is not None

    @property
    def begins_turn(self) -> bool:
        return self.is_log and self.role == "user" and not bool(self.raw.get("mid_turn"))

    @property
    def answer(self) -> dict[str, Any]:
        return self.raw.get("answer") or {}

    @property
    def usage(self) -> dict[str, int] | None:
        return self.answer.get("usage")

    @property
    def sent(self) -> int | None:
        """The size of the request that this message answers, by its provider; None without."""
        usage = self.usage if self.is_call else None
        return (input_total(usage) or None) if usage else None

    @property
    def shown(self) -> str:
        return "\n".join(part.shown for part in self.parts if part.shown)

    @cached_property
    def tokens(self) -> int:
        return PER_MESSAGE + sum(part.tokens for part in self.parts)


def input_total(usage: dict[str, int]) -> int:
    """The size of a request by its provider's count."""
    return usage.get("uncached", 0) + usage.get("cache_read", 0) + usage.get("cache_write", 0)


def output_total(usage: dict[str, int]) -> int:
    """The size of an answer by its provider's count."""
    return usage.get("output", 0) + usage.get("reasoning", 0)


@dataclass(frozen=True)
class Scale:
    """A line through the first request: measured tokens to those of the provider."""

    kappa: float
    measured: int
    recorded: int

    def request(self, tokens: int) -> int:
        size = self.recorded + self.kappa * (tokens - self.measured)
        return max(0, math.floor(size + 0.5))

    def under(self, sent: int) -> int:
        """The measured size of a request that the provider counted so many tokens for."""
        size = self.measured + (sent - self.recorded) / max(self.kappa, 1e-6)
        return max(0, math.floor(size + 0.5))


def scale_of(calls: list[tuple[int, int]]) -> Scale | None:
    """The scale by measured and recorded sizes of the same requests."""
    if not calls:
        return None
    (measured, recorded), later = calls[0], calls[1:]
    steps = sorted(
        (max(0, round((sent - recorded) / (tokens - measured), 6)), tokens - measured)
        for tokens, sent in later
        if tokens > measured
    )
    if len(steps) < LEAST_CALLS:
        return None
    half = sum(weight for _, weight in steps) / 2
    passed = accumulate(weight for _, weight in steps)
    kappa = next(kappa for (kappa, _), below in zip(steps, passed, strict=True) if below >= half)
    scale = Scale(kappa, measured, recorded)
    off = [abs(scale.request(tokens) - sent) > sent // 10 for tokens, sent in later]
    return scale if sum(off) * 2 <= len(off) else None


def fall(calls: list[tuple[int, int]]) -> int:
    """How many calls there are before the recorded input falls as if compacted."""
    sent = [size for _, size in calls]
    most = max(sent, default=0)
    least = max(1, min(LEAST_FALL, most // 2))
    for at in range(1, len(sent)):
        stays = all(size * 4 < most * 3 for size in sent[at : at + 3])
        if sent[at - 1] * 4 >= most * 3 and sent[at - 1] - sent[at] >= least and stays:
            return at
    return len(sent)


@dataclass
class Session:
    """One recorded session."""

    header: dict[str, Any]
    messages: list[Message] = field(default_factory=list)
    boundaries: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    # Answers that were paid for and are not in the log.
    unlogged: list[dict[str, Any]] = field(default_factory=list)
    # Parts that the recorder emptied, by the message's id and the part's number.
    cleared: list[dict[str, Any]] = field(default_factory=list)

    @property
    def id(self) -> str:
        return str(self.header["id"])

    @cached_property
    def log(self) -> list[Message]:
        """What happened, the recorder's own compactions undone."""
        return [message for message in self.messages if message.is_log]

    @cached_property
    def frame_tokens(self) -> int:
        """Tokens of what is sent around the messages, as far as it was recorded or usage tells."""
        segments = self.header.get("frame") or []
        known = sum(
            segment["tokens"] if segment.get("tokens") is not None else count(segment["text"])
            for segment in segments
        )
        return known + self.unrecorded(known)

    @cached_property
    def is_headless(self) -> bool:
        """Whether the recording begins in the middle of a conversation."""
        if any(warning["code"] == "begins-midway" for warning in self.warnings):
            return True
        sizes = [message.sent for message in self.log]
        first = next((number for number, size in enumerate(sizes) if size), None)
        if first is None:
            return False
        segments = self.header.get("frame") or []
        size = sum(
            segment["tokens"] if segment.get("tokens") is not None else utf8(segment["text"])
            for segment in segments
        )
        size += sum(utf8(message.shown) for message in self.log[:first])
        besides = (sizes[first] or 0) - size // LEAST_BYTES
        return any(later and later < besides for later in sizes[first + 1 :])

    @cached_property
    def scale(self) -> Scale | None:
        """From measured tokens to those of the recording's provider, where its usage tells."""
        befores = [boundary["before"] for boundary in self.boundaries]
        until = 0 if self.is_headless else min(befores, default=len(self.messages))
        tokens, calls = self.frame_tokens, []
        for message in (message for message in self.messages[:until] if message.is_log):
            if message.sent:
                calls.append((tokens, message.sent))
            tokens += message.tokens
        return scale_of(calls[: fall(calls)])

    def unrecorded(self, frame: int) -> int:
        """What requests weighed beyond what the file holds, by the recorded frame's tokens."""
        befores = {boundary["before"] for boundary in self.boundaries}
        if self.is_headless:
            return min(self.unexplained(frame, befores), default=0)
        estimate = frame
        for index, message in enumerate(self.messages):
            if not message.is_log:
                continue
            if message.sent and (not befores or index < min(befores)):
                return max(0, message.sent - estimate)
            estimate += message.tokens
        return 0

    def unexplained(self, frame: int, befores: set[int]) -> Iterator[int]:
        """What the requests behind compactions of the recorder leave unexplained."""
        estimate: int | None = None
        for index, message in enumerate(self.messages):
            if index in befores:
                estimate = frame
            if estimate is not None:
                if message.sent:
                    yield max(0, message.sent - estimate)
                estimate += message.tokens


def utf8(text: str) -> int:
    return len(text.encode())


def read(text: str) -> Iterator[Session]:
    """The sessions of a file of foldback's own lines."""
    session: Session | None = None
    for line in text.split("\n"):
        if not line.strip():
            continue
        value = json.loads(line)
        if "foldback" in value:
            if session:
                yield session
            session = Session(value)
        elif session and "message" in value:
            session.messages.append(Message(value["message"]))
        elif session and "unlogged" in value:
            session.unlogged.append(value["unlogged"]["answer"])
        elif session and "cleared" in value:
            session.cleared.append(value["cleared"])
        elif session and "boundary" in value:
            session.boundaries.append(value["boundary"])
        elif session and "warning" in value:
            session.warnings.append(value["warning"])
    if session:
        yield session
