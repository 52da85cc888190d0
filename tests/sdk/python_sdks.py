"""The official Python SDKs of Anthropic and OpenAI through the proxy, unchanged: tasks of 100 calls, streamed and not,
with tools and an image, errors, and what is no conversation. Takes the programs of the proxy and of the provider."""

import subprocess
import sys
import urllib.request

import anthropic
import openai

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CALLS = 100


def content(path):
    return "".join(f"fn of_{path}_{line}() -> u32 {{ {line} }}\n" for line in range(25))


def anthropic_task(client, stream):
    tools = [{"name": "read", "description": "Reads a file.", "input_schema": SCHEMA}]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    text = {"type": "text", "text": "Read all files.", "cache_control": {"type": "ephemeral"}}
    messages = [{"role": "user", "content": [image, text]}]
    for call in range(1, CALLS + 1):
        asked = dict(model="m", max_tokens=500, tools=tools, messages=messages, system="You read.")
        if stream:
            with client.messages.stream(**asked) as events:
                answer = events.get_final_message()
        else:
            answer = client.messages.create(**asked)
        messages.append({"role": "assistant", "content": answer.content})
        uses = [block for block in answer.content if block.type == "tool_use"]
        if not uses:
            assert answer.stop_reason == "end_turn" and answer.content[0].text == "Done.", answer
            return call
        results = [
            {"type": "tool_result", "tool_use_id": use.id, "content": content(use.input["path"])} for use in uses
        ]
        messages.append({"role": "user", "content": results})
    raise AssertionError("no end")


def chat_task(client, stream):
    tools = [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    text = {"type": "text", "text": "Read all files."}
    messages = [{"role": "system", "content": "You read."}, {"role": "user", "content": [text, image]}]
    for call in range(1, CALLS + 1):
        asked = dict(model="m", tools=tools, messages=messages)
        if stream:
            with client.chat.completions.stream(**asked) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**asked).choices[0].message
        kept = message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"})
        for used in kept.get("tool_calls", []):
            used["function"].pop("parsed_arguments", None)
        messages.append(kept)
        if not message.tool_calls:
            assert message.content == "Done.", message
            return call
        for used in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": used.id, "content": content(used.function.arguments)})
    raise AssertionError("no end")


def responses_task(client, stream):
    tools = [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}]
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "low"}
    items = [{"role": "user", "content": [{"type": "input_text", "text": "Read all files."}, image]}]
    for call in range(1, CALLS + 1):
        asked = dict(model="m", tools=tools, input=items, instructions="You read.", store=False)
        if stream:
            with client.responses.stream(**asked) as events:
                answer = events.get_final_response()
        else:
            answer = client.responses.create(**asked)
        uses = [item for item in answer.output if item.type == "function_call"]
        if not uses:
            assert answer.output_text == "Done.", answer
            return call
        for use in uses:
            items.append({"type": "function_call", "call_id": use.call_id, "name": use.name, "arguments": use.arguments})
            items.append({"type": "function_call_output", "call_id": use.call_id, "output": content(use.arguments)})
    raise AssertionError("no end")


def others(claude, gpt):
    messages = [{"role": "user", "content": "refuse me"}]
    for error, ask in [
        (anthropic.BadRequestError, lambda: claude.messages.create(model="m", max_tokens=5, messages=messages)),
        (openai.BadRequestError, lambda: gpt.chat.completions.create(model="m", messages=messages)),
        (openai.BadRequestError, lambda: gpt.responses.create(model="m", input="refuse me")),
    ]:
        try:
            ask()
        except error as refused:
            assert "planted refusal" in str(refused), refused
        else:
            raise AssertionError("not refused")
    assert claude.messages.count_tokens(model="m", messages=messages).input_tokens == 7
    assert [model.id for model in gpt.models.list()] == ["m"]
    assert [model.id for model in claude.models.list()] == ["m"]


def metric(metrics, outcome):
    lines = [line for line in metrics.splitlines() if f'outcome="{outcome}"' in line]
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines)


def main(foldback, agent):
    provider = subprocess.Popen([agent], stdout=subprocess.PIPE, text=True)
    upstream = provider.stdout.readline().strip()
    command = [foldback, "serve", "--listen", "127.0.0.1:0", "--upstream", upstream]
    command += ["--preset", "tiered", "--window", "16k", "--max-output", "1k"]
    proxy = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        url = "http://" + proxy.stderr.readline().split("http://")[1].split(";")[0]
        claude = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        gpt = openai.OpenAI(base_url=url + "/v1", api_key="k", max_retries=0)
        for task, client in [(anthropic_task, claude), (chat_task, gpt), (responses_task, gpt)]:
            for stream in [False, True]:
                assert task(client, stream) == CALLS, (task, stream)
        others(claude, gpt)
        metrics = urllib.request.urlopen(url + "/metrics").read().decode()
        followed = metric(metrics, "folded") + metric(metrics, "unchanged") + metric(metrics, "recovered")
        assert followed == 6 * CALLS + 3, metrics
        assert metric(metrics, "folded") > CALLS and metric(metrics, "fault") == 0, metrics
        assert metric(metrics, "passed") == 3, metrics
        print(f"{followed} requests followed, {metric(metrics, 'folded')} folded, {metric(metrics, 'recovered')} recovered")
    finally:
        proxy.terminate()
        provider.kill()
    assert proxy.wait(60) == 0


main(*sys.argv[1:])
