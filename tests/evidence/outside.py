"""Other people's measurements, held against what was predicted of them.

    python3 tests/evidence/outside.py [report]
    python3 tests/evidence/outside.py figures   ROWS.csv COMPARISON.json [FILE]
    python3 tests/evidence/outside.py meter     CLONE
    python3 tests/evidence/outside.py minmax    CLONE [SESSION…]
    python3 tests/evidence/outside.py future-os CLONE FOLDBACK_BINARY
    python3 tests/evidence/outside.py said      FOLDBACK_BINARY

`report` prints the tables of docs/evidence.md from the extracts in `outside/`; the others make the
extracts. CLONE is a clone of dshakes/distil, condense-chat/minmax-bench or futuregene/future-os
(README.md says at which commit). `said` is future-os' question with sentences of this project.
"""

from __future__ import annotations

import csv
import importlib
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from math import comb, sqrt
from pathlib import Path
from typing import Any

from extract import blob, listed, write

HERE = Path(__file__).parent
OUTSIDE = HERE / "outside"

PREDICTIONS = "predictions.tsv"
# Dollars per million tokens: those of minmax-bench for claude-opus-4-8, and of distil's meter.
OPUS = {"read": 0.5, "written": 6.25, "output": 25.0, "input": 5.0}
SONNET = {"read": 0.3, "written": 3.75, "output": 15.0, "input": 3.0}
# The chance that what is missed is read again, and its ends, as the replay has them.
RHO = (0.51, 0.25, 1.0)
# The run over 64 sessions.
RUN = "runs/run-5c61ab52-8eea-4fee-97a4-5c64ee5344af/models/claude-opus-4-8"
# Those of its sessions that are among the recordings of this project.
BOTH = ("a0927dd5-61a3-4802-a716-4480286f16d4", "062a8bdd-4322-4ffa-bc38-3e8b8bfb5a56")
PRESETS = ("codex", "opencode-1.18", "claude-code", "indexed")
SPEAKERS = ("user", "assistant", "tool")

Row = dict[str, str]


def table(path: Path) -> list[Row]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader((it for it in lines if not it.startswith("#")), delimiter="\t"))


def by(rows: list[Row], name: str) -> dict[str, Row]:
    return {row[name]: row for row in rows}


# Extracts


def figures(rows: str, comparison: str, file: str | None = None) -> None:
    """By strategy: what its requests hold, what is read again, and both bills."""
    told = json.loads(Path(comparison).read_text(encoding="utf-8"))["presets"]
    told = {line["preset"].removesuffix("+extractive"): line for line in told}
    total: dict[str, Counter[str]] = defaultdict(Counter)
    absent: dict[tuple[str, str], list[int]] = defaultdict(list)
    with Path(rows).open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            preset, size = row["preset"].removesuffix("+extractive"), int(row["input_tokens"])
            sums, read = total[preset], int(row["cache_read"])
            whole = int(row["uncompacted_tokens"])
            sums.update(calls=1, read=read, written=size - read, whole=whole)
            sums.update(rereads=int(row["rereads"]), output=int(row["output_tokens"]))
            sums.update(asked=int(row["summary_input"]), summary=int(row["summary_output"]))
            sums.update(first=0 if int(row["call"]) else size)
            sums["largest"] = max(sums["largest"], size)
            absent[preset, row["session"]].append(whole - size)
    names = ["calls", "first", "largest", "whole", "read", "written", "output"]
    names += ["asked", "summary", "rereads"]
    more = ["removed", "kept", "references", "usd", "net", "net lo", "net hi"]
    out: list[list[object]] = [["preset", *names, *more]]
    wanted = [name for name, line in told.items() if line["kind"] == "strategy"]
    for name in ["none", *wanted]:
        removed = sum(sum(it) / len(it) for (which, _), it in absent.items() if which == name)
        metrics, bill = told[name]["metrics"], told[name]["costs"][0]
        ends = [metrics["net_ratio"][it] for it in ("lo", "hi")]
        shares = [metrics[it]["value"] for it in ("frr_obs_far", "frr")]
        values = [*shares, bill["usd"], bill["net_usd"], *ends]
        cells = ["-" if value is None else f"{value:.4f}" for value in values]
        out.append([name, *(total[name][it] for it in names), round(removed), *cells])
    if file:
        write(file, out)
    else:
        print("\n".join("\t".join(map(str, line)) for line in out))


