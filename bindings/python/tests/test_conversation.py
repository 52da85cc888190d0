"""`Conversation`: what it keeps from call to call, what it says of it, and what it gives back."""

import json

import pytest

import foldback
from foldback import _shapes
from sessions import LIMITS, anthropic, chat, responses, shapes


@shapes
def test_it_is_what_compact_gives_for_all_messages(make):
    conversation = foldback.Conversation("opencode-1.17", **LIMITS)
    messages = make(150)
    first = len(make(0))
    conversation.append(*messages[:first])
    for at in range(first, len(messages), 2):
        conversation.view()
        conversation.append(*messages[at : at + 2])
    view = conversation.view()
    assert view == foldback.compact(messages, "opencode-1.17", **LIMITS)
    assert view[-1] is messages[-1] and conversation.messages == messages
    sizes = conversation.sizes
    assert sizes.sent < 30_000 < sizes.received and sizes.folds > 0
    told = conversation.explain()
    assert "opencode" in told and "because" in told
    assert conversation.undo() and conversation.sizes.folds == sizes.folds - 1


@shapes
def test_pinned_texts_stay(make):
    conversation = foldback.Conversation("window", **LIMITS)
    messages = make(150)
    # The form of the messages is known once a tool was called.
    first = len(make(1))
    conversation.append({"role": "user", "content": "<pin>Never touch main.</pin> And: ship it."}, *messages[:first])
    conversation.view()
    assert conversation.pin("ship it.") and not conversation.pin("nobody said this")
    conversation.append(*messages[first:])
    sent = json.dumps(conversation.view())
    assert conversation.sizes.folds > 0
    assert sent.count("Never touch main.") == 1 and sent.count("ship it.") == 1
    assert conversation.unpin("ship") and not conversation.unpin("ship")


class Answer:
    """As objects of SDKs are: they say themselves what JSON they are."""

    def __init__(self, content):
        self.content = content

    def model_dump(self, **_):
        return {"role": "assistant", "content": self.content}


def test_only_what_is_new_is_serialized(monkeypatch):
    dumped, dump = [], _shapes.dump
    monkeypatch.setattr(_shapes, "dump", lambda value, path: dumped.append(path) or dump(value, path))
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    conversation = foldback.Conversation("window", system=[{"type": "text", "text": "You read."}], tools=tools, **LIMITS)
    messages = [*anthropic(150), Answer("Done."), {"role": "user", "content": "And now?"}]
    conversation.fold(messages)
    assert len(dumped) == len(messages) + 2
    del dumped[:]
    messages += [Answer("Nothing."), {"role": "user", "content": "Why?"}]
    folded = conversation.fold(messages)
    assert dumped == [f"/messages/{len(messages) - 2}", f"/messages/{len(messages) - 1}"]
    assert folded == conversation.fold([*messages])
    # What was changed where it stands is new.
    del dumped[:]
    messages[2]["content"][0]["content"] = "changed"
    messages[-4].content = "Done, and well."
    tools[0]["description"] = "Reads."
    folded = conversation.fold(messages)
    assert sorted(dumped) == sorted(["/messages/2", f"/messages/{len(messages) - 4}", "/tools"])
    given = {"system": conversation.system, "tools": tools, **LIMITS}
    assert folded == foldback.compact(messages, "window", **given)


def test_a_list_that_branches_off_is_followed_from_its_beginning():
    conversation = foldback.Conversation("opencode-1.17", **LIMITS)
    messages = chat(150)
    conversation.fold(messages)
    fork = messages[:40] + [{"role": "user", "content": "Stop."}]
    assert conversation.fold(fork) == fork
    assert conversation.sizes.folds == 0


