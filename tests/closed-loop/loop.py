"""Runs the agent through the proxy until its task is done, and says what that cost.

    python3 tests/closed-loop/loop.py FOLDBACK_BINARY [--preset A,B] [--window N] [--seed N]
        [--agent reads|searches] [--logs FOLDER]

The client is here: it sends the whole conversation each time, runs the tools, and writes a log of
the run as a session that foldback reads.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from agent import Agent
from provider import MILLION, Provider, Request, Server, Terms, compact, regimes
from world import Habits, Task, World, made, planned

REGIME = "anthropic-5m"
MODEL = "claude-sonnet-5-5"
# Nobody compacts at this one.
LARGE = 1_000_000
# Calls to those of the run without compaction, after which a run is stopped.
PATIENCE = 3
# Simulated milliseconds between two messages; the clock of a log begins here.
PACE = 1_500
BEGAN = 1_790_000_000_000

SYSTEM = (
    "You change settings of a service. Look at a file before you change it, name the old text "
    "exactly, and never guess a value.\n"
) + "\n".join(
    f"Rule {n}: what is said in part {n} of the handbook applies here." for n in range(40)
)
NAMES = {
    "read": ["path"],
    "search": ["folder", "text"],
    "edit": ["path", "old_string", "new_string"],
    "test": [],
}
TOOLS = [
    {
        "name": name,
        "description": f"The tool {name}.",
        "input_schema": {
            "type": "object",
            "properties": {key: {"type": "string"} for key in keys},
            "required": keys,
        },
    }
    for name, keys in NAMES.items()
]
HABITS = {
    "reads": Habits(steps=220, moves=0.25),
    "searches": Habits(steps=200, moves=0.5),
}


@dataclass
class Run:
    """One run of an agent under a preset."""

    agent: str
    seed: int
    window: int
    preset: str
    requests: list[Request]
    solved: bool
    looped: bool
    again: int
    edits: int
    refused: list[str]
    # What the proxy said of its requests, and how often.
    outcomes: dict[str, int]
    log: list[dict[str, Any]] = field(default_factory=list, repr=False)

    @property
    def calls(self) -> int:
        return len(self.requests)

    def usd(self, terms: Terms) -> float:
        """The bill by usage. A summary that nobody asked a model for costs nothing."""
        return sum(cost(request, terms) for request in self.requests)

    @property
    def name(self) -> str:
        return f"{self.agent}-{self.seed}-{label(self.preset)}-{self.window}"

    @property
    def largest(self) -> int:
        return max(request.input for request in self.requests)

    @property
    def ended(self) -> str:
        return "solved" if self.solved else "looped" if self.looped else "stopped"


def cost(request: Request, terms: Terms) -> float:
    at = terms.at(request.input)
    plain = request.input - request.read - request.write
    dollars = plain * at.input + request.read * at.read + request.write * at.write
    return (dollars + request.output * at.output) / MILLION


def terms_of(regime: str) -> Terms:
    return next(terms for terms in regimes() if terms.name == regime)


@contextmanager
def proxy(binary: str, preset: str, window: int, upstream: str, *more: str) -> Iterator[str]:
    """The address of a proxy that folds with a preset; without one, `more` says how."""
    command = [binary, "serve", "--listen", "127.0.0.1:0", *more]
    command += ["--preset", preset] if preset else []
    command += ["--upstream", upstream, "--window", str(window)]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            yield address(process, said)
        finally:
            process.terminate()
            process.wait(30)


def address(process: subprocess.Popen[bytes], said: IO[str]) -> str:
    """Where the proxy listens, by what it prints once it does."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        said.seek(0)
        text = said.read()
        if found := re.search(r"http://127\.0\.0\.1:\d+", text):
            return found[0]
        if process.poll() is not None:
            raise RuntimeError(f"the proxy ended: {text}")
        time.sleep(0.02)
    raise RuntimeError("the proxy does not listen")


