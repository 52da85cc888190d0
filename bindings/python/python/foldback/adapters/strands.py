"""For Strands Agents: a conversation manager that folds what each request shows of the messages.

    agent = Agent(model, tools=tools, conversation_manager=Compaction("opencode-1.17", window=200_000))

The messages of the agent, and of its session, stay whole.
"""

import asyncio
from typing import Any, Optional

from strands.agent.conversation_manager import ConversationManager
from strands.hooks import AgentInitializedEvent, HookRegistry
from strands.middleware import InvokeModelContext, InvokeModelStage

from .._conversation import Conversation, PresetLike


class Compaction(ConversationManager):
    """Folds the messages before every request of the model, and once more where the provider refuses one for its size."""

    def __init__(
        self,
        preset: PresetLike = "opencode-1.17",
        window: Optional[int] = None,
        *,
        max_output: Optional[int] = None,
        model: Optional[str] = None,
    ) -> None:
        super().__init__()
        self._conversation = Conversation(preset, window, max_output=max_output, model=model, protocol="bedrock")

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Comes between the agent and its model."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._initialized)

    def _initialized(self, event: "AgentInitializedEvent[Any]") -> None:
        event.agent.add_middleware(InvokeModelStage.Input, self._folded)

    async def _folded(self, context: InvokeModelContext) -> InvokeModelContext:
        fold = self._conversation.fold
        system, tools = context.system_prompt, context.tool_specs
        return context.replace(messages=await asyncio.to_thread(fold, context.messages, system=system, tools=tools))

    def apply_management(self, agent: Any, **kwargs: Any) -> None:
        """The messages that the agent keeps are whole."""

    def reduce_context(self, agent: Any, e: Optional[Exception] = None, **kwargs: Any) -> None:
        """The provider refused the latest request for its size."""
        if not self._conversation.overflow() and e is not None:
            raise e
