"""The command that the wheel brings along."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import foldback

MODULE = [sys.executable, "-m", "foldback"]
SESSIONS = Path(__file__).resolve().parents[3] / "examples" / "sessions"
SESSION = SESSIONS / "refunds-pydantic-ai.json"
unix = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of Unix")


def run(*arguments, by=MODULE, **options):
    return subprocess.run([*by, *map(str, arguments)], capture_output=True, text=True, encoding="utf-8", **options)


def test_it_is_installed():
    # By the second name `uvx` and `pipx run` find it: that of the package.
    scripts = [shutil.which(name, path=sysconfig.get_path("scripts")) for name in ("foldback", "foldback-cli")]
    for by in (*([script] for script in scripts), MODULE):
        assert run("--version", by=by).stdout == f"foldback {foldback.__version__}\n"


def test_it_compares_and_keeps_what_it_found_for_this_build(tmp_path):
    store = tmp_path / "store"

    def compare(**options):
        compared = run("compare", SESSION, "--preset", "window", "--window", 40_000, "--store", store, **options)
        assert compared.returncode == 0 and "\nwindow  " in compared.stdout
        return {path.name: path.stat().st_size for path in store.rglob("*.pack")}

    kept = compare()
    assert sum(kept.values()) > 0 and compare() == kept
    # Another build: the same library with a byte more.
    shutil.copytree(Path(foldback.__file__).parent, tmp_path / "foldback")
    (library,) = (tmp_path / "foldback").glob("_foldback*[!i]")
    with library.open("ab") as file:
        file.write(b"\0")
    assert compare(env={**os.environ, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path) != kept


def test_all_of_it_is_there():
    told = run("--help").stdout
    assert all(f"\n  {name} " in told for name in ("compare", "compact", "serve", "mcp"))
    assert "--summarizer" in run("compare", "--help").stdout


@pytest.mark.parametrize("arguments", [["compare", "no-such-file"], ["no-such-command"], ["presets", "opencde"], []])
def test_its_exit_code_says_what_is_wrong(arguments):
    ended = run(*arguments)
    assert ended.returncode == 2 and ended.stderr and not ended.stdout


@unix
def test_names_of_files_are_bytes(tmp_path):
    named = os.path.join(os.fsencode(tmp_path), b"caf\xe9.json")
    shutil.copy(SESSION, named)
    ended = subprocess.run([*MODULE, "inspect", named], capture_output=True)
    assert ended.returncode == 0 and b"pydantic-ai" in ended.stdout


@unix
def test_a_reader_may_go_away():
    piped = subprocess.Popen([*MODULE, "convert", str(SESSION), "-", "--to", "openai-chat"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert piped.stdout.read(10)
    piped.stdout.close()
    assert piped.wait(60) == 0 and piped.stderr.read() == b""


@unix
def test_ctrl_c_ends_it():
    # It waits for a session that never comes.
    waiting = subprocess.Popen([*MODULE, "inspect", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(1)
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(10) == -signal.SIGINT and waiting.stderr.read() == b""


@unix
def test_the_proxy_ends_in_order():
    with subprocess.Popen([*MODULE, "serve", "--preset", "indexed", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE) as proxy:
        assert b"127.0.0.1" in proxy.stderr.readline()
        proxy.send_signal(signal.SIGINT)
        assert proxy.wait(10) == 0
