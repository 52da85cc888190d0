"""LangChain's SummarizationMiddleware before every call, with a model that always says the same."""

import json
import sys

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import RemoveMessage
from langchain_messages import message, said


def number(message):
    """The number of a message, -1 for a summary."""
    return -1 if message.additional_kwargs.get("lc_source") == "summarization" else int(message.id)


for line in sys.stdin:
    case = json.loads(line)
    options = case["options"]
    model = FakeListChatModel(responses=["S"], profile={"max_input_tokens": options["window"]})
    middleware = SummarizationMiddleware(model, trigger=tuple(options["trigger"]), keep=tuple(options["keep"]))
    trimmed = []
    trim = middleware._trim_messages_for_summary

    def noted(messages):
        kept = trim(messages)
        trimmed.append([[number(one), len(said(one))] for one in kept])
        return kept

    middleware._trim_messages_for_summary = noted
    history = [message(told, at) for at, told in enumerate(case["messages"])]
    state, seen, answer = [], 0, []
    for count in case["calls"]:
        state += history[seen:count]
        seen = count
        trimmed.clear()
        update = middleware.before_model({"messages": state}, None)
        if update:
            state = [one for one in update["messages"] if not isinstance(one, RemoveMessage)]
        shown = [number(one) for one in state]
        first = next((at for at in shown if at >= 0), None)
        answer.append({"first": first, "count": len(shown), "trimmed": trimmed[0] if trimmed else None})
    print(json.dumps(answer), flush=True)
