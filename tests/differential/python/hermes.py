"""Hermes Agent's context compressor, asked what it would do with the view of each fold.

The package is installed without most of its dependencies: no model is asked. Its words around a summary are those of the view, and
nothing is taken out for being a secret.
"""

import json
import os
import re
import sys

os.environ["HERMES_HOME"] = os.path.join(os.environ["PACKAGE_HOME"], "state")

import agent.agent_runtime_helpers as helpers  # noqa: E402
import agent.context_compressor as module  # noqa: E402
from agent.codex_responses_adapter import _derive_responses_function_call_id as item_id  # noqa: E402
from agent.conversation_compression import _ensure_compressed_has_user_turn  # noqa: E402
from agent.model_metadata import estimate_messages_tokens_rough  # noqa: E402

module.redact_sensitive_text = lambda text, *_, **__: text
module._MEDIA_DIRECTIVE_RE = re.compile(r"(?!)")
helpers.strip_think_blocks = lambda _, text: text


def call(told):
    function = {"name": told["name"], "arguments": told["args"]}
    ids = {"call_id": told["id"], "response_item_id": item_id(told["id"])}
    return {"id": told["id"], **ids, "type": "function", "function": function}


def message(told):
    """A message as the harness keeps it."""
    if "result" in told:
        name, ident = told["result"]["name"], told["result"]["id"]
        message = {"role": "tool", "name": name, "tool_name": name, "content": told["text"], "tool_call_id": ident}
    else:
        message = {"role": told["role"], "content": told["text"]}
    if told.get("thought"):
        message["reasoning"] = message["reasoning_content"] = told["thought"]
    if told.get("calls"):
        message["tool_calls"] = [call(one) for one in told["calls"]]
    return {**message, "_number": told["number"]}


def sent(kept):
    """A message as it is estimated, of one as it is kept."""
    message = {key: value for key, value in kept.items() if key not in ("_number", "reasoning")}
    if "tool_calls" in message:
        left = ("id", "type", "function")
        message["tool_calls"] = [{key: one[key] for key in left} for one in message["tool_calls"]]
    return message


def compressor(window):
    made = module.ContextCompressor("model", quiet_mode=True, config_context_length=window)
    assert made.context_length == window
    return made


def apart(message):
    """A message as two, where a summary was written into it."""
    text, header, between = message["content"], module._MERGED_PRIOR_CONTEXT_HEADER + "\n", module._MERGED_SUMMARY_DELIMITER
    if not message.get("_compressed_summary"):
        return [message]
    summary = {"role": "user", "content": module.SUMMARY_PREFIX, "_number": -1}
    if not text.startswith(header):
        return [summary]
    return [summary, {**message, "content": text[len(header) : text.index("\n\n" + between)]}]


def seen(message):
    calls = [[one["id"], one["function"]["arguments"]] for one in message.get("tool_calls", [])]
    number = message["_number"]
    return [number, "" if number < 0 else message["content"], calls]


def answer(case):
    words = case["summary"].split("\n")
    module.SUMMARY_PREFIX, module._SUMMARY_END_MARKER = words[0], words[-1]
    made = compressor(case["window"])
    messages = [message(told) for told in case["messages"]]
    made.compression_count = sum(map(made._is_context_summary_content, (one["content"] for one in messages)))
    said = {}

    def generate(turns, focus_topic=None, memory_context=""):
        task = made._latest_user_task_snapshot(turns)
        said["task"] = task and re.match(r"User asked \(.*?\): (.*)\n", task).group(1)
        said["goes"] = [made._serialize_for_summary([turn]) for turn in turns]
        said["focus"], said["previous"] = focus_topic, made._previous_summary
        said["budget"] = made._compute_summary_budget([sent(turn) for turn in turns])
        return made._with_summary_prefix("-")

    made._generate_summary = generate
    left = [half for one in made.compress([dict(one) for one in messages]) for half in apart(one)]
    _ensure_compressed_has_user_turn(messages, left)
    rough = [estimate_messages_tokens_rough([sent(one)]) for one in messages]
    return {"threshold": made.threshold_tokens, "rough": rough, "left": [seen(one) for one in left], **said}


for line in sys.stdin:
    case = json.loads(line)
    if "windows" in case:
        print(json.dumps([compressor(window).threshold_tokens for window in case["windows"]]), flush=True)
    else:
        print(json.dumps(answer(case)), flush=True)
