"""The middleware of deepagents before every call, with a model that always says the same and files in a temporary folder."""

import json
import sys
import tempfile
import warnings

from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import create_summarization_middleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_messages import message

warnings.simplefilter("ignore")


def number(message):
    """The number of a message, -1 for a summary."""
    return -1 if message.additional_kwargs.get("lc_source") == "summarization" else int(message.id)


def before_call(middleware, model, state):
    """What is sent; nothing where the middleware gives up, or sends tails of results to files."""
    sent = []

    def handler(request):
        sent.append(request.messages)
        return ModelResponse(result=[AIMessage("unused")])

    request = ModelRequest(model=model, messages=state["messages"], state=state)
    try:
        response = middleware.wrap_model_call(request, handler)
    except ContextOverflowError:
        return None
    if isinstance(response, ExtendedModelResponse):
        update = dict(response.command.update)
        if update.pop("messages", None):
            return None
        state.update(update)
    return sent[0]


for line in sys.stdin:
    case = json.loads(line)
    window = case["options"]["window"]
    model = FakeListChatModel(responses=["S"], profile={"max_input_tokens": window} if window else None)
    history = [message(told, at) for at, told in enumerate(case["messages"])]
    answer = []
    with tempfile.TemporaryDirectory() as folder:
        backend = FilesystemBackend(root_dir=folder, virtual_mode=True)
        middleware = create_summarization_middleware(model, backend)
        # The summary names a file by a random name, so the words around it are made as long as the preset's.
        middleware._build_new_messages_with_path = lambda summary, path: [
            HumanMessage("x" * case["options"]["prefix"] + summary, additional_kwargs={"lc_source": "summarization"})
        ]
        state = {"messages": []}
        for count in case["calls"]:
            state["messages"] = history[:count]
            sent = before_call(middleware, model, state)
            if sent is None:
                break
            shown = [number(one) for one in sent]
            cut = []
            for at, one in zip(shown, sent):
                if at >= 0 and isinstance(one, AIMessage):
                    pairs = zip(one.tool_calls, history[at].tool_calls)
                    cut += [[at, new["id"]] for new, old in pairs if new["args"] != old["args"]]
            first = next((at for at in shown if at >= 0), None)
            answer.append({"first": first, "count": len(shown), "cut": cut})
    print(json.dumps(answer), flush=True)
