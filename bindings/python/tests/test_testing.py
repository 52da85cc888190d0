"""`foldback.testing`, as a project uses it that has nothing but the installed package."""

import subprocess
import sys

import pytest

import foldback
from foldback.testing import assert_valid, render
from sessions import LIMITS, SHAPES

PROJECT = '''
import pytest
from foldback.testing import assert_valid

CALLS = 9

def listing(call):
    return "".join(f"fn of_{call}_{line}() -> u32 {{ {line} }}\\n" for line in range(60))

def conversation():
    messages = [{"role": "user", "content": "Read all files."}]
    for call in range(CALLS):
        used = {"type": "tool_use", "id": f"toolu_{call}", "name": "read", "input": {"path": f"{call}.rs"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{call}", "content": listing(call)}
        messages += [{"role": "assistant", "content": [used]}, {"role": "user", "content": [result]}]
    return messages

def mine(messages):
    """Keeps the request and the last calls."""
    return messages[:1] + messages[KEPT:]

def test_preset(compaction_snapshot):
    compaction_snapshot(conversation(), PRESET, window=12_000, max_output=2_000)

@pytest.mark.parametrize("name", ["a/b"])
def test_mine(compaction_snapshot, name):
    compaction_snapshot(conversation(), mine)
    compaction_snapshot(conversation(), mine, name="the same")

def test_valid():
    assert_valid(mine(conversation()))
'''


@pytest.fixture
def project(tmp_path):
    """Runs the tests of a project of its own: how many passed, and what was printed."""

    def run(*arguments, preset="swe-agent-last-5", kept=-4):
        text = PROJECT.replace("PRESET", repr(preset)).replace("KEPT", str(kept))
        (tmp_path / "test_mine.py").write_text(text)
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        return ran.returncode, ran.stdout

    run.snapshots = tmp_path / "snapshots"
    return run


def test_a_snapshot_is_made_fails_and_is_updated(project):
    code, said = project()
    assert code == 1 and "3 failed, 1 passed" not in said and "2 failed, 1 passed" in said, said
    assert "there is no snapshot yet" in said and "--foldback-update" in said
    assert not project.snapshots.exists(), "a check writes nothing"

    assert project("--foldback-update")[0] == 0
    names = sorted(path.name for path in project.snapshots.iterdir())
    assert names == ["test_mine.test_mine-a-b-.snapshot.txt", "test_mine.test_preset.snapshot.txt", "test_mine.the-same.snapshot.txt"]
    code, said = project()
    assert code == 0 and "3 passed" in said, said
    first = project.snapshots / names[1]
    text = first.read_text("utf-8")
    assert text.startswith("# swe-agent-last-5 · test_preset\nwindow of 12000 tokens, 2000 for the answer\n"), text
    assert "toolu_" not in text and "result read c1 (cleared)" in text
    # What another system's Git makes of line ends is no change.
    first.write_bytes(text.replace("\n", "\r\n").encode())
    assert project()[0] == 0

    # Another preset.
    code, said = project(preset="none")
    assert code == 1 and "1 failed, 2 passed" in said, said
    assert "\n-    result read c1 (cleared)" in said and "\n+    result read c1: " in said, said

    # A function that loses a result: its snapshot shows it, and the provider's rules name it.
    code, said = project(kept=-4 + 1)
    assert code == 1 and "2 failed, 1 passed" in said, said
    assert "\n-    call read c8: " in said, said
    assert "message 1: result-without-call: " in said, said

    assert project("--foldback-update", preset="none")[0] == 0
    assert project(preset="none")[0] == 0


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_every_form_is_rendered(shape):
    messages = SHAPES[shape](9)
    text = render(messages, lambda messages: messages[:1] + messages[3:])
    assert "\n## Hidden\n" in text and text.startswith("# <lambda>\n"), text
    assert "# window" in render(messages, "window", **LIMITS)


def test_the_messages_stay_as_they_were():
    messages = SHAPES["anthropic"](2)

    def spoils(messages):
        messages[0]["content"] = "Other."
        return messages

    text = render(messages, spoils)
    assert "user new-1\n    text: Other." in text and "\n## Hidden\nu1 (1 of " in text, text
    assert messages == SHAPES["anthropic"](2)


def test_rules_of_the_providers():
    for shape in ("anthropic", "openai-chat", "openai-responses"):
        messages = SHAPES[shape](3)
        assert_valid(messages, dialect=shape)
        with pytest.raises(AssertionError, match="call-unanswered"):
            assert_valid(messages[:-1] + messages[:1], dialect=shape)
    with pytest.raises(AssertionError, match="/messages/0/content"):
        assert_valid([{"role": "user", "content": 7}])
    with pytest.raises(AssertionError, match="is a message of openai-chat"):
        assert_valid(SHAPES["openai-chat"](1))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (([], 7), "a preset or a function, not 7"),
        (([], lambda messages: messages, 9_000), "window is for a preset"),
        (([], lambda messages: None), "what compaction returns is a list of messages, not None"),
        (([], "no-such-preset"), "no-such-preset"),
    ],
)
def test_what_can_not_be_rendered(arguments, why):
    with pytest.raises(foldback.Error, match=why):
        render(*arguments)
    with pytest.raises(foldback.Error, match="no protocol is called 'smtp'"):
        assert_valid([], dialect="smtp")
