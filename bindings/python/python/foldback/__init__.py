"""Context compaction for LLM agents: the engine of foldback, for Python.

    import foldback

    messages = foldback.compact(messages, preset="opencode-1.17", window=200_000)

`compare` measures presets on recorded sessions. `compact` takes all messages of a conversation and returns those to send. `Conversation` does the same from call to call.
"""

from ._comparison import compare, score
from ._conversation import Conversation, Sizes, compact
from ._foldback import Comparison, Error, Preset, __version__, presets
from ._stages import SummaryRequest, ToolPair, ToolResult, pruner, scorer, summarizer

__all__ = [
    "Comparison",
    "Conversation",
    "Error",
    "Preset",
    "Sizes",
    "SummaryRequest",
    "ToolPair",
    "ToolResult",
    "__version__",
    "compact",
    "compare",
    "presets",
    "pruner",
    "score",
    "scorer",
    "summarizer",
]
