"""Attacks `foldback serve` from all three sides, and counts what was tried: `proxy.py foldback`.

- keys: no key goes to a host that is not its owner's. The way out is a proxy of ours (`HTTPS_PROXY`), which sees where each
  request would go.
- clients: requests that end at every byte, by silence, a closed half or a reset. No connection stays behind.
- upstreams: answers that end at every byte. The client gets what came, and never something that looks whole and is not.
- pages: everything that a page could send, with what browsers say of it. Nothing reaches the provider.
- weight: small requests while bodies of 50 MB are folded; the slowest of a hundred is under half a second.
- framing: lengths that contradict, chunks with extensions and trailers, headers of every wrong form. No request hides in another.
- names: models, ids and tools with control characters, markup and megabytes. They end no header, no line, no element of the page.
- pieces: a stream that comes in two pieces, cut at every byte, also within a character. The client gets the bytes.
- answers: every status and encoding, informational ones, redirects, types that are wrong. They go through; no redirect is followed.
- others: websockets, HTTP/2, CONNECT and the like. Nobody is asked, and the connection ends.
- slow: hundreds of clients and answers that come a byte at a time. Others are served.
- crowd: 20,000 conversations through room for a hundred. Memory stays, and each key goes with its own request.
- telling: keys and contents in everything that fails. None stands in the log, the page, the metrics, or an answer to somebody else.
"""

import gzip
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
import tempfile
import threading
import time
import zlib
from pathlib import Path

FOLDBACK = sys.argv[1]
STORIES = ["keys", "clients", "upstreams", "pages", "weight", "framing", "names", "pieces", "answers", "others", "slow", "crowd", "telling"]
ONLY = sys.argv[2:] or STORIES
HOSTS = {"anthropic": "api.anthropic.com:443", "openai": "api.openai.com:443"}


def check(what, holds, tried, wrong=()):
    for one in wrong[:8]:
        print("wrong:", one, flush=True)
    if wrong or not holds:
        raise AssertionError(what)
    print(f"ok: {what} ({tried:,} tried)", flush=True)


def answering(answer):
    """A provider that answers each request of a connection with the JSON that is made of it."""

    def provider(connection):
        rest = b""
        while True:
            got, rest = message(connection, rest)
            if got is None:
                return
            body = answer(got)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))

    return provider


class Listener:
    """Answers each connection in a thread of its own."""

    def __init__(self, serve):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
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