def meter(clone: str) -> None:
    """Requests that were refused have no usage."""
    out: list[list[object]] = [["run", "task", "arm", "written", "read", "input", "output"]]
    for path in listed(clone, "benchmarks/results/cost_truth"):
        if "/meter/" not in path:
            continue
        for line in blob(clone, path).decode().splitlines():
            request = json.loads(line)
            if request["usage"]:
                _, task, seed, arm = request["run_id"].split(".")
                usage = request["usage"]
                kinds = ["cache_creation", "cache_read", "", "output"]
                sizes = [usage[f"{kind}_input_tokens".strip("_")] for kind in kinds[:3]]
                out.append([f"{task}.{seed}.{arm}", task, arm, *sizes, usage["output_tokens"]])
    write(OUTSIDE / "meter.tsv", out)


def minmax(clone: str, *own: str) -> None:
    """`own` says which of its sessions are those of `minmax-own.tsv`."""
    arms = {"none": "baseline", "headroom": "strategies/headroom"}
    arms["condense"] = "strategies/condense-sync"
    names = ["requests", "first", "largest", "read", "written", "output"]
    out: list[list[object]] = [["session", "own", "arm", *names]]
    for arm, name in arms.items():
        for session, told in sorted(json.loads(blob(clone, f"{RUN}/{name}.json")).items()):
            points = told["points"]
            sums = [sum(point[at] for point in points) for at in (3, 4, 2)]
            is_own = int(session in (own or BOTH))
            sizes = [sum(point[3:5]) for point in points]
            out.append([session, is_own, arm, len(points), sizes[0], max(sizes), *sums])
    write(OUTSIDE / "minmax.tsv", out)


