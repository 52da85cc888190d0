import os
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union, final

__all__ = ["Comparison", "command", "compare", "Engine", "Error", "Preset", "presets", "register", "review", "score", "violations", "__version__"]

__version__: str

class Error(ValueError):
    """Input that can't be used. `path` says where, as a JSON pointer, if it is about a message."""

    path: Optional[str]

@final
class Preset:
    """A strategy: a preset by its name or one of its aliases, or one from TOML. Two are equal if their values are."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __new__(cls, name: str) -> "Preset": ...
    @staticmethod
    def from_toml(text_or_path: Union[str, "os.PathLike[str]"]) -> "Preset":
        """A strategy from a strategy file: its path (a `Path`, or a `str` that ends with `.toml`), or its text."""
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def reproduces(self) -> str:
        """The system and version whose compaction it reproduces; empty if it is nobody's."""

def presets() -> List[Preset]:
    """The presets that are built in."""

@final
class Comparison:
    """Presets compared on recorded sessions: one row for each session, preset and call.

    It is an Arrow table for every library that knows the Arrow PyCapsule interface, such as `pyarrow.table(comparison)`.
    """

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __len__(self) -> int: ...
    def to_pandas(self) -> Any:
        """The rows as a pandas data frame. Needs pyarrow, which pandas reads Arrow with."""
    def to_polars(self) -> Any:
        """The rows as a polars data frame."""
    def json(self) -> str:
        """The comparison as `foldback compare --json` writes it."""

def command(library: str, arguments: Sequence[str]) -> int:
    """Runs the command `foldback` with these arguments, and gives its exit code."""

def compare(arguments: Sequence[str]) -> Comparison:
    """The comparison of `foldback compare` with these arguments."""

def score(arguments: Sequence[str]) -> None:
    """Does what `foldback score` with these arguments does."""

def register(section: str, name: str, function: Callable[[str], Any]) -> None:
    """Registers a stage written in Python. Use `foldback.summarizer` or `foldback.pruner`."""

def review(protocol: str, title: str, before: str, after: str) -> str:
    """What of one list of messages is shown in another. Use `foldback.testing.render`."""

def violations(protocol: str, body: str) -> List[str]:
    """The rules of its provider that a list of messages breaks. Use `foldback.testing.assert_valid`."""

@final
class Engine:
    """A conversation in the engine. Use `foldback.Conversation`."""

    def __new__(
        cls,
        preset: Preset,
        protocol: str,
        window: Optional[int] = None,
        max_output: Optional[int] = None,
        model: Optional[str] = None,
    ) -> "Engine": ...
    def fold(
        self, body: str, answers: List[Tuple[int, str]] = ...
    ) -> List[Tuple[Optional[int], Optional[str]]]: ...
    def answered(self, number: int, body: str) -> None: ...
    def compact(self, instructions: Optional[str] = None) -> bool: ...
    def overflow(self) -> bool: ...
    def undo(self) -> bool: ...
    def pin(self, text: str) -> bool: ...
    def unpin(self, text: str) -> bool: ...
    def explain(self) -> str: ...
    def review(self, title: str) -> str: ...
    def sizes(self) -> Tuple[int, int, int]: ...
    def recall(self, arguments: str) -> str: ...
    def recall_tool(self) -> str: ...
    @property
    def window(self) -> Tuple[int, int]: ...
