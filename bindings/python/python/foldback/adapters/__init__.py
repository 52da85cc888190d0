"""foldback in agents of other packages. Each module needs its package installed.

| module | for |
|---|---|
| `pydantic_ai` | `Agent(capabilities=[Compaction(...)])` |
| `langchain` | `create_agent(middleware=[Compaction(...)])` |
| `google_adk` | `LlmAgent(before_model_callback=compaction(...))` |
| `openai_agents` | `RunConfig(call_model_input_filter=compaction(...))` |
| `strands` | `Agent(conversation_manager=Compaction(...))` |

All of them leave the history that the agent keeps as it is, and change only what a request shows of it.
"""
