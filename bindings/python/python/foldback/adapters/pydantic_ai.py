"""For pydantic-ai: a capability that folds what each request shows of the history.

    agent = Agent(model, capabilities=[Compaction("opencode-1.17", window=200_000)])

The run's own history (`all_messages`) stays whole.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, Optional

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext

from .._conversation import Conversation, PresetLike


@dataclass
class Compaction(AbstractCapability[Any]):
    """Folds the history before every request of the model."""

    preset: PresetLike = "opencode-1.17"
    window: Optional[int] = None
    max_output: Optional[int] = None
    model: Optional[str] = None

    def __post_init__(self) -> None:
        self._conversation = Conversation(
            self.preset, self.window, max_output=self.max_output, model=self.model, protocol="pydantic-ai"
        )

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Puts the messages to send in place of all of them, for this request alone."""
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
            for tool in request_context.model_request_parameters.function_tools
        ]
        messages = list(request_context.messages)
        fold = self._conversation.fold
        request_context.messages = await asyncio.to_thread(fold, messages, tools=tools)
        return request_context

    @classmethod
    def get_serialization_name(cls) -> Optional[str]:
        """It is no part of an agent's specification."""
        return None
