"""Parts of scores as tables: pandas, polars and DuckDB read the figures that the same part has as JSON lines.

    python parts.py FOLDBACK
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import duckdb
import pandas
import polars

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEYS = ["path", "session", "preset"]


def score(part):
    command = [sys.argv[1], "--quiet", "score", "tests/four-sessions", "--preset", "opencode-1.17,window"]
    subprocess.run([*command, "--window", "60k", "--no-store", "-o", part], check=True, cwd=ROOT)


def main():
    with tempfile.TemporaryDirectory() as folder:
        lines, table = pathlib.Path(folder, "part.jsonl"), pathlib.Path(folder, "part.parquet")
        score(lines)
        score(table)
        entries = [json.loads(line) for line in lines.read_text().splitlines()]
        entries = [entry for entry in entries if entry.get("of") == "preset"]
        wanted = [{**{key: entry[key] for key in KEYS}, **entry["figures"]} for entry in entries]
        columns = list(wanted[0])
        assert len(wanted) > 20 and sum(row["compactions"] for row in wanted) > 0

        frame = pandas.read_parquet(table).query("of == 'preset'")
        assert frame[columns].astype({name: int for name in columns if name not in KEYS}).to_dict("records") == wanted
        assert frame["data"].map(len).min() > 0
        assert polars.read_parquet(table).filter(of="preset").select(columns).to_dicts() == wanted
        asked = f"select preset, sum(input_tokens) from '{table}' where of = 'preset' group by preset order by preset"
        sums = {}
        for row in wanted:
            sums[row["preset"]] = sums.get(row["preset"], 0) + row["input_tokens"]
        assert duckdb.sql(asked).fetchall() == sorted(sums.items())
    print(f"{len(wanted)} rows, {len(columns)} columns: the same in pandas, polars, DuckDB and JSON lines")


if __name__ == "__main__":
    main()