class Client:
    """The agent's program: a conversation, its tools, and the log of both."""

    def __init__(self, url: str, world: World, task: Task) -> None:
        self.world, self.task = world, task
        address = urlsplit(url)
        self.connection = http.client.HTTPConnection(address.hostname or "", address.port or 0)
        self.messages: list[str] = []
        self.log: list[dict[str, Any]] = []
        self.outcomes: dict[str, int] = {}
        self.folded = False
        self.head = compact({"model": MODEL, "max_tokens": 4_096, "system": SYSTEM, "tools": TOOLS})
        self.headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}

    def drive(self, most_calls: int) -> None:
        """All phases, or until the agent says that it stops."""
        for phase in range(len(self.task.phases)):
            self.user(self.task.asked(phase))
            while True:
                content = self.ask()
                most_calls -= 1
                calls = [block for block in content if block["type"] == "tool_use"]
                if not calls:
                    break
                if most_calls == 0:
                    return
                self.results(calls)
            if "stop here" in content[0]["text"]:
                return

    def user(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        self.messages.append(compact({"role": "user", "content": content}))
        self.note("user", [{"type": "text", "text": text}])

    def results(self, calls: list[dict[str, Any]]) -> None:
        content = []
        for call in calls:
            text = self.world.run(call["name"], call["input"])
            ident = call["id"]
            content.append({"type": "tool_result", "tool_use_id": ident, "content": text})
            self.note(
                "tool", [{"type": "result", "call_id": ident, "tool": call["name"], "text": text}]
            )
        self.messages.append(compact({"role": "user", "content": content}))

    def ask(self) -> list[dict[str, Any]]:
        *before, last = self.messages
        # The newest message ends what is to be cached.
        marked = json.loads(last)
        marked["content"][-1]["cache_control"] = {"type": "ephemeral"}
        body = f'{self.head[:-1]},"messages":[{",".join([*before, compact(marked)])}]}}'
        self.connection.request("POST", "/v1/messages", body.encode(), self.headers)
        response = self.connection.getresponse()
        data = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {data}")
        outcome = (response.headers.get("x-foldback") or "direct").split(";")
        word = ";".join(part for part in outcome[:2] if "=" not in part or "why=" in part)
        self.outcomes[word] = self.outcomes.get(word, 0) + 1
        self.messages.append(compact({"role": "assistant", "content": data["content"]}))
        # The usage of a folded request says nothing of the log. foldback takes what is recorded
        # for the size of what the log has, so it is left out from then on.
        self.folded |= word.startswith(("folded", "recovered"))
        usage = None if self.folded else data["usage"]
        self.note("assistant", [part_of(block) for block in data["content"]], usage)
        return list(data["content"])

    def note(
        self, role: str, parts: list[dict[str, Any]], usage: dict[str, int] | None = None
    ) -> None:
        number = len(self.log)
        message = {"id": f"m{number:05}", "role": role, "parts": parts, "at": BEGAN + number * PACE}
        if role == "assistant":
            message["answer"] = {"model": MODEL}
        if usage is not None:
            counted = {
                "uncached": usage["input_tokens"],
                "cache_read": usage["cache_read_input_tokens"],
                "cache_write": usage["cache_creation_input_tokens"],
                "output": usage["output_tokens"],
            }
            message["answer"]["usage"] = counted
        self.log.append(message)


def part_of(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "text":
        return {"type": "text", "text": block["text"]}
    arguments = compact(block["input"])
    return {"type": "call", "call_id": block["id"], "tool": block["name"], "arguments": arguments}


def run(
    binary: str,
    kind: str,
    seed: int,
    preset: str,
    window: int,
    most_calls: int = 2_000,
    habits: Habits | None = None,
) -> Run:
    """One run. The agent asks its world only what a text is that it must see in the request."""
    by_file = kind == "reads"
    world = made(seed)
    task = planned(world, seed, habits or HABITS[kind], by_file)
    agent = Agent(task, world, searches=not by_file)
    provider = Provider(agent, terms_of(REGIME))
    with Server(provider) as server, proxy(binary, preset, window, server.url) as url:
        client = Client(url, world, task)
        with closing(client.connection):
            client.drive(most_calls)
    return Run(
        agent=kind,
        seed=seed,
        window=window,
        preset=preset,
        requests=provider.requests,
        solved=agent.finished and world.edits == sum(map(len, task.phases)),
        looped=agent.looped,
        again=agent.again,
        edits=world.edits,
        refused=provider.refused,
        outcomes=client.outcomes,
        log=client.log,
    )


def written(run: Run, file: Path) -> None:
    """The log in the lines of docs/formats: what the client saw, nothing of what was folded."""
    header = {
        "foldback": 1,
        "id": run.name,
        "format": "foldback",
        "model": MODEL,
        "limits": {"context": 0, "input": 0, "output": 0},
        "frame": [{"kind": "system", "text": SYSTEM}, {"kind": "tools", "text": compact(TOOLS)}],
    }
    lines = [header, *({"message": message} for message in run.log)]
    file.write_text("".join(compact(line) + "\n" for line in lines), encoding="utf-8")


# Those that are compared by default and the two beside them, then masks and who keeps least.
PRESETS = """claude-code codex gemini-cli indexed indexed-large langchain-summarization
opencode-1.18 openhands openhands-80 pi window tiered brutus tunacode
masking-10 swe-agent-last-5 langchain-context-editing anthropic-clear-tool-uses
keep-last-1""".split()
PRESETS.append(str(Path(__file__).parent / "keep-last-2.toml"))


def label(preset: str) -> str:
    """The name of a preset, or of a file with one, without the summarizer that stands in."""
    return Path(preset).stem if preset.endswith(".toml") else preset.split("+")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--preset", default=",".join(PRESETS), help="presets, with commas")
    parser.add_argument("--window", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--agent", choices=tuple(HABITS), default="reads")
    parser.add_argument("--logs", type=Path, help="a folder for a session of each run")
    args = parser.parse_args()
    terms = terms_of(REGIME)
    print(f"{'preset':28} {'bill':>8} {'calls':>6} {'again':>6} {'largest':>8}  ended")
    most = 2_000
    for preset in ["none", *(name for name in args.preset.split(",") if name != "none")]:
        window = LARGE if preset == "none" else args.window
        made = run(args.binary, args.agent, args.seed, preset, window, most)
        if preset == "none":
            most = PATIENCE * made.calls
        line = f"{label(preset):28} {made.usd(terms):8.3f} {made.calls:6} {made.again:6}"
        print(f"{line} {made.largest:8}  {made.ended}", flush=True)
        if args.logs:
            args.logs.mkdir(parents=True, exist_ok=True)
            written(made, args.logs / f"{made.name}.jsonl")


if __name__ == "__main__":
    main()
