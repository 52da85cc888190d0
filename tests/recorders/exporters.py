"""Exporters of traces tell what clients of providers are asked and answered, and what foldback reads in their files is that.

    python3 exporters.py HOME FOLDBACK [EXPORTER ...]     (a folder with the exporters' packages, the command)

Every exporter is given one story by each client that it knows, whole and as a stream. What must be read follows from what the provider answered and
from what it was asked. What an exporter does not tell is named in `EXPORTERS`.
"""

import base64
import contextlib
import http.server
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SYSTEM = "You are an agent."
MODELS = ["gpt-5.4", "gpt-5.4-mini"]
REFUSED = {"status": 400, "error": "planted"}


def answer(number, text="", thinking="", calls=()):
    usage = {"input": 100 + number, "cached": 1_000 * number, "written": 0, "output": 20 + number, "reasoning": 3}
    calls = [{"id": f"call_{number}_{at}", "name": "run", "args": {"what": what}} for at, what in enumerate(calls)]
    return {"text": text, "thinking": thinking, "calls": calls, "usage": usage}


# What the user says, with a picture or without, to which model, and the answers.
STORY = [
    ("ask 0", False, 0, [answer(1, "let me", "think", ["works", "fails"]), answer(2, calls=["works"]), answer(3, "said 3")]),
    ("ask 1", True, 1, [answer(4, "said 4")]),
    ("ask 2", False, 1, [REFUSED, answer(5, "said 5")]),
]


def told(what):
    """What the tool says, and whether it failed."""
    return ("nothing there", True) if what == "fails" else ("found", False)


class Chat:
    """The Chat Completions API."""

    def __init__(self, url, stream, own=lambda client: client):
        import openai

        kind = getattr(own, "openai", openai.OpenAI)
        self.client, self.stream = own(kind(base_url=f"{url}/v1", api_key="k", max_retries=0)), stream
        self.messages = [{"role": "system", "content": SYSTEM}]
        self.tools = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object", "properties": {}}}}]

    def says(self, text, picture):
        parts = [{"type": "text", "text": text}]
        if picture:
            parts.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}})
        self.messages.append({"role": "user", "content": parts if picture else text})

    def asks(self, model):
        how = {"stream": True, "stream_options": {"include_usage": True}} if self.stream else {}
        found = self.client.chat.completions.create(model=model, messages=list(self.messages), tools=self.tools, **how)
        if self.stream:
            text, calls = "", {}
            for chunk in found:
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for call in choice.delta.tool_calls or []:
                        calls[call.index] = {"id": call.id, "type": "function", "function": call.function.model_dump()}
            calls = list(calls.values())
        else:
            message = found.choices[0].message
            text, calls = message.content or "", [call.model_dump() for call in message.tool_calls or []]
        self.messages.append({"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})})
        return [(call["id"], json.loads(call["function"]["arguments"])) for call in calls]

    def results(self, results):
        self.messages += [{"role": "tool", "tool_call_id": id, "content": text} for id, text, _ in results]


class Responses(Chat):
    """The Responses API."""

    def __init__(self, *how):
        super().__init__(*how)
        self.messages = []
        self.tools = [{"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}]

    def says(self, text, picture):
        parts = [{"type": "input_text", "text": text}]
        if picture:
            parts.append({"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"})
        self.messages.append({"role": "user", "content": parts if picture else text})

    def asks(self, model):
        found = self.client.responses.create(model=model, instructions=SYSTEM, input=list(self.messages), tools=self.tools, stream=self.stream)
        if self.stream:
            found = [event for event in found if event.type == "response.completed"][0].response
        items = [item.model_dump(exclude_none=True) for item in found.output]
        self.messages += items
        return [(item["call_id"], json.loads(item["arguments"])) for item in items if item["type"] == "function_call"]

    def results(self, results):
        self.messages += [{"type": "function_call_output", "call_id": id, "output": text} for id, text, _ in results]


class Messages:
    """The Messages API."""

    def __init__(self, url, stream, own=lambda client: client):
        import anthropic

        self.client, self.stream = own(anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)), stream
        self.messages = []
        self.tools = [{"name": "run", "input_schema": {"type": "object", "properties": {}}}]

    def says(self, text, picture):
        parts = [{"type": "text", "text": text}]
        if picture:
            parts.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}})
        self.messages.append({"role": "user", "content": parts if picture else text})

    def asks(self, model):
        asked = {"model": model, "max_tokens": 1_000, "system": SYSTEM, "messages": list(self.messages), "tools": self.tools}
        if self.stream:
            with self.client.messages.stream(**asked) as stream:
                found = stream.get_final_message()
        else:
            found = self.client.messages.create(**asked)
        blocks = [block.model_dump(exclude_none=True) for block in found.content]
        self.messages.append({"role": "assistant", "content": blocks})
        return [(block["id"], block["input"]) for block in blocks if block["type"] == "tool_use"]

    def results(self, results):
        blocks = [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed} for id, text, failed in results]
        self.messages.append({"role": "user", "content": blocks})


