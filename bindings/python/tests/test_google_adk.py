"""Google's ADK: contents in `compact`, and the callback in a real agent with a scripted model."""

import asyncio

import pytest

pytest.importorskip("google.adk", reason="the quick part of the tests leaves the adapters out")

import foldback
from foldback.adapters.google_adk import compaction
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from sessions import LIMITS, listing


def history(calls):
    contents = [types.Content(role="user", parts=[types.Part(text="Read all files.")])]
    for call in range(calls):
        used = types.FunctionCall(id=f"c{call}", name="read", args={"path": str(call)})
        contents.append(types.Content(role="model", parts=[types.Part(function_call=used)]))
        result = types.FunctionResponse(id=f"c{call}", name="read", response={"result": listing(call)})
        contents.append(types.Content(role="user", parts=[types.Part(function_response=result)]))
    return contents


def size(contents):
    return sum(len(content.model_dump_json()) for content in contents)


@pytest.mark.parametrize("preset", ["opencode-1.17", "brutus", "window", "indexed"])
def test_contents_go_in_and_out(preset):
    contents = history(150)
    sent = foldback.compact(contents, preset, **LIMITS)
    assert all(isinstance(content, types.Content) for content in sent)
    given = {id(content) for content in contents}
    assert sent[-1] is contents[-1] and sum(id(content) in given for content in sent) > 1
    assert size(sent) < 0.7 * size(contents)
    plain = [content.model_dump(mode="json", exclude_none=True, by_alias=True) for content in contents]
    assert len(foldback.compact(plain, preset, **LIMITS)) == len(sent), "as dicts they are the same"


def test_the_tool_is_a_function_declaration():
    assert types.FunctionDeclaration.model_validate(foldback.Conversation(protocol="gemini").recall_tool).name == "recall"


class Scripted(BaseLlm):
    """Calls its tool so many times."""

    calls: int
    seen: list = []

    async def generate_content_async(self, llm_request, stream=False):
        self.seen.append(list(llm_request.contents))
        done = len(self.seen) - 1
        part = types.Part(text="Done.")
        if done < self.calls:
            part = types.Part(function_call=types.FunctionCall(name="read", args={"path": str(done)}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def read(path: str) -> str:
    """Reads a file."""
    return listing(path)


def test_an_agent_runs_in_a_small_window():
    model = Scripted(model="scripted", calls=100, seen=[])
    agent = LlmAgent(
        name="reader",
        model=model,
        instruction="You read.",
        tools=[read],
        before_model_callback=compaction("opencode-1.17", **LIMITS),
    )

    async def run():
        runner = InMemoryRunner(agent=agent, app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        asked = types.Content(role="user", parts=[types.Part(text="Read all files.")])
        events = [event async for event in runner.run_async(user_id="u", session_id=session.id, new_message=asked)]
        kept = await runner.session_service.get_session(app_name="app", user_id="u", session_id=session.id)
        return events, kept

    events, kept = asyncio.run(run())
    assert events[-1].content.parts[0].text == "Done."
    assert len(kept.events) == 202, "the session is whole"
    assert len(model.seen) == 101 and max(size(contents) for contents in model.seen) < 200_000
    assert len(model.seen[-1]) < 150
