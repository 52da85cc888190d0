"""Makes the model table from the prices that pydantic collects: `cargo xtask prices`.

It gets the package `genai-prices` (MIT) from PyPI, reads the models of the providers below from its data file, adds the limits of `limits.toml`, which
the package does not have, and writes `models.toml`. Nothing of the package is run.
"""

import argparse
import ast
import datetime
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

DATA = Path(__file__).parents[2] / "crates/providers/data"
PACKAGE = "genai-prices"
# Whose list prices are taken, and how the ids of the models are that do not belong to another of them.
PROVIDERS = {
    "anthropic": "claude",
    "openai": "gpt|o1|o3|o4|codex|chatgpt",
    "google": "gemini",
    "deepseek": "deepseek",
    "moonshotai": "kimi|moonshot",
    "zai": "glm",
    "x-ai": "grok",
    "mistral": "mistral|ministral|magistral|devstral|codestral",
    "minimax": "minimax",
}
# Models that no agent talks to.
OTHER = re.compile(
    r"audio|image|tts|embed|realtime|transcribe|whisper|live|moderation|vision|search|ocr|instruct|voice|:free|robotics|omni|banana"
)
# Prices per million tokens, by their names in the package and here.
PRICES = {
    "input_mtok": "input",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write_5m",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_mtok": "output",
    "web_searches_kcount": "web_search",
}
SERVICES = {
    "fast": [{"speed": "fast"}, {"service_tier": "fast"}],
    "priority": [{"service_tier": "priority"}],
    "flex": [{"service_tier": "flex"}],
    "batch": [{"processing": "batch"}],
}
# These come first.
FIELDS = ["id", "names", "context", "long_context", "input", "output", "price"]
HEAD = """\
# Limits and prices of models, as of the date below. `cargo xtask prices` makes this file of `limits.toml` beside it and of the package `genai-prices`
# (https://github.com/pydantic/genai-prices, MIT), which collects list prices from the providers' pages. Do not change it by hand.
#
# Prices are in USD per million tokens, `web_search` per thousand searches; limits are in tokens; what is 0 or missing is not given. A `tier` has the
# prices of a request whose input is above a threshold, for all of its tokens. `fast`, `priority`, `flex` and `batch` are what the provider charges
# for requests that ask for that; `earlier` is what it charged until a day. `long_context` is a larger window that the provider opens on request.
#
# A model is found by its id or another of its names, not by how a name begins. Dots and dashes are read alike, and what stands around the
# name is taken off: a provider, a region, a date, a version (`us.anthropic.claude-opus-4-8-v1:0`, `vertex_ai/claude-opus-4-8@20260101`).
# A model that is not listed has no price. `--models FILE` takes a table of this shape instead.
"""


def ask(*command: str) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)}: {(ran.stderr or ran.stdout).strip().splitlines()[-1:]}")
    return ran.stdout.strip()


def newest() -> str:
    first = ask(sys.executable, "-m", "pip", "index", "versions", PACKAGE).splitlines()[0]
    return re.search(r"\((.+)\)", first)[1]


