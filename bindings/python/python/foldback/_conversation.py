"""`compact`, and `Conversation`, which does the same from call to call."""

import json
from typing import Any, List, Optional, Sequence, Union

from . import _shapes
from ._foldback import Engine, Error, Preset

PresetLike = Union[str, Preset]


def compact(
    messages: Sequence[Any],
    preset: PresetLike = "opencode-1.17",
    window: Optional[int] = None,
    *,
    max_output: Optional[int] = None,
    model: Optional[str] = None,
    system: Any = None,
    tools: Optional[Sequence[Any]] = None,
    protocol: Optional[str] = None,
) -> List[Any]:
    """The messages to send in place of `messages`, which are all of a conversation so far.

    The strategy acts as it would have acted at every call of this conversation, so the result for a conversation that
    has grown begins like the one before, and the provider's prompt cache stays warm. Messages that the strategy did not
    touch are the same objects. Others are plain dicts.

    `window` and `max_output` are the limits of the model in tokens; without them they are those of `model` in the built-in
    table, else the preset's, else 200,000 and 32,000. `system` and `tools` are what the request holds besides; without
    them, every threshold acts too late by their size.

    `messages` have the form of OpenAI Chat Completions, OpenAI Responses or Anthropic Messages, as dicts or as objects of
    an SDK. The form is recognised; `protocol` (`openai-chat`, `openai-responses`, `anthropic`) sets it.
    """
    conversation = Conversation(
        preset, window, max_output=max_output, model=model, system=system, tools=tools, protocol=protocol
    )
    return conversation.fold(messages)


class Conversation:
    """A conversation from call to call: each `fold` takes all messages so far and gives those to send."""

    def __init__(
        self,
        preset: PresetLike = "opencode-1.17",
        window: Optional[int] = None,
        *,
        max_output: Optional[int] = None,
        model: Optional[str] = None,
        system: Any = None,
        tools: Optional[Sequence[Any]] = None,
        protocol: Optional[str] = None,
    ) -> None:
        if protocol is not None and protocol not in _shapes.LISTS:
            raise Error(f"no protocol is called {protocol!r}; known are {', '.join(_shapes.LISTS)}")
        self.preset = preset if isinstance(preset, Preset) else Preset(preset)
        self.system = system
        self.tools = tools
        for name, limit in (("window", window), ("max_output", max_output)):
            if limit is not None and (not isinstance(limit, int) or limit < 1):
                raise Error(f"{name} is a number of tokens, not {limit!r}")
        self._limits = (window, max_output, model)
        # What is wrong with the limits is said now, not at the first message.
        self._engine = Engine(self.preset, protocol or "openai-chat", *self._limits)
        self._protocol = protocol

    def fold(self, messages: Sequence[Any]) -> List[Any]:
        """The messages to send in place of `messages`, which are all so far."""
        if isinstance(messages, (str, bytes, dict)):
            raise Error(f"messages are a list of messages, not {type(messages).__name__}")
        messages = list(messages)
        if not messages:
            return []
        if self._protocol is None:
            self._protocol = _shapes.protocol_of(messages, self.system)
            self._engine = Engine(self.preset, self._protocol, *self._limits)
        texts = _shapes.texts(messages, _shapes.LISTS[self._protocol])
        # Chat Completions have the system prompt as a message.
        own = self._protocol == "openai-chat" and self.system is not None
        if own:
            texts.insert(0, _shapes.dump({"role": "system", "content": self.system}, "/system"))
        body = _shapes.body(self._protocol, texts, self._limits[2], self.system, self.tools)
        folded = []
        for number, text in self._engine.fold(body):
            if text is not None:
                folded.append(json.loads(text))
            elif number is not None and not (own and number == 0):
                folded.append(messages[number - own])
        return folded
