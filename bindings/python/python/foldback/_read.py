"""The JSON texts of what was given before, so that only what is new is serialized."""

from datetime import date, time
from enum import Enum
from typing import Any, Callable, Dict, Tuple, TypeVar

Made = TypeVar("Made")

#: Values that nobody can change.
_FIXED = (str, int, float, bool, type(None), bytes, Enum, date, time)


class Read:
    """What was made of values, by their places. A value that is changed where it stands is known by a copy of it."""

    def __init__(self) -> None:
        self._kept: Dict[str, Tuple[Any, Any]] = {}

    def of(self, place: str, value: Any, make: Callable[[Any, str], Made]) -> Made:
        """What `make` gives for a value at a place, or gave for the same one."""
        kept = self._kept.get(place)
        if kept is not None and _is(kept[0], value):
            same: Made = kept[1]
            return same
        made = make(value, place)
        try:
            self._kept[place] = (_copy(value), made)
        except (TypeError, RecursionError):
            # It can't be told whether it is the same the next time.
            self._kept.pop(place, None)
        return made


class Once(Read):
    """For values that are given once: nothing is kept of them."""

    def of(self, place: str, value: Any, make: Callable[[Any, str], Made]) -> Made:
        return make(value, place)


def _is(copy: Any, value: Any) -> bool:
    # In C but for objects of SDKs: texts are compared by their address first.
    return type(copy) in (type(value), _Object) and bool(copy == value)


def _copy(value: Any) -> Any:
    """Lists and dicts are copied, with the texts in them shared."""
    if isinstance(value, _FIXED):
        return value
    kind = type(value)
    if kind is dict:
        return {name: _copy(member) for name, member in value.items()}
    if kind is list:
        return [_copy(element) for element in value]
    if kind is tuple:
        return tuple(_copy(element) for element in value)
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        raise TypeError("what it holds is not in its members")
    return _Object(kind, _copy(_members(value)))


class _Object:
    """The members that an object had."""

    __slots__ = ("kind", "members")

    def __init__(self, kind: type, members: Any) -> None:
        self.kind = kind
        self.members = members

    def __eq__(self, other: object) -> bool:
        return type(other) is self.kind and bool(self.members == _members(other))


def _members(value: Any) -> Tuple[Any, ...]:
    """All that an object says of itself; a pydantic model keeps members that it does not know, and which were set, apart."""
    known = getattr(value, "__pydantic_fields_set__", ())
    return vars(value), getattr(value, "__pydantic_extra__", None), sorted(known)
