"""Attacks what the command does to a user's files, and counts what was tried: `files.py foldback [STORY…]`.

- outputs: every command that writes × every file that it reads × every spelling of it. No file changes.
- handed: outputs that are files which a shell holds open, by the system's names for them. What others write there stays.
- broken: outputs in folders that can't be written, on a full disk, over a limit of the system. The old file is whole, nothing is beside it.
- killed: commands that are killed at any moment, by three signals. The old file or the new one is there, whole, and the next run is
  right. What is left beside it is counted: a temporary file, where a long output is killed while it is written.
- modes: new outputs under three umasks, and what setup writes.
- setup: settings of every kind for every agent, written and taken out again: the same bytes, or a refusal that changes nothing.
- quiet: `mcp` and discovery under strace. Nothing is opened for writing, made, renamed or removed.
"""

import functools
import itertools
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attempts import ROOT, SESSION, check

FOLDBACK = str(Path(sys.argv[1]).resolve())
MODELS = ROOT / "crates/providers/data/models.toml"


def run(args, folder, before=None, **options):
    """Runs the command in a folder, with a home below it."""
    environment = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache")}
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG_DIR", "PI_CODING_AGENT_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        environment.pop(name, None)
    return subprocess.run([FOLDBACK, *args], cwd=folder, env=environment, capture_output=True, check=False, preexec_fn=before, **options)


def state_of(folder, leave=("state", "cache")):
    """Every file below a folder: kind, mode, number, content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.relative_to(folder).parts[0] in leave:
            continue
        about = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_ino, content)
    return found


WRITERS = """compact {session} --preset {strategy} --models {models} -o {o}
compact {session} --preset none --summarizer {summarizer} --show plan -o {o}
compact {session} --preset none --show view -o {o}
compact {session} --preset none --show plan-json -o {o}
compact {session} --preset none --to pi -o {o}
convert {session} {o} --to pi
inspect {session} --json {o}
inspect {folder} --json {o}
compare {session} --store=none --preset {strategy} --models {models} --html {o}
compare {session} --store=none --preset none,{strategy} --outcomes {outcomes} --json {o}
compare {folder} --store=none --preset none --summarizer {summarizer} --rows {o}
compare {session} --store=none --experiment {experiment} --json {o}
compare {part} --preset window,none --json {o}
compare {part} --preset window,none --rows {o}
compare {part} --preset window,none --html {o}
tune {session} --store=none --preset {strategy} --vary overflow.threshold=0.5,0.6 --json {o}
tune {session} --store=none --preset {strategy} --vary overflow.threshold=0.5,0.6 --out {o}
recommend {session} --store=none --preset window --window 60000 --models {models} -o {o}
probe {session} --preset {strategy} --ask {model} --batch {answers} --json {o}
probe {session} --preset {strategy} --ask {model} --batch {answers} --rows {o}
probe {session} --preset {strategy} --ask {model} --questions {questions} --batch {answers} --html {o}""".splitlines()


def inputs(folder):
    """Files that commands read, by name."""
    (folder / "folder").mkdir()
    session = SESSION.read_bytes()
    texts = {
        "session.jsonl": session,
        "folder/damaged.jsonl": session[: len(session) // 2],
        "strategy.toml": b'schema = "foldback/strategy/1"\nname = "mine"\nextends = "base.toml"\n',
        "base.toml": b'schema = "foldback/strategy/1"\nname = "base"\nextends = "window"\n',
        "models.toml": MODELS.read_bytes(),
        "summarizer.toml": b'[summarizer]\nuse = "extractive"\n',
        "experiment.toml": b'strategies = ["none", "strategy.toml"]\n',
        "model.toml": b'[summarizer]\nuse = "llm"\nmodel = "m"\nprovider = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1"\n',
        "outcomes.jsonl": b'{"session": "session", "resolved": true}\n',
        "questions.jsonl": b'{"question": "a?", "answer": "b"}\n',
        "answers.jsonl": b'{"custom_id": "a"}\n',
        "notes.md": b"# Mine\n",
        "empty.jsonl": b"",
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    names = {Path(name).stem: name for name in texts} | {"folder": "folder", "part": "part"}
    made = run(["score", "session.jsonl", "--store", "part", "--preset", "window,none"], folder)
    assert made.returncode == 0, made.stderr
    return names


def spelled(file, number):
    """Ways to write the path of a file, relative to its folder's parent or whole."""
    folder, name = file.parent, file.name
    links = folder / f".links-{number}"
    links.mkdir(exist_ok=True)
    for made, make in (("soft", lambda to: to.symlink_to(file)), ("hard", lambda to: os.link(file, to)),
                       ("twice", lambda to: to.symlink_to("soft")), ("around", lambda to: to.symlink_to(folder, True))):
        if not (links / made).is_symlink() and not (links / made).exists():
            make(links / made)
    return [str(file), f"{folder}/./{name}", f"{folder}//{name}", f"{links}/../{name}", f"{folder}/../{folder.name}/{name}",
            str(links / "soft"), str(links / "hard"), str(links / "twice"), f"{links}/around/{name}", f"/proc/self/cwd/{links.name}/soft",
            f"/proc/self/root{file}"]


