"""Attacks `foldback serve` from all three sides, and counts what was tried: `proxy.py foldback`.

- keys: no key goes to a host that is not its owner's. The way out is a proxy of ours (`HTTPS_PROXY`), which sees where each
  request would go.
- clients: requests that end at every byte, by silence, a closed half or a reset. No connection stays behind.
- upstreams: answers that end at every byte. The client gets what came, and never something that looks whole and is not.
- pages: everything that a page could send, with what browsers say of it. Nothing reaches the provider.
- weight: small requests while bodies of 50 MB are folded; the slowest of a hundred is under half a second.
"""

import itertools
import json
import multiprocessing
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time

FOLDBACK = sys.argv[1]
ONLY = sys.argv[2:] or ["keys", "clients", "upstreams", "pages", "weight"]
HOSTS = {"anthropic": "api.anthropic.com:443", "openai": "api.openai.com:443"}


def check(what, holds, tried):
    if not holds:
        raise AssertionError(what)
    print(f"ok: {what} ({tried:,} tried)")


class Listener:
    """Answers each connection in a thread of its own."""

    def __init__(self, serve):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.serve = serve
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.one, args=(connection,), daemon=True).start()

    def one(self, connection):
        try:
            self.serve(connection)
        except OSError:
            pass
        finally:
            connection.close()


def message(connection, before=b""):
    """The next message and what came after it; None at the end."""
    while b"\r\n\r\n" not in before:
        more = connection.recv(1 << 16)
        if not more:
            return None, b""
        before += more
    head, rest = before.split(b"\r\n\r\n", 1)
    length = re.search(rb"(?i)content-length: (\d+)", head)
    length = int(length[1]) if length else 0
    while len(rest) < length:
        more = connection.recv(1 << 20)
        if not more:
            return None, b""
        rest += more
    return head + b"\r\n\r\n" + rest[:length], rest[length:]


