"""LangChain: its messages in `compact`, and the middleware in a real agent with a fake model."""

import asyncio

import pytest

langchain = pytest.importorskip("langchain", reason="the quick part of the tests leaves the adapters out")

import foldback
from foldback.adapters.langchain import Compaction
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from sessions import LIMITS, listing


def history(calls):
    messages = [SystemMessage("You read."), HumanMessage("Read all files.")]
    for call in range(calls):
        used = {"name": "read", "args": {"path": str(call)}, "id": f"c{call}", "type": "tool_call"}
        messages.append(AIMessage("", tool_calls=[used], id=f"a{call}"))
        messages.append(ToolMessage(listing(call), tool_call_id=f"c{call}", name="read", id=f"t{call}"))
    return messages


def size(messages):
    return sum(len(message.text) for message in messages)


@pytest.mark.parametrize("preset", ["opencode-1.17", "brutus", "window", "indexed"])
def test_messages_go_in_and_out(preset):
    messages = history(150)
    sent = foldback.compact(messages, preset, **LIMITS)
    assert all(isinstance(message, BaseMessage) for message in sent)
    given = {id(message) for message in messages}
    assert sent[0] is messages[0] and sent[-1] is messages[-1]
    assert sum(id(message) in given for message in sent) > 2
    assert size(sent) < 0.7 * size(messages)
    calls = [call["id"] for message in sent if isinstance(message, AIMessage) for call in message.tool_calls]
    assert calls == [message.tool_call_id for message in sent if isinstance(message, ToolMessage)]


def test_a_changed_message_keeps_all_else():
    preset = foldback.Preset("brutus")
    messages = history(150)
    sent = foldback.compact(messages, preset, **LIMITS)
    by_id = {message.id: message for message in messages if message.id}
    changed = [message for message in sent if message.id in by_id and message is not by_id[message.id]]
    for message in changed:
        assert message.model_copy(update={"content": by_id[message.id].content}) == by_id[message.id]


class Scripted(BaseChatModel):
    """Calls its tool so many times."""

    calls: int
    seen: list = []
    usage: bool = False

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        self.seen.append(list(messages))
        done = len(self.seen) - 1
        used = [{"name": "read", "args": {"path": str(done)}, "id": f"c{done}", "type": "tool_call"}]
        answer = AIMessage("Done.") if done == self.calls else AIMessage("", tool_calls=used)
        if self.usage:
            answer.usage_metadata = {"input_tokens": 29_000, "output_tokens": 5, "total_tokens": 29_005}
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def read(path: str) -> str:
    """Reads a file."""
    return listing(path)


def agent_of(model):
    compaction = Compaction("opencode-1.17", **LIMITS)
    return create_agent(model, [read], system_prompt="You read.", middleware=[compaction])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_agent_runs_in_a_small_window(asynchronous):
    model = Scripted(calls=100, seen=[])
    agent, asked = agent_of(model), {"messages": [HumanMessage("Read all files.")]}
    options = {"recursion_limit": 1_000}
    state = asyncio.run(agent.ainvoke(asked, options)) if asynchronous else agent.invoke(asked, options)
    assert state["messages"][-1].text == "Done."
    assert len(state["messages"]) == 202, "the state is whole"
    assert max(size(messages) for messages in model.seen) < 160_000
    assert len(model.seen[-1]) < 150
    assert all(messages[0].text == "You read." for messages in model.seen)


def test_reported_usage_decides():
    model = Scripted(calls=6, seen=[], usage=True)
    agent_of(model).invoke({"messages": [HumanMessage("Read all files.")]})
    assert any("Read all files." not in str(messages[1].content) for messages in model.seen)