class Pydantic:
    """An agent of Pydantic AI, which goes through its own loop."""

    def __init__(self, url, kind):
        from pydantic_ai import Agent, ModelRetry
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
        from pydantic_ai.providers.anthropic import AnthropicProvider
        from pydantic_ai.providers.openai import OpenAIProvider

        if kind == "messages":
            provider, model = AnthropicProvider(base_url=url, api_key="k"), AnthropicModel
        else:
            provider = OpenAIProvider(base_url=f"{url}/v1", api_key="k")
            model = OpenAIChatModel if kind == "chat" else OpenAIResponsesModel
        self.models = [model(name, provider=provider) for name in MODELS]
        self.agent = Agent(self.models[0], instructions=SYSTEM, retries=3)
        self.history = []

        @self.agent.tool_plain
        def run(what: str) -> str:
            text, failed = told(what)
            if failed:
                raise ModelRetry(text)
            return text

    def turn(self, text, picture, model):
        from pydantic_ai import BinaryContent

        prompt = [text, BinaryContent(base64.b64decode(PICTURE), media_type="image/png")] if picture else text
        found = self.agent.run_sync(prompt, model=self.models[model], message_history=self.history)
        self.history = found.all_messages()


def tell(client, provider, untold):
    """The story by a client of a provider. A picture hides the whole request from who does not tell it."""
    for text, picture, model, answers in STORY:
        picture = picture and "files" not in untold
        for one in answers:
            provider.stdin.write(json.dumps(one) + "\n")
        provider.stdin.flush()
        # An agent fails with its call, and is asked again.
        if isinstance(client, Pydantic):
            for one in [one for one in answers if one is REFUSED] + [None]:
                with refused() if one else contextlib.nullcontext():
                    client.turn(text, picture, model)
            continue
        client.says(text, picture)
        for one in answers:
            with refused() if one is REFUSED else contextlib.nullcontext():
                calls = client.asks(MODELS[model])
                if calls:
                    client.results([(id, *told(args["what"])) for id, args in calls])


@contextlib.contextmanager
def refused():
    try:
        yield
    except Exception as error:
        if "planted" not in str(error):
            raise
    else:
        raise AssertionError("nothing was refused")


def clients(url, own=lambda client: client):
    made = {}
    for kind, client in [("chat", Chat), ("responses", Responses), ("messages", Messages)]:
        for stream in [False, True]:
            made[kind + (" streamed" if stream else "")] = (lambda client=client, stream=stream: client(url, stream, own))
    return made


def spans(out, name):
    """A provider of tracers, whose spans are written to files as the console exporter and the exporter to files do."""
    from opentelemetry.exporter.otlp.json.file import FileSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

    provider = TracerProvider()
    # A line is written at once.
    console = open(out / f"{name}.console.json", "w", encoding="utf-8", buffering=1)
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=console)))
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(str(out / f"{name}.otlp.jsonl"))))
    return provider


def traced(instrumentors):
    """Clients under OpenTelemetry's instrumentors."""

    def run(url, kind, out):
        provider = spans(out, kind)
        for module, name in instrumentors:
            getattr(importlib.import_module(module), name)().instrument(tracer_provider=provider)
        # A program has a span around what it does.
        with provider.get_tracer("story").start_as_current_span("story"):
            yield clients(url)[kind]()
        provider.shutdown()

    return run


def pydantic(url, kind, out):
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    provider = spans(out, kind)
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    with provider.get_tracer("story").start_as_current_span("story"):
        yield Pydantic(url, kind)
    provider.shutdown()


