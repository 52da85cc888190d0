"""Which presets may have drifted from the packages that they reproduce: `cargo xtask drift`.

For each row of `packages.toml` it asks the registry for the newest release, gets it and the release that was checked, and compares the functions in
the files that hold the rules: by the hash of their code, without comments, documentation and layout. Where the registry lags behind the repository, it
asks that for its newest tag, too, and says what a person read there. Of the model table it says how old it is; more than three months are too many.
With `--write FILE` it puts the table into a document, between two comments. Needs npm, pip and git; it installs and runs nothing.
"""

import argparse
import ast
import datetime
import fnmatch
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
MODELS = HERE.parents[1] / "crates/providers/data/models.toml"
OLDEST_DAYS = 92
REGISTRIES = {"npm": "npm", "pypi": "PyPI"}
BEGIN, END = "<!-- drift: begin -->", "<!-- drift: end -->"


def ask(*command: str, wait: int = 300) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=wait)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(command)}: {(ran.stderr or ran.stdout).strip().splitlines()[-1:]}")
    return ran.stdout.strip()


def newest(row: dict) -> str:
    name = row["name"]
    if row["registry"] == "npm":
        return json.loads(ask("npm", "view", "--json", name, "dist-tags.latest"))
    first = ask(sys.executable, "-m", "pip", "index", "versions", "--python-version", "3.13", name).splitlines()[0]
    return re.search(r"\((.+)\)", first)[1]


def of_source(row: dict, latest: str) -> str:
    """What the repository has that the registry has not, as far as it can be reached; nothing without a repository."""
    if "source" not in row:
        return ""
    source = row["source"]
    told = f"; as of {source['on']}, {source['seen']}"
    address = f"https://github.com/{source['repository']}"
    try:
        tags = ask("git", "ls-remote", "--tags", "--refs", "--sort=-v:refname", address, wait=30).splitlines()
    except (RuntimeError, OSError, subprocess.SubprocessError):
        print(f"{address} was not reached", file=sys.stderr)
        return told
    newest = next((tag.rsplit("/", 1)[-1] for tag in tags if re.search(r"\d+\.\d+", tag)), None)
    return told if newest is None or newest.removeprefix("v") == latest else f"{told}; its newest tag is {newest}"


def files(row: dict, version: str) -> dict[str, str]:
    """The files with the rules, by their paths in the package."""
    with tempfile.TemporaryDirectory() as folder:
        if row["registry"] == "npm":
            ask("npm", "pack", "--silent", "--pack-destination", folder, f"{row['name']}@{version}")
            with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
                members = {m.name.removeprefix("package/"): m for m in archive.getmembers() if m.isfile()}
                return {p: archive.extractfile(members[p]).read().decode() for p in members if wanted(row, p)}
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        ask(*pip, "--python-version", "3.13", "--dest", folder, f"{row['name']}=={version}")
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
            return {p: archive.read(p).decode() for p in archive.namelist() if wanted(row, p)}


def wanted(row: dict, path: str) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in row["files"])


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def python_functions(text: str) -> dict[str, str]:
    """Functions, methods and constants by name. The tree knows neither comments nor layout."""
    found = {}

    def walk(body: list[ast.stmt], inside: str) -> None:
        for node in body:
            match node:
                case ast.ClassDef():
                    walk(node.body, f"{inside}{node.name}.")
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    if ast.get_docstring(node) is not None:
                        node.body = node.body[1:]
                    found[f"{inside}{node.name}"] = digest(ast.dump(node))
                case ast.Assign() | ast.AnnAssign():
                    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                    found[f"{inside}{ast.unparse(target)}"] = digest(ast.dump(node))

    walk(ast.parse(text).body, "")
    return found


# What stands in a compiled module at the left margin, and what a class holds.
OUTER = re.compile(r"^(?:export )?(?:default )?(?:async )?(?:function\*?|class|const|let|var) ([\w$]+)", re.M)
METHOD = re.compile(r"^    (?:static |async |get |set )*([\w$#]+)\([^\n]*\{$", re.M)
COMMENT = re.compile(r"/\*.*?\*/|(?<![:'\"`\\])//[^\n]*", re.S)