def outputs():
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        names = inputs(folder)
        files = [name for name in names.values() if name != "folder"]
        ways = {name: spelled(folder / name, number) for number, name in enumerate(files)}
        before, wrong, tried = state_of(folder), [], 0
        def one(writer, name, way):
            line = writer
            for key, value in (names | {"o": way}).items():
                line = line.replace("{" + key + "}", value)
            return line, run(line.split(" "), folder)
        # What is empty is nobody's loss where it is not read; what foldback wrote it may replace where it is not read.
        wanted = [(writer, name, way) for writer, name in itertools.product(WRITERS, files) for way in ways[name]
                  if name != "empty.jsonl" and (name != "part" or "{part}" in writer)]
        with ThreadPoolExecutor(4) as pool:
            for line, ran in pool.map(lambda given: one(*given), wanted):
                tried += 1
                if ran.returncode != 2 or b"name another file" not in ran.stderr:
                    wrong.append((line, ran.returncode, ran.stderr.decode()[-300:]))
        after = state_of(folder)
        wrong += [("changed", name) for name in before | after if before.get(name) != after.get(name)]
    check("an output replaces nothing that is read or not foldback's", wrong, tried)
    # Two outputs of one command.
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        shutil.copy(SESSION, folder / "s.jsonl")
        (folder / "to").symlink_to(folder / "o")
        (folder / "b").mkdir()
        (folder / "b/link").symlink_to(folder, True)
        ways = ["o", "./o", f"{folder}/o", "to", "b/../o", "b/link/o", f"../{folder.name}/o"]
        wrong, tried = [], 0
        for one, two in itertools.product(ways, ways):
            for first, second in itertools.permutations(["--json", "--html", "--rows"], 2):
                ran = run(["compare", "s.jsonl", "--preset", "none", "--store=none", first, one, second, two], folder)
                tried += 1
                if ran.returncode != 2 or b"named for two outputs" not in ran.stderr or (folder / "o").exists():
                    wrong.append((first, one, second, two, ran.returncode, ran.stderr.decode()[-200:]))
    check("two outputs have two targets", wrong, tried)


