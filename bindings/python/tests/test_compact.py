"""`compact`: what comes back, what stays the same object, and what is said of bad input."""

import copy
import json
import pickle

import pytest

import foldback
from sessions import LIMITS, SHAPES, WINDOW, anthropic, chat, shapes

@shapes
def test_a_short_conversation_comes_back_as_the_same_objects(make):
    messages = make(3)
    sent = foldback.compact(messages, **LIMITS)
    assert sent is not messages
    assert len(sent) == len(messages) and all(one is other for one, other in zip(sent, messages))


@shapes
@pytest.mark.parametrize("preset", ["opencode-1.17", "brutus", "window", "tiered", "indexed"])
def test_a_long_conversation_shrinks_and_the_rest_is_the_same_objects(make, preset):
    messages = make(150)
    before = copy.deepcopy(messages)
    sent = foldback.compact(messages, preset, **LIMITS)
    assert messages == before, "what was given is not altered"
    assert len(json.dumps(sent)) < 0.7 * len(json.dumps(messages)), preset
    given = {id(message) for message in messages}
    same = [message for message in sent if id(message) in given]
    assert sent[-1] is messages[-1] and len(same) > 1
    assert all(isinstance(message, dict) for message in sent)
    # What was kept word for word is no copy.
    assert not [message for message in sent if id(message) not in given and message in messages]


@shapes
def test_from_call_to_call_the_beginning_stays(make):
    """What was sent once is sent again in front of what is new, unless a fold happened; folds are rare."""
    messages = make(150)
    preset = foldback.Preset("opencode-1.17")
    conversation = foldback.Conversation(preset, **LIMITS)
    sent, sizes, changes = [], [], 0
    for end in range(len(make(1)), len(messages) + 1, 10):
        now = foldback.compact(messages[:end], preset, **LIMITS)
        assert now == conversation.fold(messages[:end]), "followed or met in its middle, it is the same"
        changes += now[: len(sent)] != sent
        sent = now
        sizes.append(len(json.dumps(now)))
    assert max(sizes) < 5 * WINDOW and 0 < changes < 6


def test_the_system_prompt_of_chat_completions_may_be_apart():
    messages = chat(150)
    apart = foldback.compact(messages[1:], system="You read.", **LIMITS)
    assert apart == foldback.compact(messages, **LIMITS)[1:]


def test_system_and_tools_count():
    messages = anthropic(9)
    tools = [{"name": "read", "description": "x " * 60_000, "input_schema": {"type": "object"}}]
    small = foldback.compact(messages, **LIMITS)
    large = foldback.compact(messages, tools=tools, system="You read.", **LIMITS)
    assert small == messages and large != messages


class Dumped:
    """As the objects of SDKs."""

    def __init__(self, **members):
        self.members = members

    def __getattr__(self, name):
        try:
            return self.__dict__["members"][name]
        except KeyError:
            raise AttributeError(name) from None

    def model_dump(self, mode, exclude_unset):
        return dict(self.members)


def test_objects_of_sdks_come_back_as_the_same_objects():
    messages = [Dumped(**message) for message in chat(150)]
    sent = foldback.compact(messages, **LIMITS)
    plain = foldback.compact(chat(150), **LIMITS)
    assert [message if isinstance(message, dict) else message.members for message in sent] == plain
    assert sent[-1] is messages[-1]
    blocks = anthropic(4)
    blocks[1]["content"] = [Dumped(**block) for block in blocks[1]["content"]]
    assert foldback.compact(blocks, **LIMITS)[1] is blocks[1]


@pytest.mark.parametrize(
    "messages, options, path, says",
    [
        ([{"role": "user", "content": "a"}, 7], {}, "/messages/1", ""),
        ([{"role": "user", "content": "a"}, {"content": "b"}], {}, "/messages/1", "role"),
        ([{"role": "robot", "content": "a"}], {}, "/messages/0/role", "robot"),
        ([{"role": "user", "content": "a"}, {"role": "user", "content": object()}], {}, "/messages/1", "object"),
        ([{"role": "user", "content": "\ud800"}], {}, "/messages/0", "JSON"),
        ([{"role": "user", "content": float("nan")}], {}, "/messages/0", "JSON"),
        ([{"type": "item_reference", "id": "1"}], {}, "/input/0", "provider"),
        ([{"role": "user", "content": "a"}], {"tools": [object()]}, "/tools", "object"),
        ("text", {}, None, "list"),
        ({"messages": []}, {}, None, "list"),
        ([{"role": "user", "content": "a"}], {"preset": "opencde"}, None, "did you mean `opencode`"),
        ([{"role": "user", "content": "a"}], {"window": -1}, None, "window"),
        ([{"role": "user", "content": "a"}], {"preset": "window", "window": 100}, None, "window of 100"),
        ([{"role": "user", "content": "a"}], {"protocol": "smtp"}, None, "openai-chat"),
        (None, {}, None, "messages is a list of messages, not None"),
        (7, {}, None, "messages is a list of messages, not 7"),
        ([], {"window": 2**70}, None, "window is a number of tokens"),
        ([], {"window": True}, None, "window is a number of tokens"),
        ([], {"window": "9"}, None, "window is a number of tokens"),
        ([], {"window": 0}, None, "window is a number of tokens"),
        ([], {"max_output": 2**53}, None, "max_output is a number of tokens"),
        ([], {"max_output": False}, None, "max_output is a number of tokens"),
        ([], {"tools": "x"}, None, "tools is a list of definitions"),
        ([], {"tools": {"name": "x"}}, None, "tools is a list of definitions"),
        ([], {"tools": 7}, None, "tools is a list of definitions"),
        ([], {"tools": ["x"]}, "/tools", "tools is a list of definitions"),
        ([], {"system": 7}, None, "system is a text"),
        ([], {"model": 7}, None, "model is a text"),
        ([], {"preset": None}, None, "preset is a name"),
        ([], {"preset": 7}, None, "preset is a name"),
        ([], {"protocol": ["anthropic"]}, None, "protocol is a text"),
    ],
)
def test_bad_input_is_one_error_with_its_place(messages, options, path, says):
    with pytest.raises(foldback.Error) as raised:
        foldback.compact(messages, **options)
    assert isinstance(raised.value, ValueError)
    assert getattr(raised.value, "path", None) == path
    assert says in str(raised.value) and (path or "") in str(raised.value)


