"""The condenser of the OpenHands SDK before every call of the agent, with a model that is told what to say."""

import json
import logging
import os
import sys

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
os.environ.setdefault("ALLOW_SHORT_CONTEXT_WINDOWS", "true")

from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.context.condenser.base import NoCondensationAvailableException
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, Condensation, CondensationRequest, MessageEvent, ObservationEvent, SystemPromptEvent
from openhands.sdk.event.condenser import CondensationSummaryEvent
from openhands.sdk.llm import Message, MessageToolCall, TextContent, ThinkingBlock
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool.schema import Observation
from pydantic import PrivateAttr

logging.disable(logging.CRITICAL)

# Folds before one call: where the summary alone is over a limit, the agent would go on without end.
ROUNDS = 4


class Told(Observation):
    pass


class Model(TestLLM):
    """Counts four characters to a token, by text."""

    def get_token_count(self, messages, tools=None, add_security_risk_prediction=False):
        texts = [part.text for message in messages for part in message.content if isinstance(part, TextContent)]
        texts += [call.arguments for message in messages for call in message.tool_calls or []]
        return sum(len(text) // 4 for text in texts)


class Summaries(TestLLM):
    """Says something else every time, and every so often nothing."""

    _asked: list = PrivateAttr(default_factory=list)
    _fails: int = PrivateAttr(default=0)

    def completion(self, messages, **kwargs):
        number = len(self._asked)
        failed = self._fails and number % self._fails == 0
        text = f"summary {number} {'y' * (number * 97 % 900)}"
        said = Message(role="assistant", content=[TextContent(text=text)])
        self._scripted_responses.append(RuntimeError("no model") if failed else said)
        return super().completion(messages, **kwargs)


class Condenser(LLMSummarizingCondenser):
    """Notes what it shows the model."""

    _asked: list = PrivateAttr(default_factory=list)

    def _generate_condensation(self, forgotten_events, summary_offset, max_event_str_length=None):
        self._asked.append([seen(event) for event in forgotten_events])
        return super()._generate_condensation(forgotten_events, summary_offset, max_event_str_length)


def texts(told):
    return [TextContent(text=text) for text in told["texts"]]


def events(told, number):
    """The events of a message, with ids that the other side knows."""
    if told["role"] == "tool":
        observation = Told(content=texts(told))
        result = {"tool_name": "t", "tool_call_id": told["result"], "action_id": "-"}
        return [ObservationEvent(id=str(number), observation=observation, **result)]
    thinking = [ThinkingBlock(thinking="t", signature="s")] if told["thinks"] else []
    if told["calls"]:
        return [
            ActionEvent(
                id=f"{number}.{at}",
                thought=texts(told) if at == 0 else [],
                thinking_blocks=thinking if at == 0 else [],
                tool_name="t",
                tool_call_id=call["id"],
                tool_call=MessageToolCall(id=call["id"], name="t", arguments=call["arguments"], origin="completion"),
                llm_response_id=f"r{number}",
            )
            for at, call in enumerate(told["calls"])
        ]
    source = {"user": "user", "assistant": "agent"}[told["role"]]
    message = Message(role=told["role"], content=texts(told), thinking_blocks=thinking)
    return [MessageEvent(id=str(number), source=source, llm_message=message)]


def seen(event):
    """What the summarizer sees of an event, without what stands around it."""
    text = str(event)
    if isinstance(event, ActionEvent):
        begin, end = "\n  Thought: ", f"\n  Action: (not executed)\n  Call: t:{event.tool_call.id}"
    elif isinstance(event, ObservationEvent):
        begin, end = "\n  Result: ", ""
    else:
        begin, end = f"\n  {event.to_llm_message().role}: ", " [Thinking blocks: 1]"
    text = text[text.index(begin) + len(begin) :].removesuffix(end)
    return "" if text == "[no text content]" else text


def shown(view):
    return ["S" if isinstance(event, CondensationSummaryEvent) else event.id for event in view.events[1:]]


def run(case):
    options = case["options"]
    asked = []
    summaries = Summaries(model="m")
    summaries._asked, summaries._fails = asked, options["fails"]
    own = {name: options[name] for name in ["max_size", "keep_first", "minimum_progress"]}
    own["max_tokens"] = options["max_tokens"] or None
    condenser = Condenser(llm=summaries, **own)
    condenser._asked = asked
    agent = Model(model="m", max_input_tokens=options["window"] or None)
    system = SystemPromptEvent(id="system", system_prompt=TextContent(text=""), tools=[])
    view = View(events=[system])

    def condense(rounds):
        for _ in range(rounds):
            try:
                result = condenser.condense(view, agent_llm=agent)
            except NoCondensationAvailableException:
                view.unhandled_condensation_request = False
                return
            if not isinstance(result, Condensation):
                return
            view.append_event(result)

    appended, answer = 0, []
    for call, count in enumerate(case["calls"]):
        for number, told in enumerate(case["messages"][appended:count], appended):
            for event in events(told, number) if told["role"] != "system" else []:
                view.append_event(event)
        appended = count
        had = len(asked)
        condense(ROUNDS)
        if options["refused"] and call % options["refused"] == options["refused"] - 1:
            view.append_event(CondensationRequest())
            condense(ROUNDS)
        answer.append({"shown": shown(view), "asked": asked[had:]})
    return answer


for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
