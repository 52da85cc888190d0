"""A day of requests through `foldback serve --summarizer MODEL`: `summaries.py foldback [REQUESTS]`, 86,400 of them.

Eight clients hold conversations of 60 calls by three protocols. The provider answers each with what its newest message asks for, so the
client knows every byte that it would get without the proxy. Of the summaries that the provider is asked for, half come; the others
are refused, late, empty, over-long, broken or never there. Every tenth request of a provider is looked at for results without calls.
"""

import collections
import json
import multiprocessing
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

FOLDBACK = sys.argv[1]
REQUESTS = int(sys.argv[2]) if len(sys.argv) > 2 else 86_400
CLIENTS, CALLS = 8, 60
PATHS = {"anthropic": "/v1/messages", "chat": "/v1/chat/completions", "responses": "/v1/responses"}
SUMMARY = "The files up to here were read, and nothing in them was wrong. "


def message(connection, before):
    """The head and the body of the next message, and what came after it."""
    while b"\r\n\r\n" not in before:
        more = connection.recv(1 << 18)
        if not more:
            return None, None, b""
        before += more
    head, rest = before.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
    parts = [rest]
    got = len(rest)
    while got < length:
        more = connection.recv(1 << 20)
        if not more:
            return None, None, b""
        parts.append(more)
        got += len(more)
    rest = b"".join(parts)
    return head, rest[:length], rest[length:]


