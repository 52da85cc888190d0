"""Tests of compaction: a strategy's, or a function of your own.

    def test_long_sessions(compaction_snapshot):
        compaction_snapshot(messages, "opencode-1.17", window=24_000)
        compaction_snapshot(messages, my_own_function)

The fixture compares what is made of the messages with a file beside the test; `pytest --foldback-update` writes it.
`assert_valid` has the rules by which a provider refuses a request.
"""

import copy
from typing import Any, Callable, List, Optional, Sequence, Union

from . import _arguments, _foldback, _shapes
from ._conversation import Conversation, PresetLike
from ._foldback import Preset
from ._read import Read

__all__ = ["Compaction", "assert_valid", "render"]

#: A preset, or a function that takes all messages and gives those to send.
Compaction = Union[PresetLike, Callable[[List[Any]], Sequence[Any]]]


def render(
    messages: Sequence[Any],
    compaction: Compaction,
    window: Optional[int] = None,
    *,
    title: Optional[str] = None,
    max_output: Optional[int] = None,
    model: Optional[str] = None,
    system: Any = None,
    tools: Optional[Sequence[Any]] = None,
    protocol: Optional[str] = None,
) -> str:
    """What a preset or a function makes of messages, as lines for review.

    Nothing in it differs from run to run: messages and calls are numbered, ids and times in texts have one word each. The
    arguments are those of `foldback.compact`; a function has only `protocol`, and gets a copy of the messages.
    """
    messages = _arguments.several("messages", "a list of messages", messages)
    if isinstance(compaction, (str, Preset)):
        conversation = Conversation(
            compaction, window, max_output=max_output, model=model, system=system, tools=tools, protocol=protocol
        )
        conversation.fold(messages)
        return conversation._review(_titled(conversation.preset.name, title))
    if not callable(compaction):
        raise _foldback.Error(f"compaction is a preset or a function, not {compaction!r}")
    for name, given in (("window", window), ("max_output", max_output), ("model", model), ("system", system), ("tools", tools)):
        if given is not None:
            raise _foldback.Error(f"{name} is for a preset, and compaction is a function")
    form = _form(messages, protocol)
    before = _body(form, messages, protocol)
    after = _arguments.several("what compaction returns", "a list of messages", compaction(copy.deepcopy(messages)))
    name = getattr(compaction, "__name__", type(compaction).__name__)
    return _foldback.review(form.protocol, _titled(name, title), before, _body(form, after, protocol))


def assert_valid(messages: Sequence[Any], dialect: str = "anthropic") -> None:
    """Fails where a provider would refuse a request of these messages, with every rule that they break and its place.

    `dialect` is the form of the messages: `anthropic`, `openai-chat`, `openai-responses`, `gemini`, or one of the packages'.
    What can't be seen from the messages is not checked, such as whether a signature is genuine.
    """
    __tracebackhide__ = True
    _arguments.protocol(dialect)
    messages = _arguments.several("messages", "a list of messages", messages)
    try:
        broken = _foldback.violations(_shapes.FORMS[dialect].protocol, _body(_shapes.FORMS[dialect], messages, dialect))
    except _foldback.Error as wrong:
        broken = [str(wrong)]
    if broken:
        raise AssertionError("\n  ".join([f"{dialect} would refuse these messages:", *broken]))


def _form(messages: Sequence[Any], protocol: Optional[str]) -> _shapes.Form:
    _arguments.protocol(protocol)
    return _shapes.FORMS[protocol or _shapes.protocol_of(messages) or "openai-chat"]


def _body(form: _shapes.Form, messages: Sequence[Any], protocol: Optional[str]) -> str:
    texts = []
    for index, message in enumerate(messages):
        path = f"/{form.list_name}/{index}"
        if protocol is not None:
            _shapes.check(message, path, protocol)
        texts.append(form.text(message, path))
    return _shapes.body(form, texts, None, None, None, Read())


def _titled(name: str, title: Optional[str]) -> str:
    return name if title is None else f"{name} · {title}"
