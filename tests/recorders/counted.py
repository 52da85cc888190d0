"""Counts of the shipped sessions by other means than foldback's readers: python3 counted.py FOLDBACK.

Each row: a fixture, and what jq, or SQL in a store, counts in it: calls of the model, calls of tools, tokens of requests and of answers. foldback must
count the same.
"""

import json
import pathlib
import sqlite3
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
# Of bubbles in the order of their headers: a call of the model begins behind the user and behind calls of another one.
CURSOR = """
WITH stored AS (
    SELECT header.key AS place, bubble.value ->> 'type' AS type, bubble.value -> 'toolFormerData' AS tool,
        bubble.value ->> 'text' <> '' OR bubble.value -> 'thinking' IS NOT NULL AS said, bubble.value -> 'tokenCount' AS tokens
    FROM cursorDiskKV composer, json_each(composer.value, '$.fullConversationHeadersOnly') header
    JOIN cursorDiskKV bubble ON bubble.key = 'bubbleId:' || substr(composer.key, 14) || ':' || (header.value ->> 'bubbleId')
    WHERE composer.key LIKE 'composerData:%'
), called AS (
    SELECT *, tool ->> 'toolCallId' AS id, nullif(tool ->> 'modelCallId', '') AS named FROM stored WHERE type = 1 OR tool IS NOT NULL OR said
), numbered AS (
    SELECT *, coalesce(named, CASE WHEN id LIKE 'call-%' THEN rtrim(id, '0123456789') END, id) AS call FROM called
), followed AS (
    SELECT *, lag(type, 1, 1) OVER (ORDER BY place) AS before, lag(call) OVER (ORDER BY place) AS call_before FROM numbered
)
SELECT count(*) FILTER (WHERE type = 2 AND (before = 1 OR call_before IS NOT NULL AND call_before IS NOT call)),
    count(tool), total(tokens ->> 'inputTokens'), total(tokens ->> 'outputTokens')
FROM followed
"""
DSH = '.[]|select(.type=="assistant/message")|.data'
# Without the turn that was taken back.
KIMI = (
    '(map(.type)|index("context.undo")) as $undo|(.[:$undo]|map(.type)|rindex("turn.prompt")) as $begin|'
    '.[:$begin]+.[$undo:]|map(select(.type=="context.append_loop_event").event)'
)
OTLP = '..|objects|select(.key?=='
LANGFUSE = '.observations[]|select(.type=="GENERATION")'
GENERATION = '.[].attributes|select(.["langfuse.observation.type"]=="generation")'
QWEN = 'map(select(.type=="assistant"))'
LANGSMITH = '.[]|select(.run_type=="llm")'
EXPORT = '[..|objects|select(.key?=="gen_ai.output.messages" or .key?=="openinference.span.kind")]|length'
# Of the last request, which has what came before.
LAST = '[..|objects|select(.key?=="gen_ai.input.messages").value.stringValue|fromjson]|last|[..|objects|select(.type?=="tool_call")]|length'
LAST_PHOENIX = '[.[]|[..|objects|select((.key? // "")|test("^llm.input_messages.[0-9]+.message.tool_calls.*tool_call.id$"))]|length]|max'
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
    (
        "cursor/transcript.jsonl",
        'map(select(.role=="assistant"))|length',
        '[..|objects|select(.type=="tool_use")]|length',
        NOTHING,
        NOTHING,
    ),
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
        "qwen-code/chat.jsonl",
        f"{QWEN}|length",
        f"[{QWEN}|.[].message.parts[]|select(.functionCall)]|length",
        f"{QWEN}|map(.usageMetadata.promptTokenCount)|add",
        f"{QWEN}|map(.usageMetadata.candidatesTokenCount)|add",
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
        "otel/langfuse-sdk.jsonl",
        f"[{GENERATION}]|length",
        f'[{GENERATION}|.["langfuse.observation.output"]|fromjson|.tool_calls//[]|.[]]|length',
        f'[{GENERATION}|.["langfuse.observation.usage_details"]|fromjson|.prompt_tokens]|add',
        f'[{GENERATION}|.["langfuse.observation.usage_details"]|fromjson|.completion_tokens]|add',
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
    (
        "otel/openllmetry.jsonl",
        EXPORT,
        LAST,
        '[..|objects|select(.key?=="gen_ai.usage.input_tokens").value.intValue|tonumber]|add',
        '[..|objects|select(.key?=="gen_ai.usage.output_tokens").value.intValue|tonumber]|add',
    ),
    (
        "otel/openinference-anthropic.jsonl",
        EXPORT,
        LAST_PHOENIX,
        '[..|objects|select(.key?=="llm.token_count.prompt").value.intValue|tonumber]|add',
        '[..|objects|select(.key?=="llm.token_count.completion").value.intValue|tonumber]|add',
    ),
    (
        "otel/openinference-responses.jsonl",
        EXPORT,
        LAST_PHOENIX,
        '[..|objects|select(.key?=="llm.token_count.prompt").value.intValue|tonumber]|add',
        '[..|objects|select(.key?=="llm.token_count.completion").value.intValue|tonumber]|add',
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


def cursor(store: pathlib.Path) -> list[int]:
    """Makes a store of a fixture, and counts in it."""
    composer = json.loads((FIXTURES / "cursor/store.json").read_text())
    bubbles = composer.pop("conversation")
    composer["fullConversationHeadersOnly"] = bubbles
    stored = [(bubble["bubbleId"], bubble) for bubble in bubbles if "type" in bubble]
    rows = [(f"bubbleId:{composer['composerId']}:{key}", json.dumps(bubble)) for key, bubble in stored]
    rows.append((f"composerData:{composer['composerId']}", json.dumps(composer)))
    with sqlite3.connect(store) as connection:
        connection.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        connection.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", rows)
        return [int(count) for count in connection.execute(CURSOR).fetchone()]


def same(name: str, path: pathlib.Path, counted: list[int]) -> bool:
    found = read(sys.argv[1], path)
    told = "the same" if counted == found else f"foldback reads {found}"
    print(f"{name}: {counted[0]} calls, {counted[1]} of tools, {counted[2]} and {counted[3]} tokens; {told}")
    return counted == found


results = [same(name, FIXTURES / name, [raw(FIXTURES / name, query) for query in queries]) for name, *queries in ROWS]
with tempfile.TemporaryDirectory() as folder:
    store = pathlib.Path(folder, "state.vscdb")
    results.append(same("cursor/store.json in SQLite", store, cursor(store)))
sys.exit(not all(results))