def handed():
    """A shell's redirections, and the names that the system has for them."""
    scripts = [
        # What the shell says before and after the command stays, and so does the output.
        "({f} inspect s.jsonl -q --json {fd1}; echo last) >log", "(echo first; {f} inspect s.jsonl -q --json {fd1}; echo last) >log",
        "(echo first; {f} inspect s.jsonl -q --json {fd1}; echo last) >>log",
        "exec 3>log; {f} inspect s.jsonl -q --json {fd3}; echo last >&3", "exec 3>>log; echo first >&3; {f} inspect s.jsonl -q --json {fd3}; echo last >&3",
        "exec 2>log; {f} inspect s.jsonl -q --json {fd2}; echo last >&2", "exec 2>>log; echo first >&2; {f} inspect s.jsonl -q --json {fd2}; echo last >&2",
    ]
    ways = {number: [f"/proc/self/fd/{number}", f"/dev/fd/{number}", f"/proc/thread-self/fd/{number}", f"/dev/./fd/{number}", f"link{number}"] for number in (1, 2, 3)}
    ways[1] += ["/dev/stdout", "-", "/dev/../dev/stdout"]
    ways[2] += ["/dev/stderr"]
    wrong, tried = [], 0
    for script in scripts:
        number = int(re.search(r"{fd(\d)}", script)[1])
        for way in ways[number]:
            with tempfile.TemporaryDirectory() as at:
                folder = Path(at)
                shutil.copy(SESSION, folder / "s.jsonl")
                (folder / f"link{number}").symlink_to(f"/dev/fd/{number}")
                line = script.replace("{f}", FOLDBACK).replace(f"{{fd{number}}}", way)
                environment = {**os.environ, "HOME": at, "XDG_STATE_HOME": at + "/state"}
                ran = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, check=False)
                log = (folder / "log").read_text()
                tried += 1
                # Written through what is open, or refused by a sentence.
                written = '"sessions"' in log or b"is open already; name the file itself" in ran.stderr + log.encode()
                whole = log.endswith("last\n") and ("echo first" not in script or log.startswith("first\n")) and written
                if not whole or len(list(folder.glob("*"))) > 4:
                    wrong.append((line, ran.returncode, log[:40], log[-40:], ran.stderr.decode()[-200:], os.listdir(folder)))
    # A file that is read is not written through its open number either, nor one that is gone from its folder made anew.
    for way in ways[3]:
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at)
            (folder / "link3").symlink_to("/dev/fd/3")
            for script in ("exec 3<>s.jsonl; {f} compact s.jsonl --preset none --show view -o {o}", "exec 3>gone; rm gone; {f} inspect s.jsonl --json {o}"):
                shutil.copy(SESSION, folder / "s.jsonl")
                environment = {**os.environ, "HOME": at, "XDG_STATE_HOME": at + "/state"}
                subprocess.run(["bash", "-c", script.replace("{f}", FOLDBACK).replace("{o}", way)], cwd=folder, env=environment, capture_output=True, check=False)
                tried += 1
                extra = set(os.listdir(folder)) - {"s.jsonl", "link3", "state"}
                if (folder / "s.jsonl").read_bytes() != SESSION.read_bytes() or extra:
                    wrong.append((script, way, extra))
    check("a file that a shell holds open keeps what others write", wrong, tried)