def answer(protocol, text, size):
    """An answer of a provider to a request of so many bytes."""
    tokens = size // 4
    if protocol == "anthropic":
        said = {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn", "usage": {"input_tokens": tokens, "output_tokens": 9}}
    elif protocol == "chat":
        said = {"id": "c", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": tokens, "completion_tokens": 9, "total_tokens": tokens + 9}}
    else:
        said = {"id": "r", "status": "completed", "output": [{"type": "message", "id": "i", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}],
                "usage": {"input_tokens": tokens, "output_tokens": 9, "total_tokens": tokens + 9}}
    return json.dumps(said).encode()


def whole(status, body):
    return b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)


def is_paired(body):
    calls, results = set(), set()
    for one in body.get("messages") or body["input"]:
        parts = [one, *(one.get("tool_calls") or []), *(one["content"] if isinstance(one.get("content"), list) else [])]
        for part in parts:
            kind = part.get("type")
            if kind == "tool_use":
                calls.add(part["id"])
            elif kind == "function" or kind == "function_call":
                calls.add(part.get("call_id") or part["id"])
            elif kind in ("tool_result", "function_call_output") or part.get("role") == "tool":
                results.add(part.get("tool_use_id") or part.get("call_id") or part["tool_call_id"])
    return calls == results


def provider(address, planted, wrong):
    """A process that answers."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    address.put(listener.getsockname()[1])
    chance, lock = random.Random(42), threading.Lock()
    kinds = ["good"] * 12 + ["slow"] * 3 + ["401", "404", "429", "529", "empty", "long", "cut", "garbage", "error", "closed"]

    def summary(connection, protocol, size):
        with lock:
            kind = "never" if chance.random() < 0.002 else chance.choice(kinds)
            planted[kind] = planted.get(kind, 0) + 1
        if kind == "slow":
            time.sleep(2)
        if kind == "never":
            time.sleep(600)
        good = whole(200, answer(protocol, SUMMARY, size))
        quoted = json.dumps({"error": {"type": "x", "message": "sk-secret mark-0-0-0-end"}}).encode()
        replies = {"empty": whole(200, answer(protocol, "", size)), "long": whole(200, answer(protocol, SUMMARY * 2_000, size)),
                   "cut": good[: len(good) // 2], "garbage": whole(200, b"no json"), "error": whole(200, quoted), "closed": b""}
        replies.update({status: whole(int(status), quoted) for status in ("401", "404", "429", "529")})
        connection.sendall(replies.get(kind, good))
        return kind not in ("cut", "closed")

    def serve(connection):
        rest, asked = b"", 0
        try:
            while True:
                head, body, rest = message(connection, rest)
                if head is None:
                    return
                path = head.split(b" ", 2)[1].decode()
                protocol = next(name for name, its in PATHS.items() if its == path)
                if b'"model":"s-1"' in body:
                    if b"authorization: bearer sk-secret" not in head.lower():
                        wrong.append("a summary without the client's key")
                    if not summary(connection, protocol, len(body)):
                        return
                    continue
                asked += 1
                if asked % 10 == 0 and not is_paired(json.loads(body)):
                    wrong.append("a result without its call: " + body.decode()[:2_000])
                marks = re.findall(rb"mark-[\d-]+-end", body[-4_000:])
                connection.sendall(whole(200, answer(protocol, marks[-1].decode(), len(marks[-1]) + 40 * int(marks[-1].split(b"-")[3]) * 20)))
        except OSError:
            pass
        finally:
            connection.close()

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def steps(protocol, name):
    """The messages of a conversation, those of each call together; the first is the task."""
    def user(text):
        return {"role": "user", "content": text}

    yield [user(f"Read all files. mark-{name}-0-end")]
    for call in range(1, CALLS):
        mark, id = f"mark-{name}-{call}-end", f"c{call}"
        if call % 15 == 14:
            yield [{"role": "assistant", "content": f"Part {call} is read."}, user(f"Go on. {mark}")]
            continue
        text, given = f"line {call} of a file that fills the window\n" * 15 + mark, {"path": f"src/{call}.rs"}
        if protocol == "anthropic":
            yield [{"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "read", "input": given}]},
                   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}]
        elif protocol == "chat":
            called = {"id": id, "type": "function", "function": {"name": "read", "arguments": json.dumps(given)}}
            yield [{"role": "assistant", "content": None, "tool_calls": [called]}, {"role": "tool", "tool_call_id": id, "content": text}]
        else:
            yield [{"type": "function_call", "call_id": id, "name": "read", "arguments": json.dumps(given)},
                   {"type": "function_call_output", "call_id": id, "output": text}]


def client(number, port, most, done):
    """A process that asks."""
    connection, rest = socket.create_connection(("127.0.0.1", port)), b""
    counts, wrong, conversation = collections.Counter(), [], 0
    while sum(counts.values()) < most:
        protocol = list(PATHS)[conversation % 3]
        texts, list_of = [], "input" if protocol == "responses" else "messages"
        for call, new in enumerate(steps(protocol, f"{number}-{conversation}")):
            if sum(counts.values()) == most:
                break
            texts += map(json.dumps, new)
            body = ('{"model": "m-1", "max_tokens": 100, "%s": [%s]}' % (list_of, ", ".join(texts))).encode()
            head = f"POST {PATHS[protocol]} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sk-secret\r\ncontent-length: {len(body)}\r\n\r\n"
            # So that a conversation outlives the attempts for its summary.
            time.sleep(0.02)
            connection.sendall(head.encode() + body)
            head, got, rest = message(connection, rest)
            mark = f"mark-{number}-{conversation}-{call}-end"
            expected = answer(protocol, mark, len(mark) + 40 * call * 20)
            if not head.startswith(b"HTTP/1.1 200 ") or got != expected:
                wrong.append((protocol, call, head.decode(), got.decode()[:500]))
            counts[re.search(rb"x-foldback: (\w+)", head)[1].decode()] += 1
        conversation += 1
    done.put((counts, wrong))


def main():
    manager, queue = multiprocessing.Manager(), multiprocessing.Queue()
    planted, wrong = manager.dict(), manager.list()
    multiprocessing.Process(target=provider, args=(queue, planted, wrong), daemon=True).start()
    upstream = f"http://127.0.0.1:{queue.get()}"
    limits = tempfile.NamedTemporaryFile("w", suffix=".toml")
    limits.write("conversations = 100\n")
    limits.flush()
    command = [FOLDBACK, "serve", "--preset", "codex", "--window", "8k", "--max-output", "500", "--summarizer", "s-1",
               "--budget-usd", "none", "--limits", limits.name, "--listen", "127.0.0.1:0", "--upstream", upstream]
    proxy = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)", proxy.stderr.readline())[1])
        said = []
        threading.Thread(target=lambda: said.extend(proxy.stderr), daemon=True).start()
        done, began = multiprocessing.Queue(), time.time()
        for number in range(CLIENTS):
            share = REQUESTS // CLIENTS + (number < REQUESTS % CLIENTS)
            multiprocessing.Process(target=client, args=(number, port, share, done), daemon=True).start()
        counts, differing = collections.Counter(), []
        for _ in range(CLIENTS):
            some, bad = done.get()
            counts += some
            differing += bad
        took = time.time() - began
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            metrics = b""
            while more := connection.recv(1 << 16):
                metrics += more
        ended = {kind: int(count) for kind, count in re.findall(r'summaries_total{ended="([\w-]+)"} (\d+)', metrics.decode())}
        size = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{proxy.pid}/status").read())[1]) // 1024
        print(f"{sum(counts.values()):,} requests in {took:.0f} s: {dict(counts)}; {size} MB at most")
        print(f"planted: {dict(sorted(planted.items()))}\nsummaries: {ended}\nlines: {len(said):,}")
        assert not differing, differing[0]
        assert not list(wrong), wrong[0]
        assert sum(counts.values()) == REQUESTS and proxy.poll() is None
        assert counts["folded"] > REQUESTS // 10 and not set(counts) - {"folded", "unchanged"}, counts
        assert not [line for line in said if "sk-secret" in line or "mark-" in line]
        assert REQUESTS < 50_000 or {"written", "auth", "rate-limited", "overloaded", "unusable", "decode", "transport"} <= set(ended)
        print("ok: every request was answered as without the proxy")
    finally:
        proxy.kill()


if __name__ == "__main__":
    main()
