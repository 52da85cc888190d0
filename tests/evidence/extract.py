"""Makes the extracts of this folder from the data that README.md names.

    python3 tests/evidence/extract.py answers   CLONE
    python3 tests/evidence/extract.py outcomes  CLONE
    python3 tests/evidence/extract.py figures   ROWS.csv COMPARISON.json [FILE]
    python3 tests/evidence/extract.py sessions  CLONE ROWS.csv

CLONE is a clone of algal/pi-openai-server-compaction, Recursive-Safeguarding/the-complexity-trap
or multi-swe-bench/experiments; ROWS.csv and COMPARISON.json are of a comparison of the arms of the
study (README.md).
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DISTANCES = ["1", "2", "3", "5", "10", "20", "50", "beyond"]


def blob(clone: str, path: str) -> bytes:
    return subprocess.run(
        ["git", "-C", clone, "cat-file", "blob", f"HEAD:{path}"], capture_output=True, check=True
    ).stdout


def listed(clone: str, under: str) -> list[str]:
    command = ["git", "-C", clone, "ls-tree", "-r", "--name-only", "HEAD", under]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def write(name: str | Path, rows: Iterable[Iterable[object]]) -> None:
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (HERE / name).write_text(text, encoding="utf-8")


# Answers


def said(message: dict[str, Any]) -> str:
    """What a message of a fixture says, in either of their two forms."""
    content = message.get("content") or []
    if isinstance(content, str):
        return content
    texts = [part.get("text") or json.dumps(part.get("arguments", "")) for part in content]
    return " ".join([*texts, str(message.get("output", "")), str(message.get("arguments", ""))])


def answers(clone: str) -> None:
    older, newer = (
        "benchmarks/native-vs-text/final-results",
        "benchmarks/product-defaults/final-results",
    )
    first = f"{older}/2026-07-17T01-51-59-774Z_gpt-5.6-sol"
    second = f"{newer}/2026-07-23_product-defaults-medium_gpt-5.6-sol"

    def fixtures(run: str) -> dict[str, Any]:
        return {it["id"]: it for it in json.loads(blob(clone, f"{run}/fixtures.json"))}

    def trials(path: str) -> list[Any]:
        return [json.loads(line) for line in blob(clone, path).decode().splitlines()]

    rows: list[list[object]] = []

    def add(
        arm: str, name: str, messages: list[Any], cut: int, summary: str, scores: list[Any]
    ) -> None:
        texts = [said(message) for message in messages]
        fixture = name.split("/")[0]
        for score in scores:
            literal = score["expected"]
            # The latest message of the fact says whether it stayed.
            at = max(number for number, text in enumerate(texts) if literal in text)
            age = score["epoch"] if arm == "pi" else CATEGORIES.index(score["category"])
            question = score["questionId"].removeprefix(fixture + "-")
            known = [int(literal in summary), int(score["correct"])]
            rows.append([arm, name, question, age, literal, at, cut, *known])

    told = fixtures(second)
    for trial in trials(f"{second}/trials.jsonl"):
        name, pi = trial["fixtureId"], trial["piDefault"]
        cut = int(pi["firstKeptEntryId"].rsplit("-", 1)[1]) - 1
        scores = trial["evaluations"]["pi_default"]["scores"]
        add("pi", f"{name}/1", told[name]["messages"], cut, pi["summary"], scores)
    told = fixtures(first)
    for arm, file in (("text", "trials.jsonl"), ("dense", "dense-text-trials.jsonl")):
        for trial in trials(f"{first}/{file}"):
            name = trial["fixtureId"]
            history, tail = told[name]["history"], told[name]["sharedTail"]
            summary = trial["textSummary" if arm == "text" else "summary"]["text"]
            dense = trial.get("evaluation")
            scores = (dense or trial["evaluations"]["text_summary"])["scores"]
            label = f"{name}/{trial['trial']}"
            add(arm, label, history + tail, len(history), summary, scores)
    head = ["arm", "fixture", "question", "age", "literal", "message", "cut", "in_summary", "right"]
    write("answers.tsv", [head, *rows])


# In the order in which the history tells them.
CATEGORIES = [
    "exact_recall",
    "relational_state",
    "tool_history",
    "distractor_resolution",
    "task_continuation",
]

# Outcomes

MINI = "grazie-gpt4.1-mini-agent"
SUMMARY = "turn-summaries-t_0-"
MODELS = {
    "gemini-2.5-flash": ("gemini_2.5_flash-agent-t_0.8-", "", ""),
    "gemini-2.5-flash-thinking": ("gemini_2.5_flash_thinking-agent-t_0.8-", "", ""),
    "qwen3-32b": ("local-qwen3-32b-", "t_0.8-", ""),
    "qwen3-32b-thinking": ("local-Qwen3-32B_thinking-", "t_0.8-", "-collect_reasoning"),
    "qwen3-coder-480b": ("local-Qwen3-Coder_480B_A35B_Instruct_FP8-", "t_0.8-", ""),
}


def runs() -> list[tuple[str, str, str, str]]:
    """Data set, model, arm as a strategy of examples/complexity-trap, and name of the run."""
    out: list[tuple[str, str, str, str]] = []
    lite = {
        "raw": "baseline_raw",
        "omit-0": SUMMARY + "N_1_omit",
        "omit-1": SUMMARY + "N_1_M_1_omit",
    }
    lite |= {f"summary-{n}-0": f"{SUMMARY}N_{n}" for n in (3, 7, 13, 21, 34)}
    lite |= {f"summary-{n}-{m}": f"{SUMMARY}N_{n}_M_{m}" for n in (21, 34) for m in (1, 5)}
    lite |= {f"summary-{n}-10": f"{SUMMARY}N_{n}_static_summary_M_10_openhands" for n in (10, 21)}
    for arm, run in lite.items():
        out += [
            ("lite-50", "gpt-4.1-mini", arm, f"{MINI}-t_0.8-{run}.{k}-lite-50") for k in range(3)
        ]
    for m in (1, 5):
        names = [f"{MINI}-t_0.8-baseline_M_{m}.0-lite-50"]
        names += [f"{MINI}_t_0.8-baseline_M_{m}.{k}-lite-50" for k in (1, 2)]
        out += [("lite-50", "gpt-4.1-mini", f"mask-{m}", name) for name in names]
    # The runs of all 500 tasks have these 150 among them.
    base = f"{MINI}-t_0.8-baseline"
    whole = {
        "raw": f"{base}_raw_verified.0-verified.{base}_raw_v500.0-verified-500",
        "mask-5": f"{base}_M_5-verified.{base}_M_5_v500.0-verified-500",
    }
    some = {"masking-10": "baseline_M_10", "mask-20": "baseline_M_20"}
    some |= {f"omit-{m}": f"{SUMMARY}N_1_M_{m}_omit" for m in (1, 5)}
    pairs = ((10, 10), (21, 0), (21, 10), (21, 20))
    some |= {f"summary-{n}-{m}": f"{SUMMARY}N_{n}_M_{m}_openhands" for n, m in pairs}
    out += [("verified-150", "gpt-4.1-mini", arm, name) for arm, name in whole.items()]
    for arm, run in some.items():
        name = f"{MINI}-t_0.8-{run}_v150.0-verified-150"
        out.append(("verified-150", "gpt-4.1-mini", arm, name))
    for arm, run in (("raw", "baseline_raw"), ("mask-5", "baseline_M_5")):
        name = f"grazie-gpt4.1-agent-t_0.8-{SUMMARY}{run}_v150.0-verified-150"
        out.append(("verified-150", "gpt-4.1", arm, name))
    out += [("verified-500", "gpt-4.1-mini", arm, name) for arm, name in whole.items()]
    for model, (before, inner, behind) in MODELS.items():
        arms = {"raw": "baseline_raw", "masking-10": "baseline_N_1_M_10"}
        arms["summary-21-10"] = f"{inner}{SUMMARY}N_21_M_10_openhands"
        for arm, run in arms.items():
            out.append(("verified-500", model, arm, f"{before}{run}{behind}.0-verified-500"))
    return out


def outcomes(clone: str) -> None:
    found: dict[str, Any] = {}
    packed = io.BytesIO(blob(clone, "auxiliary-data/eval_results-swe_agent.tar"))
    with tarfile.open(fileobj=packed) as archive:
        for member in archive.getmembers():
            stream = archive.extractfile(member) if member.name.endswith(".json") else None
            if stream:
                name = Path(member.name).stem.removeprefix("_.")
                twice = re.match(r"^(.*)\.\1$", name)
                found[twice.group(1) if twice else name] = json.load(stream)
    tasks: dict[str, set[str]] = defaultdict(set)
    for dataset, _, _, run in runs():
        if not run.endswith("verified-500") or dataset == "verified-500":
            tasks[dataset] |= set(found[run]["submitted_ids"])
    rows = [["dataset", "model", "arm", "resolved"]]
    rows += [[dataset, "", "", " ".join(sorted(some))] for dataset, some in sorted(tasks.items())]
    for dataset, model, arm, run in runs():
        solved = set(found[run]["resolved_ids"])
        bits = "".join("1" if task in solved else "0" for task in sorted(tasks[dataset]))
        rows.append([dataset, model, arm, bits])
    write("outcomes.tsv", rows)


# Figures

COUNTS = ("frr", "frr_obs", "frr_far", "frr_obs_far", "verbatim", "verbatim_far")
TOTALS = ("frr_obs_far", "frr_obs", "frr_far", "frr", "verbatim_far", "verbatim")


def sums(path: str) -> dict[tuple[str, str], Counter[str]]:
    """By preset and session: what calls needed and had, calls that had all, tokens."""
    out: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    csv.field_size_limit(10**9)
    with Path(path).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            sum_ = out[row["preset"].removesuffix("+extractive"), row["session"]]
            sum_["calls"] += 1
            for name in ("input_tokens", "uncompacted_tokens"):
                sum_[name] += int(row[name])
            if row["exam"] != "true":
                continue
            for name in COUNTS:
                needed, kept = int(row[f"{name}_needed"]), int(row[f"{name}_kept"])
                sum_[f"{name}_needed"] += needed
                sum_[f"{name}_kept"] += kept
                sum_[f"c_{name}_needed"] += needed > 0
                sum_[f"c_{name}_kept"] += needed > 0 and needed == kept
            for what in ("needed", "kept"):
                sum_[f"own_{what}"] += int(row[f"frr_{what}"]) - int(row[f"frr_obs_{what}"])
    return out


def ratio(of: Counter[str], name: str) -> float:
    return of[f"{name}_kept"] / of[f"{name}_needed"] if of[f"{name}_needed"] else 1.0


def figures(rows: str, comparison: str, file: str = "figures.tsv") -> None:
    presets = json.loads(Path(comparison).read_text(encoding="utf-8"))["presets"]
    told = {line["preset"].removesuffix("+extractive"): line for line in presets}
    total: dict[str, Counter[str]] = defaultdict(Counter)
    for (preset, _), sum_ in sums(rows).items():
        total[preset] += sum_
    head = ["arm", *TOTALS, "own", "c_frr", "c_obs_far", "far_5", "far_10", "last_error"]
    table: list[list[object]] = [[*head, "size"]]
    wanted = [name for name in told if name.split("-")[0] in ("mask", "masking", "omit", "summary")]
    for name in ["none", *sorted(wanted)]:
        sum_, steps = total[name], told[name]["by_distance"]
        values = [ratio(sum_, figure) for figure in (*TOTALS, "own", "c_frr", "c_frr_obs_far")]
        for beyond in ("5", "10"):
            later = [steps[it] for it in DISTANCES[DISTANCES.index(beyond) + 1 :] if it in steps]
            values.append(sum(it["kept"] for it in later) / sum(it["needed"] for it in later))
        values.append(told[name]["metrics"]["last_error"]["value"])
        values.append(sum_["input_tokens"] / sum_["uncompacted_tokens"])
        table.append([name, *(f"{value:.6f}" for value in values)])
    write(file, table)


def sessions(clone: str, rows: str) -> None:
    solved: dict[str, set[str]] = {}
    for path in listed(clone, "evaluation/java/verified"):
        if path.endswith("results/results.json"):
            result = json.loads(blob(clone, path))
            # One run was evaluated for one task alone.
            if result["submitted_instances"] > 1:
                solved[path.split("/")[-3]] = set(result["resolved"])
    by: dict[str, dict[str, Counter[str]]] = defaultdict(dict)
    for (preset, session), sum_ in sums(rows).items():
        by[session][preset] = sum_
    arms = ("mask-5", "summary-13-0")
    names = ("size", "frr_obs_far", "frr", "c_frr", "verbatim_far")
    head = [
        "task",
        "model",
        "resolved",
        "calls",
        *(f"{arm} {name}" for arm in arms for name in names),
    ]
    lines: list[list[object]] = []
    for session, presets in by.items():
        run, task = session.split("/")[-3], Path(session).stem
        if run not in solved:
            continue
        line: list[object] = [task, run.split("SWE-agent_")[1], int(task in solved[run])]
        line.append(presets["none"]["calls"])
        for arm in arms:
            sum_ = presets[arm]
            size = sum_["input_tokens"] / sum_["uncompacted_tokens"]
            line += [f"{it:.4f}" for it in (size, *(ratio(sum_, name) for name in names[1:]))]
        lines.append(line)
    write("sessions.tsv", [head, *sorted(lines, key=lambda line: (str(line[0]), str(line[1])))])


if __name__ == "__main__":
    made: dict[str, Callable[..., None]] = {
        "answers": answers,
        "outcomes": outcomes,
        "figures": figures,
        "sessions": sessions,
    }
    if len(sys.argv) < 3 or sys.argv[1] not in made:
        sys.exit(__doc__)
    made[sys.argv[1]](*sys.argv[2:])