def broken():
    """Writing that fails half way."""
    wrong, tried = [], 0
    lines = ["compact s.jsonl --preset window -o {o}", "convert s.jsonl {o} --to pi", "inspect s.jsonl --json {o}", "compare s.jsonl --store=none --preset none,window --rows {o}",
             "compare s.jsonl --store=none --preset none,window --html {o}", "compare s.jsonl --store=none --preset none,window --json {o}",
             "score s.jsonl --store=none --preset none,window -o {o}", "man {o}.d"]
    for line in lines:
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at)
            shutil.copy(SESSION, folder / "s.jsonl")
            args = line.replace("{o}", "o").split(" ")
            # Once whole, so that there is something of foldback's to replace; and in a folder without anything.
            first = run(args, folder)
            assert first.returncode == 0, (line, first.stderr)
            size = max(path.stat().st_size for path in folder.rglob("o*") if path.is_file())
            def limited(bytes):
                def set():
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, bytes))
                return set
            for there in (True, False):
                if not there:
                    shutil.rmtree(folder / "o.d", ignore_errors=True)
                    (folder / "o").unlink(missing_ok=True)
                before = state_of(folder)
                for bytes in sorted({0, 1, size // 2, size - 1}):
                    ran = run(args, folder, limited(bytes))
                    after = state_of(folder)
                    tried += 1
                        # Each page of a manual is a file: those before the one that fails are whole.
                    partial = [name for name, (_, _, content) in after.items() if name.startswith("o.d/") and content and not content.endswith(b"\n")]
                    if ran.returncode != 2 or any(before.get(name) != after.get(name) for name in before | after if not name.startswith("o.d")) or partial or b"panick" in ran.stderr or any(".tmp" in name for name in after):
                        wrong.append((line, there, bytes, ran.returncode, ran.stderr.decode()[-200:], [name for name in after if before.get(name) != after[name]]))
    # A folder and a disk that take nothing more, where this may be made.
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        shutil.copy(SESSION, folder / "s.jsonl")
        small = folder / "small"
        small.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], capture_output=True, check=False).returncode == 0:
            try:
                for line, sub in itertools.product(lines, ("", "full")):
                    if sub:
                        (small / "fill").write_bytes(b"x" * 49_152)
                    args = line.replace("{o}", "small/o").split(" ")
                    ran = run(args, folder)
                    tried += 1
                    left = [name for name in os.listdir(small) if name not in ("o", "o.d", "fill")]
                    if left or ran.returncode not in (0, 2) or b"panick" in ran.stderr or ran.returncode == 2 and b"o" not in ran.stderr:
                        wrong.append((line, "tmpfs", ran.returncode, ran.stderr.decode()[-200:], left))
                    shutil.rmtree(small / "o.d", ignore_errors=True)
                    for name in os.listdir(small):
                        (small / name).unlink()
                subprocess.run(["mount", "-o", "remount,ro", small], check=True)
                for line in lines:
                    ran = run(line.replace("{o}", "small/o").split(" "), folder)
                    tried += 1
                    if ran.returncode != 2 or b"ead-only" not in ran.stderr or os.listdir(small):
                        wrong.append((line, "read-only", ran.returncode, ran.stderr.decode()[-200:]))
            finally:
                subprocess.run(["umount", small], check=True)
        else:
            print("no file system could be mounted: full disks are not tried")
    check("an output that fails leaves the old file and nothing beside it", wrong, tried)


def killed():
    """Kills at moments spread over a whole run; of outputs that take long to write and of those that do not."""
    lines = ["compare many --store=none --preset none,window --rows {o}", "compact s.jsonl --preset window -o {o}", "compare s.jsonl --preset none,window --store store --html {o} --reader all"]
    wrong, tried, kept, new, left_over = [], 0, 0, 0, 0
    for line in lines:
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at)
            shutil.copy(SESSION, folder / "s.jsonl")
            (folder / "many").mkdir()
            for number in range(6):
                shutil.copy(SESSION, folder / f"many/{number}.jsonl")
                text = (folder / f"many/{number}.jsonl").read_bytes().replace(b"019d4e6c", b"019d4e%02d" % number)
                (folder / f"many/{number}.jsonl").write_bytes(text)
            args = line.replace("{o}", "o.html" if "--html" in line else "o").split(" ")
            out = folder / args[args.index("-o" if "-o" in args else "--html" if "--html" in args else "--rows") + 1]
            assert run(["inspect", "s.jsonl", "--json", out.name], folder).returncode == 0
            old = out.read_bytes()
            begun = time.monotonic()
            assert run(args, folder).returncode == 0
            took, whole = time.monotonic() - begun, out.read_bytes()
            for number, kill in itertools.product(range(8), (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)):
                shutil.rmtree(folder / "store", ignore_errors=True)
                out.unlink()
                run(["inspect", "s.jsonl", "--json", out.name], folder)
                environment = {**os.environ, "HOME": at, "XDG_STATE_HOME": at + "/state", "XDG_CACHE_HOME": at + "/cache"}
                process = subprocess.Popen([FOLDBACK, *args], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                # More of the moments are late, where files are written.
                time.sleep(took * (0.3 + number / 10))
                process.send_signal(kill)
                process.wait()
                tried += 1
                left = out.read_bytes()
                kept, new = kept + (left == old), new + (left == whole)
                beside = [str(path.relative_to(folder)) for path in folder.rglob("*") if ".tmp" in path.name and "state" not in path.parts]
                left_over += len(beside)
                if left not in (old, whole) or len(beside) > 1:
                    wrong.append((line, kill.name, number, len(left), beside))
                for path in beside:
                    (folder / path).unlink()
                again = run(args, folder)
                if again.returncode != 0 or out.read_bytes() != whole:
                    wrong.append(("again", line, kill.name, number, again.stderr.decode()[-200:]))
    print(f"killed commands left the old file {kept} times and the new one {new} times, and a temporary one {left_over} times")
    check("a killed command leaves one file, whole", wrong, tried)


def modes():
    wrong, tried = [], 0
    for umask in (0o000, 0o022, 0o077):
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at)
            shutil.copy(SESSION, folder / "s.jsonl")
            for name in (".claude", ".codex", ".config/opencode", ".pi/agent"):
                (folder / name).mkdir(parents=True)
            (folder / ".pi/agent/models.json").write_text("{}")
            (folder / ".pi/agent/models.json").chmod(0o600)
            before = functools.partial(os.umask, umask)
            for args in (["compact", "s.jsonl", "--preset", "none", "-o", "a"], ["compare", "s.jsonl", "--preset", "none", "--rows", "b", "--html", "c.html", "--json", "d", "--reader=all"],
                         ["setup", "claude-code", "codex", "opencode", "pi", "--write"], ["man", "pages"], ["snapshot", "s.jsonl", "--preset", "none", "--write"]):
                ran = run(args, folder, before)
                assert ran.returncode == 0, (args, ran.stderr)
            for path in folder.rglob("*"):
                mode = stat.S_IMODE(path.lstat().st_mode)
                above = {"state", "cache"} & set(path.relative_to(folder).parts[:-1])
                if path.name in ("s.jsonl", ".claude", ".codex", ".config", "opencode", ".pi", "agent") or above:
                    continue
                # What foldback keeps for itself is its user's alone, whatever the umask.
                private = {"models.json": 0o600, "state": 0o700, "cache": 0o700}
                most = private.get(path.name, (0o777 if path.is_dir() else 0o666) & ~umask)
                tried += 1
                if mode & ~most:
                    wrong.append((oct(umask), str(path.relative_to(folder)), oct(mode)))
    check("modes are those of the umask, and of the file before", wrong, tried)


