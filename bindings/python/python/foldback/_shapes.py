"""The shapes of messages: which protocol a list is of, and its JSON text as the engine reads it."""

import json
from typing import Any, Dict, Iterator, List, Optional, Sequence

from ._foldback import Error

#: The list of messages in the body of a request, by protocol.
LISTS = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages"}

#: What only one protocol has: types of items, and types of the blocks of a message.
_ITEMS = ("function_call", "function_call_output", "reasoning", "message", "item_reference", "compaction")
_RESPONSES = ("input_text", "output_text", "input_image", "input_file")
_ANTHROPIC = ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use")
_CHAT = ("image_url", "input_audio", "file", "refusal")


def error(path: str, detail: str) -> Error:
    """An error about a message."""
    raised = Error(f"{path}: {detail}")
    raised.path = path
    return raised


def protocol_of(messages: Sequence[Any], system: Any = None) -> Optional[str]:
    """The protocol that messages are of; `None` where they could be of any, as plain texts are."""
    for message in messages:
        role, kind = _get(message, "role"), _get(message, "type")
        if role is None and kind is not None or kind in _ITEMS:
            return "openai-responses"
        if role in ("tool", "function", "system", "developer"):
            return "openai-chat" if _has_blocks(message, _RESPONSES) is None else "openai-responses"
        if _get(message, "tool_calls"):
            return "openai-chat"
        for kinds, protocol in ((_RESPONSES, "openai-responses"), (_ANTHROPIC, "anthropic"), (_CHAT, "openai-chat")):
            if _has_blocks(message, kinds):
                return protocol
    return "anthropic" if isinstance(system, (list, tuple)) else None


def protocol_of_response(response: Any) -> str:
    """The protocol that a response of a provider is of."""
    for name, protocol in (("choices", "openai-chat"), ("output", "openai-responses"), ("content", "anthropic")):
        if _get(response, name) is not None:
            return protocol
    raise error("", "is no response of a known protocol")


def answer_in(response: Any, protocol: str) -> List[Any]:
    """The messages that a response adds to the conversation."""
    if protocol == "anthropic":
        return [{"role": "assistant", "content": _get(response, "content")}]
    if protocol == "openai-responses":
        return list(_get(response, "output") or [])
    choices = _get(response, "choices")
    if not choices:
        raise error("/choices", "nothing is there")
    return [_get(choices[0], "message")]


def texts(messages: Sequence[Any], list_name: str) -> List[str]:
    """The JSON text of each message."""
    return [dump(message, f"/{list_name}/{index}") for index, message in enumerate(messages)]


def body(protocol: str, messages: Sequence[str], model: Optional[str], system: Any, tools: Any) -> str:
    """The body of a request, from the JSON text of its messages."""
    members: Dict[str, str] = {}
    if model is not None:
        members["model"] = dump(model, "/model")
    if system is not None and protocol != "openai-chat":
        name = "instructions" if protocol == "openai-responses" else "system"
        members[name] = dump(system, f"/{name}")
    if tools:
        members["tools"] = dump(list(tools), "/tools")
    members[LISTS[protocol]] = "[" + ",".join(messages) + "]"
    return "{" + ",".join(f'"{name}":{text}' for name, text in members.items()) + "}"


def dump(value: Any, path: str) -> str:
    """JSON text. Objects of SDKs are what they say of themselves."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError, RecursionError) as wrong:
        raise error(path, f"is no JSON: {wrong}") from wrong
    return text


def _plain(value: Any) -> Any:
    model_dump = getattr(value, "model_dump", None)
    if callable(model_dump):
        return model_dump(mode="json", exclude_unset=True)
    raise TypeError(f"{type(value).__name__} is neither JSON nor an object with `model_dump`")


def _get(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)


def _blocks(message: Any) -> Iterator[Any]:
    content = _get(message, "content")
    return iter(content) if isinstance(content, (list, tuple)) else iter(())


def _has_blocks(message: Any, kinds: Sequence[str]) -> Optional[bool]:
    return any(_get(block, "type") in kinds for block in _blocks(message)) or None
