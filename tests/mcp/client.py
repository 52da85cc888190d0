"""A client of the Model Context Protocol, by the official Python SDK, lists the tools of `foldback mcp` and calls each.

    client.py FOLDBACK
"""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

FOLDER = "examples/sessions"
SESSION = f"{FOLDER}/reservations-claude-code.jsonl"

# Tool, arguments, what is in the answer; whether it can't be done.
CALLS = [
    ("inspect", {}, "12 sessions with 640 calls", False),
    ("recall", {"path": SESSION, "query": "test_commit_twice"}, "passages match", False),
    ("explain", {"path": SESSION, "preset": "pi", "window": 60_000}, "under pi", False),
    ("compact", {"path": SESSION, "preset": "pi", "when": "manual"}, "pi.checkpoint: changed", False),
    ("inspect", {"path": "README.md"}, "not among the sessions", True),
]


async def main(foldback: str) -> None:
    server = StdioServerParameters(command=foldback, args=["mcp", FOLDER])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        listed = await session.list_tools()
        names = sorted(tool.name for tool in listed.tools)
        assert names == ["compact", "explain", "inspect", "recall"], names
        # All at once, and then one passage whole.
        results = await asyncio.gather(*(session.call_tool(tool, given) for tool, given, *_ in CALLS))
        for (tool, given, part, fails), result in zip(CALLS, results):
            text = result.content[0].text
            assert part in text, f"{tool} {given}: {text}"
            assert bool(result.is_error) == fails, f"{tool} {given}: {text}"
        found = results[1].content[0].text
        reference = found.splitlines()[1].split()[1]
        passage = await session.call_tool("recall", {"path": SESSION, "reference": reference})
        assert "test_commit_twice" in passage.content[0].text
    print(f"{len(CALLS) + 1} calls of {len(names)} tools: as expected")


asyncio.run(main(sys.argv[1]))
