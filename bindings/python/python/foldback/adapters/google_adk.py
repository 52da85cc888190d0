"""For Google's Agent Development Kit: a callback that folds what each request shows of the contents.

    agent = LlmAgent(name="a", model=model, before_model_callback=compaction("opencode-1.17", window=200_000))

The events of the session stay whole.
"""

import asyncio
from typing import Any, Awaitable, Callable, Optional

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from .._conversation import Conversation, PresetLike


def compaction(
    preset: PresetLike = "opencode-1.17",
    window: Optional[int] = None,
    *,
    max_output: Optional[int] = None,
    model: Optional[str] = None,
) -> Callable[[CallbackContext, LlmRequest], Awaitable[Optional[LlmResponse]]]:
    """A `before_model_callback` that folds the contents of every request of the model."""
    conversation = Conversation(preset, window, max_output=max_output, model=model, protocol="google-genai")

    async def folded(callback_context: CallbackContext, llm_request: LlmRequest) -> Optional[LlmResponse]:
        config: Any = llm_request.config
        system, tools = config.system_instruction, config.tools
        contents = await asyncio.to_thread(conversation.fold, llm_request.contents, system=system, tools=tools)
        llm_request.contents = contents
        return None

    return folded