def langfuse(url, kind, out):
    provider = spans(out, kind)
    os.environ.update(LANGFUSE_HOST=url, LANGFUSE_PUBLIC_KEY="pk", LANGFUSE_SECRET_KEY="sk")
    from langfuse import Langfuse
    from langfuse.openai import OpenAI

    Langfuse(tracer_provider=provider)

    def own(client):
        return client

    own.openai = OpenAI
    with provider.get_tracer("story").start_as_current_span("story"):
        yield clients(url, own)[kind]()
    provider.shutdown()


def langsmith(url, kind, out):
    """Its runs, as it posts them, one a line."""
    runs = {}

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            run = json.loads(self.rfile.read(int(self.headers["content-length"])))
            id = run.get("id") or self.path.rsplit("/", 1)[-1]
            runs.setdefault(id, {}).update({key: value for key, value in run.items() if value is not None})
            self.send_response(202)
            self.end_headers()
            self.wfile.write(b"{}")

        do_PATCH = do_POST

        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["LANGSMITH_TRACING"] = "true"
    import langsmith
    from langsmith.wrappers import wrap_anthropic, wrap_openai

    client = langsmith.Client(api_url=f"http://127.0.0.1:{server.server_port}", api_key="k", auto_batch_tracing=False)
    wrap = wrap_anthropic if kind.startswith("messages") else wrap_openai
    with langsmith.tracing_context(enabled=True, client=client), langsmith.trace("story", client=client):
        yield clients(url, lambda made: wrap(made, tracing_extra={"client": client}))[kind]()
    client.flush()
    with open(out / f"{kind}.runs.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(run) + "\n" for run in runs.values())


# Content is told where it is asked for.
SWITCHES = {
    **os.environ,
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
}
OPENAI = ["chat", "chat streamed", "responses", "responses streamed"]
ALL = [*OPENAI, "messages", "messages streamed"]
GENAI = [("opentelemetry.instrumentation.genai.openai", "OpenAIInstrumentor"), ("opentelemetry.instrumentation.genai.anthropic", "AnthropicInstrumentor")]
OPENLLMETRY = [("opentelemetry.instrumentation.openai", "OpenAIInstrumentor"), ("opentelemetry.instrumentation.anthropic", "AnthropicInstrumentor")]
OPENINFERENCE = [("openinference.instrumentation.openai", "OpenAIInstrumentor"), ("openinference.instrumentation.anthropic", "AnthropicInstrumentor")]
# The exporter, its clients with what it does not tell of them, and what it does not tell of a call that is refused.
EXPORTERS = {
    "opentelemetry": (traced(GENAI), {**dict.fromkeys(OPENAI, {"thinking"}), "messages": set(), "messages streamed": set()}, "answer"),
    # It adds up the output that a stream of Anthropic's tells at its begin and at its end, and tells nothing of one that is refused. The text of a stream
    # of the Responses API it takes from events that the provider here does not send.
    "openllmetry": (
        traced(OPENLLMETRY),
        {"chat": {"files"}, "chat streamed": {"files", "reasoning"}, "responses": set(), "messages": set(), "messages streamed": {"usage", "warnings"}},
        "answer",
    ),
    "openinference": (traced(OPENINFERENCE), {**dict.fromkeys(ALL, set()), "chat": {"thinking"}, "chat streamed": {"thinking"}}, "answer"),
    "pydantic-ai": (pydantic, dict.fromkeys(["chat", "responses", "messages"], set()), "content"),
    "langfuse": (langfuse, {**dict.fromkeys(OPENAI, set()), "chat": {"thinking"}, "chat streamed": {"thinking"}}, "answer"),
    # A stream that Anthropic's client puts together itself is not told at all.
    "langsmith": (langsmith, {**dict.fromkeys(OPENAI, set()), "chat streamed": {"thinking"}, "messages": {"thinking"}}, "answer"),
}


def expected(kind, untold, without):
    said = [(one, model) for _, _, model, answers in STORY for one in answers if one is not REFUSED]
    calls = [call for one, _ in said for call in one["calls"]]

    def usage(one):
        used = dict(one["usage"])
        # Anthropic does not count them apart.
        if kind.startswith("messages") or "reasoning" in untold:
            used.update(output=used["output"] + used["reasoning"], reasoning=0)
        return used

    return {
        "system": [SYSTEM],
        "prompts": [text for text, *_ in STORY],
        "files": 0 if "files" in untold else 1,
        "texts": [one["text"] for one, _ in said],
        "thinking": [one["thinking"] for one, _ in said],
        "calls": [[call["id"], call["name"], call["args"]] for call in calls],
        "results": [[call["id"], told(call["args"]["what"])[0]] for call in calls],
        "usage": [usage(one) for one, _ in said],
        "models": [MODELS[model] for _, model in said],
        "boundaries": 0,
        # The request that was refused.
        "warnings": [f"call-without-{without}: 1 call(s)"],
        "sessions": 1,
    }


def read(foldback, file):
    """What foldback reads in a file, in the same words."""
    to = file.with_suffix(".read")
    done = subprocess.run([foldback, "convert", file, to, "--to", "foldback", "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": done.stderr.strip()}
    lines = [json.loads(line) for line in to.read_text(encoding="utf-8").splitlines()]
    messages = [line["message"] for line in lines if "message" in line]

    def of(role):
        return [message for message in messages if message["role"] == role]

    def parts(message, kind):
        return [part for part in message["parts"] if part["type"] == kind]

    def said(message, kind):
        return "".join(part["text"] for part in parts(message, kind))

    answers = of("assistant")
    counts = {"uncached": "input", "cache_read": "cached", "cache_write": "written", "output": "output", "reasoning": "reasoning"}
    used = [(message.get("answer") or {}).get("usage") or {} for message in answers]
    media = [part for message in messages for part in message["parts"] for part in ([part] if part["type"] == "file" else part.get("media", []))]
    return {
        "system": [part["text"] for line in lines for part in line.get("frame", []) if part["kind"] == "system"],
        "prompts": [said(message, "text") for message in of("user")],
        "files": len(media),
        "texts": [said(message, "text") for message in answers],
        "thinking": [said(message, "reasoning") for message in answers],
        "calls": [[part["call_id"].removeprefix("fc_"), part["tool"], json.loads(part["arguments"])] for message in answers for part in parts(message, "call")],
        "results": [[part["call_id"].removeprefix("fc_"), part["text"]] for message in of("tool") for part in parts(message, "result")],
        "usage": [{ours: usage.get(name, 0) for name, ours in counts.items()} for usage in used],
        "models": [(message.get("answer") or {}).get("model") for message in answers],
        "boundaries": sum("boundary" in line for line in lines),
        "warnings": [f"{line['warning']['code']}: {line['warning']['detail']}".partition(" with")[0].partition(" left")[0] for line in lines if "warning" in line],
        "sessions": sum("foldback" in line for line in lines),
    }


def main():
    home, foldback, *only = sys.argv[1:]
    faults, count = [], 0
    for name in only or EXPORTERS:
        _, kinds, without = EXPORTERS[name]
        out = pathlib.Path(home).resolve() / "exported" / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        for kind, untold in kinds.items():
            # Instrumentors stay where they once were.
            told = subprocess.run([sys.executable, __file__, "--tell", name, kind, out], env=SWITCHES, capture_output=True, text=True, check=False, timeout=120)
            if told.returncode != 0:
                faults.append(f"{name}, {kind}: {told.stderr.strip()[-1500:]}")
                continue
            wanted = expected(kind, untold, without)
            for file in sorted(out.glob(f"{kind}.*.json*")):
                count += 1
                found = read(foldback, file)
                for what in wanted if "error" not in found else found:
                    if what not in untold and found[what] != wanted.get(what):
                        faults.append(f"{file.name} of {name}: {what}: {found[what]}, and was {wanted.get(what)}")
    print("\n".join(faults) or f"{count} files of {len(only or EXPORTERS)} exporters are read as they were told")
    sys.exit(1 if faults else 0)


def child(name, kind, out):
    serve = pathlib.Path(__file__).parent / "serve.mjs"
    provider = subprocess.Popen(["node", serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    exporter, kinds, _ = EXPORTERS[name]
    try:
        steps = exporter(provider.stdout.readline().strip(), kind, pathlib.Path(out))
        tell(next(steps), provider, kinds[kind])
        next(steps, None)
    finally:
        provider.stdin.close()
        provider.wait(10)


if __name__ == "__main__":
    child(*sys.argv[2:]) if sys.argv[1:2] == ["--tell"] else main()