RESPONSES = {
    "openai-chat": {
        "id": "r",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Done."}}],
        "usage": {"prompt_tokens": 29_000, "completion_tokens": 10, "total_tokens": 29_010},
    },
    "anthropic": {
        "id": "r",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Done."}],
        "usage": {"input_tokens": 29_000, "output_tokens": 10},
    },
    "openai-responses": {
        "id": "r",
        "object": "response",
        "model": "m",
        "status": "completed",
        "output": [
            {"type": "reasoning", "id": "rs", "summary": []},
            {
                "type": "message",
                "id": "ms",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
            },
        ],
        "usage": {"input_tokens": 29_000, "output_tokens": 10, "total_tokens": 29_010},
    },
}


@pytest.mark.parametrize("protocol", RESPONSES)
@pytest.mark.parametrize("system", [None, "You read."])
def test_reported_usage_decides(protocol, system):
    """By its own estimate the conversation is small; the provider says that the window is full."""
    conversation = foldback.Conversation("opencode-1.17", system=system, **LIMITS)
    texts = [{"role": "user", "content": "One. " * 900}]
    for _ in range(5):
        conversation.append(*texts)
        conversation.view()
        added = conversation.answered(RESPONSES[protocol])
        assert added and conversation.messages[-len(added) :] == added
    conversation.append({"role": "user", "content": "Go on."})
    assert conversation.view() != conversation.messages
    assert conversation.sizes.folds >= 1


def test_what_is_no_response_is_an_error():
    conversation = foldback.Conversation(**LIMITS)
    for response in [{}, {"choices": []}, {"choices": None, "error": "x"}]:
        with pytest.raises(foldback.Error):
            conversation.answered(response)
    assert conversation.messages == []


@shapes
def test_a_person_may_ask_and_a_provider_may_refuse(make):
    for act in (lambda it: it.compact(), lambda it: it.overflow()):
        conversation = foldback.Conversation("opencode-1.17", **LIMITS)
        assert not act(conversation), "there is nothing yet"
        messages = make(40)
        conversation.append(*messages)
        assert conversation.view() == messages
        assert act(conversation)
        assert len(conversation.view()) < len(messages)


@shapes
def test_blank_lines_that_go_leave_the_conversation_and_its_folds(make):
    # Only the refusal folds.
    conversation = foldback.Conversation("tiered", window=400_000, max_output=4_000)
    messages = [*make(40), {"role": "user", "content": "Why?\n\n\n"}]
    conversation.fold(messages)
    assert conversation.overflow()
    folds = conversation.sizes.folds
    # A new message is the client's own, and so is the one whose blanks are gone.
    asked = {"role": "user", "content": "Why?"}
    messages[-1:] = [asked, {"role": "assistant", "content": "So."}, {"role": "user", "content": "And?\n\n\n"}]
    view = conversation.fold(messages)
    assert conversation.sizes.folds == folds > 0
    assert len(view) < len(messages) and view[-3:] == messages[-3:] and view[-3] is asked


@shapes
def test_what_was_folded_away_can_be_read_again(make):
    conversation = foldback.Conversation("opencode-1.17", **LIMITS)
    assert "Nothing" in conversation.recall({"query": "of_3_7"})
    messages = make(150)
    conversation.append(*messages)
    assert "fn of_3_7()" not in json.dumps(conversation.view())
    assert "fn of_3_7()" in conversation.recall({"reference": "c3"})
    assert "of_3_7" in conversation.recall('{"query": "of_3_7"}')
    tool = conversation.recall_tool
    named = tool.get("function", tool)
    assert named["name"] == "recall" and ("input_schema" in named or "parameters" in named)


def test_shapes_are_recognised():
    from foldback._shapes import protocol_of

    assert protocol_of(chat(1)) == "openai-chat"
    assert protocol_of(anthropic(1)) == "anthropic"
    assert protocol_of(responses(1)) == "openai-responses"
    user = [{"role": "user", "content": "a"}]
    assert protocol_of(user) is None
    assert protocol_of(user, [{"type": "text", "text": "b"}]) == "anthropic"
    text = {"type": "input_text", "text": "a"}
    assert protocol_of([{"role": "developer", "content": [text]}]) == "openai-responses"
