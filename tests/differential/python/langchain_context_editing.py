"""LangChain's ContextEditingMiddleware before each call that is asked for: what it cleared."""

import json
import sys

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_messages import message

model = FakeListChatModel(responses=["unused"])

for line in sys.stdin:
    case = json.loads(line)
    options = case["options"]
    middleware = ContextEditingMiddleware(edits=[ClearToolUsesEdit(**options)] if options else None)
    history = [message(told, number) for number, told in enumerate(case["messages"])]
    answer = []
    for count in case["at"]:
        before = history[:count]
        sent = []

        def handler(request):
            sent.extend(request.messages)
            return ModelResponse(result=[AIMessage("unused")])

        middleware.wrap_model_call(ModelRequest(model=model, messages=before), handler)
        assert not before or len(sent) == len(before)
        cleared = []
        for at, (old, new) in enumerate(zip(before, sent)):
            editing = new.response_metadata.get("context_editing", {})
            if isinstance(new, ToolMessage) and editing.get("cleared"):
                cleared.append([at, "result", new.content])
            cleared += [[at, "input", id] for id in editing.get("cleared_tool_inputs", [])]
        answer.append(cleared)
    print(json.dumps(answer), flush=True)