HOSTS = {"claude-code": ".claude/settings.json", "claude-code-hooks": ".claude/settings.json", "codex": ".codex/config.toml",
         "opencode": ".config/opencode/opencode.json", "pi": ".pi/agent/models.json"}
JSONS = ['{}', '{ }', '{\n}\n', '{}\n', '\n{}', '{"a": 1}', '{\n  "a": 1\n}\n', '{\r\n  "a": 1\r\n}\r\n', '\ufeff{"a": 1}\n', '// c\n{"a": 1} // d\n', '/* { */ {"a": "}", /* , */ "b": 2,}\n',
         '{"a": 1, "a": 2}', '{"env": {}, "env": {"X": "1"}}', '{"env": {"A": "1"}}', '{"env": {\n}}', '{"env":{"A":"//"}}', '{"env": {"A": "\\"}\\u007d"} }', '{"hooks": {"PreCompact": []}}',
         '{"hooks": {"Stop": [{"hooks": []}]}}', '{"provider": {"anthropic": {}}}', '{"provider": {"anthropic": {"options": {"a": 1}}}}', '{"providers": {"openai": {"models": []}}}',
         '{\t"a"\t:\t1\t}', '{"a": 1}\x0c', '{"ключ": "значение 🙂"}', '{"e\\u006ev": {}}', "[]", '"x"', "null", "", " ", "{", '{"a"}', "not json", '{"env": 1}', '{"env": null}', '{"env": []}',
         '{"a":' * 90 + "1" + "}" * 90, '{"a":' * 101 + "1" + "}" * 101, '{"a": 1e400}', '{"a": 01}', '{"a": NaN}', '{"a": "\ud83d"}'.encode("utf-8", "surrogatepass").decode("utf-8", "replace"), '{"a": 1}{"b": 2}']
