"""The forms of messages: which one a list is of, its JSON text as the engine reads it, and objects of what comes back."""

import base64
import json
from typing import Any, Dict, Iterator, List, Optional, Sequence

from ._foldback import Error
from ._read import Read


class Form:
    """Messages as dicts, or as objects of a provider's SDK, which say themselves what JSON they are."""

    def __init__(self, protocol: str, list_name: str = "messages") -> None:
        #: What the engine reads.
        self.protocol = protocol
        #: The list of messages in the body of a request.
        self.list_name = list_name

    def text(self, message: Any, path: str) -> str:
        """The JSON text of a message."""
        return dump(message, path)

    def load(self, text: str, original: Any) -> Any:
        """A message that is new, or was changed from `original`."""
        return json.loads(text)

    def response(self, message: Any) -> Optional[Dict[str, Any]]:
        """What the provider said of an answer, in the form of its response, where the message knows."""
        return None


class PydanticAi(Form):
    """Messages of pydantic-ai."""

    def __init__(self) -> None:
        super().__init__("pydantic-ai")

    def text(self, message: Any, path: str) -> str:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        try:
            dumped: str = ModelMessagesTypeAdapter.dump_json([message], warnings="error")[1:-1].decode()
        except ValueError as wrong:
            raise error(path, f"is no message of pydantic-ai: {wrong}") from wrong
        return dumped

    def load(self, text: str, original: Any) -> Any:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        return ModelMessagesTypeAdapter.validate_json(f"[{text}]")[0]