class Proxy:
    def __init__(self, *options, **environment):
        command = [FOLDBACK, "serve", "--preset", "window", "--listen", "127.0.0.1:0", *options]
        environment = {**os.environ, **environment}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        while True:
            line = self.process.stderr.readline()
            if not line:
                raise EOFError("it ended")
            if "http://" in line:
                break
        self.address = re.search(r"http://([^;\s]+)", line)[1]
        host, port = self.address.split(":")
        self.at = (host, int(port))
        self.said = []
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ask(self, text, timeout=60):
        with socket.create_connection(self.at, timeout=timeout) as connection:
            connection.sendall(text)
            got = b""
            while more := connection.recv(1 << 16):
                got += more
            return got

    def metric(self, name):
        text = self.ask(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").decode()
        return sum(int(number) for number in re.findall(rf"(?m)^foldback_proxy_{name} (\d+)$", text))


def request(line, headers=(), body=b"", close=True):
    lines = [f"{line} HTTP/1.1", "host: 127.0.0.1", f"content-length: {len(body)}", *headers]
    lines += ["connection: close"] if close else []
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def conversation(text="Hi.", model="m"):
    return json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()


def keys():
    seen = []

    def tunnel(connection):
        got, _ = message(connection)
        seen.append(got.split(b" ")[1].decode())
        connection.sendall(b"HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n")

    out = Listener(tunnel)
    owners = {"sk-ant-api03-x": "anthropic", "sk-ant-oat01-x": "anthropic", "sk-proj-x": "openai", "sk-x": "openai"}
    strangers = ["AIzaX", "sk-or-v1-x", "gsk_x", "xai-x", "hf_x", "ghp_x", "nvapi-x", "ya29.x", "ABSKx"]
    owners.update({key: None for key in strangers})
    ways = ["authorization: Bearer %s", "Authorization: bearer  %s", "authorization: %s", "x-api-key: %s", "X-Api-Key: %s"]
    beginnings = ["/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions", "/v1/responses", "/v1/responses/r/cancel",
                  "/v1/threads/t/messages", "/v1/models", "/v1/files/f/content", "/v1/unheard", "/messages", "/chat/completions",
                  "/v1beta/models/g:generateContent", "/anthropic/v1/messages", "/openai/v1/responses", "/", "/v1"]
    twists = [lambda path: path, lambda path: path + "/", lambda path: path + "/../messages", lambda path: path + "/..%2fmessages",
              lambda path: "/" + path, lambda path: path.replace("/v1", "/v1/."), lambda path: path.upper(),
              lambda path: path + "\\..\\messages", lambda path: path + "?x=/v1/messages", lambda path: path + "/%2e%2e/responses"]
    tried = wrong = went = 0
    # One proxy, and a process of its own decides nothing: where a request went is read from what came out for it.
    with Proxy(HTTPS_PROXY="http://" + out.address, NO_PROXY="", no_proxy="") as proxy:
        for beginning, twist, (key, owner), way in itertools.product(beginnings, twists, owners.items(), ways):
            for method in ("POST", "GET"):
                if method == "GET" and way != ways[0]:
                    continue
                seen.clear()
                got = proxy.ask(request(f"{method} {twist(beginning)}", [way % key], b"{}"))
                tried += 1
                went += bool(seen)
                if seen and seen != [HOSTS.get(owner)]:
                    wrong += 1
                    print("wrong:", method, twist(beginning), way % key, seen)
                if not seen and b" 502 " in got.split(b"\r\n")[0]:
                    raise AssertionError("refused without a word: " + twist(beginning))
    print(f"{went} of {tried} went somewhere")
    check("no key goes to another host than its owner's", wrong == 0 and went > 100, tried)


def clients():
    def provider(connection):
        rest = b""
        while True:
            got, rest = message(connection, rest)
            if got is None:
                return
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    tried = answered = 0
    with Proxy("--upstream", "http://" + Listener(provider).address) as proxy:
        whole = request("POST /v1/chat/completions", [], conversation(), close=False)
        for cut in range(len(whole) + 1):
            for end in ("half", "reset", "close"):
                connection = socket.create_connection(proxy.at)
                connection.sendall(whole[:cut])
                tried += 1
                if end == "half":
                    connection.shutdown(socket.SHUT_WR)
                    got = b""
                    while more := connection.recv(1 << 16):
                        got += more
                    answered += got.startswith(b"HTTP/1.1 200 ")
                elif end == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
        # Garbage, from the same seed every time.
        random.seed(38)
        for _ in range(2_000):
            text = bytearray(whole)
            for _ in range(random.randint(1, 8)):
                text[random.randrange(len(text))] = random.randrange(256)
            tried += 1
            connection = socket.create_connection(proxy.at)
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
            connection.close()
        until = time.monotonic() + 30
        while proxy.metric("connections") > 1 and time.monotonic() < until:
            time.sleep(0.1)
        left = proxy.metric("connections")
    check("a request that ends anywhere leaves no connection behind", left == 1, tried)
    check("a client that closed its half has its answer where its request was whole", answered == 1, len(whole) + 1)


def upstreams():
    event = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"content\":[]}}\n\n"
    events = event + "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"x\"}}\n\n"
    refused = '{"type":"error","error":{"type":"invalid_request_error","message":"no such model"}}'
    plain = "HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s"
    chunks = f"{len(events):x}\r\n{events}\r\n0\r\n\r\n"
    answers = [
        plain % ("200 OK", "application/json", 2, "{}"),
        plain % ("400 Bad Request", "application/json", len(refused), refused),
        plain % ("429 Slow", "application/json", len(refused), refused),
        plain % ("200 OK", "text/event-stream", len(events), events),
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" + chunks,
    ]
    plan = {"text": b""}

    def provider(connection):
        message(connection)
        connection.sendall(plan["text"])

    tried = 0
    with Proxy("--upstream", "http://" + Listener(provider).address) as proxy:
        ask = request("POST /v1/messages", [], conversation())
        for answer in answers:
            answer = answer.encode()
            head, body = answer.split(b"\r\n\r\n", 1)
            for cut in range(len(answer)):
                plan["text"] = answer[:cut]
                got = proxy.ask(ask)
                tried += 1
                status = got.split(b"\r\n")[0]
                if cut < len(head) + 4:
                    assert b" 502 " in status, (answer[:cut], got)
                    continue
                assert status.split(b" ")[1] == head.split(b" ")[1], (answer[:cut], got)
                came = got.split(b"\r\n\r\n", 1)[1]
                sent = plan["text"].split(b"\r\n\r\n", 1)[1]
                if b"chunked" in head:
                    assert not came.endswith(b"0\r\n\r\n"), (sent, came)
                    # Half a chunk may come as a whole one: the events count.
                    data = b"".join(part for at, part in enumerate(came.split(b"\r\n")) if at % 2)
                    assert sent.split(b"\r\n", 1)[-1].startswith(data) or not data, (sent, came)
                else:
                    assert came == sent, (sent, came)
    check("an answer that ends anywhere is what came of it, and no whole one", True, tried)


def pages():
    got = []

    def provider(connection):
        got.append(message(connection)[0])
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    origins = ["null", "http://evil.example", "http://127.0.0.1:3000", "http://localhost", "https://127.0.0.1:1", "file://",
               "chrome-extension://x", "http://[::1]:8787", "HTTP://%s.", "http://%s@evil.example", "http://%s.evil.example",
               "http://%s, http://evil.example", "http://evil.example http://%s", "http://%s/", " http://evil.example", "//%s"]
    sites = ["cross-site", "same-site", "CROSS-SITE", "cross-site, none", "none, cross-site", "x", "\"none\""]
    lines = [f"{method} {path}" for method in ("GET", "POST", "PUT", "OPTIONS", "HEAD", "DELETE")
             for path in ("/", "/healthz", "/metrics", "/v1/messages", "/v1/chat/completions", "/v1/models", "/any", "//", "/v1/../x")]
    tried = 0
    with Proxy("--upstream", "http://" + Listener(provider).address, "--max-conversations", "1") as proxy:
        foreign = [[f"Origin: {origin.replace('%s', proxy.address)}"] for origin in origins]
        foreign += [[f"Sec-Fetch-Site: {site}"] for site in sites]
        foreign += [[f"origin: http://{proxy.address}", "origin: http://evil.example"], ["sec-fetch-site: none", "sec-fetch-site: cross-site"]]
        foreign += [["host: evil.example"], ["x: y", "Host: evil.example:80"]]
        for line, headers in itertools.product(lines, foreign):
            text = request(line, ["content-type: text/plain", *headers], conversation())
            if "host" in headers[-1].lower():
                text = text.replace(b"host: 127.0.0.1\r\n", b"")
            status = proxy.ask(text).split(b"\r\n")[0]
            tried += 1
            if "host" in headers[-1].lower() and line.endswith("/healthz"):
                continue
            assert status.split(b" ")[1] in (b"403", b"421", b"400"), (line, headers, status)
        kept = proxy.metric("conversations")
    check("nothing of a foreign page is answered or sent on", got == [] and kept == 0, tried)


def discard(connection):
    """Reads messages and keeps nothing of their bodies."""
    while True:
        head = b""
        while b"\r\n\r\n" not in head:
            more = connection.recv(1 << 16)
            if not more:
                return
            head += more
        head, rest = head.split(b"\r\n\r\n", 1)
        left = int(re.search(rb"(?i)content-length: (\d+)", head)[1]) - len(rest)
        while left > 0:
            left -= len(connection.recv(min(left, 1 << 16)))
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


def large(at, number):
    """Sends one body of 50 MB after the other, each the beginning of a conversation."""
    for call in itertools.count():
        body = conversation(f"{number} {call} " + "a text that fills it " * 2_500_000)
        with socket.create_connection(at) as connection:
            connection.sendall(request("POST /v1/chat/completions", [], body))
            while connection.recv(1 << 16):
                pass


def weight():
    with Proxy("--upstream", "http://" + Listener(discard).address) as proxy:
        # In processes of their own, so that this one measures the proxy and not itself.
        others = [multiprocessing.Process(target=large, args=(proxy.at, number), daemon=True) for number in range(4)]
        for other in others:
            other.start()
        time.sleep(5)
        took = []
        for number in range(300):
            body = conversation(f"small {number}")
            begun = time.monotonic()
            proxy.ask(request("POST /v1/chat/completions", [], body))
            took.append(time.monotonic() - begun)
        for other in others:
            other.terminate()
    took.sort()
    p99 = took[len(took) * 99 // 100]
    print(f"small requests beside bodies of 50 MB: median {took[150] * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms, longest {took[-1] * 1000:.0f} ms")
    check("small requests wait at most half a second", p99 < 0.5, len(took))


for name in ONLY:
    globals()[name]()
