"""`compact`, and `Conversation`, which does the same from call to call."""

import json
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _arguments, _shapes
from ._foldback import Engine, Error, Preset
from ._read import Once, Read

PresetLike = Union[str, Preset]


class Sizes(NamedTuple):
    """Tokens of a request by the strategy's own estimator."""

    #: As it would be without any fold.
    received: int
    #: As it is.
    sent: int
    #: Folds in force.
    folds: int


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

    `messages` have the form of OpenAI Chat Completions, OpenAI Responses, Anthropic Messages or Gemini, as dicts or as
    objects of an SDK, or are messages of pydantic-ai, LangChain or Strands. The form is recognized; `protocol` (`openai-chat`,
    `openai-responses`, `anthropic`, `gemini`, `google-genai`, `pydantic-ai`, `langchain`, `bedrock`) sets it.
    """
    conversation = Conversation(
        preset, window, max_output=max_output, model=model, system=system, tools=tools, protocol=protocol
    )
    conversation._read = Once()
    return conversation.fold(messages)


class Conversation:
    """A conversation from call to call.

    With a list of messages of your own, `fold(messages)` gives those to send. Without one, the conversation keeps it:

        conversation = foldback.Conversation("opencode-1.17", window=200_000, tools=tools)
        conversation.append({"role": "user", "content": "Why does the build fail?"})
        while True:
            response = client.chat.completions.create(model=model, messages=conversation.view(), tools=tools)
            conversation.answered(response)
            ...
    """

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
        _arguments.protocol(protocol)
        _arguments.tokens("window", window)
        _arguments.tokens("max_output", max_output)
        _arguments.text("model", model)
        _arguments.system(system)
        self.preset = preset if isinstance(preset, Preset) else Preset(preset)
        #: All messages so far, as they were given.
        self.messages: List[Any] = []
        self.system = system
        self.tools = _arguments.tools(tools)
        self._limits = (window, max_output, model)
        self._protocol = protocol
        # What is wrong with the limits is said now, not at the first message. What all protocols have in common is read
        # as Chat Completions until it is known.
        self._known = protocol is not None
        self._form = _shapes.FORMS[protocol or "openai-chat"]
        self._read = Read()
        self._engine = Engine(self.preset, self._form.protocol, *self._limits)

    def append(self, *messages: Any) -> None:
        """Adds what the user said, what the model answered, or what tools returned."""
        self.messages.extend(messages)

    def answered(self, response: Any) -> List[Any]:
        """Adds the model's answer from a response of the provider, with the usage that it reports; gives what was added.

        Many strategies decide by reported usage. Without it they go by an estimate.
        """
        found = _shapes.protocol_of_response(response)
        if not self._known:
            self._set_form(found)
        if type(self._form) is _shapes.Form and found != self._form.protocol:
            raise Error(f"the response is of {found}, and the conversation of {self._form.protocol}")
        added = _shapes.answer_in(response, self._form.protocol)
        self._engine.answered(len(self.messages) + self._offset(self.system), _shapes.dump(response, ""))
        self.messages.extend(added)
        return added

    def view(self) -> List[Any]:
        """The messages to send now."""
        return self.fold(self.messages)

    def fold(
        self, messages: Sequence[Any], *, system: Any = None, tools: Optional[Sequence[Any]] = None
    ) -> List[Any]:
        """The messages to send in place of `messages`, which are all so far.

        `system` and `tools` are those of this request, where they change from call to call.
        """
        system = self.system if system is None else system
        tools = _arguments.tools(self.tools if tools is None else tools)
        _arguments.system(system)
        messages = _arguments.several("messages", "a list of messages", messages)
        if not messages:
            return []
        if not self._known:
            self._set_form(_shapes.protocol_of(messages, system))
        form = self._form
        offset = self._offset(system)
        texts: List[str] = []
        answers: List[Tuple[int, str]] = []
        for index, message in enumerate(messages):
            text, response = self._read.of(f"/{form.list_name}/{index}", message, self._text)
            texts.append(text)
            if response is not None:
                answers.append((index + offset, response))
        if offset:
            texts.insert(0, _shapes.dump({"role": "system", "content": system}, "/system"))
        body = _shapes.body(form, texts, self._limits[2], system, tools, self._read)
        folded = []
        for number, made in self._engine.fold(body, answers):
            original = None if number is None or number < offset else messages[number - offset]
            if made is not None:
                folded.append(form.load(made, original))
            elif original is not None:
                folded.append(original)
        return folded

    def compact(self, instructions: Optional[str] = None) -> bool:
        """Folds now, whatever the thresholds are. Whether there was something to fold; see `view` for the result."""
        _arguments.text("instructions", instructions)
        return self._engine.compact(instructions)

    def overflow(self) -> bool:
        """The provider refused the latest view for its size: folds once more. Whether there was something to fold."""
        return self._engine.overflow()

    def undo(self) -> bool:
        """Takes the last fold back. Whether there was one."""
        return self._engine.undo()

    def pin(self, text: str) -> bool:
        """Keeps a text word for word in what is sent, whatever is folded: one that some message says. Whether one does."""
        _arguments.text("text", text)
        return self._engine.pin(text)

    def unpin(self, text: str) -> bool:
        """Lets folds have a text again, or all that begin so. Whether one was pinned."""
        _arguments.text("text", text)
        return self._engine.unpin(text)

    def explain(self) -> str:
        """Every fold in force: what it did to which message, and why."""
        return self._engine.explain()

    def _review(self, title: str) -> str:
        """What `foldback snapshot` writes."""
        return self._engine.review(title)

    @property
    def sizes(self) -> Sizes:
        """Tokens of the latest view."""
        return Sizes(*self._engine.sizes())

    def recall(self, arguments: Union[str, Dict[str, Any]]) -> str:
        """Answers the model's call of the tool `recall_tool`: the original of what was folded away, or what is found."""
        return self._engine.recall(arguments if isinstance(arguments, str) else _shapes.dump(arguments, ""))

    @property
    def recall_tool(self) -> Dict[str, Any]:
        """The definition of a tool with which the model reads what was folded away."""
        tool: Dict[str, Any] = json.loads(self._engine.recall_tool())
        if self._form.protocol == "openai-responses":
            return {"type": "function", **tool["function"]}
        return dict(tool["function"]) if self._form.protocol == "gemini" else tool

    def _text(self, message: Any, path: str) -> Tuple[str, Optional[str]]:
        """The JSON text of a message, and what the provider said of it."""
        if self._protocol is not None:
            _shapes.check(message, path, self._protocol)
        response = self._form.response(message)
        text = self._form.text(message, path)
        return text, None if response is None else json.dumps(response)

    def _set_form(self, name: Optional[str]) -> None:
        if name is None:
            return
        self._read = type(self._read)()
        form, before = _shapes.FORMS[name], self._form
        self._form, self._known = form, True
        if form.protocol != before.protocol:
            self._engine = Engine(self.preset, form.protocol, *self._limits)

    def _offset(self, system: Any) -> int:
        """Chat Completions have the system prompt as a message."""
        return int(system is not None and self._form.protocol == "openai-chat")
