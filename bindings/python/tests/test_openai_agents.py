"""The OpenAI Agents SDK: the filter in a real run with a scripted model."""

import asyncio
import json

import pytest

agents = pytest.importorskip("agents", reason="the quick part of the tests leaves the adapters out")

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel
from foldback.adapters.openai_agents import compaction
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from sessions import LIMITS, listing


@function_tool
def read(path: str) -> str:
    """Reads a file."""
    return listing(path)


def call(number):
    arguments = json.dumps({"path": str(number)})
    return [ResponseFunctionToolCall(type="function_call", name="read", call_id=f"c{number}", arguments=arguments)]


def done():
    text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
    return [ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])]


def test_a_run_in_a_small_window():
    model = ScriptedModel([*(call(number) for number in range(100)), done()])
    agent = Agent(name="reader", instructions="You read.", model=model, tools=[read])
    config = RunConfig(call_model_input_filter=compaction("opencode-1.17", **LIMITS), tracing_disabled=True)
    result = asyncio.run(Runner.run(agent, "Read all files.", run_config=config, max_turns=200))
    assert result.final_output == "Done."
    assert len(result.to_input_list()) == 202, "the items of the run are whole"
    seen = [made.input for made in model.calls]
    assert len(seen) == 101 and max(len(json.dumps(items, default=str)) for items in seen) < 160_000
    assert len(seen[-1]) < 150
