"""SWE-agent's own LastNObservations, from its source, before each call that is asked for."""

import json
import os
import sys
import types
from pathlib import Path

# The package itself imports everything that running an agent takes; its modules on history need none of it.
package = types.ModuleType("sweagent")
package.__path__ = [str(Path(os.environ["PACKAGE_HOME"]) / "source" / "sweagent")]
sys.modules["sweagent"] = package
agent = types.ModuleType("sweagent.agent")
agent.__path__ = [package.__path__[0] + "/agent"]
sys.modules["sweagent.agent"] = agent

from sweagent.agent.history_processors import LastNObservations  # noqa: E402


def entry(message):
    if message["role"] != "tool":
        return {"role": message["role"], "content": message["text"], "message_type": message["role"]}
    content = [{"type": "text", "text": message["text"]}]
    content += [{"type": "image_url"}] * message["images"]
    return {"role": "tool", "content": content, "message_type": "observation"}


for line in sys.stdin:
    case = json.loads(line)
    processor = LastNObservations(**case["options"])
    task = {"role": "user", "content": "the task", "message_type": "observation"}
    history = [task] + [entry(message) for message in case["messages"]]
    answer = []
    for messages in case["at"]:
        before = history[: messages + 1]
        after = processor(before)
        assert len(after) == len(before)
        pairs = enumerate(zip(before, after))
        answer.append([[at - 1, new["content"]] for at, (old, new) in pairs if new is not old])
    print(json.dumps(answer), flush=True)