TOMLS = ["", "\n", "# c\n", "model = 'x'\n", "model = 'x'", "\r\n[a]\r\nb = 1\r\n", "\ufeffmodel = 'x'\n", "[model_providers]\n", "[model_providers.mine]\nname = 'x'\n", "model_providers.mine.name = 'x'\n",
         "model_provider = 'mine'\n", "[model_providers.foldback]\nname = 'x'\n", "model_providers = { mine = { name = 'x' } }\n", "[[a]]\n[[a]]\n", "a = 1\na = 2\n", "a =", "= 1", "[a", "\x00", "model = '''\n# foldback setup: begin\n'''\n",
         "# foldback setup: begin\n# foldback setup: end\n", "[projects.\"/home/é\"]\ntrust_level = 'trusted'\n", "\t[a]\n"]


def seen(folder, numbered):
    """All files, as far as they are to stay."""
    return {name: (mode, number if numbered else 0, content) for name, (mode, number, content) in state_of(folder).items()}


def settings_of(host):
    return TOMLS if host == "codex" else JSONS


def set_up(folder, how, host):
    return run(["setup", host, how], folder)


def setup():
    wrong, tried, refused = [], 0, 0
    for host, name in HOSTS.items():
        for kind, text in itertools.product(("file", "link", "hard", "mode 600", "mode 444", "absent link", "other's", "attributes"), settings_of(host)):
            if kind != "file" and text not in settings_of(host)[:8]:
                continue
            with tempfile.TemporaryDirectory() as at:
                folder = Path(at)
                path = folder / name
                path.parent.mkdir(parents=True)
                target = folder / "dotfiles" if "link" in kind else path
                if kind != "absent link":
                    target.write_bytes(text.encode())
                if "link" in kind:
                    path.symlink_to(target)
                if kind == "hard":
                    os.link(path, folder / "other")
                if kind.startswith("mode"):
                    path.chmod(int(kind[5:], 8))
                if kind == "other's":
                    os.chown(path, 12_345, 12_345)
                if kind == "attributes":
                    try:
                        os.setxattr(path, "user.mine", b"1")
                    except OSError:
                        continue
                # Files that are written into have the same number after.
                numbered = kind in ("hard", "other's", "attributes")
                see = functools.partial(seen, folder, numbered)
                before = see()
                written = run(["setup", host, "--write"], folder)
                between = see()
                tried += 1
                if written.returncode == 2:
                    refused += 1
                    if before != between or not (written.stdout + written.stderr).strip():
                        wrong.append((host, kind, text[:60], "refused and changed"))
                    continue
                if written.returncode or kind in ("link", "absent link") and not path.is_symlink():
                    wrong.append((host, kind, text[:60], written.returncode, written.stderr.decode()[-200:]))
                # Twice is once, and undone is as before, also by another program's eyes.
                twice = run(["setup", host, "--write"], folder)
                if twice.returncode or see() != between:
                    wrong.append((host, kind, text[:60], "twice"))
                try:
                    parsed = json.loads(path.read_text("utf-8-sig")) if host != "codex" else None
                    dump = json.dumps(parsed)
                    if parsed is not None and "8787" not in dump and "foldback hook" not in dump:
                        wrong.append((host, kind, text[:60], "is not there"))
                except ValueError:
                    # With comments, which Python does not read.
                    pass
                removed = run(["setup", host, "--remove"], folder)
                after = see()
                if removed.returncode or before != after:
                    wrong.append((host, kind, text[:60], "undone", removed.stderr.decode()[-200:], after.get(name, (0, 0, None))[2]))
        # No files.
        for kind in ("pipe", "device", "socket", "folder", "loop", "no folder"):
            with tempfile.TemporaryDirectory() as at:
                folder = Path(at)
                path = folder / name
                path.parent.mkdir(parents=True)
                if kind == "pipe":
                    os.mkfifo(path)
                elif kind == "device":
                    path.symlink_to("/dev/zero")
                elif kind == "socket":
                    import socket
                    socket.socket(socket.AF_UNIX).bind(str(path))
                elif kind == "folder":
                    path.mkdir()
                elif kind == "loop":
                    path.symlink_to(path)
                else:
                    path.parent.rmdir()
                    path.parent.write_text("a file")
                before = state_of(folder)
                try:
                    ran = run(["setup", host, "--write"], folder, timeout=20)
                    tried += 1
                    if ran.returncode != 2 or state_of(folder) != before or b"panick" in ran.stderr:
                        wrong.append((host, kind, ran.returncode, ran.stdout, ran.stderr.decode()[-200:]))
                except subprocess.TimeoutExpired:
                    wrong.append((host, kind, "waits"))
    print(f"setup refused {refused} settings")
    check("setup writes, and takes out what it wrote", wrong, tried)
    # At once: two agents of one file, two files, and one of both kinds while another takes out.
    wrong, tried = [], 0
    for round in range(40):
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at)
            for name in HOSTS.values():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text("# mine\n" if name.endswith("toml") else '{"mine": 1}\n')
            before = seen(folder, False)
            with ThreadPoolExecutor(5) as pool:
                ran = list(pool.map(functools.partial(set_up, folder, "--write"), HOSTS))
            texts = "".join((folder / name).read_text() for name in HOSTS.values())
            tried += 1
            if any(one.returncode for one in ran) or texts.count("8787") < 5 or "PreCompact" not in texts:
                wrong.append((round, texts))
            with ThreadPoolExecutor(5) as pool:
                ran = list(pool.map(functools.partial(set_up, folder, "--remove"), HOSTS))
            if any(one.returncode for one in ran) or before != seen(folder, False):
                wrong.append((round, [one.stderr.decode()[-100:] for one in ran]))
    check("runs at once lose nothing", wrong, tried)


