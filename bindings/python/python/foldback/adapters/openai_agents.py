"""For the OpenAI Agents SDK: a filter that folds what each request shows of the items.

    Runner.run(agent, input, run_config=RunConfig(call_model_input_filter=compaction("opencode-1.17", window=200_000)))

The items of the run and of its session stay whole.
"""

import asyncio
from typing import Any, Awaitable, Callable, List, Optional

from agents import FunctionTool
from agents.run_config import CallModelData, ModelInputData

from .._conversation import Conversation, PresetLike


def compaction(
    preset: PresetLike = "opencode-1.17",
    window: Optional[int] = None,
    *,
    max_output: Optional[int] = None,
    model: Optional[str] = None,
) -> Callable[["CallModelData[Any]"], Awaitable[ModelInputData]]:
    """A `call_model_input_filter` that folds the items before every request of the model."""
    conversation = Conversation(preset, window, max_output=max_output, model=model, protocol="openai-responses")

    async def folded(data: "CallModelData[Any]") -> ModelInputData:
        given = data.model_data
        tools = [
            {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
            for tool in data.agent.tools
            if isinstance(tool, FunctionTool)
        ]
        items: List[Any] = await asyncio.to_thread(conversation.fold, given.input, system=given.instructions, tools=tools)
        return ModelInputData(input=items, instructions=given.instructions)

    return folded
