"""Responses and messages as the objects of the official SDKs."""

import json

import pytest

openai = pytest.importorskip("openai", reason="the quick part of the tests leaves the SDKs out")
anthropic = pytest.importorskip("anthropic", reason="the quick part of the tests leaves the SDKs out")

import foldback
from anthropic.types import Message
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from sessions import LIMITS, listing


def chat(call):
    function = {"name": "read", "arguments": json.dumps({"path": str(call)})}
    used = {"id": f"c{call}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [used]}
    usage = {"prompt_tokens": 100 + 500 * call, "completion_tokens": 20, "total_tokens": 120 + 500 * call}
    choices = [{"index": 0, "finish_reason": "tool_calls", "message": message, "logprobs": None}]
    body = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, "usage": usage}
    return ChatCompletion.model_validate(body), {"role": "tool", "tool_call_id": f"c{call}", "content": listing(call)}


def messages(call):
    thought = {"type": "thinking", "thinking": "Next.", "signature": "c2ln"}
    used = {"type": "tool_use", "id": f"c{call}", "name": "read", "input": {"path": str(call)}}
    body = {
        "id": "r",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "content": [thought, used],
        "usage": {"input_tokens": 100 + 500 * call, "output_tokens": 20},
    }
    result = {"type": "tool_result", "tool_use_id": f"c{call}", "content": listing(call)}
    return Message.model_validate(body), {"role": "user", "content": [result]}


def responses(call):
    arguments = json.dumps({"path": str(call)})
    used = {"type": "function_call", "id": f"f{call}", "call_id": f"c{call}", "name": "read", "arguments": arguments}
    body = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [{"type": "reasoning", "id": f"rs{call}", "summary": [], "encrypted_content": "c2ln"}, used],
        "usage": {
            "input_tokens": 100 + 500 * call,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 120 + 500 * call,
        },
    }
    result = {"type": "function_call_output", "call_id": f"c{call}", "output": listing(call)}
    return Response.model_validate(body), result


@pytest.mark.parametrize("make", [chat, messages, responses])
def test_a_task_of_a_hundred_calls(make):
    conversation = foldback.Conversation("opencode-1.17", **LIMITS)
    conversation.append({"role": "user", "content": "Read all files."})
    sizes = []
    for call in range(100):
        view = conversation.view()
        given = {id(message) for message in conversation.messages}
        assert all(id(message) in given or isinstance(message, dict) for message in view)
        sizes.append(conversation.sizes.sent)
        response, result = make(call)
        conversation.answered(response)
        conversation.append(result)
    assert conversation.sizes.folds > 0 and max(sizes) < 31_000
    assert "opencode" in conversation.explain()
