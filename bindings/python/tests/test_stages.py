"""Stages written in Python: registered, named by a strategy file, and used by everything."""

from pathlib import Path

import pytest

import foldback
from sessions import LIMITS, anthropic, chat

SESSION = Path(__file__).resolve().parents[3] / "examples" / "sessions" / "refunds-pydantic-ai.json"

PRUNED = 'extends = "none"\nname = "pruned"\n[[pruner]]\nuse = "python"\nfunction = "{}"\n'
SUMMARIZED = 'extends = "opencode-1.17"\nname = "summarized"\n[summarizer]\nuse = "python"\nfunction = "{}"\n'
DROPPED = 'extends = "indexed"\nname = "dropped"\n[filter]\nuse = "python"\nfunction = "{}"\npairs = {{ keep = 2, target = 0.4 }}\n'


@pytest.fixture
def asked():
    asked = []

    @foldback.summarizer("count")
    def count(request):
        asked.append(request)
        return f"{len(request.messages)} messages were here."

    return asked


@pytest.fixture
def heads():
    @foldback.pruner("heads")
    def heads(results):
        return {result.number: result.text[:20] + "…" for result in results[:-5] if result.tokens > 100}

    return heads


def test_a_summarizer(asked):
    messages = chat(150)
    sent = foldback.compact(messages, foldback.Preset.from_toml(SUMMARIZED.format("count")), **LIMITS)
    assert asked and all(request.budget > 0 and request.messages for request in asked)
    assert {message["role"] for message in asked[0].messages} >= {"assistant", "tool"}
    assert any("messages were here." in str(message["content"]) for message in sent)


def test_a_pruner(heads):
    messages = anthropic(50)
    conversation = foldback.Conversation(foldback.Preset.from_toml(PRUNED.format("heads")), **LIMITS)
    sent = conversation.fold(messages)
    contents = [message["content"][0].get("content") for message in sent if isinstance(message["content"], list)]
    results = [content for content in contents if content]
    assert [len(content) for content in results[:-5]] == [21] * 45 and all(len(content) > 1000 for content in results[-5:])
    assert sent[-1] is messages[-1] and "python heads" in conversation.explain()


def test_a_scorer():
    @foldback.scorer("newest")
    def newest(pairs):
        assert all([message["role"] for message in pair.messages] == ["assistant", "tool"] and pair.tokens > 0 for pair in pairs)
        return [-pair.number for pair in pairs]

    messages = anthropic(150)
    conversation = foldback.Conversation(foldback.Preset.from_toml(DROPPED.format("newest")), **LIMITS)
    conversation.fold(messages)
    conversation.compact()
    sent = conversation.fold(messages)
    assert len(sent) < len(messages) and sent[:8] == messages[:8] and sent[-1] == messages[-1]


@pytest.mark.parametrize("given", [[1.0], None])
def test_a_scorer_that_fails_drops_nothing(given, told):
    foldback.scorer("wrong")(lambda pairs: given)
    messages = anthropic(150)
    assert foldback.compact(messages, foldback.Preset.from_toml(DROPPED.format("wrong")), **LIMITS) == messages
    assert told if given is None else not told


def test_in_a_comparison(heads, asked, tmp_path):
    (tmp_path / "pruned.toml").write_text(PRUNED.format("heads"))
    (tmp_path / "summarized.toml").write_text(SUMMARIZED.format("count"))
    files = [tmp_path / "pruned.toml", tmp_path / "summarized.toml"]
    told = str(foldback.compare(SESSION, files, window=40_000, max_output=4_000))
    assert "pruned" in told and "summarized" in told and asked


def test_a_function_that_is_not_known_is_an_error(heads):
    with pytest.raises(foldback.Error, match="(?s)`other`.*heads"):
        foldback.Preset.from_toml(PRUNED.format("other"))
    with pytest.raises(foldback.Error, match="no functions for"):
        foldback._foldback.register("overflow", "a", print)


@pytest.fixture
def told(monkeypatch):
    """What Python is told of functions that raised."""
    told = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: told.append(unraisable.exc_value))
    return told


@pytest.mark.parametrize("given", [{99: "a"}, {0: 7}, None])
def test_a_pruner_that_fails_changes_nothing(given, told):
    foldback.pruner("wrong")(lambda results: given)
    messages = anthropic(50)
    assert foldback.compact(messages, foldback.Preset.from_toml(PRUNED.format("wrong")), **LIMITS) == messages
    assert told if given != {99: "a"} else not told


def test_a_summarizer_that_fails_leaves_everything_in_place(told):
    @foldback.summarizer("raises")
    def raises(request):
        raise ValueError("no")

    conversation = foldback.Conversation(foldback.Preset.from_toml(SUMMARIZED.format("raises")), **LIMITS)
    messages = chat(60)
    conversation.fold(messages)
    conversation.compact()
    assert [message["role"] for message in conversation.fold(messages)] == [message["role"] for message in messages]
    assert isinstance(told[0], ValueError)


def test_a_preset_keeps_the_function_that_it_was_made_with(asked):
    preset = foldback.Preset.from_toml(SUMMARIZED.format("count"))
    foldback.summarizer("count")(lambda request: "Another.")
    assert "Another." not in str(foldback.compact(chat(150), preset, **LIMITS)) and asked