def chat(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Records of future-os as a conversation of Chat Completions."""
    messages: list[dict[str, Any]] = []
    for record in records:
        if record["kind"] == "text":
            messages.append({"role": record["role"], "content": record["text"]})
        elif record["kind"] == "tool_call":
            function = {"name": "read", "arguments": json.dumps({"path": record["path"]})}
            call = {"id": record["call"], "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        else:
            result = {"role": "tool", "tool_call_id": record["call"], "content": record["text"]}
            messages.append(result)
    return {"messages": messages}


def speaker(value: str, records: list[dict[str, Any]]) -> str:
    """Who says a value: the user, else the assistant, else a tool alone."""
    texts = [it for it in records if it["kind"] == "text" and value in it["text"]]
    roles = {record["role"] for record in texts}
    return next((role for role in SPEAKERS[:2] if role in roles), "tool")


def shown(binary: str, records: list[dict[str, Any]], preset: str) -> str:
    """What the view of a preset says after it was told to compact."""
    with tempfile.TemporaryDirectory() as folder:
        file, view = Path(folder) / "session.json", Path(folder) / "view.json"
        file.write_text(json.dumps(chat(records)), encoding="utf-8")
        command = [binary, "compact", str(file), "--preset", preset, "--when", "manual"]
        command += ["--window", "1000000", "--to", "openai-chat", "-o", str(view), "-q"]
        subprocess.run(command, check=True, capture_output=True)
        return view.read_text(encoding="utf-8")


def future_os(clone: str, binary: str) -> None:
    """The 49 questions of the chains that its generators make, and what replicas show."""
    for folder in ("", "/abc_experiment", "/compaction_experiment"):
        sys.path.insert(0, f"{clone}/scripts{folder}")
    generator, pipeline, exam = map(
        importlib.import_module, ("abc_compaction_experiment", "build_pipeline_chain", "exam")
    )
    out: list[list[object]] = [["chain", "stage", "said by", *PRESETS]]
    with tempfile.TemporaryDirectory() as folder:
        generator.prepare(Path(folder))
        pipeline.ROOT = Path(folder)
        pipeline.build()
        for chain in ("export", "analysis", "pipeline"):
            for number, stage in enumerate((0, 3, 7)):
                data = json.loads((Path(folder) / f"data/{chain}-{stage}.json").read_text())
                records = data["archive"] + data["tail"]
                drawn = random.Random(9000 + number)
                values = dict.fromkeys(exam.build_exam(records, len(records), drawn)[0])
                views = [shown(binary, records, preset) for preset in PRESETS]
                for value in values:
                    has = [int(value in view) for view in views]
                    out.append([chain, stage, speaker(value, records), *has])
    write(OUTSIDE / "future-os.tsv", out)


def said(binary: str) -> None:
    """By preset, how many of four values each that the user, the assistant and a tool alone said
    its view has: the question of `future_os` in a small conversation of this project's own."""
    records: list[dict[str, Any]] = []
    values: dict[str, list[str]] = {who: [] for who in SPEAKERS}
    drawn = random.Random(66)
    for stage in range(4):
        code = {who: f"{who[:3].upper()}_{drawn.randrange(16**8):08x}" for who in SPEAKERS}
        for who in SPEAKERS:
            values[who].append(code[who])
        text = f"Stage {stage}: the ticket is {code['user']}. Read the trace."
        records.append({"kind": "text", "role": "user", "text": text})
        for part in range(6):
            name = f"{stage}-{part}"
            line = "observed {} of {}, counters alone"
            noise = [line.format(at, drawn.randrange(10**6)) for at in range(600)]
            if part == 1:
                noise[300] = f"TRACE={code['tool']}"
            call = {"kind": "tool_call", "call": name, "path": f"trace-{name}.log"}
            records += [call, {"kind": "tool_result", "call": name, "text": "\n".join(noise)}]
        text = f"I chose {code['assistant']} and go on."
        records.append({"kind": "text", "role": "assistant", "text": text})
    for preset in PRESETS:
        view = shown(binary, records, preset)
        has = [sum(value in view for value in values[who]) for who in SPEAKERS]
        print("\t".join(map(str, [preset, *has])))


# The report


def percent(one: float, other: float) -> float:
    return 100 * (one / other - 1)


def dollars(row: Row, prices: dict[str, float] = OPUS) -> float:
    return sum(int(row[it]) * prices[it] for it in ("read", "written", "output")) / 1e6


def reads() -> dict[str, dict[str, float]]:
    """By arm of the meter, over all requests but the first of a run: what a request reads if it
    reads all of the one before, which is the rule of the cache, against what it read; how many read
    less by more than a hundredth; and the input's bill by the rule against the real one."""
    out: dict[str, dict[str, float]] = {}
    before: dict[str, int] = {}
    for row in table(OUTSIDE / "meter.tsv"):
        written, read, plain = (int(row[it]) for it in ("written", "read", "input"))
        whole = written + read + plain
        if (size := before.get(row["run"])) is not None:
            sums = out.setdefault(row["arm"], Counter())
            rule = min(size, whole)
            sums["requests"] += 1
            sums["rule"] += rule
            sums["read"] += read
            sums["less"] += rule > 1.01 * read
            sums["rule usd"] += rule * SONNET["read"] + (whole - rule) * SONNET["written"]
            sums["usd"] += read * SONNET["read"] + written * SONNET["written"]
            sums["usd"] += plain * SONNET["input"]
        before[row["run"]] = whole
    return out


def both(rows: list[Row], arm: str) -> float:
    return sum(dollars(row) for row in rows if row["arm"] == arm and row["own"] == "1")


def came() -> dict[tuple[str, str], float]:
    """What came of each prediction."""
    arms = by(table(OUTSIDE / "distil.tsv"), "arm")
    plain, clearing = arms["plain"], arms["provider-cm"]
    solved = 100 * int(clearing["solved"]) / int(plain["solved"])
    out = {
        ("distil", "steps"): percent(int(clearing["steps"]), int(plain["steps"])),
        ("distil", "input tokens"): percent(int(clearing["input"]), int(plain["input"])),
        ("distil", "cost"): percent(float(clearing["usd"]), float(plain["usd"])),
    }
    for line in ("kept", "size", "all references"):
        out["distil", f"solved, by the line of {line}"] = solved
    for arm, sums in reads().items():
        out["distil", f"cache reads, {arm}"] = sums["rule"] / sums["read"]
    theirs = table(OUTSIDE / "minmax.tsv")
    ours = by(table(OUTSIDE / "minmax-own.tsv"), "preset")
    base = both(theirs, "none")
    out["minmax-bench", "none, two sessions"] = float(ours["none"]["usd"]) / base
    for arm in ("condense", "headroom"):
        out["minmax-bench", f"{arm}, two sessions"] = percent(both(theirs, arm), base)
    for preset in PRESETS:
        ratio = percent(float(ours[preset]["usd"]), float(ours["none"]["usd"]))
        out["minmax-bench", f"{preset}, two sessions"] = ratio
    asked = table(OUTSIDE / "future-os.tsv")
    for preset in PRESETS:
        out["future-os", f"{preset}, in view"] = sum(int(row[preset]) for row in asked)
    chains = next(it for it in table(OUTSIDE / "answered.tsv") if it["arm"] == "all")
    out["CompactionBench", "answered, by the share in view"] = float(chains["answered, %"])
    return out


def number(value: float, digits: int = 1, sign: str = "") -> str:
    return f"{value:{sign},.{digits}f}".replace("-", "−")


def predictions() -> list[str]:
    got = came()
    out = ["| of | figure | predicted | came | within |", "|---" * 5 + "|"]
    for row in table(OUTSIDE / PREDICTIONS):
        value, unit = got[row["source"], row["figure"]], row["unit"]
        digits = 0 if unit == "of 49" else 2 if "/" in unit else 1
        sign = "+" if "%" in unit and row["lo"] != "-" else ""
        cell = number(float(row["predicted"]), digits, sign)
        within = ""
        if row["lo"] != "-":
            lo, hi = float(row["lo"]), float(row["hi"])
            cell += f" ({number(lo, digits, sign)} to {number(hi, digits, sign)})"
            within = "yes" if lo <= value <= hi else "**no**"
        what = f"{row['figure']}, {unit}"
        known = "*" if row["known before"] == "total" else ""
        came_cell = number(value, digits, sign)
        out.append(f"| {row['source']} | {what} | {cell} | {came_cell}{known} | {within} |")
    return out


def steps() -> list[str]:
    """Extra steps per 1,000 removed tokens: as distil fitted them, and those of the replay."""
    out = ["| removed by | extra steps per 1,000 tokens |", "|---|---|"]
    names = {"selective": "selective context, from the newest result"}
    names |= {"distil": "distil, kept outside the view", "provider-cm": "the provider, old results"}
    arms = by(table(OUTSIDE / "distil.tsv"), "arm")
    for arm, name in names.items():
        value, lo, hi = (number(float(arms[arm][it]), 2) for it in ("lambda", "lo", "hi"))
        out.append(f"| {name} | {value} ({lo} to {hi}) |")
    value, lo, hi = replayed()
    cell = f"{number(value, 2)} ({number(lo, 2)} to {number(hi, 2)})"
    out.append(f"| the same in the replay of `net` | {cell} |")
    return out


def replayed() -> tuple[float, float, float]:
    """At the middle of ρ and at its ends."""
    row = by(table(OUTSIDE / "swe-agent.tsv"), "preset")["distil-provider-cm"]
    value = 1_000 * int(row["rereads"]) / int(row["removed"])
    middle, lo, hi = RHO
    return value, value * lo / middle, value * hi / middle


def caches() -> list[str]:
    out = ["| arm | requests | rule / metered reads | read less | rule / metered bill |"]
    out.append("|---" * 5 + "|")
    for arm, it in reads().items():
        bill = it["rule usd"] / it["usd"]
        cells = [number(it["rule"] / it["read"], 3), str(int(it["less"])), number(bill, 3)]
        out.append(f"| {arm} | {int(it['requests'])} | " + " | ".join(cells) + " |")
    return out


def bills() -> list[str]:
    """Of minmax-bench and of presets, by its method: a request reads all of the one before."""
    theirs = table(OUTSIDE / "minmax.tsv")
    out = ["| | 64 sessions | two of them | of none, % |", "|---" * 4 + "|"]
    for arm in ("none", "headroom", "condense"):
        whole = sum(dollars(row) for row in theirs if row["arm"] == arm)
        two, base = both(theirs, arm), both(theirs, "none")
        cells = f"${whole:,.0f} | ${two:.2f} | {number(percent(two, base), 0, '+')}"
        out.append(f"| {arm}, theirs | {cells} |")
    ours = by(table(OUTSIDE / "minmax-own.tsv"), "preset")
    base = dollars(ours["none"])
    for preset in ("none", *PRESETS):
        row = ours[preset]
        asked = (int(row["asked"]) * OPUS["read"] + int(row["summary"]) * OPUS["output"]) / 1e6
        two = dollars(row) + asked
        out.append(f"| `{preset}` | | ${two:.2f} | {number(percent(two, base), 0, '+')} |")
    return out


def missing() -> dict[str, float]:
    """What the baseline of minmax-bench lacks of the bill of `none`, by reason, in percent: the
    frame of every request; what caches lost and the model counts more; results and the rest."""
    theirs = [row for row in table(OUTSIDE / "minmax.tsv") if row["own"] == "1"]
    none = [row for row in theirs if row["arm"] == "none"]
    ours = by(table(OUTSIDE / "minmax-own.tsv"), "preset")["none"]
    frames = int(ours["first"]) - sum(int(row["first"]) for row in none)
    again = int(ours["calls"]) / len(none) - 1
    frame = frames * (OPUS["written"] + again * OPUS["read"]) / 1e6
    counted, paid, base = dollars(ours), float(ours["usd"]), both(theirs, "none")
    gaps = {"frame": frame, "caches": paid - counted, "rest": counted - frame - base}
    return {name: 100 * gap / (paid - base) for name, gap in gaps.items()}


def values() -> list[str]:
    rows = table(OUTSIDE / "future-os.tsv")
    arms = table(OUTSIDE / "future-os-arms.tsv")
    counts = Counter(row["said by"] for row in rows)
    head = [f"{who}'s {counts[who]}" for who in SPEAKERS]
    out = ["| in view | " + " | ".join(head) + f" | all {len(rows)} | answered by its model |"]
    out.append("|---" * 6 + "|")
    for preset in PRESETS:
        has = [sum(int(it[preset]) for it in rows if it["said by"] == who) for who in SPEAKERS]
        arm = preset.split("-1")[0]
        given = sum(int(row[arm]) for row in arms) if arm in arms[0] else ""
        out.append(f"| `{preset}` | " + " | ".join(map(str, has)) + f" | {sum(has)} | {given} |")
    return out


def answered() -> list[str]:
    out = ["| questions | arm | compacted | in context, % | answered, % |", "|---" * 5 + "|"]
    for row in table(OUTSIDE / "answered.tsv"):
        what = f"{row['source']}: {row['questions']}"
        cells = [row[it] for it in ("arm", "compacted", "in context, %", "answered, %")]
        cells = ["–" if it == "-" else it for it in cells]
        out.append(f"| {what} | " + " | ".join(cells) + " |")
    return out


def pair(arm: str) -> tuple[float, float, float, float]:
    """The points that an arm solves more than plain, Wald's interval, and McNemar's exact p."""
    row = by(table(OUTSIDE / "distil.tsv"), "arm")[arm]
    n, more, less = (int(row[it]) for it in ("pairs", "gained", "lost"))
    half = 1.96 * sqrt(more + less - (more - less) ** 2 / n) / n
    tail = sum(comb(more + less, k) for k in range(min(more, less) + 1)) / 2 ** (more + less)
    value = (more - less) / n
    return 100 * value, 100 * (value - half), 100 * (value + half), min(1.0, 2 * tail)


TABLES: dict[str, Callable[[], list[str]]] = {
    "predictions": predictions,
    "extra steps": steps,
    "metered caches": caches,
    "bills": bills,
    "values": values,
    "answers of others": answered,
}


def report() -> None:
    for name, made in TABLES.items():
        print(f"## All {name}", "", *made(), "", sep="\n")


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {
        "report": report,
        "figures": figures,
        "meter": meter,
        "minmax": minmax,
        "future-os": future_os,
        "said": said,
    }
    commands[sys.argv[1] if len(sys.argv) > 1 else "report"](*sys.argv[2:])
