import os
from typing import List, Optional, Tuple, Union, final

__all__ = ["Engine", "Error", "Preset", "presets", "__version__"]

__version__: str

class Error(ValueError):
    """Input that can't be used. `path` says where, as a JSON pointer, if it is about a message."""

    path: Optional[str]

@final
class Preset:
    """A strategy: a preset by its name or one of its aliases, or one from TOML."""

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
    def explain(self) -> str: ...
    def sizes(self) -> Tuple[int, int, int]: ...
    def recall(self, arguments: str) -> str: ...
    def recall_tool(self) -> str: ...
    @property
    def window(self) -> Tuple[int, int]: ...
