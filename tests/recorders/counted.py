"""Counts of the shipped sessions by other means than foldback's readers: python3 counted.py FOLDBACK.

Each row: a fixture, and what jq counts in it: calls of the model, calls of tools, tokens of requests and of answers. foldback must count the same.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

FIXTURES = pathlib.Path(__file__).parent / "../../crates/formats/fixtures"
NOTHING = "0"

CRUSH = '.messages[]|select(.role=="assistant" and any(.parts[];.type!="finish")'
CRUSH_TOOLS = '[.messages[].parts[]|select(.type=="tool_call")]|length'
GOOSE_TOOLS = '[..|objects|select(.type=="toolRequest")]|length'
HERMES = '[.[].messages[]|select((.active==0 and .compacted==0)|not)|select((.content|tostring|startswith("[CONTEXT COMPACTION"))|not)]|unique_by([.role,.content,.tool_calls])'
HERMES_CALLS = f'{HERMES}|map(select(.role=="assistant"))|length'
HERMES_TOOLS = f'{HERMES}|map(.tool_calls//[]|length)|add'
DSH = '.[]|select(.type=="assistant/message")|.data'
# Without the turn that was taken back.
KIMI = (
    '(map(.type)|index("context.undo")) as $undo|(.[:$undo]|map(.type)|rindex("turn.prompt")) as $begin|'
    '.[:$begin]+.[$undo:]|map(select(.type=="context.append_loop_event").event)'
)
OTLP = '..|objects|select(.key?=='
LANGFUSE = '.observations[]|select(.type=="GENERATION")'
LANGSMITH = '.[]|select(.run_type=="llm")'
PHOENIX = '.[].attributes|select(has("llm.token_count.total"))'

ROWS = [
    ("crush/show.json", f"[{CRUSH})]|length", CRUSH_TOOLS, NOTHING, NOTHING),
    ("crush/store.json", f"[{CRUSH} and (.is_summary|not))]|length", CRUSH_TOOLS, NOTHING, NOTHING),
    (
        "goose/export.json",
        '[.conversation[]|select(.role=="assistant" and .metadata.userVisible and any(.content[];.type!="systemNotification")).id]|unique|length',
        GOOSE_TOOLS,
        NOTHING,
        NOTHING,
    ),
    ("goose/lines.jsonl", 'map(select(.role=="assistant"))|length', GOOSE_TOOLS, NOTHING, NOTHING),
    ("hermes/export.jsonl", HERMES_CALLS, HERMES_TOOLS, NOTHING, NOTHING),
    ("hermes/store.jsonl", HERMES_CALLS, HERMES_TOOLS, NOTHING, NOTHING),
    (
        "dsh/session.jsonl",
        f"[{DSH}]|length",
        f'[{DSH}|(.message//.).content[]|select(.type=="tool-call")]|length',
        f"[{DSH}.usage//{{}}|.inputTokens,.cacheReadTokens,.cacheWriteTokens]|add",
        f"[{DSH}.usage//{{}}|.outputTokens]|add",
    ),
    (
        "kimi-code/wire.jsonl",
        f'{KIMI}|map(select(.type=="step.end" and .usage))|length',
        f'{KIMI}|map(select(.type=="tool.call"))|length',
        f'[{KIMI}|.[]|select(.type=="step.end").usage//{{}}|.inputOther,.inputCacheRead,.inputCacheCreation]|add',
        f'[{KIMI}|.[]|select(.type=="step.end").usage//{{}}|.output]|add',
    ),
    (
        "otel/otlp.json",
        f'[{OTLP}"gen_ai.usage.output_tokens")]|length',
        f'[{OTLP}"gen_ai.output.messages")|..|strings|select(startswith("["))|fromjson|..|objects|select(.type?=="tool_call")]|length',
        f'[{OTLP}"gen_ai.usage.input_tokens").value.intValue|tonumber]|add',
        f'[{OTLP}"gen_ai.usage.output_tokens").value.intValue|tonumber]|add',
    ),
    (
        "otel/langfuse.json",
        f"[{LANGFUSE}]|length",
        f"[{LANGFUSE}.output.tool_calls//[]|.[]]|length",
        f"[{LANGFUSE}.usageDetails|.input,.input_cached_tokens]|add",
        f"[{LANGFUSE}.usageDetails|.output,.output_reasoning_tokens]|add",
    ),
    (
        "otel/langsmith.jsonl",
        f"[{LANGSMITH}]|length",
        f"[{LANGSMITH}.outputs.choices[].message.tool_calls//[]|.[]]|length",
        f"[{LANGSMITH}.extra.metadata.usage_metadata.input_tokens]|add",
        f"[{LANGSMITH}.extra.metadata.usage_metadata.output_tokens]|add",
    ),
    (
        "otel/openinference.jsonl",
        f"[{PHOENIX}]|length",
        f'[{PHOENIX}|keys[]|select(test("^llm.output_messages.*tool_call.id$"))]|length',
        f'[{PHOENIX}["llm.token_count.prompt"]]|add',
        f'[{PHOENIX}["llm.token_count.completion"]]|add',
    ),
]


def raw(path: pathlib.Path, query: str) -> int:
    slurp = ["--slurp"] if path.suffix == ".jsonl" else []
    ran = subprocess.run(["jq", *slurp, query, path], capture_output=True, text=True)
    assert ran.returncode == 0, f"{path.name}: {ran.stderr}"
    return int(ran.stdout)


def read(foldback: str, path: pathlib.Path) -> list[int]:
    with tempfile.TemporaryDirectory() as folder:
        to = pathlib.Path(folder, "read.jsonl")
        subprocess.run([foldback, "convert", path, to, "--to", "foldback", "--quiet"], check=True)
        lines = map(json.loads, to.read_text().splitlines())
        log = [line["message"] for line in lines if "message" in line and "origin" not in line["message"]]
    calls = sum(part["type"] == "call" for message in log for part in message["parts"])
    answers = [message["answer"] for message in log if "answer" in message]
    usage = [answer.get("usage") or {} for answer in answers]

    def tokens(*names: str) -> int:
        return sum(one.get(name, 0) for one in usage for name in names)

    return [len(answers), calls, tokens("uncached", "cache_read", "cache_write"), tokens("output", "reasoning")]


failed = False
for name, *queries in ROWS:
    path = FIXTURES / name
    counted, found = [raw(path, query) for query in queries], read(sys.argv[1], path)
    failed |= counted != found
    told = "the same" if counted == found else f"foldback reads {found}"
    print(f"{name}: {counted[0]} calls, {counted[1]} of tools, {counted[2]} and {counted[3]} tokens; {told}")
sys.exit(failed)
