#!/usr/bin/env python3
"""Runs two builds of the command on the same inputs and compares what they print and write, byte for byte.

    cargo xtask golden OLD NEW [--quick] [--only WORD]

It covers `presets`, `stages`, `inspect`, `explain`, `convert`, `compact --show plan` under every preset, `compare --show full`
with JSON, rows and page, and what `serve` sends upstream. The inputs are the sessions and fixtures of this repository,
and with them, unless `--quick` is given, the recorded sessions in `../shared/sessions`.
Versions, hashes of the build and of configurations, durations and paths of temporary folders are masked. What only one build has (a preset, a
stage) is named at the end. The exit code is 1 if anything differs.
"""
import argparse, concurrent.futures, difflib, hashlib, http.server, json, os, pathlib, re, shutil, socket, subprocess, sys
import tempfile, threading, time, urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
SESSIONS = ("examples/sessions", "tests/four-sessions")
FIXTURES = "crates/formats/fixtures"
RECORDED = "../shared/sessions"
FORMATS = ("claude-code", "codex", "opencode", "pi", "anthropic", "openai-chat", "openai-responses", "gemini", "otel")
# The proxy's protocols: where a request goes, and an answer that every client takes.
PROTOCOLS = {
    "anthropic": ("/v1/messages", {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                  "content": [{"type": "text", "text": "Done."}], "usage": {"input_tokens": 9, "output_tokens": 1}}),
    "openai-chat": ("/v1/chat/completions", {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
                  {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Done."}}],
                  "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}}),
    "openai-responses": ("/v1/responses", {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed",
                  "output": [{"type": "message", "id": "o", "role": "assistant", "status": "completed",
                              "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}],
                  "usage": {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}}),
}


class Build:
    """One program, with a home folder of its own."""

    def __init__(self, name, program, scratch):
        self.name, self.program, self.scratch = name, str(pathlib.Path(program).resolve()), pathlib.Path(scratch, name)
        self.scratch.mkdir(parents=True)
        folders = {f"XDG_{kind}_HOME": str(self.scratch / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.scratch), "COLUMNS": "100", "NO_COLOR": "1", "TZ": "UTC", **folders}

    def run(self, args):
        return subprocess.run([self.program, *args], cwd=ROOT, env=self.env, capture_output=True, stdin=subprocess.DEVNULL)

    def lines(self, *args):
        """The names in the first column of a list."""
        done = self.run(args)
        if done.returncode:
            sys.exit(f"{self.name} {' '.join(args)}: {done.stderr.decode()}")
        return json.loads(done.stdout) if "--json" in args else done.stdout.decode()

    def mask(self, data):
        """The output without what may differ between two runs of one build."""
        data = data.replace(str(self.scratch).encode(), b"SCRATCH").replace(self.program.encode(), b"PROGRAM")
        for pattern, mask in MASKS:
            data = pattern.sub(mask, data)
        return data


MASKS = [(re.compile(pattern.encode()), mask.encode()) for pattern, mask in (
    (r'"(program|build|version|configuration|command|command_hash)": ?"[^"]*"', r'"\1":"-"'),
    (r"foldback \d+\.\d+\.\d+[^\s\"<]*", "foldback VERSION"),
    (r"\b\d+(\.\d+)? ?(ms|s)\b", "TIME"),
)]


def sha(data):
    return hashlib.sha256(data).hexdigest()[:12]


def outputs(build, case):
    """Name and bytes of each output of one case."""
    kind, name, args, files = case
    folder = build.scratch / sha(f"{kind} {name}".encode())
    folder.mkdir(exist_ok=True)
    done = build.run([arg.replace("OUT", str(folder)) if arg.startswith("OUT") else arg for arg in args])
    parts = {"exit code": str(done.returncode).encode(), "standard output": done.stdout, "standard error": done.stderr}
    for file in files:
        path = folder / file
        parts[file] = path.read_bytes() if path.exists() else b"(not written)"
    shutil.rmtree(folder)
    return {part: build.mask(data) for part, data in parts.items()}


def session_files(roots):
    """Files in a fixed order; folders that are one session to a format count as their files."""
    for root in roots:
        for path in sorted((ROOT / root).rglob("*")):
            if path.is_file() and path.suffix not in (".md", ".toml", ".py", ".txt") and not path.name.startswith("."):
                yield os.path.relpath(path, ROOT)


def cases(presets, stages, quick, roots):
    for preset in presets:
        yield "presets", preset, ["presets", preset], []
    for stage in stages:
        yield "stages", stage, ["stages", stage], []
    everything = list(session_files([*roots, FIXTURES]))
    for file in everything:
        yield "inspect", file, ["inspect", file, "--json", "-"], []
        for to in FORMATS:
            yield "convert", f"{file} --to {to}", ["convert", file, "OUT/to", "--to", to], ["to"]
    for file in session_files(SESSIONS if quick else roots):
        yield "explain", file, ["explain", file, "--preset", ",".join(presets), "--window", "60000"], []
        for preset in presets:
            yield "plan", f"{file} {preset}", ["compact", file, "--preset", preset, "--show", "plan", "--when", "manual"], []
            yield "plan", f"{file} {preset} --when live", ["compact", file, "--preset", preset, "--show", "plan", "--when", "live", "--window", "60000"], []
    for root in (SESSIONS[:1] if quick else roots):
        for window in ([], ["--window", "60000"]):
            args = ["compare", root, "--preset", ",".join(presets), "--show", "full", "--jobs", "1", "--store", "OUT/store", *window]
            files = ["c.json", "rows.jsonl", "page.html"]
            yield "compare", f"{root} {' '.join(window)}", [*args, "--json", "OUT/c.json", "--rows", "OUT/rows.jsonl", "--html", "OUT/page.html"], files


class Upstream(http.server.BaseHTTPRequestHandler):
    """A provider that records bodies and gives one answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.bodies.append(body)
        answer = json.dumps(next(answer for path, answer in PROTOCOLS.values() if self.path.startswith(path))).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def requests_of(build, roots):
    """Requests of growing length, made of recorded sessions: (name, path, bodies)."""
    for file in session_files(roots):
        for protocol, (path, _) in PROTOCOLS.items():
            out = build.scratch / "request"
            done = build.run(["convert", file, str(out), "--to", protocol, "--quiet"])
            if done.returncode or not out.is_file():
                continue
            try:
                body = json.loads(out.read_text())
            except ValueError:
                continue
            finally:
                out.unlink()
            key = "input" if protocol == "openai-responses" else "messages"
            if not isinstance(body, dict) or not isinstance(body.get(key), list):
                continue
            body.setdefault("model", "claude-sonnet-4-5" if protocol == "anthropic" else "gpt-5")
            body.pop("stream", None)
            messages = body[key]
            users = [at for at, message in enumerate(messages) if is_turn(message)]
            ends = sorted({len(messages), *(at + 1 for at in users[-3:])})
            yield f"{file} {protocol}", path, [json.dumps({**body, key: messages[:end]}).encode() for end in ends]


def is_turn(message):
    content = message.get("content")
    return message.get("role") == "user" and (isinstance(content, str) or not any("tool_use_id" in part for part in content or []))


def proxied(build, preset, requests):
    """What the provider receives of each request when the proxy stands before it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    server.bodies = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    args = ["serve", "--preset", preset, "--window", "60000", "--listen", f"127.0.0.1:{port}", "--upstream", f"http://127.0.0.1:{server.server_port}"]
    proxy = subprocess.Popen([build.program, *args], cwd=ROOT, env=build.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    received = {}
    try:
        while not listens(port):
            if proxy.poll() is not None:
                return {"refused": {"standard error": build.mask(proxy.stderr.read())}}
            time.sleep(0.05)
        threading.Thread(target=proxy.stderr.read, daemon=True).start()
        for name, path, bodies in requests:
            server.bodies.clear()
            for body in bodies:
                head = {"content-type": "application/json", "x-api-key": "k", "authorization": "Bearer k", "anthropic-version": "2023-06-01"}
                request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body, headers=head)
                try:
                    urllib.request.urlopen(request, timeout=60).read()
                except urllib.error.HTTPError as error:
                    server.bodies.append(f"HTTP {error.code}".encode())
            received[name] = {f"request {number}": build.mask(body) for number, body in enumerate(server.bodies, 1)}
    finally:
        proxy.terminate()
        proxy.wait()
        server.shutdown()
    return received


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def first_difference(old, new):
    """The first lines that differ, cut to what a terminal shows."""
    old, new = (data.decode("utf8", "replace").splitlines() for data in (old, new))
    lines = [line for line in difflib.unified_diff(old[:5000], new[:5000], lineterm="", n=0) if line[:3] not in ("---", "+++")]
    return [line if len(line) < 200 else around(line, lines) for line in lines[:5]]


def around(line, lines):
    """A long line from where it stops being like its counterpart."""
    other = next((other for other in lines if other[:1] != line[:1] and other[:1] in "+-"), "")
    same = len(os.path.commonprefix([line[1:], other[1:]]))
    return f"{line[:1]} …{line[1 + max(0, same - 60):][:160]}…"


def main():
    options = argparse.ArgumentParser(prog="cargo xtask golden", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("old", metavar="OLD")
    options.add_argument("new", metavar="NEW")
    options.add_argument("--quick", action="store_true", help="only what lies in this repository")
    options.add_argument("--only", default="", metavar="WORD", help="only cases whose kind and name contain this")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(golden(asked, Build("old", asked.old, scratch), Build("new", asked.new, scratch)))


def golden(asked, old, new):
    shared, alone = {}, []
    for what, names in (("preset", lambda build: [row["preset"] for row in build.lines("presets", "--json") if row["runs"]]),
                        ("stage", lambda build: stage_names(build.lines("stages")))):
        lists = [names(old), names(new)]
        shared[what] = [name for name in lists[0] if name in lists[1]]
        for build, own, other in ((old, *lists), (new, *reversed(lists))):
            alone += [f"only {build.name} has the {what} {name}" for name in own if name not in other]
    roots = list(SESSIONS)
    if not asked.quick and (ROOT / RECORDED).is_dir():
        roots += [f"{RECORDED}/{path.name}" for path in sorted((ROOT / RECORDED).iterdir()) if path.is_dir()]

    wanted = [case for case in cases(shared["preset"], shared["stage"], asked.quick, roots) if asked.only in f"{case[0]} {case[1]}"]
    counts, failed, different = {}, {}, {}

    def compare(kind, name, parts_old, parts_new):
        counts[kind] = counts.get(kind, 0) + 1
        failed[kind] = failed.get(kind, 0) + (parts_new.get("exit code", b"0") != b"0" or "refused" in name)
        for part in sorted(parts_old.keys() | parts_new.keys()):
            a, b = parts_old.get(part, b"(none)"), parts_new.get(part, b"(none)")
            if a != b:
                different.setdefault(kind, []).append((name, part, first_difference(a, b)))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number, case in enumerate(wanted):
            parts = list(pool.map(lambda build: outputs(build, case), (old, new)))
            compare(case[0], case[1], *parts)
            if sys.stderr.isatty() and number % 50 == 0:
                print(f"\r{number} of {len(wanted)}", end="", file=sys.stderr)
        requests = [request for request in requests_of(old, SESSIONS[1:] if asked.quick else roots) if asked.only in f"serve {request[0]}"]
        if requests:
            for preset in shared["preset"]:
                received = list(pool.map(lambda build: proxied(build, preset, requests), (old, new)))
                for name in received[0] | received[1]:
                    compare("serve", f"{name} {preset}", received[0].get(name, {}), received[1].get(name, {}))

    for kind, found in different.items():
        print(f"{kind}: {len({name for name, *_ in found})} of {counts[kind]} differ")
        for name, part, lines in found[:12]:
            print(f"  {name}: {part}")
            for line in lines:
                print(f"    {line}")
        if len(found) > 12:
            print(f"  and {len(found) - 12} more outputs")
    for line in alone:
        print(line)
    both = {kind: f" ({count} ended with an error)" for kind, count in failed.items() if count}
    equal = ", ".join(f"{kind} {count}{both.get(kind, '')}" for kind, count in counts.items() if kind not in different)
    print(f"equal: {equal or 'nothing'}")
    return 1 if different else 0


def stage_names(text):
    """The list of stages names each at the beginning of an indented line."""
    return [line.split()[0] for line in text.splitlines() if line.startswith("  ") and not line.startswith("   ") and line.strip()]


if __name__ == "__main__":
    main()
