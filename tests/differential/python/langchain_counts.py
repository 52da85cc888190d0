"""What langchain-core counts for each message."""

import json
import sys

from langchain_core.messages.utils import count_tokens_approximately
from langchain_messages import message

for line in sys.stdin:
    case = json.loads(line)
    print(json.dumps([count_tokens_approximately([message(told, 0)]) for told in case["messages"]]), flush=True)
