"""Installs what a release has where there is no Rust, compares the sessions that ship, and checks the screen against README's.

    python3 tests/install/install.py FOLDER [--here] [--glibc VERSION]

FOLDER holds the archive of the command, the wheel, and npm's packages, or some of them. On Linux each is installed in a root of
its own without a network: one that holds the C library alone, one with Python, one with Node. `--here` does without roots, with
an empty home, and with no folder on PATH that has Rust in it: for systems that have none, and for machines that forbid them.
`--glibc 2.28` demands that nothing needs a newer one.

Before, it is seen what they hold: licenses, a page whose links lead out of the repository, the command's manual pages and
completions, and nothing of the machine that built them.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

WORKSPACE = Path(__file__).resolve().parents[2]
#: What a wheel and a package of npm may have, and what it may take from nothing to the screen.
MOST_BYTES, MOST_SECONDS = 25_000_000, 60
COMPARE = ["compare", "examples/sessions"]
WINDOWS = os.name == "nt"


class Here:
    """A folder of this system."""

    def __init__(self, folder, _):
        self.folder = folder
        self.work = self.path("work")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command):
        kept = {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP", "TMP", "PATHEXT", "COMSPEC") if name in os.environ}
        home = self.path("home")
        without = [folder for folder in os.get_exec_path() if not (shutil.which("cargo", path=folder) or shutil.which("rustc", path=folder))]
        environment = {**kept, "PATH": os.pathsep.join(without), "HOME": home, "USERPROFILE": home, "APPDATA": home, "LOCALAPPDATA": home}
        return said(command, cwd=self.folder_of("work"), env=environment)

    def folder_of(self, name):
        return Path(self.folder, name)


class Root(Here):
    """A root that holds nothing but what is bound into it."""

    def __init__(self, folder, bound):
        self.bound = [Path(path) for path in bound]
        super().__init__(folder, bound)

    def path(self, name):
        return f"/{name}"

    def run(self, *command):
        steps = ["set -e"]
        for path in [*self.bound, Path("/dev/null"), Path("/dev/urandom")]:
            place = Path(self.folder, *path.parts[1:])
            make = f"mkdir -p {q(place)}" if path.is_dir() else f"mkdir -p {q(place.parent)}; touch {q(place)}"
            steps.append(f"{make}; mount --bind {q(path)} {q(place)}")
        proc = Path(self.folder, "proc")
        steps.append(f"mkdir -p {q(proc)} {q(Path(self.folder, 'tmp'))}; mount -t proc proc {q(proc)}")
        inside = ["unshare", f"--root={self.folder}", "--wd=/work", *command]
        steps.append(f"exec {shlex.join(map(str, inside))}")
        outside = ["unshare", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", "\n".join(steps)]
        # The tools that make the root are found by PATH. In it, of these folders there is only what was bound.
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/home"}
        return said(outside, command, env=environment)


def q(path):
    return shlex.quote(str(path))


def said(command, named=None, **how):
    """What a command prints; one that fails ends the run, under the name of the command that is meant."""
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, encoding="utf-8", **how)
    if ran.returncode != 0:
        sys.exit(f"failed: {shlex.join(map(str, named or command))}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def libraries(*programs):
    """The dynamic loader and the libraries of programs, and nothing else."""
    found = set()
    for program in programs:
        # A program for musl has none, and `ldd` calls that a failure.
        ran = subprocess.run(["ldd", program], capture_output=True, text=True)
        for word in ran.stdout.split():
            if word.startswith("/"):
                found.add(word)
    return found


def system_libraries():
    """The folders of shared libraries: modules of Python name theirs only when they are loaded."""
    return [path for path in ("/lib64", f"/lib/{sysconfig.get_config_var('MULTIARCH')}") if os.path.isdir(path)]


def from_archive(place, archive):
    shutil.unpack_archive(archive, place.folder_of("work"))
    program = "foldback.exe" if WINDOWS else "foldback"
    return [os.path.join(place.work, archive.name.removesuffix(".tar.gz"), program)]


def from_wheel(place, wheel):
    shutil.copy(wheel, place.folder_of("work"))
    venv = place.path("venv")
    place.run(PYTHON, "-m", "venv", venv)
    bin = os.path.join(venv, "Scripts" if WINDOWS else "bin")
    place.run(os.path.join(bin, "python"), "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel.name)
    module, script = [os.path.join(bin, "python"), "-m", "foldback"], [os.path.join(bin, "foldback")]
    # By the name of the package `uvx` runs it.
    named = [os.path.join(bin, "foldback-cli")]
    assert place.run(*module, "--version") == place.run(*script, "--version") == place.run(*named, "--version")
    # What is not seen by the command: the engine.
    place.run(os.path.join(bin, "python"), "-c", PYTHON_COMPACTS)
    return script


def from_npm(place, *archives):
    for archive in archives:
        shutil.copy(archive, place.folder_of("work"))
    npm = [NODE, NPM / "bin" / "npm-cli.js", "install", "--silent", "--no-audit", "--no-fund", "--offline"]
    place.run(*npm, *(f"./{archive.name}" for archive in archives))
    place.run(NODE, "--input-type=module", "--eval", NODE_COMPACTS)
    return [NODE, NPM / "bin" / "npx-cli.js", "--offline", "foldback"]


PYTHON_COMPACTS = """
import foldback
messages = [{"role": "user", "content": "word " * 2000}, {"role": "assistant", "content": "Yes."}] * 20
sent = foldback.compact(messages, preset="indexed", window=20_000, max_output=2_000, system="", tools=[])
assert 0 < len(sent) and sum(len(str(it)) for it in sent) < sum(len(str(it)) for it in messages) / 2, len(sent)
"""
NODE_COMPACTS = """
import { compact } from 'foldback';
const messages = Array(20).fill([{ role: 'user', content: 'word '.repeat(2000) }, { role: 'assistant', content: 'Yes.' }]).flat();
const sent = compact(messages, { preset: 'indexed', window: 20_000, maxOutput: 2_000, system: '', tools: [] });
if (!(JSON.stringify(sent).length < JSON.stringify(messages).length / 2)) throw new Error(`${sent.length} messages`);
"""
PYTHON = Path(sys.base_prefix, "python.exe" if WINDOWS else f"bin/python{sys.version_info.major}.{sys.version_info.minor}")
NODE = Path(os.path.realpath(shutil.which("node") or "node"))
NPM = NODE.parent / "node_modules/npm" if WINDOWS else Path(os.path.realpath(shutil.which("npm") or "npm")).parents[1]


def ways(folder):
    """What is installed how, and what its root holds."""
    archives, wheels = sorted(folder.glob("*.tar.gz")), sorted(folder.glob("*.whl"))
    npm = sorted(folder.glob("*.tgz"))
    for archive in archives:
        yield "archive", [archive], from_archive, lambda: libraries_of(archive)
    for wheel in wheels:
        yield "wheel", [wheel], from_wheel, lambda: [sys.base_prefix, *system_libraries()]
    if npm:
        shell = [path for path in ("/bin/sh", "/usr/bin/env") if os.path.exists(path)]
        yield "npm", npm, from_npm, lambda: [NODE, NPM, *shell, *system_libraries()]


def libraries_of(archive):
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(archive, folder)
        return libraries(next(Path(folder).glob("*/foldback")))


def members(artefact):
    """The files of an archive, by their names."""
    if artefact.suffix == ".whl":
        with zipfile.ZipFile(artefact) as opened:
            return {name: opened.read(name) for name in opened.namelist()}
    with tarfile.open(artefact) as opened:
        return {member.name: opened.extractfile(member).read() for member in opened if member.isfile()}


def contents(artefact, glibc):
    """What is wrong with the contents of an archive."""
    files = members(artefact)
    names = {name.rsplit("/", 1)[-1] for name in files}
    needs = ["LICENSE-MIT", "LICENSE-APACHE"]
    if artefact.name.endswith(".tar.gz"):
        needs += ["README.md", "foldback.1", "foldback-compare.1", "foldback.bash", "foldback.zsh", "foldback.fish"]
    yield from (f"{need} is missing" for need in needs if need not in names)
    for name, content in files.items():
        if name.endswith(("README.md", "METADATA")):
            text = re.sub(r"`[^`]*`", "", content.decode())
            yield from (f"{name} links to {link}" for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text))
        # Sources are named from the root of the repository.
        if (root := str(WORKSPACE).encode()) in content:
            yield f"{name} names {root.decode()}"
        if glibc and content.startswith(b"\x7fELF"):
            newest = max(map(int, re.findall(rb"GLIBC_2\.(\d+)", content)), default=0)
            if newest > int(glibc.partition(".")[2]):
                yield f"{name} needs glibc 2.{newest}"


def readme():
    """The screen that README shows."""
    _, _, rest = (WORKSPACE / "README.md").read_text(encoding="utf-8").partition("The first one prints:\n\n```text\n")
    return rest.partition("```\n")[0]


def check(name, artefacts, install, bound, kind, glibc):
    wrong = [f"{artefact.name}: {problem}" for artefact in artefacts for problem in contents(artefact, glibc)]
    if wrong:
        sys.exit("failed: " + "\n".join(wrong))
    bytes = sum(artefact.stat().st_size for artefact in artefacts)
    with tempfile.TemporaryDirectory() as folder:
        place = kind(folder, bound() if kind is Root else ())
        for made in ("home", "work/examples"):
            place.folder_of(made).mkdir(parents=True)
        shutil.copytree(WORKSPACE / "examples/sessions", place.folder_of("work/examples/sessions"))
        begun = time.monotonic()
        command = install(place, *artefacts)
        installed = time.monotonic()
        screen = place.run(*command, *COMPARE)
        compared = time.monotonic()
        place.run(*command, "--version")
        started = time.monotonic() - compared
    if WINDOWS:
        screen = screen.replace("sessions\\", "sessions/")
    print(
        f"{name}: {bytes / 1e6:.1f} MB; installed in {installed - begun:.1f} s, compared in {compared - installed:.1f} s; --version {started * 1000:.0f} ms",
        flush=True,
    )
    if screen != readme():
        sys.exit(f"failed: {name}: not README's screen:\n{screen}")
    if bytes > MOST_BYTES or compared - begun > MOST_SECONDS:
        sys.exit(f"failed: {name}: more than {MOST_BYTES} bytes or {MOST_SECONDS} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--glibc")
    given = parser.parse_args()
    found = list(ways(given.folder.resolve()))
    if not found:
        sys.exit(f"failed: nothing to install in {given.folder}")
    for name, artefacts, install, bound in found:
        check(name, artefacts, install, bound, Here if given.here else Root, given.glibc)
    print(f"{len(found)} passed, 0 failed")


if __name__ == "__main__":
    main()
