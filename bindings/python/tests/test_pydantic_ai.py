"""pydantic-ai: its messages in `compact`, and the capability in a real agent with a scripted model."""

import asyncio

import pytest

pydantic_ai = pytest.importorskip("pydantic_ai", reason="the quick part of the tests leaves the adapters out")

import foldback
from foldback.adapters.pydantic_ai import Compaction
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import UsageLimits
from sessions import LIMITS, listing


def history(calls):
    messages = [ModelRequest(parts=[UserPromptPart("Read all files.")])]
    for call in range(calls):
        messages.append(ModelResponse(parts=[ToolCallPart("read", {"path": str(call)}, tool_call_id=f"c{call}")]))
        result = ToolReturnPart("read", listing(call), tool_call_id=f"c{call}")
        messages.append(ModelRequest(parts=[result]))
    return messages


def text_of(messages):
    return str([part for message in messages for part in message.parts])


@pytest.mark.parametrize("preset", ["opencode-1.17", "brutus", "window", "indexed"])
def test_messages_go_in_and_out(preset):
    messages = history(150)
    sent = foldback.compact(messages, preset, **LIMITS)
    assert all(isinstance(message, (ModelRequest, ModelResponse)) for message in sent)
    given = {id(message) for message in messages}
    assert sent[-1] is messages[-1] and sum(id(message) in given for message in sent) > 1
    assert len(text_of(sent)) < 0.7 * len(text_of(messages))
    calls = [part.tool_call_id for message in sent for part in message.parts if isinstance(part, ToolCallPart)]
    results = [part.tool_call_id for message in sent for part in message.parts if isinstance(part, ToolReturnPart)]
    assert calls == results
    short = foldback.compact(messages[:7], preset, **LIMITS)
    assert preset == "window" or all(one is other for one, other in zip(short, messages, strict=False))


def test_bad_messages_are_named():
    with pytest.raises(foldback.Error) as raised:
        foldback.compact([*history(1), {"role": "user"}], **LIMITS)
    assert raised.value.path == "/messages/3"


def run(calls, capability, deps=None):
    seen = []

    def model(messages, info):
        seen.append(list(messages))
        done = len(seen) - 1
        if done < calls:
            return ModelResponse(parts=[ToolCallPart("read", {"path": str(done)}, tool_call_id=f"c{done}")])
        return ModelResponse(parts=[TextPart("Done.")])

    agent = Agent(FunctionModel(model), capabilities=[capability], instructions="You read.")

    @agent.tool_plain
    def read(path: str) -> str:
        """Reads a file."""
        return listing(path)

    return seen, agent.run("Read all files.", usage_limits=UsageLimits(request_limit=None))


def test_an_agent_runs_in_a_small_window():
    seen, running = run(100, Compaction("opencode-1.17", **LIMITS))
    result = asyncio.run(running)
    assert result.output == "Done."
    # The window is 30,000 tokens; about four characters are one.
    assert max(len(text_of(messages)) for messages in seen) < 160_000
    assert len(result.all_messages()) == 202, "the history is whole"
    assert len(seen[-1]) < 150
    folds = sum(now[0] != before[0] for before, now in zip(seen, seen[1:], strict=False))
    assert 0 < folds < 10, "the beginning stays between folds"


def test_runs_at_once_keep_apart():
    capability = Compaction("opencode-1.17", **LIMITS)

    async def both():
        runs = [run(60, capability), run(80, capability)]
        await asyncio.gather(*(running for _, running in runs))
        return [seen for seen, _ in runs]

    alone = run(80, Compaction("opencode-1.17", **LIMITS))
    asyncio.run(alone[1])
    together = asyncio.run(both())
    assert [len(messages) for messages in together[1]] == [len(messages) for messages in alone[0]]
