"""docs/experiments.md: its example file is valid, and its Python gives what the command reports.

    python experiments.py FOLDBACK
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAIR = ["indexed", "window+extractive"]


def main():
    foldback = str(pathlib.Path(sys.argv[1]).resolve())
    page = (ROOT / "docs/experiments.md").read_text()
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(code) == 2 and all("print(paired(" in block for block in code)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.symlink(ROOT / "examples", "examples")
        pathlib.Path("experiment.toml").write_text(example)
        pathlib.Path("strategies").mkdir()
        pathlib.Path("strategies/mine.toml").write_text('name = "mine"\nextends = "tunacode"\n')
        subprocess.run([foldback, "check", "experiment.toml"], check=True, stdout=subprocess.DEVNULL)
        command = [foldback, "--quiet", "compare", "examples/sessions", "--preset", "indexed,window", "--store=none"]
        command += ["--rows", "rows.jsonl", "--json", "result.json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows = {(row["session"], row["preset"]) for row in map(json.loads, open("rows.jsonl"))}
        judged = sorted(pair for pair in rows if pair[1] in PAIR)
        values = [f"{session},{preset},{0.9 if preset == 'indexed' else 0.4}\n" for session, preset in judged]
        pathlib.Path("outcome.csv").write_text("session,preset,value\n" + "".join(values))
        told = []
        names = {"print": lambda result: told.append([float(number) for number in result])}
        for block in code:
            exec(block, names)
        (contrast,) = [
            contrast
            for contrast in json.load(open("result.json"))["contrasts"]
            if sorted([contrast["first"], contrast["second"]]) == PAIR
        ]
        kept, sign = contrast["frr_obs_far"], 1 if contrast["first"] == PAIR[0] else -1
        wanted = sorted(sign * kept[end] for end in ("lo", "hi"))
        assert len(judged) == 24 and max(abs(number - 0.5) for number in told[0]) < 1e-9, told
        assert abs(told[1][0] - sign * kept["value"]) < 1e-9, (told, kept)
        # One draws tasks, the other leaves each out and has the wider tails of few.
        widths = [high - low for low, high in (told[1][1:], wanted)]
        assert 0.6 < widths[0] / widths[1] < 1.2, (told, kept)
        os.chdir(ROOT)
    print(f"difference {told[1][0]:.4f} ({told[1][1]:.4f} to {told[1][2]:.4f}), as the command reports it with another interval")


if __name__ == "__main__":
    main()
