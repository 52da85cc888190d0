"""Messages as LangChain holds them."""

import json

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage


def arguments(text):
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def message(told, number):
    """A message, with its number as its id."""
    kind, text = told["role"], told["text"]
    if told["images"]:
        text = [{"type": "text", "text": text}] if text else []
        text += [{"type": "image_url", "image_url": {"url": "https://image"}}] * told["images"]
    if kind == "assistant":
        calls = [
            {"name": call["name"], "args": arguments(call["args"]), "id": call["id"], "type": "tool_call"}
            for call in told.get("calls", [])
        ]
        return AIMessage(text, tool_calls=calls, id=str(number))
    if kind == "tool":
        result = told["result"]
        return ToolMessage(text, tool_call_id=result["id"], name=result["name"] or None, id=str(number))
    return {"user": HumanMessage, "system": SystemMessage}[kind](text, id=str(number))


def said(message):
    """The text of a message, whatever else it holds."""
    if isinstance(message.content, str):
        return message.content
    return "".join(block["text"] for block in message.content if block["type"] == "text")
