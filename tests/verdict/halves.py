"""Whether the verdict holds: both halves of the same sessions should answer alike.

    python3 tests/verdict/halves.py FOLDBACK FOLDER... --work FOLDER [--splits N] [-- OPTIONS]

The options behind `--` are those of `compare`.

Every file is scored once (`foldback score`). Sets of sessions are all of them, those of each
format and those of each repository, as far as they have ten sessions. Each set is split in two by
chance, and each half is compared by itself.

- *same*: both halves answer the same: the same preset, to stay, or that there are too few sessions.
- *named*: sets in which something acted in ten sessions and that name a preset.
- *followed*: the cost in one half of what the other half said, to the cost of what this half says
  itself, both with what was missed read again.
"""

import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys

LEAST = 10
SEED = 7


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))[:200]}: {done.stderr.strip()}")
    return done.stdout


def score(program, files, work, options):
    """The part of each file that has a session with model calls."""
    parts = {}
    for number, path in enumerate(files):
        part = work / str(number)
        command = [program, "score", str(path), "--store", str(part), *options]
        done = part / "part.json"
        if not done.exists():
            subprocess.run(command, capture_output=True, check=False)
        # What is no session was not used.
        if done.exists() and '"failed"' not in done.read_text(encoding="utf-8"):
            parts[str(path)] = part
    return parts


def compared(program, parts, options):
    paths = sorted(map(str, parts))
    return json.loads(run(program, "compare", "--store=none", "--json", "-", *options, *paths))


def answer(comparison):
    verdict = comparison["verdict"]
    return verdict["answer"], verdict["preset"]


def cost(comparison, said):
    """What a session costs, to the base, if an answer is followed."""
    what, preset = said
    if what != "use":
        return 1.0
    line = next(line for line in comparison["presets"] if line["preset"].split("+")[0] == preset)
    ratio = line["metrics"]["net_ratio"]["value"]
    return line["metrics"]["cost_ratio"]["value"] if ratio is None else ratio


def sets(comparison, parts):
    """The parts of each set of sessions by its name."""
    found = collections.defaultdict(set)
    for session in comparison["corpus"]["sessions"]:
        path = session["path"]
        path = path if path in parts else path.rsplit("#", 1)[0]
        if path not in parts:
            continue
        names = ["all", f"format {session['format']}"]
        if session["cluster"] != session["path"]:
            names.append(f"repository {session['cluster']}")
        for name in names:
            found[name].add(path)
    return {name: sorted(paths) for name, paths in found.items() if len(paths) >= LEAST}


def prepared(description, *numbers):
    """The arguments, the program, the part of each file, and the options of `compare`."""
    arguments, options = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1 :]
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="a folder for the scores")
    for name, default in numbers:
        parser.add_argument(name, type=int, default=default)
    given = parser.parse_args(arguments)
    given.work.mkdir(parents=True, exist_ok=True)
    program = given.program.resolve()
    files = sorted(path for folder in given.folders for path in folder.rglob("*") if path.is_file())
    return given, program, score(program, files, given.work, options), options


def main():
    given, program, parts, options = prepared(__doc__, ("--splits", 20))
    rng = random.Random(SEED)
    same = splits = named = asked = 0
    followed = own = 0.0
    print("| sessions | acted, of files | answer | both halves alike | answers of halves |")
    print("|---|---|---|---|---|")
    for name, paths in sets(compared(program, parts.values(), options), parts).items():
        whole = compared(program, [parts[path] for path in paths], options)
        acted = whole["corpus"]["triggering"]
        alike, counts = 0, collections.Counter()
        for _ in range(given.splits):
            drawn = rng.sample(paths, len(paths))
            halves = [drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]]
            of_halves = [[parts[path] for path in half] for half in halves]
            one, other = (compared(program, half, options) for half in of_halves)
            said = answer(one), answer(other)
            counts.update(said)
            alike += said[0] == said[1]
            followed += cost(other, said[0]) + cost(one, said[1])
            own += cost(one, said[0]) + cost(other, said[1])
        said = answer(whole)
        if acted >= LEAST:
            asked += 1
            named += said[0] == "use"
        same, splits = same + alike, splits + given.splits
        words = [f"{preset or what} {count}" for (what, preset), count in counts.most_common(4)]
        cells = [name, f"{acted} of {len(paths)}", said[1] or said[0]]
        print("| " + " | ".join([*cells, f"{alike} of {given.splits}", ", ".join(words)]) + " |")
    share = f"same {same / splits:.0%}, named {named} of {asked}"
    print(f"\n{share}, following the other half costs {followed / own - 1:+.1%}")


if __name__ == "__main__":
    main()