def limits(**most):
    """Options that limit a proxy to so much."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False) as file:
        file.writelines(f"{name} = {value}\n" for name, value in most.items())
    return ["--limits", file.name]


class Proxy:
    def __init__(self, *options, **environment):
        command = [FOLDBACK, "serve", "--preset", "window", "--listen", "127.0.0.1:0", *options]
        environment = {**os.environ, **environment}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        said = ""
        while True:
            line = self.process.stderr.readline()
            if not line:
                raise EOFError(f"it ended: {said}")
            said = line
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
    tried = answered = 0
    with Proxy("--upstream", "http://" + Listener(answering(lambda _: b"{}")).address) as proxy:
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
        while (left := proxy.metric("connections")) > 1 and time.monotonic() < until:
            time.sleep(0.1)
    check(f"a request that ends anywhere leaves no connection behind ({left})", left == 1, tried)
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
            head = answer.split(b"\r\n\r\n", 1)[0]
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
    with Proxy("--upstream", "http://" + Listener(provider).address, *limits(conversations=1)) as proxy:
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


START = rb"(?:GET|POST) \S+ HTTP"


def raw(connection, logs):
    """Keeps every byte that comes, and answers each head."""
    log = bytearray()
    logs.append(log)
    while more := connection.recv(1 << 16):
        log += more
        for _ in range(len(re.findall(START, more))):
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


def requests_in(log):
    """The requests that a provider reads in these bytes, and what is left over."""
    found = []
    while b"\r\n\r\n" in log:
        head, rest = log.split(b"\r\n\r\n", 1)
        lengths = re.findall(rb"(?i)\r\ncontent-length: (\d+)", head)
        if re.search(rb"(?i)\r\ntransfer-encoding: chunked", head):
            assert not lengths, head
            body = b""
            while chunk := re.match(rb"([0-9A-Fa-f]+)\r\n", rest):
                size, rest = int(chunk[1], 16), rest[chunk.end() :]
                body, rest = body + rest[:size], rest[size + 2 :]
                if not size:
                    break
        else:
            assert len(lengths) <= 1, head
            size = int(lengths[0]) if lengths else 0
            body, rest = rest[:size], rest[size:]
        found.append((head, body))
        log = rest
    return found, log


def send(at, text, timeout=1):
    """Sends bytes and reads until the end or a silence."""
    got = b""
    with socket.create_connection(at, timeout=timeout) as connection:
        try:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(1 << 16):
                got += more
        except OSError:
            pass
    return got


def framing():
    body = conversation()
    hidden = b"GET /v1/hidden HTTP/1.1\r\nhost: localhost\r\n\r\n"
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    length = b"content-length: %d" % len(body)
    both = [b"transfer-encoding: chunked", length]
    heads = [(lines, chunked + hidden) for lines in (both, both[::-1])]
    heads += [([b"content-length: 0", length], body + hidden), ([length, length], body + hidden), ([b"content-length: %d, %d" % (len(body), len(body))], body + hidden)]
    # What is a coding, and what only looks like one.
    codings = [b"chunked", b"Chunked", b" chunked", b"chunked ", b"\tchunked", b"\x0bchunked", b"chunked, identity", b"identity, chunked", b"xchunked", b"chunkedx", b"chunked;q=1", b"\"chunked\"", b"gzip, chunked", b"chunked, chunked", b"cow", b"",
               b"chunked\x00", b"chunked\r\n\tx", b"chu\r\n nked", b"identity"]
    heads += [([b"transfer-encoding:" + coding, *more], text) for coding in codings for more in ([], [b"content-length: 4"], [length]) for text in (chunked + hidden, body + hidden)]
    heads += [([name + b": chunked", b"content-length: 4"], chunked + hidden) for name in (b"transfer-encoding ", b" transfer-encoding", b"transfer_encoding", b"transfer-encoding\x00", b"Transfer-Encoding\t", b"x: y\rtransfer-encoding", b"x: y\ntransfer-encoding")]
    lengths = [b"-1", b"+%d" % len(body), b"0x10", b"1e3", b"%d " % len(body), b" %d" % len(body), b"0%d" % len(body), b"%d\x00" % len(body), b"", b"99999999999999999999", b"18446744073709551615", b"%d;x" % len(body), b"%d.0" % len(body), "٣".encode()]
    heads += [([b"content-length:" + one], body + hidden) for one in lengths]
    # Chunks of every wrong form.
    size = b"%x" % len(body)
    sizes = [size + b";a=b", size + b" ; a=\"b\r\n\"", size + b";" + b"x" * 20_000, size.upper(), b"0" * 30 + size, b"+" + size, b"-" + size, b"0x" + size, size + b" ", b" " + size, b"FFFFFFFFFFFFFFFFF", b"", size + b"\n", size + b"\x00", b"g"]
    heads += [([b"transfer-encoding: chunked"], one + end + body + end + b"0" + end + end + hidden) for one in sizes for end in (b"\r\n", b"\n")]
    trailers = [b"x-foldback-token: t", b"content-length: 4", b"transfer-encoding: chunked", b"host: evil.example", b"authorization: Bearer x", b"x" * 100_000 + b": y", b"no colon", b"a: b\r\n" * 5_000 + b"c: d"]
    heads += [([b"transfer-encoding: chunked", b"trailer: x"], size + b"\r\n" + body + b"\r\n0\r\n" + one + b"\r\n\r\n" + hidden) for one in trailers]
    heads += [([length, one], body + hidden) for one in (b"host: evil.example", b"expect: 100-continue", b"expect: x", b"connection: content-length", b"connection: host, authorization", b"connection: close, x-foldback", b"keep-alive: 1", b"te: trailers", b"upgrade: h2c",
              b"a" * 70_000 + b": b", b"a: " + b"b" * 700_000, b"a: b\r\n" * 2_000 + b"c: d", b": empty", b"a b: c", b"a\x80: b", b"x: \xff\xfe", b"proxy-connection: keep-alive", b"content-encoding: gzip", b"content-type: text/\xe9")]
    tried, wrong = 0, []
    logs = []
    with Proxy("--upstream", "http://" + Listener(lambda connection: raw(connection, logs)).address) as proxy:
        for path, (lines, rest) in itertools.product((b"/v1/messages", b"/any"), heads):
            for log in logs:
                log.clear()
            text = b"POST %s HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer k\r\n%s\r\n\r\n%s" % (path, b"\r\n".join(lines), rest)
            send(proxy.at, text)
            tried += 1
            # The request behind the first is one of its own, or none: never a part of what the provider may read as one.
            found, left = [], b""
            for log in logs:
                some, more = requests_in(bytes(log))
                found, left = found + some, left + more
            posts = [one for one in found if one[0].startswith(b"POST " + path + b" HTTP")]
            hidden_ones = [one for one in found if one[0].startswith(b"GET /v1/hidden HTTP") and one[1] == b""]
            if len(posts) > 1 or len(hidden_ones) > 1 or len(posts) + len(hidden_ones) != len(found) or re.search(START, left):
                wrong.append((lines, rest[:40], found, left))
            assert proxy.process.poll() is None, lines
    check("no request hides in another", True, tried, wrong)


def names():
    evil = ["m\r\nx-evil: 1", "m\nfoldback_proxy_evil 1", "m\" evil=\"1", "m\\", "<script>alert(1)</script>", "</td><img src=x onerror=alert(1)>", "&lt;b&gt;", "\u001b[31m", "\u0000", "\u202e\u2066", "m" * 1_000_000, "", " ", "../../../etc/passwd", "%0d%0ax: y", "\ud800", "{{7*7}}", "$(id)", "\u2028"]
    def answer(got):
        asked.append(got)
        return json.dumps({"id": "i", "type": "message", "role": "assistant", "model": name, "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 1}}).encode()

    asked, tried, wrong = [], 0, []
    with Proxy("--upstream", "http://" + Listener(answering(answer)).address) as proxy:
        for name in evil:
            call = {"type": "tool_use", "id": name, "name": name, "input": {name: name}}
            bodies = [{"model": name, "max_tokens": 5, "messages": [{"role": "user", "content": name or "x"}]},
                      {"model": name, "max_tokens": 5, "system": name, "tools": [{"name": name, "input_schema": {}}], "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": [call]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": name}]}]},
                      {"model": name, "max_tokens": 5, "metadata": {"user_id": name}, "messages": [{"role": name, "content": "x"}]}]
            for body in bodies:
                text = json.dumps(body).encode()
                asked.clear()
                got = proxy.ask(request("POST /v1/messages", ["content-type: application/json"], text))
                tried += 1
                head = got.split(b"\r\n\r\n")[0]
                if not asked or asked[0].split(b"\r\n\r\n", 1)[1] != text or re.search(rb"(?im)^x-evil", head) or re.search(rb"(?im)^x-evil", asked[0].split(b"\r\n\r\n")[0]):
                    wrong.append((name[:40], head, len(asked)))
        page = proxy.ask(request("GET /")).split(b"\r\n\r\n", 1)[1].decode()
        metrics = proxy.ask(request("GET /metrics")).split(b"\r\n\r\n", 1)[1].decode()
        said = "".join(proxy.said)
    for found in ("<script>alert", "<img src=x", "\x1b", "\x00"):
        if found in page or found in metrics or found in said:
            wrong.append(("shown", found))
    wrong += [("no line of metrics", line[:200]) for line in metrics.split("\n") if line and not re.fullmatch(r'(#.*|\w+(\{(\w+="([^"\\\n]|\\.)*",?)*\})? -?[\d.e+-]+)', line)]
    if len(page) > 500_000 or len(metrics) > 500_000 or len(said) > 100_000:
        wrong.append(("long", len(page), len(metrics), len(said)))
    check("names end nothing that they stand in", True, tried, wrong)


def pieces():
    def events(kind, data):
        return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
    anthropic = events("message_start", {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 9, "output_tokens": 0}}})
    anthropic += events("content_block_start", {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    anthropic += events("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "é漢🙂\\n"}})
    anthropic += events("message_delta", {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}) + events("message_stop", {"type": "message_stop"})
    chat = "".join(f"data: {json.dumps({'id': 'c', 'choices': [{'index': 0, 'delta': {'content': text}}]}, ensure_ascii=False)}\n\n" for text in ("é", "漢🙂")) + "data: [DONE]\n\n"
    responses = events("response.created", {"type": "response.created", "response": {"id": "r"}}) + events("response.output_text.delta", {"type": "response.output_text.delta", "delta": "é漢🙂"}) + events("response.completed", {"type": "response.completed", "response": {"id": "r", "output": [], "usage": {"input_tokens": 9, "output_tokens": 2}}})
    streams = {"/v1/messages": anthropic, "/v1/chat/completions": chat, "/v1/responses": responses}
    # Line ends and byte order marks as the standard of events allows them, and what it does not.
    twists = [lambda text: text, lambda text: text.replace("\n", "\r\n"), lambda text: text.replace("\n", "\r"), lambda text: "\ufeff" + text, lambda text: ": c\n\n" + text.replace("data: ", "data:"), lambda text: text[:-1]]
    plan = {}

    def provider(connection):
        message(connection)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for piece in plan["pieces"]:
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            time.sleep(plan["wait"])
        connection.sendall(b"0\r\n\r\n")

    tried = 0
    with Proxy("--upstream", "http://" + Listener(provider).address) as proxy:
        for (path, text), twist in itertools.product(streams.items(), twists):
            text = twist(text).encode()
            cuts = [(cut,) for cut in range(1, len(text), 1 if twist is twists[0] else 7)] + [range(1, len(text))]
            for cut in cuts:
                at = [0, *cut, len(text)]
                plan.update(pieces=[text[one:two] for one, two in itertools.pairwise(at)], wait=0.001 if len(at) == 3 else 0)
                body = json.dumps({"model": "m", "stream": True, "max_tokens": 5, ("input" if "responses" in path else "messages"): [{"role": "user", "content": "Hi."}]}).encode()
                got = proxy.ask(request(f"POST {path}", [], body)).split(b"\r\n\r\n", 1)[1]
                data, rest = b"", got
                while rest:
                    length, rest = rest.split(b"\r\n", 1)
                    data, rest = data + rest[: int(length, 16)], rest[int(length, 16) + 2 :]
                tried += 1
                assert data == text, (path, cut, data[:300])
    check("a stream in any pieces is its bytes", True, tried)


def answers():
    text = b'{"id":"i","type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":10,"output_tokens":1}}'
    packed = {b"gzip": gzip.compress(text), b"deflate": zlib.compress(text), b"br": b"\x8b\x00\x80{}\x03", b"zstd": b"\x28\xb5\x2f\xfd\x04\x00\x11\x00\x00{}", b"x-lies": text, b"gzip, br": text, b"identity": text,
              b"gzip ": gzip.compress(b"a" * 50_000_000)}
    kinds = [b"application/json", b"text/event-stream", b"text/html", b"", b"application/octet-stream", b"application/json; charset=utf-16", b"text/event-stream; x", b"*/*", b"\xff"]
    plan, elsewhere = {}, []

    def provider(connection):
        message(connection)
        connection.sendall(plan["text"])

    def other(connection):
        elsewhere.append(message(connection)[0])

    target = Listener(other).address.encode()
    statuses = [200, 201, 202, 203, 204, 205, 206, 207, 226, 300, 301, 302, 303, 304, 305, 307, 308, 399, 400, 401, 402, 403, 404, 405, 408, 409, 413, 418, 421, 422, 425, 429, 451, 499, 500, 501, 502, 503, 504, 511, 520, 529, 599, 600, 999]
    rows = [(status, b"content-type: application/json\r\nlocation: http://" + target + b"/v1/messages\r\nretry-after: 1", text) for status in statuses]
    rows += [(status, b"content-type: " + kind, body) for status in (200, 400, 413) for kind in kinds for body in (text, b"", b"\xff\xfe", b"data: x", b"[" * 100_000, b"<html>")]
    rows += [(status, b"content-type: application/json\r\ncontent-encoding: " + name, body) for status in (200, 400, 413) for name, body in packed.items()]
    before = [b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n" * 20]
    tried, wrong = 0, []
    with Proxy("--upstream", "http://" + Listener(provider).address) as proxy:
        for (status, headers, body), first in itertools.product(rows, before):
            if first and status != 200:
                continue
            none = status in (204, 205, 304)
            sent = b"" if none else body
            plan["text"] = first + b"HTTP/1.1 %d X\r\n%s\r\n%sconnection: close\r\n\r\n%s" % (status, headers, b"" if status in (204, 304) else b"content-length: %d\r\n" % len(sent), sent)
            got = proxy.ask(request("POST /v1/messages", [], conversation()))
            tried += 1
            head, came = got.split(b"\r\n\r\n", 1)
            code = int(head.split(b" ")[1])
            if (code, came) != (status, sent) and not (code == 502 and status > 599):
                wrong.append((status, headers, len(body), first[:20], head, came[:80]))
        alive = proxy.process.poll() is None
    check("every answer goes through as it is, and nowhere else", not elsewhere and alive, tried, wrong)


def others():
    got = []

    def provider(connection):
        got.append(connection.recv(1 << 16))

    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    texts = [f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{upgrade}{more}\r\n" for method in ("GET", "POST") for path in ("/v1/responses", "/v1/realtime?model=x", "/", "/any") for more in ("", "content-length: 0\r\n", "Sec-WebSocket-Protocol: x, openai-insecure-api-key.k\r\n")]
    texts += [f"CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n\r\n" for host in ("api.openai.com:443", "127.0.0.1:22", "[::1]:80", "x", ":", "")]
    texts += ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "GET / HTTP/3.0\r\n\r\n", "GET / HTTP/0.9\r\n\r\n", "GET /\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "SSH-2.0-x\r\n", "*1\r\n$4\r\nPING\r\n",
              "\r\n" * 1_000 + "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n", "GET " + "/" * 100_000 + " HTTP/1.1\r\n\r\n", "G" * 100_000, "GET / HTTP/1.1\r\n" + "a: b\r\n" * 100_000, "\x00" * 10_000, "GET http://127.0.0.1:22/ HTTP/1.1\r\nhost: 127.0.0.1:22\r\n\r\n", "TRACE / HTTP/1.1\r\nhost: evil.example\r\n\r\n"]
    tried, wrong = 0, []
    with Proxy("--upstream", "http://" + Listener(provider).address) as proxy:
        for text in texts:
            begun = time.monotonic()
            answer = send(proxy.at, text.encode("latin-1"), timeout=10)
            tried += 1
            if b"HTTP/1.1 101" in answer or time.monotonic() - begun > 5:
                wrong.append((text[:80], answer[:200], time.monotonic() - begun))
    print(f"{len(got)} of them reached the provider")
    wrong += [one for one in got if re.search(rb"(?i)upgrade|^CONNECT", one)]
    check("what is no request of HTTP/1.1 is refused", True, tried, wrong)


def slow():
    def provider(connection):
        got, _ = message(connection)
        if got and b"slowly" in got:
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            for _ in range(60):
                connection.sendall(b":")
                time.sleep(1)
        elif got:
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    def crawl(connection, text):
        try:
            for byte in text:
                connection.sendall(bytes([byte]))
                time.sleep(1)
        except OSError:
            pass

    with Proxy("--upstream", "http://" + Listener(provider).address, *limits(connections=600)) as proxy:
        held = []
        for number in range(400):
            connection = socket.create_connection(proxy.at)
            held.append(connection)
            text = request("POST /v1/messages", [], conversation("slowly"))
            if number % 4 == 0:
                connection.sendall(text)
            elif number % 4 == 1:
                connection.sendall(text[:-5])
            elif number % 4 == 2:
                threading.Thread(target=crawl, args=(connection, text), daemon=True).start()
        took = []
        for _ in range(100):
            begun = time.monotonic()
            assert b" 200 " in proxy.ask(request("POST /v1/messages", [], conversation("quickly"))).split(b"\r\n")[0]
            took.append(time.monotonic() - begun)
        until = time.monotonic() + 100
        # Silent ones are let go after a minute; those that crawl may stay as long as they send.
        while (left := proxy.metric("connections")) > 250 and time.monotonic() < until:
            time.sleep(1)
        for connection in held:
            connection.close()
    check(f"400 slow ones hold nobody up (the slowest of others: {max(took) * 1000:.0f} ms; {left} left after their minute)", max(took) < 0.5 and left <= 250, 500)


def crowd():
    wrong, count = [], 20_000

    def answer(got):
        head, body = got.split(b"\r\n\r\n", 1)
        key = re.search(rb"(?i)authorization: bearer k(\d+)", head)[1]
        if b"from k%s." % key not in body:
            wrong.append((key, body[:200]))
        return b'{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"for k%s"}}]}' % key

    def client(at, first):
        connection, rest = socket.create_connection(at), b""
        for number in range(first, count, 4):
            # Two keys hold each beginning of a conversation, and say different things after it.
            messages = [{"role": "user", "content": f"conversation {number // 2}"}, {"role": "assistant", "content": "yes"}, {"role": "user", "content": f"from k{number}."}]
            connection.sendall(request("POST /v1/chat/completions", [f"authorization: Bearer k{number}"], json.dumps({"model": "m", "messages": messages}).encode(), close=False))
            got, rest = message(connection, rest)
            if b"for k%d\"" % number not in got:
                wrong.append((number, got[-200:]))

    with Proxy("--upstream", "http://" + Listener(answering(answer)).address, *limits(conversations=100, conversation_bytes=10_000_000)) as proxy:
        clients = [threading.Thread(target=client, args=(proxy.at, first)) for first in range(4)]
        for one in clients:
            one.start()
        for one in clients:
            one.join()
        kept = proxy.metric("conversations")
        size = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{proxy.process.pid}/status").read_text())[1]) // 1024
    check(f"a crowd leaves {kept} conversations and {size} MB", kept <= 100 and size < 400, count, wrong)


def telling():
    secret, content = "sk-ant-api03-" + "telltale" * 5, "content-that-nobody-tells"
    quoted = json.dumps({"type": "error", "error": {"type": "x", "message": f"bad key {secret} in {content}"}}).encode()
    plan = {"text": b""}

    def provider(connection):
        message(connection)
        connection.sendall(plan["text"])

    full = b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
    texts = [full % (status, len(quoted), quoted) for status in (200, 400, 401, 403, 404, 413, 422, 429, 500, 503, 529)] + [b"", b"no http " + quoted, full % (200, 5_000, quoted), b"HTTP/1.1 200 OK\r\nx: " + secret.encode() * 9_000 + b"\r\n\r\n"]
    bodies = [conversation(content), b"{" + content.encode(), json.dumps({"model": "m", "previous_response_id": content, "input": content}).encode(), json.dumps({"model": "m", "input": [{"type": "item_reference", "id": content}]}).encode(), b"\xff" + content.encode(),
              json.dumps({"model": "m", "messages": [{"role": "user", "content": content + " x" * 90_000}]}).encode()]
    headers = [f"authorization: Bearer {secret}", f"x-api-key: {secret}", f"api-key: {secret}", f"cookie: a={secret}", f"x-foldback-token: {secret}"]
    tried = 0
    with tempfile.TemporaryDirectory() as folder, Proxy("--upstream", "http://" + Listener(provider).address, "--window", "40000", "--journal", folder) as proxy:
        for text, body, header, path in itertools.product(texts, bodies, headers, ("/v1/messages", "/v1/responses?key=" + secret, "/v1/chat/completions")):
            plan["text"] = text
            proxy.ask(request(f"POST {path}", [header], body))
            tried += 1
        shown = proxy.ask(request("GET /")) + proxy.ask(request("GET /metrics")) + proxy.ask(request("GET /" + secret, [headers[0]], b""))[:0]
        proxy.process.terminate()
        proxy.process.wait(40)
        time.sleep(0.2)
        said = "".join(proxy.said)
        kept = b"".join(path.read_bytes() for path in Path(folder).iterdir())
        modes = {oct(path.stat().st_mode & 0o777) for path in Path(folder).iterdir()}
    found = [name for name, text in (("log", said.encode()), ("page or metrics", shown)) if secret.encode() in text or content.encode() in text]
    check(f"keys and contents are told nowhere ({found}, journals {modes})", not found and secret.encode() not in kept and modes <= {"0o600"}, tried)


for name in ONLY:
    globals()[name]()
