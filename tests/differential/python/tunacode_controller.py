"""tunacode's compaction controller as its requests drive it, with a summarizer that says what it is told to.

Version 0.1.78 holds messages as dictionaries and is installed without its dependencies: of tinyagent its controller needs types and the model's client,
which nothing here asks. Version 0.2.3 holds them as objects of tinyagent, which is installed with it.
"""

import asyncio
import importlib.util
import json
import os
import sys
import types
from typing import Any


def stub(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


# It logs to a file below the home of the user.
os.environ["HOME"] = os.environ["PACKAGE_HOME"]

if importlib.util.find_spec("tinyagent") is None:
    stub("tinyagent")
    stub("tinyagent.agent_types", AgentMessage=dict, Context=dict, SimpleStreamOptions=dict)
    stub("tinyagent.alchemy_provider", OpenAICompatModel=Any, stream_alchemy_openai_completions=None)

    def held(message):
        return message
else:
    from tinyagent.agent_types import AssistantMessage, ToolResultMessage, UserMessage

    def held(message):
        kinds = {"user": UserMessage, "assistant": AssistantMessage, "tool_result": ToolResultMessage}
        return kinds[message["role"]](**message)


from tunacode.core.compaction import controller, summarizer  # noqa: E402
from tunacode.utils.messaging import estimate_messages_tokens, get_content  # noqa: E402


def of(message, name):
    """A field of a message, whatever holds it."""
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)


def is_text_of_tool(message):
    return of(message, "role") == "tool_result" and all(of(item, "type") == "text" for item in of(message, "content"))


class Conversation:
    """The stored messages and, in 0.2.3, their size, which is kept up."""

    messages, total_tokens = [], 0


class Session:
    """What the controller reads of a session."""

    def __init__(self):
        self.compaction, self.conversation = None, Conversation()


class State:
    def __init__(self):
        self.session = Session()


class Summaries(summarizer.ContextSummarizer):
    """Summaries by number; every fourth one fails. Keeps what the last one was to be of."""

    def __init__(self):
        super().__init__(self.write)
        self.written, self.asked, self.given = 0, None, None

    async def write(self, _prompt, _signal):
        self.asked = self.given
        self.written += 1
        if self.written % 4 == 0:
            raise RuntimeError("no model")
        return f" summary {self.written} {'x' * (self.written * 37 % 900)}\n"

    async def summarize(self, messages, *, previous_summary, signal):
        lines = [self.serialize_messages([one]) for one in messages if is_text_of_tool(one)]
        results = sum(len(line.removeprefix(summarizer.SERIALIZED_TOOL_RESULT_PREFIX + " ")) for line in lines)
        self.given = {"messages": [of(one, "number") for one in messages], "previous": previous_summary, "results": results}
        return await super().summarize(messages, previous_summary=previous_summary, signal=signal)


class Requests:
    """The messages of a session, and what becomes of them."""

    def __init__(self, case):
        self.state, self.summaries = State(), Summaries()
        self.controller = controller.CompactionController(
            state_manager=self.state,
            summarizer=self.summaries,
            keep_recent_tokens=case["keep"],
            reserve_tokens=case["reserve"],
        )
        self.window, self.since = case["window"], []

    @property
    def stored(self):
        return self.state.session.conversation.messages

    def decides(self, moment):
        """What a request does to the messages before it (`_compact_history_for_request`, `_force_compact_history`)."""
        count = None if moment == "provider-overflow" else estimate_messages_tokens(self.stored)
        self.summaries.asked = None
        if moment != "turn-start":
            call = self.controller.force_compact(self.stored, max_tokens=self.window, signal=None)
        else:
            self.controller.reset_request_state()
            call = self.controller.check_and_compact(
                self.stored, max_tokens=self.window, signal=None, allow_threshold=True
            )
        outcome = asyncio.run(call)
        controller.apply_compaction_messages(self.state, outcome.messages)
        sent = self.controller.inject_summary_message([*self.stored, *self.since])
        numbers = [of(one, "number") for one in sent]
        shown = [get_content(one) if number is None else number for one, number in zip(sent, numbers)]
        return {
            "count": count,
            "status": outcome.status,
            "reason": outcome.reason,
            "asked": self.summaries.asked,
            "sent": shown,
        }

    def stores(self):
        """What was said in the last request is stored before the next one (`_persist_agent_messages`)."""
        conversation = self.state.session.conversation
        conversation.messages, self.since = self.stored + self.since, []
        conversation.total_tokens = estimate_messages_tokens(conversation.messages)

    def happens(self, what):
        if "message" in what:
            self.since.append(held(what["message"]))
            return None
        if what["at"] != "provider-overflow":
            self.stores()
        return self.decides(what["at"])


for line in sys.stdin:
    case = json.loads(line)
    requests = Requests(case)
    answers = [requests.happens(what) for what in case["happens"]]
    print(json.dumps([answer for answer in answers if answer]), flush=True)