def javascript_functions(text: str) -> dict[str, str]:
    """The same of a module as a compiler writes it."""
    found = {}

    def split(text: str, starts: re.Pattern, inside: str) -> None:
        begins = list(starts.finditer(text))
        for number, begin in enumerate(begins):
            end = begins[number + 1].start() if number + 1 < len(begins) else len(text)
            code, name = text[begin.start() : end], f"{inside}{begin[1]}"
            if "class " in begin[0] and METHOD.search(code):
                split(code, METHOD, f"{name}.")
            else:
                found[name] = digest(" ".join(code.split()))

    split(COMMENT.sub("", text), OUTER, "")
    return found


def functions(row: dict, version: str) -> dict[str, str]:
    out = {}
    for path, text in files(row, version).items():
        of = python_functions if path.endswith(".py") else javascript_functions
        for name, code in of(text).items():
            if name in row.get("only", [name]):
                out[f"{path.rsplit('/', 1)[-1]}: {name}"] = code
    if not out:
        raise RuntimeError(f"{row['name']} {version}: none of {', '.join(row['files'])} holds a function")
    return out


def compared(row: dict, latest: str) -> tuple[str, list[str]]:
    """What changed, in a word or two and in full."""
    if latest == row["checked"]:
        return f"the newest on {REGISTRIES[row['registry']]}", []
    if "files" not in row:
        return "newer; holds no source", []
    before, after = functions(row, row["checked"]), functions(row, latest)
    changed = [name for name in before if name in after and before[name] != after[name]]
    gone, new = [n for n in before if n not in after], [n for n in after if n not in before]
    lists = [("changed", changed), ("gone", gone), ("new", new)]
    told = [f"{len(names)} {word}" for word, names in lists if names]
    full = [f"{word}: {name}" for word, names in lists for name in names]
    return (", ".join(told) + f" of {len(before)} functions" if told else f"the same {len(before)} functions"), full


def prices() -> bool:
    """Says how old the model table is; whether that is too old."""
    table = tomllib.loads(MODELS.read_text())
    days = (datetime.date.today() - datetime.date.fromisoformat(table["as_of"])).days
    too_old = days > OLDEST_DAYS
    told = "too old: cargo xtask prices makes it anew" if too_old else "current"
    print(f"{MODELS.name}, {table['source']}: {days} days old, {told}", flush=True)
    return too_old


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into this document")
    parser.add_argument("only", nargs="?", default="", help="packages whose name holds this")
    given = parser.parse_args()
    rows = tomllib.loads((HERE / "packages.toml").read_text())["package"]
    lines, failed = [], False
    for row in (row for row in rows if given.only in row["name"]):
        try:
            latest = newest(row)
            what, full = compared(row, latest)
            what += of_source(row, latest)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            latest, what, full, failed = "–", "not reached", [str(error)], True
        names = ", ".join(f"`{preset.strip()}`" for preset in row["presets"].split(","))
        lines.append(f"| {names} | {row['name']} {row['checked']} | {latest} | {what} |")
        print(f"{row['name']} {row['checked']} -> {latest}: {what}", *(f"  {line}" for line in full), sep="\n", flush=True)
    if given.write:
        if failed or given.only:
            sys.exit("error: the table is written when all packages were reached")
        document = given.write.read_text()
        before, rest = document.split(BEGIN, 1)
        after = rest.split(END, 1)[1]
        day = datetime.date.today().isoformat()
        head = f"Checked on {day}:\n\n| preset | reproduces | newest in its registry | what was compared |\n|---|---|---|---|\n"
        given.write.write_text(before + BEGIN + "\n" + head + "\n".join(lines) + "\n" + END + after)
    if not given.only:
        failed |= prices()
    sys.exit(2 if failed else 0)


if __name__ == "__main__":
    main()
