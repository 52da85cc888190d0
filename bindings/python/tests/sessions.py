"""Conversations in every shape, made of calls of one tool."""

import pytest

WINDOW = 30_000
LIMITS = dict(window=WINDOW, max_output=4_000)


def listing(call):
    return "".join(f"fn of_{call}_{line}() -> u32 {{ {line} }}\n" for line in range(60))


def chat(calls):
    messages = [{"role": "system", "content": "You read."}, {"role": "user", "content": "Read all files."}]
    for call in range(calls):
        used = {"id": f"c{call}", "type": "function", "function": {"name": "read", "arguments": f'{{"path": "{call}"}}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [used]})
        messages.append({"role": "tool", "tool_call_id": f"c{call}", "content": listing(call)})
    return messages


def anthropic(calls):
    messages = [{"role": "user", "content": "Read all files."}]
    for call in range(calls):
        used = {"type": "tool_use", "id": f"c{call}", "name": "read", "input": {"path": str(call)}}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "Next."}, used]})
        result = {"type": "tool_result", "tool_use_id": f"c{call}", "content": listing(call)}
        messages.append({"role": "user", "content": [result]})
    return messages


def responses(calls):
    items = [{"role": "user", "content": "Read all files."}]
    for call in range(calls):
        items.append({"type": "function_call", "call_id": f"c{call}", "name": "read", "arguments": f'{{"path": "{call}"}}'})
        items.append({"type": "function_call_output", "call_id": f"c{call}", "output": listing(call)})
    return items


SHAPES = {"openai-chat": chat, "anthropic": anthropic, "openai-responses": responses}


def shapes(test):
    return pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES.keys())(test)
