"""The released OpenCode: what it keeps and what it asks for at each compaction of a session.

Reads a case a line: {"messages": [{"info": ..., "parts": ...}], "at": [n, ...], "summaries": [...], "limits": {...}}. The messages
before each number of `at` are put into the program's store, then a person asks for a compaction, and both go on from there. Answers
with a line of {"tail": index of the message that the kept tail starts with, or null, "request": the text of the request} for each.

The program talks to a provider in this process alone, on the loopback device.
"""

import http.server
import json
import os
import pathlib
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

SUMMARY, REQUESTS = [""], []


class Provider(http.server.BaseHTTPRequestHandler):
    """Answers every request with the summary that is due."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        REQUESTS.append(request)
        head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
        said = {"role": "assistant", "content": SUMMARY[0]}
        chunks = [
            {**head, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {**head, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}},
        ]
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Program:
    """OpenCode as a server, in a home of its own."""

    def __init__(self, limits):
        self.provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        threading.Thread(target=self.provider.serve_forever, daemon=True).start()
        self.home = tempfile.TemporaryDirectory()
        home, self.port = pathlib.Path(self.home.name), free_port()
        (home / "project").mkdir()
        models = {name: {"name": name, "attachment": True, "limit": limit} for name, limit in limits.items()}
        own = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "here",
            "options": {"baseURL": f"http://127.0.0.1:{self.provider.server_port}/v1", "apiKey": "none"},
            "models": models,
        }
        config = {"autoupdate": False, "share": "disabled", "snapshot": False, "provider": {"here": own}}
        off = "AUTOUPDATE MODELS_FETCH LSP_DOWNLOAD DEFAULT_PLUGINS SHARE PROJECT_CONFIG".split()
        folders = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("DATA", "CONFIG", "CACHE", "STATE")}
        env = {
            **os.environ,
            **folders,
            **{f"OPENCODE_DISABLE_{name}": "1" for name in off},
            "HOME": str(home),
            "OPENCODE_PURE": "1",
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        }
        package = pathlib.Path(os.environ["PACKAGE_HOME"]) / "node_modules/opencode-linux-x64/bin/opencode"
        arguments = ["serve", "--hostname", "127.0.0.1", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [package, *arguments], cwd=home / "project", env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(120):
            try:
                self.ask("GET", "/global/health")
                break
            except OSError:
                time.sleep(0.5)
        self.ask("GET", "/session")
        self.store = sqlite3.connect(home / "data/opencode/opencode.db", timeout=60)

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read() or b"null")

    def end(self):
        # It waits for installations in the background, however slow the registry is.
        self.process.kill()
        self.process.wait()
        self.provider.shutdown()


class Session:
    """A session in the program's store. Its messages have times that rise with their order, which the program sorts by."""

    def __init__(self, program, model):
        self.program, self.model = program, model
        # With a title of its own, the program asks for none.
        self.id = program.ask("POST", "/session", {"title": "here"})["id"]
        self.ids, self.last = {}, 0

    def insert(self, message, index):
        self.last = max(self.last + 1, int(time.time() * 1000))
        info, own = dict(message["info"]), f"msg_{self.last:013d}{index:013d}"
        self.ids[info["id"]] = own
        for field in ("id", "sessionID"):
            info.pop(field, None)
        if "parentID" in info:
            info["parentID"] = self.ids.get(info["parentID"], own)
        info["time"] = {**info.get("time", {}), "created": self.last}
        # All messages are of the model that is asked: otherwise reasoning would be sent as text.
        if info["role"] == "user":
            info |= {"agent": "build", "model": {"providerID": "here", "modelID": self.model}}
        else:
            info |= {"providerID": "here", "modelID": self.model}
        insert = self.program.store.execute
        insert("insert into message values (?, ?, ?, ?, ?)", (own, self.id, self.last, self.last, json.dumps(info)))
        for number, part in enumerate(message["parts"]):
            part = {name: value for name, value in part.items() if name not in ("id", "sessionID", "messageID")}
            if "tail_start_id" in part:
                part["tail_start_id"] = self.ids.get(part["tail_start_id"])
            name = f"prt_{self.last:013d}{index:07d}{number:06d}"
            insert("insert into part values (?, ?, ?, ?, ?, ?)", (name, own, self.id, self.last, self.last, json.dumps(part)))

    def compact(self, summary):
        self.program.store.commit()
        # The program's clock is behind what was inserted within the same millisecond.
        while int(time.time() * 1000) <= self.last + 1:
            time.sleep(0.001)
        SUMMARY[0], had = summary, len(REQUESTS)
        body = {"providerID": "here", "modelID": self.model, "auto": False}
        self.program.ask("POST", f"/session/{self.id}/summarize", body)
        query = "select data from part where session_id = ? and data like '%\"compaction\"%' order by time_created"
        parts = [json.loads(row[0]) for row in self.program.store.execute(query, (self.id,))]
        tail = [part for part in parts if part["type"] == "compaction"][-1].get("tail_start_id")
        if len(REQUESTS) != had + 1:
            return {"asked": len(REQUESTS) - had}
        content = REQUESTS[-1]["messages"][-1]["content"]
        text = content if isinstance(content, str) else "".join(part["text"] for part in content)
        return {"tail": tail, "request": text}


def main():
    cases = [json.loads(line) for line in sys.stdin]
    limits = {json.dumps(case["limits"]): case["limits"] for case in cases}
    names = {limit: f"m{number}" for number, limit in enumerate(limits)}
    program = Program({names[limit]: limits[limit] for limit in limits})
    try:
        for case in cases:
            session, inserted, answers = Session(program, names[json.dumps(case["limits"])]), 0, []
            for at, summary in zip(case["at"], case["summaries"]):
                for index in range(inserted, at):
                    session.insert(case["messages"][index], index)
                inserted = at
                answer = session.compact(summary)
                numbers = {own: number for number, own in enumerate(session.ids.values())}
                answer["tail"] = numbers.get(answer.get("tail"))
                answers.append(answer)
            print(json.dumps(answers), flush=True)
    finally:
        program.end()


main()
