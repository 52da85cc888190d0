"""Sessions in object storage, read from a real S3 server (moto): the results of a folder, and what goes wrong.

    python objects.py FOLDBACK
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
from collections import Counter

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDBACK = os.path.abspath(sys.argv[1])
DESIGN = ["--preset", "opencode-1.17,window", "--window", "60k"]
BUCKET = "corpus"


class Server:
    """The server, with what stands before it: faults by path, the number of requests, and short pages of lists."""

    def __init__(self):
        self.app = DomainDispatcherApplication(create_backend_app)
        self.faults, self.seen, self.pages = {}, Counter(), 0

        class Quiet(WSGIRequestHandler):
            def log(self, *_):
                pass

        self.server = make_server("127.0.0.1", 0, self, threaded=True, request_handler=Quiet)
        self.url = f"http://127.0.0.1:{self.server.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __call__(self, environ, start):
        key = (environ["REQUEST_METHOD"], environ["PATH_INFO"])
        self.seen[key] += 1
        if self.faults.get(key):
            status, code = self.faults[key][0]
            if len(self.faults[key]) > 1:
                self.faults[key].pop(0)
            if status:
                start(status, [("content-type", "application/xml")])
                return [f"<Error><Code>{code}</Code><Message>planted</Message></Error>".encode()]
        if "list-type=2" in environ["QUERY_STRING"]:
            self.pages += 1
            environ["QUERY_STRING"] += "&max-keys=2"
        return self.app(environ, start)


SERVER = Server()
KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
OPEN = {"AWS_ENDPOINT_URL": SERVER.url, "AWS_ALLOW_HTTP": "true"}


def foldback(*arguments, env=None, code=0):
    """Runs the command, which knows of AWS what it is told here and nothing else."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    # Where machines in the cloud would be asked for credentials, nobody answers.
    clean |= {"AWS_METADATA_ENDPOINT": "http://127.0.0.1:1", "NO_PROXY": "127.0.0.1"}
    clean |= {**KEYS, **OPEN} if env is None else env
    ran = subprocess.run([FOLDBACK, *arguments], env=clean, capture_output=True, text=True)
    assert ran.returncode == code, f"{arguments}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran


def compared(*sources, env=None):
    """The screen and the JSON of a comparison, without the command line that it quotes."""
    screen = foldback("compare", *sources, *DESIGN, "--store=none", env=env).stdout
    found = json.loads(foldback("compare", *sources, *DESIGN, "--store=none", "--json", "-", env=env).stdout)
    found["provenance"]["command"] = None
    found["provenance"]["command_hash"] = None
    return screen, json.dumps(found)


def refused(*arguments, says, env=None):
    """A command that ends with code 2, names the URL and makes no part."""
    url = next(argument for argument in arguments if argument.startswith("s3://"))
    with tempfile.TemporaryDirectory() as folder:
        part = pathlib.Path(folder, "part")
        ran = foldback("score", *arguments, *DESIGN, "--store", str(part), env=env, code=2)
        assert url in ran.stderr and says in ran.stderr, f"{says!r} is not in: {ran.stderr}"
        assert not (part / "part.json").exists()