OF_PROVIDERS = {**{name: make(9) for name, make in SHAPES.items()}, "gemini": [{"role": "user", "parts": [{"text": "a"}]}]}


@pytest.mark.parametrize("protocol", OF_PROVIDERS)
@pytest.mark.parametrize("own", OF_PROVIDERS)
def test_messages_of_another_protocol_are_refused(own, protocol):
    messages = OF_PROVIDERS[own]
    if own == protocol:
        assert foldback.compact(messages, protocol=protocol) == messages
        return
    with pytest.raises(foldback.Error):
        foldback.compact(messages, protocol=protocol)


def test_the_argument_is_named_where_the_messages_are_of_another_protocol():
    with pytest.raises(foldback.Error, match="of anthropic, and the argument protocol is 'openai-chat'") as raised:
        foldback.compact(anthropic(9), protocol="openai-chat")
    assert raised.value.path == "/messages/1"


def test_an_error_does_not_end_like_a_warning():
    for message, ends in [({"role": "robot", "content": "a"}, "in this format"), ({"content": "a"}, "a `role`")]:
        with pytest.raises(foldback.Error) as raised:
            foldback.compact([{"role": "user", "content": "a"}, message], protocol="anthropic")
        assert str(raised.value).endswith(ends)


def test_other_arguments_are_named():
    conversation = foldback.Conversation()
    for call, says in [
        (lambda: conversation.compact(7), "instructions is a text"),
        (lambda: conversation.fold(None), "messages is a list"),
        (lambda: conversation.fold([], tools="x"), "tools is a list"),
        (lambda: conversation.answered(None), "the response is of no known protocol"),
        (lambda: foldback.Conversation(protocol="anthropic").answered({"choices": [{}]}), "the response is of openai-chat"),
        (lambda: foldback.Preset(7), "preset is a name"),
        (lambda: foldback.Preset.from_toml(7), "text_or_path is a text or a path"),
        (lambda: foldback.compare(7), "paths is a path or a list of paths"),
        (lambda: foldback.compare("nowhere", [7]), "presets is a path or a text"),
        (lambda: foldback.compare("nowhere", window=True), "window is a number"),
        (lambda: foldback.compare("nowhere", exclude=7), "exclude is a path or a list"),
        (lambda: foldback.score("nowhere", 7), "out is a path"),
    ]:
        with pytest.raises(foldback.Error, match=says):
            call()


def test_presets_are_equal_by_value():
    text = 'extends = "window"\nname = "mine"\n'
    same = foldback.Preset("window"), foldback.Preset("window")
    assert same[0] == same[1] and hash(same[0]) == hash(same[1]) and len(set(same)) == 1
    assert foldback.Preset.from_toml(text) == foldback.Preset.from_toml(text)
    assert foldback.Preset("window") != foldback.Preset("tiered")
    assert foldback.Preset.from_toml(text) != foldback.Preset.from_toml(text + "[overflow]\nmax_output = 9000\n")
    assert foldback.Preset("window") != "window"


def test_what_can_not_be_pickled_says_so():
    """As the documentation has it: what a process needs is made there, from a name or a text."""
    for value in (foldback.Preset("window"), foldback.Conversation("window")):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(value)


def test_a_strategy_that_asks_a_model_is_refused_with_what_to_do():
    asks = 'extends = "opencode-1.17"\n[summarizer]\nuse = "llm"\n'
    with pytest.raises(foldback.Error, match="<toml>:3:7: .*asks no model.*extractive"):
        foldback.Preset.from_toml(asks)


def test_nothing_is_nothing():
    assert foldback.compact([]) == []


def test_presets_and_strategies_from_toml(tmp_path):
    known = {preset.name: preset for preset in foldback.presets()}
    assert known["opencode-1.17"].reproduces and known["opencode-1.17"].description
    text = 'extends = "opencode-1.17"\nname = "mine"\n'
    assert foldback.Preset.from_toml(text).name == "mine"
    assert foldback.Preset.from_toml('extends = "opencode-1.17"').name
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "other.toml").write_text('extends = "mine.toml"\nname = "other"\n')
    assert foldback.Preset.from_toml(tmp_path / "mine.toml").name == "mine"
    assert foldback.Preset.from_toml(str(tmp_path / "other.toml")).name == "other"
    messages = chat(150)
    mine = foldback.Preset.from_toml(text)
    assert foldback.compact(messages, mine, **LIMITS) == foldback.compact(messages, **LIMITS)
    for wrong, says in [("name = 7", "<toml>"), ("x", "<toml>"), ("missing.toml", "missing.toml")]:
        with pytest.raises(foldback.Error, match=says):
            foldback.Preset.from_toml(wrong)


def test_other_threads_run_meanwhile():
    """The interpreter's lock is not held while the engine works."""
    import threading

    messages = chat(400)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    engine = foldback._foldback.Engine(foldback.Preset("opencode-1.17"), "openai-chat", **LIMITS)
    body = json.dumps({"messages": messages})
    before = len(ticks)
    engine.fold(body)
    during = len(ticks) - before
    stop.set()
    thread.join()
    assert during > 0


def test_version():
    assert foldback.__version__.count(".") == 2
