"""tunacode's compaction controller as its requests drive it, with a summarizer that says what it is told to.

The package is installed without its dependencies: of tinyagent the controller needs types and the model's client, which nothing here asks.
"""

import asyncio
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

stub("tinyagent")
stub("tinyagent.agent_types", AgentMessage=dict, Context=dict, SimpleStreamOptions=dict)
stub("tinyagent.alchemy_provider", OpenAICompatModel=Any, stream_alchemy_openai_completions=None)

from tunacode.core.compaction import controller, summarizer  # noqa: E402
from tunacode.utils.messaging import estimate_messages_tokens  # noqa: E402


def is_text_of_tool(message):
    return message["role"] == "tool_result" and all(item["type"] == "text" for item in message["content"])


class Session:
    """What the controller reads of a session."""

    compaction = None


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
        self.given = {"messages": [one["number"] for one in messages], "previous": previous_summary, "results": results}
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
        self.window = case["window"]
        self.stored, self.since = [], []

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
        self.stored = list(outcome.messages)
        sent = self.controller.inject_summary_message([*self.stored, *self.since])
        shown = [one["number"] if "number" in one else one["content"][0]["text"] for one in sent]
        return {
            "count": count,
            "status": outcome.status,
            "reason": outcome.reason,
            "asked": self.summaries.asked,
            "sent": shown,
        }

    def happens(self, what):
        if "message" in what:
            self.since.append(what["message"])
            return None
        if what["at"] != "provider-overflow":
            # What was said in the last request is stored before the next one.
            self.stored, self.since = self.stored + self.since, []
        return self.decides(what["at"])


for line in sys.stdin:
    case = json.loads(line)
    requests = Requests(case)
    answers = [requests.happens(what) for what in case["happens"]]
    print(json.dumps([answer for answer in answers if answer]), flush=True)
