"""Stages written in Python, for experiments: a strategy file names them by `use = "python"` and `function`."""

import json
from typing import Any, Callable, Dict, List, NamedTuple, Optional, TypeVar

from . import _foldback


class SummaryRequest(NamedTuple):
    """A summary that a strategy needs."""

    #: What is to be summarized, in the form of Chat Completions.
    messages: List[Dict[str, Any]]
    #: The most tokens of the summary, by the strategy's estimator; a longer one is refused.
    budget: int
    #: The earlier summary of its beginning.
    previous: Optional[str]
    #: The kind of summary, such as `opencode.checkpoint`.
    style: str
    #: What a person asked for.
    instructions: List[str]


class ToolResult(NamedTuple):
    """A tool's result that no pruner changed so far."""

    #: Its place among those that are given now, oldest first.
    number: int
    tool: str
    text: str
    #: By the strategy's estimator.
    tokens: int


class ToolPair(NamedTuple):
    """An answer that calls tools, with the results."""

    #: Its place among those that may go now, oldest first.
    number: int
    #: The answer and its results, in the form of Chat Completions.
    messages: List[Dict[str, Any]]
    #: What the view loses with it, by the strategy's estimator.
    tokens: int


Summarize = TypeVar("Summarize", bound=Callable[[SummaryRequest], str])
Prune = TypeVar("Prune", bound=Callable[[List[ToolResult]], Dict[int, str]])
Score = TypeVar("Score", bound=Callable[[List[ToolPair]], List[float]])


def summarizer(name: str) -> Callable[[Summarize], Summarize]:
    """Registers a function that writes summaries, under a name for `[summarizer]`."""

    def register(function: Summarize) -> Summarize:
        _foldback.register("summarizer", name, lambda given: function(SummaryRequest(**json.loads(given))))
        return function

    return register


def pruner(name: str) -> Callable[[Prune], Prune]:
    """Registers a function that gives the texts to show in place of results, by their numbers, under a name for `[[pruner]]`."""

    def register(function: Prune) -> Prune:
        _foldback.register("pruner", name, lambda given: function([ToolResult(**result) for result in json.loads(given)]))
        return function

    return register


def scorer(name: str) -> Callable[[Score], Score]:
    """Registers a function that gives the worth of each pair, under a name for `[filter]`. Those of least worth go first."""

    def register(function: Score) -> Score:
        _foldback.register("filter", name, lambda given: function([ToolPair(**pair) for pair in json.loads(given)]))
        return function

    return register
