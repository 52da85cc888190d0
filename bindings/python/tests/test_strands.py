"""Strands Agents: messages in `compact`, and the conversation manager in a real agent with a scripted model."""

import copy
import json

import pytest

strands = pytest.importorskip("strands", reason="the quick part of the tests leaves the adapters out")

import foldback
from foldback.adapters.strands import Compaction
from sessions import LIMITS, anthropic, listing
from strands import Agent, tool
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException


def history(calls):
    messages = [{"role": "user", "content": [{"text": "Read all files."}]}]
    for call in range(calls):
        used = {"toolUseId": f"c{call}", "name": "read", "input": {"path": str(call)}}
        messages.append({"role": "assistant", "content": [{"text": "Next."}, {"toolUse": used}]})
        result = {"toolUseId": f"c{call}", "content": [{"text": listing(call)}], "status": "success"}
        messages.append({"role": "user", "content": [{"toolResult": result}]})
    return messages


def plain(messages):
    """As messages of Anthropic whose contents are texts."""
    dumped = []
    for message in messages:
        (first, *_), blocks = message["content"], []
        for block in message["content"]:
            if "toolUse" in block:
                used = block["toolUse"]
                blocks.append({"type": "tool_use", "id": used["toolUseId"], "name": used["name"], "input": used["input"]})
            elif "toolResult" in block:
                result = block["toolResult"]
                blocks.append({"type": "tool_result", "tool_use_id": result["toolUseId"], "content": result["content"][0]["text"]})
            else:
                blocks.append({"type": "text", "text": block["text"]})
        alone = message["role"] == "user" and "text" in first
        dumped.append({"role": message["role"], "content": first["text"] if alone else blocks})
    return dumped


@pytest.mark.parametrize("preset", [preset.name for preset in foldback.presets()])
def test_they_are_folded_as_those_of_anthropic(preset):
    messages, limits = history(300), dict(window=60_000, max_output=4_000)
    sent = foldback.compact(messages, preset, **limits)
    assert plain(sent) == foldback.compact(anthropic(300), preset, **limits)
    given = {id(message) for message in messages}
    assert sent[-1] is messages[-1] and sum(id(message) in given for message in sent) > 1


PARTS = [
    {"role": "user", "content": [{"text": "Look."}, {"image": {"format": "png", "source": {"bytes": b"a"}}}, {"cachePoint": {"type": "default"}}]},
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
            {"reasoningContent": {"redactedContent": b"r"}},
            {"toolUse": {"toolUseId": "a", "name": "read", "input": {}}},
            {"toolUse": {"toolUseId": "b", "name": "read", "input": {}}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "a", "content": [{"text": listing(1)}, {"image": {"format": "png", "source": {"bytes": b"a"}}}], "status": "success"}},
            {"toolResult": {"toolUseId": "b", "content": [{"json": {"code": 7}}], "status": "error"}},
            {"guardContent": {"text": {"text": "a"}}},
        ],
    },
]


def test_every_block_goes_in_and_what_is_not_touched_stays_the_same_object():
    assert [message is given for message, given in zip(foldback.compact(PARTS, **LIMITS), PARTS)] == [True] * 3
    messages = [*PARTS, *history(150)[1:]]
    sent = foldback.compact(messages, "masking-10", **LIMITS)
    assert sent[0] is PARTS[0] and sent[1] is PARTS[1] and sent[2] is not PARTS[2]
    cleared, _, guarded = sent[2]["content"]
    assert cleared["toolResult"]["toolUseId"] == "a" and cleared != PARTS[2]["content"][0]
    assert guarded is PARTS[2]["content"][2]


def test_what_is_no_message_has_its_place():
    with pytest.raises(foldback.Error) as raised:
        foldback.compact([PARTS[0], {"role": "user", "content": "text"}], protocol="bedrock")
    assert raised.value.path == "/messages/1"


class Scripted(Model):
    """Calls its tool so many times; refuses the request with the number `refuses` for its size."""

    def __init__(self, calls, refuses=None, used=None):
        self.calls, self.refuses, self.used, self.seen, self.done = calls, refuses, used, [], 0

    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    def structured_output(self, *given, **options):
        raise NotImplementedError

    async def stream(self, messages, *given, **options):
        self.seen.append(copy.deepcopy(messages))
        if len(self.seen) - 1 == self.refuses:
            raise ContextWindowOverflowException("too long")
        done, self.done = self.done, self.done + 1
        yield {"messageStart": {"role": "assistant"}}
        if done < self.calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "read", "toolUseId": f"c{done}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"path": str(done)})}}}}
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "Done."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if done < self.calls else "end_turn"}}
        if self.used:
            usage = {"inputTokens": self.used, "outputTokens": 10, "totalTokens": self.used + 10}
            yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


@tool
def read(path: str) -> str:
    """Reads a file."""
    return listing(path)


def run(model):
    manager = Compaction("opencode-1.17", **LIMITS)
    agent = Agent(model, tools=[read], system_prompt="You read.", conversation_manager=manager, callback_handler=None)
    return str(agent("Read all files.")).strip(), agent


def test_an_agent_runs_in_a_small_window():
    model = Scripted(100)
    text, agent = run(model)
    assert text == "Done." and len(agent.messages) == 202, "the messages of the agent are whole"
    assert len(model.seen) == 101 and max(len(json.dumps(messages)) for messages in model.seen) < 160_000
    assert len(model.seen[-1]) < 150


def test_a_refused_request_is_folded_once_more():
    model = Scripted(20, refuses=15)
    text, agent = run(model)
    assert text == "Done." and len(agent.messages) == 42
    refused, sent = model.seen[15], model.seen[16]
    assert len(json.dumps(sent)) < len(json.dumps(refused))


def test_nothing_left_to_fold_is_the_providers_error():
    with pytest.raises(ContextWindowOverflowException):
        run(Scripted(1, refuses=0))


def test_reported_usage_decides():
    told, estimated = Scripted(20, used=29_000), Scripted(20)
    for model in (told, estimated):
        run(model)
    assert len(json.dumps(told.seen[-1])) < len(json.dumps(estimated.seen[-1]))