def store(path, wal):
    """An OpenCode store with one session; in WAL mode with changes beside it, its writer still there."""
    made = sqlite3.connect(path, check_same_thread=False)
    made.execute(f"pragma journal_mode={'wal' if wal else 'delete'}")
    made.executescript("""create table project (id text, worktree text); create table session (id text primary key, project_id text, parent_id text, directory text, title text, version text, time_created integer, time_updated integer);
        create table message (id text primary key, session_id text, time_created integer, time_updated integer, data text); create table part (id text primary key, message_id text, session_id text, time_created integer, time_updated integer, data text);""")
    made.execute("insert into session values ('ses_1', 'p', null, '/x', 't', '1.18.0', 1, 2)")
    for number in range(20):
        role = {"role": "user"} if number % 2 == 0 else {"role": "assistant", "modelID": "m", "providerID": "p", "tokens": {"input": 10, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}}
        made.execute("insert into message values (?, 'ses_1', ?, ?, ?)", (f"msg_{number:02}", number, number, json.dumps(role | {"time": {"created": number}})))
        made.execute("insert into part values (?, ?, 'ses_1', ?, ?, ?)", (f"prt_{number:02}", f"msg_{number:02}", number, number, json.dumps({"type": "text", "text": f"hello {number}"})))
    made.commit()
    return made


