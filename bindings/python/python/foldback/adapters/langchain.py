"""For LangChain: a middleware of `create_agent` that folds what each request shows of the messages.

    agent = create_agent(model, tools, middleware=[Compaction("opencode-1.17", window=200_000)])

The messages of the agent's state stay whole.
"""

import asyncio
from typing import Any, Awaitable, Callable, Optional

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest
from langchain_core.utils.function_calling import convert_to_openai_tool

from .._conversation import Conversation, PresetLike


class Compaction(AgentMiddleware[Any, Any, Any]):
    """Folds the messages before every request of the model."""

    def __init__(
        self,
        preset: PresetLike = "opencode-1.17",
        window: Optional[int] = None,
        *,
        max_output: Optional[int] = None,
        model: Optional[str] = None,
    ) -> None:
        super().__init__()
        self._conversation = Conversation(preset, window, max_output=max_output, model=model, protocol="langchain")

    def wrap_model_call(self, request: "ModelRequest[Any]", handler: Callable[["ModelRequest[Any]"], Any]) -> Any:
        """Sends the messages to send in place of all of them."""
        return handler(self._folded(request))

    async def awrap_model_call(
        self, request: "ModelRequest[Any]", handler: Callable[["ModelRequest[Any]"], Awaitable[Any]]
    ) -> Any:
        """The same in an asynchronous agent."""
        return await handler(await asyncio.to_thread(self._folded, request))

    def _folded(self, request: "ModelRequest[Any]") -> "ModelRequest[Any]":
        system = request.system_message.text if request.system_message is not None else None
        tools = [convert_to_openai_tool(tool) for tool in request.tools]
        return request.override(messages=self._conversation.fold(request.messages, system=system, tools=tools))