def main():
    client = boto3.client("s3", endpoint_url=SERVER.url, region_name="us-east-1",
                          aws_access_key_id="id", aws_secret_access_key="secret")
    client.create_bucket(Bucket=BUCKET, ACL="public-read")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sessions = {
            path.name: path.read_bytes()
            for path in sorted((ROOT / "tests/four-sessions").glob("*.json*"))
        }
        odd = next(iter(sessions.values()))
        files = {
            **sessions,
            "b/a name with ünusual + %41 signs.json": odd + b"\n",
            "b-first.json": odd + b"\n\n",
            "again.json": odd,
            "none.json": b"{}",
            "notes.txt": b"no session",
        }
        for name, content in files.items():
            path = pathlib.Path("sessions", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            client.put_object(Bucket=BUCKET, Key=str(path), Body=content, ACL="public-read")
        url = f"s3://{BUCKET}/"

        local = compared("sessions")
        SERVER.seen.clear()
        there = [text.replace(url, "") for text in compared(f"{url}sessions/")]
        assert json.loads(there[1]) == json.loads(local[1])
        # Paths are longer there, and stand nowhere on the screen but for what was skipped.
        assert there[0].splitlines()[:8] == local[0].splitlines()[:8], there[0]
        assert SERVER.pages > 4, "the list had one page"
        gets = {key: times for key, times in SERVER.seen.items() if key[1].endswith((".json", ".jsonl"))}
        assert len(gets) == len(files) - 1 and set(gets.values()) == {2}, f"two runs, each once: {gets}"
        print(f"a folder and a bucket: the same ({len(gets)} objects, each fetched once)")

        foldback("score", f"{url}sessions/", *DESIGN, "--store", "part")
        parts = [text.replace(url, "") for text in compared("part")]
        assert json.loads(parts[1]) == json.loads(local[1])
        one = sorted(sessions)[0]
        for command in (["inspect"], ["explain", "--preset", "window", "--window", "60k"]):
            here = foldback(*command, f"sessions/{one}").stdout
            assert foldback(*command, f"{url}sessions/{one}").stdout.replace(url, "") == here, command
        print("a part, and one object: the same")

        busy = [("503 Slow Down", "SlowDown")] * 2 + [(None, None)]
        SERVER.faults = {("GET", f"/{BUCKET}"): list(busy), ("GET", f"/{BUCKET}/sessions/{one}"): list(busy)}
        again = compared(f"{url}sessions/")[1].replace(url, "")
        assert json.loads(again) == json.loads(local[1])
        print("a server that is busy twice: the same")

        small = {**KEYS, **OPEN, "FOLDBACK_MAX_BYTES": str(max(map(len, sessions.values())) - 1)}
        here, away = (json.loads(compared(place, env=small)[1].replace(url, "")) for place in ("sessions", f"{url}sessions/"))
        assert here == away
        skipped = [one["reason"] for one in away["corpus"]["skipped"]]
        assert any("FOLDBACK_MAX_BYTES" in reason for reason in skipped), skipped
        print("an object beyond the limit: left out with the reason that a file has")

        SERVER.faults = {("GET", f"/{BUCKET}/sessions/{one}"): [("403 Forbidden", "AccessDenied")]}
        skipped = json.loads(compared(f"{url}sessions/")[1])["corpus"]["skipped"]
        assert [one_of["reason"] for one_of in skipped if one_of["path"].endswith(one)][0].startswith("access denied")
        SERVER.faults = {("GET", f"/{BUCKET}/sessions/{one}"): [("500 Internal Server Error", "InternalError")]}
        refused(f"{url}sessions/", says=f"sessions/{one}: ")
        SERVER.faults = {("GET", f"/{BUCKET}"): [("403 Forbidden", "AccessDenied")]}
        refused(f"{url}sessions/", says="access denied")
        SERVER.faults = {}
        print("an object that is denied is left out; one that can't be fetched ends the run")

        refused("s3://nowhere/sessions/", says="no such bucket")
        refused(f"{url}sessions/absent.json", says="no such object")
        refused(f"{url}sessions", says=f"a folder is written {url}sessions/")
        refused("s3:///sessions/", says="names no bucket")
        refused(f"{url}sessions/", says="no credentials", env=OPEN)
        refused(f"{url}sessions/", says="AWS_ALLOW_HTTP", env={**KEYS, "AWS_ENDPOINT_URL": SERVER.url})
        closed = {**KEYS, "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ALLOW_HTTP": "true"}
        refused(f"{url}sessions/", says="onnect", env=closed)
        unsigned = {**OPEN, "AWS_SKIP_SIGNATURE": "true"}
        foldback("inspect", f"{url}sessions/", env=unsigned)
        print("no bucket, object, credentials, encryption or server: said, with code 2")


if __name__ == "__main__":
    main()