def quiet():
    if not shutil.which("strace"):
        print("strace is not here: nothing is tried")
        return
    changes = "creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,truncate,ftruncate,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,mknod,mknodat,utimensat,setxattr,fsetxattr,removexattr,fallocate,pwrite64,bind"
    wrong, tried, stores = [], 0, []
    with tempfile.TemporaryDirectory() as at:
        home = Path(at) / "home"
        for place, source in ((".claude/projects/x", "archive-claude-code.jsonl"), (".codex/sessions/2026/11/26", "price-lists-codex.jsonl"), (".pi/agent/sessions/x", None)):
            (home / place).mkdir(parents=True)
            if source:
                name = "rollout-2026-11-26T10-00-00-x.jsonl" if "codex" in place else source
                shutil.copy(ROOT / "examples/sessions" / source, home / place / name)
        (home / ".local/share/opencode").mkdir(parents=True)
        (home / ".local/share/kilo").mkdir(parents=True)
        writer = store(home / ".local/share/opencode/opencode.db", wal=True)
        stores.append(writer)
        locked = store(home / ".local/share/kilo/kilo.db", wal=False)
        locked.execute("begin exclusive")
        session = str(home / ".claude/projects/x/archive-claude-code.jsonl")
        opencode = str(home / ".local/share/opencode/opencode.db")
        calls = [("inspect", {}), ("inspect", {"path": session}), ("inspect", {"path": opencode}), ("recall", {"path": session, "query": "archive"}), ("recall", {"path": opencode, "query": "hello"}),
                 ("recall", {"path": session, "query": "archive", "cleared": True}), ("explain", {"path": session, "preset": "pi", "window": 60_000}), ("compact", {"path": session, "preset": "pi", "when": "manual"}),
                 ("compact", {"path": session, "preset": "indexed"}), ("inspect", {"path": "/etc/passwd"}), ("recall", {"path": str(home / ".local/share/kilo/kilo.db"), "query": "x"}), ("explain", {"path": session, "preset": str(MODELS)})]
        start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        lines = [{"id": 0, "method": "initialize", "params": start}, {"method": "notifications/initialized"}]
        lines += [{"id": number, "method": "tools/call", "params": {"name": tool, "arguments": given}} for number, (tool, given) in enumerate(calls, 1)]
        spoken = "".join(json.dumps({"jsonrpc": "2.0"} | line) + "\n" for line in lines)
        runs = [(["mcp"], spoken), (["mcp", str(home)], spoken), (["inspect", "--discover"], ""), (["inspect"], ""), (["sessions"], ""), (["inspect", opencode], ""), (["inspect", str(home)], ""),
                (["compare", "--discover", "--store=none", "--preset", "none,window"], ""), (["explain", session], ""), (["presets"], ""), (["presets", "indexed"], ""), (["stages"], ""), (["check", str(ROOT / "strategies/indexed/presets/indexed.toml")], ""),
                (["schema"], ""), (["setup"], ""), (["setup", "claude-code", "codex"], ""), (["cache", "size"], ""), (["hook"], json.dumps({"hook_event_name": "PreCompact", "transcript_path": session, "trigger": "auto", "session_id": "x", "cwd": "/"}))]
        environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / ".state"), "XDG_CACHE_HOME": str(home / ".cache"), "TMPDIR": str(home)}
        for args, given in runs:
            # The store changes between runs, and its log stays beside it.
            writer.execute("update session set time_updated = time_updated + 1")
            writer.commit()
            before = state_of(home, ())
            traced = Path(at) / "trace"
            command = ["strace", "-f", "-qq", "-s", "300", "-e", f"trace=open,openat,openat2,{changes}", "-o", str(traced), FOLDBACK, *args]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=at, text=True)
            if args[0] == "mcp":
                process.stdin.write(given)
                process.stdin.flush()
                answers = [json.loads(process.stdout.readline()) for _ in range(len(calls) + 1)]
                assert len({answer["id"] for answer in answers}) == len(calls) + 1
                process.stdin.close()
                process.wait(60)
                tried += len(calls)
            else:
                process.communicate(given, timeout=120)
                tried += 1
            for line in traced.read_text().splitlines():
                call = line.split(maxsplit=1)[1]
                is_open = call.startswith("open")
                writes = re.search(r"O_(WRONLY|RDWR|CREAT|TMPFILE|TRUNC)", call) if is_open else re.match(r"\w+\(", call)
                # SQLite opens the log of a store as who may write it, and as root gives it the owner that it has; what it writes would be
                # in this list, and is not. Results that are not stored are in a file without a name.
                allowed = r'= -1 E|unfinished|/dev/null|/dev/tty|opencode\.db-wal", O_RDWR|O_TMPFILE|fchown\(\d+, 0, 0\)'
                if writes and not re.search(allowed, call) and not call.startswith(("---", "+++")):
                    wrong.append((args, call[:200]))
            after = state_of(home, ())
            wrong += [(args, "changed", name) for name in before | after if before.get(name) != after.get(name)]
        for one in stores:
            one.close()
    check("mcp and discovery write nothing", wrong, tried)


STORIES = [outputs, handed, broken, killed, modes, setup, quiet]
for story in STORIES:
    if not sys.argv[2:] or story.__name__ in sys.argv[2:]:
        story()