def source(version: str) -> str:
    """The data file of the package."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        ask(*pip, "--dest", folder, f"{PACKAGE}=={version}")
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
            return archive.read("genai_prices/data.py").decode()


def value(node: ast.expr):
    """A literal: constructors become mappings with their name under `is`."""
    match node:
        case ast.Constant():
            return node.value
        case ast.List():
            return [value(item) for item in node.elts]
        case ast.Dict():
            return {value(key): value(item) for key, item in zip(node.keys, node.values, strict=True)}
        case ast.Call(func=ast.Name(id="Decimal")):
            return float(value(node.args[0]))
        case ast.Call(func=ast.Attribute(attr="date")):
            return datetime.date(*map(value, node.args)).isoformat()
        case ast.Call(func=ast.Attribute(attr="time")):
            return "a time of the day"
        case ast.Call(func=ast.Name(id=name)):
            return {"is": name} | {word.arg: value(word.value) for word in node.keywords}
    raise SystemExit(f"line {node.lineno} of the package's data is of no known form: {ast.unparse(node)[:80]}")


def providers(text: str) -> list[dict]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "providers":
            return [provider for provider in map(value, node.value.elts) if provider["id"] in PROVIDERS]
    raise SystemExit("the package's data names no providers")


def normalised(name: str) -> str:
    """As `crates/providers/src/prices/names.rs` has it."""
    return name.lower().replace(".", "-")


def names(clause: dict) -> list[str]:
    """What a model is called, by what the package compares names with."""
    match clause["is"]:
        case "ClauseOr":
            return [name for inner in clause["or_"] for name in names(inner)]
        case "ClauseAnd":
            return [name for inner in clause["and_"] for name in names(inner)]
        case "ClauseEquals":
            return [clause["equals"]]
        case "ClauseStartsWith":
            return [clause["starts_with"].rstrip("-@:")]
    return []


def price(given: dict) -> dict:
    """Prices with their tier, the base of what has none."""
    out, tier = {}, {}
    for theirs, ours in PRICES.items():
        match given.get(theirs):
            case None:
                continue
            case {"base": base, "tiers": [{"start": start, "price": above}]}:
                out[ours] = base
                tier["above"] = start
                tier[ours] = above
            case {"tiers": _}:
                raise SystemExit(f"more than one tier: {given}")
            case flat:
                out[ours] = flat
    if tier:
        # What has no tier of its own costs the same above it.
        out["tier"] = {key: tier.get(key, out.get(key)) for key in ["above", *PRICES.values()] if key != "web_search" and (key in tier or key in out)}
    return out


def dated(prices) -> list[tuple[str | None, dict]]:
    """Prices by the day that they began, the earliest first. Those of a time of the day are left out: the dearest hours are."""
    rows = prices if isinstance(prices, list) else [{"prices": prices}]
    out = []
    for row in rows:
        constraint = row.get("constraint") or {}
        if constraint.get("is") != "TimeOfDateConstraint":
            out.append((constraint.get("start_date"), price(row["prices"])))
    return sorted(out, key=lambda row: row[0] or "")


def model(given: dict) -> dict | None:
    rows = dated(given["prices"])
    if not rows or not {"input", "output"} <= rows[-1][1].keys():
        return None
    called = [name.lower().rsplit("/")[-1] for name in [given["id"], *names(given["match"])]]
    ident = min((name for name in called if normalised(called[0]).startswith(normalised(name))), key=len)
    others = sorted({normalised(name) for name in called} - {normalised(ident)})
    out = {"id": ident, "names": others, "context": given.get("context_window") or 0, "price": rows[-1][1]}
    for service, conditions in SERVICES.items():
        for variant in given.get("price_variants") or []:
            # The package does not have what was charged before the day on which its authors looked.
            if variant["when"] in conditions and not isinstance(variant["prices"], list):
                flat = {key: part for key, part in rows[-1][1].items() if key != "tier"}
                out[service] = flat | price(variant["prices"])
    earlier = zip(rows[1:], rows, strict=False)
    out["earlier"] = [{"until": until, "price": what} for (until, _), (_, what) in earlier]
    return out


def models(text: str) -> list[dict]:
    found = {}
    for provider in providers(text):
        for given in provider["models"]:
            wanted = re.match(PROVIDERS[provider["id"]], given["id"].lower()) and not OTHER.search(given["id"])
            if wanted and (made := model(given)):
                found[normalised(made["id"])] = made
    # A name that is another model's id is that model's.
    taken = set(found)
    for made in found.values():
        made["names"] = [name for name in made["names"] if name not in taken and not OTHER.search(name)]
        taken.update(made["names"])
    return [found[name] for name in sorted(found)]


def with_limits(made: list[dict]) -> None:
    """The limits of `limits.toml` instead of the package's."""
    by_id = {name: one for one in made for name in [normalised(one["id"]), *one["names"]]}
    for row in tomllib.loads((DATA / "limits.toml").read_text())["model"]:
        for name in row["ids"]:
            if normalised(name) not in by_id:
                print(f"limits.toml: {PACKAGE} knows no {name}", file=sys.stderr)
                continue
            by_id[normalised(name)].update({key: row[key] for key in ("context", "long_context", "input", "output") if key in row})


def inline(given: dict | list | str | float) -> str:
    match given:
        case dict():
            return "{ " + ", ".join(f"{key} = {inline(part)}" for key, part in given.items()) + " }"
        case list():
            return "[" + ", ".join(map(inline, given)) + "]"
        case str():
            return f'"{given}"'
        case float() if given.is_integer():
            return f"{given:.1f}"
        case _:
            return f"{given:.10g}"


def table(made: list[dict], version: str, day: str) -> str:
    out = [HEAD + f'as_of = "{day}"\nsource = "{PACKAGE} {version}"\n']
    for one in made:
        keys = sorted(one, key=lambda key: FIELDS.index(key) if key in FIELDS else len(FIELDS))
        rows = (f"{key} = {inline(one[key])}" for key in keys if one[key] not in (0, [], {}))
        out.append("[[model]]\n" + "\n".join(rows) + "\n")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", help="of the package; the newest by default")
    version = parser.parse_args().version or newest()
    made = models(source(version))
    with_limits(made)
    (DATA / "models.toml").write_text(table(made, version, datetime.date.today().isoformat()))
    print(f"models.toml: {len(made)} models of {PACKAGE} {version}")


if __name__ == "__main__":
    main()
