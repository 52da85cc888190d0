"""Arguments that can't be used: one error that names the argument."""

from typing import Any, List, Optional, Sequence

from . import _shapes
from ._foldback import Error

#: More tokens than any window has; what is larger is no number of every language.
_MOST = 2**53


def tokens(name: str, given: Any) -> None:
    """A number of tokens, or nothing."""
    if given is None:
        return
    if not isinstance(given, int) or isinstance(given, bool):
        raise Error(f"{name} is a number of tokens, not {_shown(given)}")
    if not 1 <= given < _MOST:
        raise Error(f"{name} is a number of tokens from 1 to 2**53 - 1, not {_shown(given)}")


def text(name: str, given: Any) -> None:
    """A text, or nothing."""
    if given is not None and not isinstance(given, str):
        raise Error(f"{name} is a text, not {_shown(given)}")


def protocol(given: Any) -> None:
    """The name of a form of messages, or nothing."""
    text("protocol", given)
    if given is not None and given not in _shapes.FORMS:
        raise Error(f"no protocol is called {given!r}; known are {', '.join(_shapes.FORMS)}")


def system(given: Any) -> None:
    """A system prompt: a text, blocks, an object of an SDK, or nothing."""
    if given is not None and not isinstance(given, (str, list, tuple)) and not _is_object(given):
        raise Error(f"system is a text or a list of blocks, not {_shown(given)}")


def tools(given: Any) -> Optional[Sequence[Any]]:
    """Definitions of tools, or nothing."""
    if given is None:
        return None
    definitions = given if isinstance(given, (list, tuple)) else several("tools", "a list of definitions", given)
    for definition in definitions:
        if not _is_object(definition):
            raise _shapes.error("/tools", f"tools is a list of definitions, and {_shown(definition)} is none")
    return definitions


def several(name: str, what: str, given: Any) -> List[Any]:
    """A list, from anything that has several elements and is none itself."""
    if not isinstance(given, (str, bytes, dict)):
        try:
            return list(given)
        except TypeError:
            pass
    raise Error(f"{name} is {what}, not {_shown(given)}")


def _is_object(given: Any) -> bool:
    return isinstance(given, dict) or callable(getattr(given, "model_dump", None))


def _shown(given: Any) -> str:
    shown = repr(given)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"