class LangChain(Form):
    """Messages of LangChain, which the engine reads as Chat Completions."""

    def __init__(self) -> None:
        super().__init__("openai-chat")

    def text(self, message: Any, path: str) -> str:
        from langchain_core.messages import convert_to_openai_messages

        try:
            plain = convert_to_openai_messages(message)
        except (TypeError, ValueError) as wrong:
            raise error(path, f"is no message of LangChain: {wrong}") from wrong
        return dump(plain, path)

    def load(self, text: str, original: Any) -> Any:
        from langchain_core.messages import convert_to_messages

        made = convert_to_messages([json.loads(text)])[0]
        if original is None:
            return made
        changed: Dict[str, Any] = {"content": made.content}
        if getattr(original, "tool_calls", None):
            changed["tool_calls"] = getattr(made, "tool_calls", [])
        return original.model_copy(update=changed)

    def response(self, message: Any) -> Optional[Dict[str, Any]]:
        usage = getattr(message, "usage_metadata", None)
        if not usage:
            return None
        cached = (usage.get("input_token_details") or {}).get("cache_read") or 0
        counts = {
            "prompt_tokens": usage["input_tokens"],
            "completion_tokens": usage["output_tokens"],
            "total_tokens": usage["total_tokens"],
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        return {"choices": [{"message": {"role": "assistant", "content": ""}}], "usage": counts}


class GoogleGenAi(Form):
    """Contents of the Google Gen AI SDK."""

    def __init__(self) -> None:
        super().__init__("gemini", "contents")

    def text(self, message: Any, path: str) -> str:
        try:
            dumped: str = message.model_dump_json(exclude_none=True, by_alias=True)
        except (AttributeError, ValueError) as wrong:
            raise error(path, f"is no content of the Google Gen AI SDK: {wrong}") from wrong
        return dumped

    def load(self, text: str, original: Any) -> Any:
        from google.genai.types import Content

        return Content.model_validate_json(text)


class Bedrock(Form):
    """Messages of Bedrock's Converse, which Strands has too. The engine reads them as Anthropic's: both keep the results of
    several calls in one message."""

    def __init__(self) -> None:
        super().__init__("anthropic")

    def text(self, message: Any, path: str) -> str:
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise error(path, "is no message of Bedrock")
        blocks = [_from_bedrock(block) for block in message["content"]]
        return dump({"role": message.get("role"), "content": blocks}, path)

    def load(self, text: str, original: Any) -> Any:
        made = json.loads(text)
        content = made["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if original is None:
            return {"role": made["role"], "content": [_to_bedrock(block) for block in blocks]}
        before = [(block, _from_bedrock(block)) for block in original["content"]]
        parts = []
        for block in blocks:
            same = [index for index, (_, read) in enumerate(before) if read == block]
            alike = [index for index, (_, read) in enumerate(before) if _name(read) == _name(block)]
            if not same and not alike:
                parts.append(_to_bedrock(block))
                continue
            # What is in front of it was removed.
            part = before[(same or alike)[0]][0]
            before = before[(same or alike)[0] + 1 :]
            parts.append(part if same else _edited(part, block))
        return {**original, "content": parts}

    def response(self, message: Any) -> Optional[Dict[str, Any]]:
        if not isinstance(message, dict):
            return None
        usage = (message.get("metadata") or {}).get("usage")
        if not usage:
            return None
        read, written = usage.get("cacheReadInputTokens") or 0, usage.get("cacheWriteInputTokens") or 0
        given, answered = usage["inputTokens"], usage["outputTokens"]
        # Some of Strands' providers report what was cached within the input. The total says which.
        within = given + answered == usage["totalTokens"]
        counts = {
            "input_tokens": max(given - read - written, 0) if within else given,
            "output_tokens": answered,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
        }
        return {"role": "assistant", "content": [], "usage": counts}


def _name(block: Dict[str, Any]) -> Any:
    """What identifies a block; of those without an identifier, an edit is known by its place."""
    return block["type"], block.get("id"), block.get("tool_use_id")


def _from_bedrock(block: Dict[str, Any]) -> Dict[str, Any]:
    """A block of Anthropic. What it has no word for goes through under its own name, and is never edited."""
    (kind, value), *_ = block.items()
    if kind == "text":
        return {"type": "text", "text": value}
    if kind == "toolUse":
        return {"type": "tool_use", "id": value["toolUseId"], "name": value["name"], "input": value["input"]}
    if kind == "toolResult":
        read = [{"type": "text", "text": json.dumps(part["json"])} if "json" in part else _from_bedrock(part) for part in value["content"]]
        result = {"type": "tool_result", "tool_use_id": value["toolUseId"], "content": read}
        return {**result, "is_error": True} if value.get("status") == "error" else result
    if kind == "reasoningContent" and "reasoningText" in value:
        text = value["reasoningText"]
        return {"type": "thinking", "thinking": text["text"], "signature": text.get("signature", "")}
    if kind in ("image", "document") and "bytes" in value.get("source", {}):
        mime = f"{'image' if kind == 'image' else 'application'}/{value['format']}"
        data = base64.b64encode(value["source"]["bytes"]).decode()
        return {"type": kind, "source": {"type": "base64", "media_type": mime, "data": data}}
    return {"type": kind, "value": json.dumps(value, default=str)}


def _texts(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content if part["type"] == "text")


def _to_bedrock(block: Dict[str, Any]) -> Dict[str, Any]:
    """A block that is new."""
    if block["type"] == "tool_use":
        return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
    if block["type"] == "tool_result":
        status = "error" if block.get("is_error") else "success"
        content = [{"text": _texts(block.get("content", ""))}]
        return {"toolResult": {"toolUseId": block["tool_use_id"], "content": content, "status": status}}
    if block["type"] == "thinking":
        return {"reasoningContent": {"reasoningText": {"text": block["thinking"], "signature": block["signature"]}}}
    return {"text": _texts([block])}


def _edited(part: Dict[str, Any], block: Dict[str, Any]) -> Dict[str, Any]:
    """A block that was edited: everything else of it stays, and the files of a result whose text was cut."""
    made = _to_bedrock(block)
    if "toolResult" not in made:
        return made
    result, content = part["toolResult"], made["toolResult"]["content"]
    if isinstance(block.get("content"), list):
        content = content + [one for one in result["content"] if not {"text", "json"} & set(one)]
    return {**part, "toolResult": {**result, "content": content}}


FORMS: Dict[str, Form] = {
    "openai-chat": Form("openai-chat"),
    "openai-responses": Form("openai-responses", "input"),
    "anthropic": Form("anthropic"),
    "gemini": Form("gemini", "contents"),
    "pydantic-ai": PydanticAi(),
    "langchain": LangChain(),
    "google-genai": GoogleGenAi(),
    "bedrock": Bedrock(),
}

#: The packages whose messages are recognized by their class.
_PACKAGES = {"pydantic_ai.": "pydantic-ai", "langchain_core.": "langchain", "google.genai.": "google-genai"}

#: What only one protocol has: types of items, and types of the blocks of a message.
_ITEMS = ("function_call", "function_call_output", "reasoning", "message", "item_reference", "compaction")
_RESPONSES = ("input_text", "output_text", "input_image", "input_file")
_ANTHROPIC = ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use")
_CHAT = ("image_url", "input_audio", "file", "refusal")


#: What a message of one provider has and no other provider's. The engine would keep it as something unknown.
_OWN_BLOCKS = {
    "tool_use": "anthropic",
    "tool_result": "anthropic",
    "server_tool_use": "anthropic",
    "input_text": "openai-responses",
    "output_text": "openai-responses",
    "image_url": "openai-chat",
}
_OWN_ITEMS = ("function_call", "function_call_output")


def error(path: str, detail: str) -> Error:
    """An error about a message."""
    raised = Error(f"{path}: {detail}")
    raised.path = path
    return raised


def check(message: Any, path: str, protocol: str) -> None:
    """Refuses a message that is of another provider than the argument `protocol` says."""
    found = _provider_of(message)
    if found is not None and type(FORMS[protocol]) is Form and found != protocol:
        raise error(path, f"is a message of {found}, and the argument protocol is {protocol!r}; leave it out, and the form is recognized")


def _provider_of(message: Any) -> Optional[str]:
    """The only provider that a message can be of."""
    if isinstance(_get(message, "parts"), list):
        return "gemini"
    if _get(message, "tool_calls") or _get(message, "role") == "tool":
        return "openai-chat"
    if _get(message, "type") in _OWN_ITEMS:
        return "openai-responses"
    kinds = (_get(block, "type") for block in _blocks(message))
    return next((_OWN_BLOCKS[kind] for kind in kinds if isinstance(kind, str) and kind in _OWN_BLOCKS), None)


def protocol_of(messages: Sequence[Any], system: Any = None) -> Optional[str]:
    """The protocol that messages are of; `None` where they could be of any, as plain texts are."""
    for message in messages:
        for base in type(message).__mro__:
            for package, form in _PACKAGES.items():
                if base.__module__.startswith(package):
                    return form
        role, kind = _get(message, "role"), _get(message, "type")
        if isinstance(_get(message, "parts"), list):
            return "gemini"
        if role is None and kind is not None or kind in _ITEMS:
            return "openai-responses"
        if role in ("tool", "function", "system", "developer"):
            return "openai-chat" if _has_blocks(message, _RESPONSES) is None else "openai-responses"
        if _get(message, "tool_calls"):
            return "openai-chat"
        if any(isinstance(block, dict) and "type" not in block for block in _blocks(message)):
            return "bedrock"
        for kinds, protocol in ((_RESPONSES, "openai-responses"), (_ANTHROPIC, "anthropic"), (_CHAT, "openai-chat")):
            if _has_blocks(message, kinds):
                return protocol
    return "anthropic" if isinstance(system, (list, tuple)) else None


def protocol_of_response(response: Any) -> str:
    """The protocol that a response of a provider is of."""
    for name, protocol in (("choices", "openai-chat"), ("output", "openai-responses"), ("content", "anthropic"), ("candidates", "gemini")):
        if _get(response, name) is not None:
            return protocol
    raise Error("the response is of no known protocol")


def answer_in(response: Any, protocol: str) -> List[Any]:
    """The messages that a response adds to the conversation."""
    if protocol == "anthropic":
        return [{"role": "assistant", "content": _get(response, "content")}]
    if protocol == "openai-responses":
        return list(_get(response, "output") or [])
    name, answer = ("candidates", "content") if protocol == "gemini" else ("choices", "message")
    choices = _get(response, name)
    if not choices:
        raise error(f"/{name}", "nothing is there")
    return [_get(choices[0], answer)]


def body(form: Form, messages: Sequence[str], model: Optional[str], system: Any, tools: Any, read: Read) -> str:
    """The body of a request, from the JSON text of its messages. `read` knows what was read before."""
    protocol = form.protocol
    members: Dict[str, str] = {}
    if model is not None:
        members["model"] = dump(model, "/model")
    if system is not None and protocol != "openai-chat":
        name = {"openai-responses": "instructions", "gemini": "systemInstruction"}.get(protocol, "system")
        members[name] = read.of(f"/{name}", system, dump)
    if tools:
        members["tools"] = read.of("/tools", list(tools), dump)
    members[form.list_name] = "[" + ",".join(messages) + "]"
    return "{" + ",".join(f'"{name}":{text}' for name, text in members.items()) + "}"


def dump(value: Any, path: str) -> str:
    """JSON text. Objects of SDKs are what they say of themselves."""
    try:
        text = _ENCODER.encode(value)
        text.encode()
    except (TypeError, ValueError, RecursionError) as wrong:
        raise error(path, f"is no JSON: {wrong}") from wrong
    return text


def _plain(value: Any) -> Any:
    model_dump = getattr(value, "model_dump", None)
    if callable(model_dump):
        return model_dump(mode="json", exclude_unset=True)
    raise TypeError(f"{type(value).__name__} is neither JSON nor an object with `model_dump`")


#: Made once: `json.dumps` makes one for every message.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain, separators=(",", ":"))


def _get(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)


def _blocks(message: Any) -> Iterator[Any]:
    content = _get(message, "content")
    return iter(content) if isinstance(content, (list, tuple)) else iter(())


def _has_blocks(message: Any, kinds: Sequence[str]) -> Optional[bool]:
    return any(_get(block, "type") in kinds for block in _blocks(message)) or None
