"""A made world of files with settings, the tools that look at it and change it, and a task in it.

Everything follows from a seed. Every setting has a name of its own and a value that nothing else
holds, so that a text either has it or has not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

MODULES = "audit billing catalog gateway ledger orders search shipping".split()
NOUNS = """account batch bucket cache carrier channel cursor digest discount envelope fallback
filter gauge header index invoice journal lease limit manifest margin mirror notice offset parcel
policy price quota receipt refund region replica retry route schedule session shard signal
snapshot tariff threshold ticket token tracker voucher window worker zone""".split()
VERBS = "apply build check clear collect describe fetch merge publish rebuild resolve send".split()
LETTERS = "bcdfghjkmnpqrstvwxz"
FILES_OF_A_MODULE = 8
STEMS_OF_A_FILE = 8
SETTINGS_OF_A_STEM = 12
# Lines that a test run prints.
TESTS = 70


@dataclass(frozen=True)
class Setting:
    """A line `name = "value"` of a file."""

    name: str
    path: str
    stem: str

    @property
    def group(self) -> tuple[str, str]:
        """What one search finds: the folder and the stem of the name."""
        return self.path.rsplit("/", 1)[0], self.stem


@dataclass
class World:
    """The files and what stands in them."""

    files: dict[str, list[str]]
    settings: list[Setting]
    noise: random.Random
    edits: int = 0

    def line_of(self, setting: Setting) -> int:
        start = f"    {setting.name} = "
        lines = self.files[setting.path]
        return next(at for at, line in enumerate(lines) if line.startswith(start))

    def text_of(self, setting: Setting) -> str:
        """The line as an edit names it."""
        return self.files[setting.path][self.line_of(setting)].strip()

    def value_of(self, setting: Setting) -> str:
        return self.text_of(setting).split('"')[1]

    def snapshot(self) -> dict[str, list[str]]:
        return {path: list(lines) for path, lines in self.files.items()}

    def run(self, tool: str, arguments: dict[str, str]) -> str:
        """What a tool answers."""
        if tool == "read":
            lines = self.files.get(arguments["path"])
            return "No such file." if lines is None else numbered(lines, 0, len(lines))
        if tool == "search":
            return self.search(arguments["folder"], arguments["text"])
        if tool == "edit":
            return self.edit(arguments["path"], arguments["old_string"], arguments["new_string"])
        if tool == "test":
            return self.tests()
        return f"No tool {tool}."

    def search(self, folder: str, text: str) -> str:
        """The lines that hold a text, with one line on either side, as grep prints them."""
        out = []
        for path, lines in self.files.items():
            if not path.startswith(folder + "/"):
                continue
            hits = {at for at, line in enumerate(lines) if text in line}
            for at, line in enumerate(lines):
                if at in hits:
                    out.append(f"{path}:{at + 1}:{line}")
                elif hits & {at - 1, at + 1}:
                    out.append(f"{path}-{at + 1}-{line}")
        return "\n".join(out) or "Nothing found."

    def edit(self, path: str, old: str, new: str) -> str:
        lines = self.files.get(path, [])
        at = [number for number, line in enumerate(lines) if old in line]
        if len(at) != 1:
            return f"Not changed: the old text occurs {len(at)} times in {path}."
        lines[at[0]] = lines[at[0]].replace(old, new)
        self.edits += 1
        return f"Changed {path}:\n" + numbered(lines, max(0, at[0] - 3), at[0] + 4)

    def tests(self) -> str:
        rows = []
        for _ in range(TESTS):
            name = f"{self.noise.choice(VERBS)}_{self.noise.choice(NOUNS)}_{word(self.noise, 4)}"
            rows.append(f"test {name} ... ok ({self.noise.randrange(1, 900)} ms)")
        return "\n".join([*rows, f"{TESTS} passed"])


def numbered(lines: list[str], start: int, end: int) -> str:
    shown = enumerate(lines[start:end], start + 1)
    return "\n".join(f"{number:>5}\t{line}" for number, line in shown)


def word(generator: random.Random, letters: int) -> str:
    return "".join(generator.choices(LETTERS, k=letters))


def made(seed: int) -> World:
    """The world of a seed."""
    generator = random.Random(f"world {seed}")
    files: dict[str, list[str]] = {}
    settings: list[Setting] = []
    for module in MODULES:
        stems = generator.sample(NOUNS, FILES_OF_A_MODULE + STEMS_OF_A_FILE)
        for file in range(FILES_OF_A_MODULE):
            path = f"src/{module}/{stems[-1 - file]}_{word(generator, 3)}.py"
            files[path] = written(generator, path, module, stems, file, settings)
    return World(files, settings, random.Random(f"noise {seed}"))


def written(
    generator: random.Random,
    path: str,
    module: str,
    stems: list[str],
    file: int,
    settings: list[Setting],
) -> list[str]:
    """The lines of a file, whose settings are added to the others."""
    lines = [f'"""Part {file + 1} of {module}."""', ""]
    for stem in generator.sample(stems, STEMS_OF_A_FILE):
        verb, tail = generator.choice(VERBS), word(generator, 3)
        lines += [f"class {stem.title()}{tail.title()}:"]
        for _ in range(SETTINGS_OF_A_STEM):
            name = f"{stem}_{generator.choice(NOUNS)}_{word(generator, 3)}"
            value = f"{word(generator, 4)}-{generator.randrange(10**5, 10**6)}"
            lines.append(f'    {name} = "{value}-{word(generator, 5)}"')
            settings.append(Setting(name, path, stem))
        lines += [
            "",
            f"    def {verb}_{tail}(self, amount: int) -> int:",
            f"        return self.{generator.choice(VERBS)}(amount, {generator.randrange(999)})",
            "",
        ]
    return lines


@dataclass(frozen=True)
class Step:
    """A setting gets the values of others behind its own."""

    target: Setting
    sources: tuple[Setting, ...]


@dataclass
class Task:
    """Steps in phases; the user asks for one phase at a time."""

    phases: list[list[Step]] = field(default_factory=list)

    def asked(self, phase: int) -> str:
        lines = [f"Phase {phase + 1} of {len(self.phases)}. Please make these changes:"]
        for step in self.phases[phase]:
            sources = " and ".join(f"{one.name} ({one.path})" for one in step.sources)
            lines.append(f"- {step.target.name} in {step.target.path} gets the values of {sources}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Habits:
    """How a task moves through the world."""

    steps: int
    phases: int = 6
    # Units that are worked on at a time: files, or groups that a search finds.
    working: int = 6
    # How often one of them makes room, and how often it does for one that was left before.
    moves: float = 0.2
    returns: float = 0.35
    # How often a setting comes from anywhere that was seen before.
    afar: float = 0.06


def planned(world: World, seed: int, habits: Habits, by_file: bool) -> Task:
    """A task: most steps stay with what is being worked on, some go back far."""
    generator = random.Random(f"task {seed}")
    units: dict[object, list[Setting]] = {}
    for setting in world.settings:
        units.setdefault(setting.path if by_file else setting.group, []).append(setting)
    for unit in units.values():
        generator.shuffle(unit)
    fresh = list(units)
    generator.shuffle(fresh)
    working = [fresh.pop() for _ in range(habits.working)]
    left: list[object] = []

    def one() -> Setting:
        seen = working + left
        unit = generator.choice(seen if generator.random() < habits.afar else working)
        if not units[unit]:
            unit = max(seen, key=lambda name: (len(units[name]), str(name)))
        # Each setting is used once, so that only a look at the files tells its value.
        return units[unit].pop()

    steps = []
    for _ in range(habits.steps):
        if generator.random() < habits.moves:
            at = generator.randrange(len(working))
            back = left and (not fresh or generator.random() < habits.returns)
            new = left.pop(generator.randrange(len(left))) if back else fresh.pop()
            left.append(working[at])
            working[at] = new
        steps.append(Step(one(), tuple(one() for _ in range(generator.choice((1, 2))))))
    size = -(-len(steps) // habits.phases)
    return Task([steps[at : at + size] for at in range(0, len(steps), size)])
