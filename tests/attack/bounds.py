"""Inputs that are made to cost time or memory, and counts what was tried: `bounds.py foldback [STORY…]`.

- readers: files and folders of every hostile shape. Each ends within 30 s of processor time and 2 GB, without a panic, and says why.
- counters: texts of one class of characters under every estimator. Twice the text is at most three times the work.
- numbers: options and values of strategies that are extreme. A result or one error, never a panic.
- presets: every preset under windows from 4,000 to 1,000,000 and with odd values of its own.
- drawn: 2,000 sessions of every shape under all presets at two windows. Exit code 0 and no row that failed.
"""

import gzip
import itertools
import json
import os
import random
import re
import resource
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attempts import SESSION, check

FOLDBACK = str(Path(sys.argv[1]).resolve())
SECONDS, MEGABYTES = 30, 2_000


class Ran:
    """What a run said, and what it cost."""

    def __init__(self, args, folder, given=None, seconds=120, **variables):
        environment = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache"), **variables}
        source = subprocess.PIPE if isinstance(given, bytes) else given or subprocess.DEVNULL
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            begun = time.monotonic()
            process = subprocess.Popen([FOLDBACK, *map(str, args)], cwd=folder, env=environment, stdin=source, stdout=out, stderr=err)
            if isinstance(given, bytes):
                threading.Thread(target=self.give, args=(process, given), daemon=True).start()
            killer = threading.Timer(seconds, process.kill)
            killer.start()
            _, status, used = os.wait4(process.pid, 0)
            killer.cancel()
            self.took = time.monotonic() - begun
            self.code = os.waitstatus_to_exitcode(status)
            self.cpu = used.ru_utime + used.ru_stime
            # What this process had when it started the other counts for that one, too.
            own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            self.megabytes = used.ru_maxrss / 1024 if used.ru_maxrss > own * 1.1 else 0
            out.seek(0)
            err.seek(0)
            self.said, self.errors = out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace")

    @staticmethod
    def give(process, given):
        try:
            process.stdin.write(given)
            process.stdin.close()
        except OSError:
            pass

    def wrong(self):
        """What is wrong with it by itself."""
        if self.code not in (0, 1, 2):
            return f"ended with {self.code} after {self.took:.0f} s: {self.errors[-200:]}"
        if "panick" in self.errors or "a fault of foldback" in self.errors:
            return f"panicked: {self.errors[-300:]}"
        if self.code == 2 and not self.errors.startswith("error:"):
            return f"ended without a word: {self.errors[-200:]}"
        if len(self.errors) > 20_000:
            return f"{len(self.errors)} characters of errors"
        if self.cpu > SECONDS or self.megabytes > MEGABYTES:
            return f"{self.cpu:.1f} s, {self.megabytes:.0f} MB, {self.errors[-100:]}"
        return None


def line(value):
    return json.dumps(value).encode() + b"\n"


def shapes():
    """Contents of files, by name, each a function that writes one."""
    deep = 100_000
    user = {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": "hi"}}
    chat = b'{"messages":[{"role":"user","content":"%s"},{"role":"assistant","content":"x"}]}'
    many = 10 << 20
    yield "deep arrays", b"[" * deep + b"]" * deep
    yield "deep objects", b'{"a":' * deep + b"1" + b"}" * deep
    yield "deep without an end", b"[" * 10_000_000
    yield "deep in a message", b'{"messages":[{"role":"user","content":' + b"[" * deep + b"]" * deep + b"}]}"
    yield "deep in arguments", line({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "[" * deep}}]}]})
    yield "100 MB in one text", chat % (b"a" * 100_000_000)
    yield "20 MB of digits", chat % (b"7" * 20_000_000)
    yield "20 MB of escapes", chat % (b"\\u0000" * 3_000_000)
    yield "20 MB of blanks", b" " * 20_000_000
    yield "20 MB of line ends", b"\n" * 20_000_000
    yield "20 MB of zeros", b"\0" * 20_000_000
    yield "20 MB of braces in lines", b"{}\n" * 7_000_000
    yield "one key again and again", b"{" + b'"messages":[],' * 700_000 + b'"messages":[]}'
    yield "one key in a record", line(user)[:-2] + b',"uuid":"u"' * 900_000 + b"}\n"
    yield "many keys", b"{" + b",".join(b'"k%d":1' % number for number in range(900_000)) + b"}"
    yield "one id for all records", line(user) * 60_000
    yield "parents in a loop", b"".join(line(user | {"uuid": f"u{number}", "parentUuid": f"u{(number + 1) % 20_000}"}) for number in range(20_000))
    yield "parents in a chain", b"".join(line(user | {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None}) for number in range(50_000))
    yield "all of one parent", b"".join(line(user | {"uuid": f"u{number}", "parentUuid": "u0" if number else None}) for number in range(50_000))
    yield "many sessions in one file", b"".join(line(user | {"sessionId": f"s{number}", "uuid": f"u{number}"}) for number in range(50_000))
    answer = {"type": "assistant", "uuid": "a", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z"}
    calls = [{"type": "tool_use", "id": f"t{number}", "name": "f", "input": {}} for number in range(50_000)]
    yield "50,000 calls in one answer", line(user) + line(answer | {"message": {"role": "assistant", "id": "m", "content": calls}})
    yield "results without calls", line(user) + b"".join(line(user | {"uuid": f"r{number}", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"x{number}", "content": "x"}]}}) for number in range(30_000))
    yield "usage beyond numbers", line(user) + line(answer | {"message": {"role": "assistant", "id": "m", "content": "x", "usage": {"input_tokens": 10**40, "output_tokens": -5, "cache_read_input_tokens": 1.5e308}}})
    yield "times beyond years", line(user | {"timestamp": "9999999-12-31T23:59:60Z"}) + line(user | {"uuid": "v", "timestamp": 10**30})
    rollout = lambda kind, payload: line({"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload})
    meta = rollout("session_meta", {"id": "s", "cwd": "/", "cli_version": "0.150.0", "timestamp": "2026-01-01T00:00:00Z"})
    said = rollout("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]})
    yield "20,000 compactions", meta + (said + rollout("compacted", {"message": "x"})) * 20_000
    yield "compactions that repeat a history", meta + said * 300 + rollout("compacted", {"message": "x", "replacement_history": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}] * 300}) * 300
    yield "rollbacks", meta + (said + rollout("event_msg", {"type": "thread_rolled_back", "num_turns": 1_000_000})) * 20_000
    yield "a history that is its own", rollout("session_meta", {"id": "s", "cwd": "/", "history_base": "/dev/zero", "forked_from_id": "s"}) + said
    # Packed: one thousandth of what is in it.
    yield "gzip of 5 GB", b"".join([gzip.compress(b"a" * many, 1)] * 500)
    yield "gzip in gzip", gzip.compress(gzip.compress(gzip.compress(b"a" * (many * 10))))
    yield "gzip cut off", gzip.compress(SESSION.read_bytes())[:-100]
    yield "gzip with rubbish after", gzip.compress(SESSION.read_bytes()) + b"x" * 1_000
    yield "zip of lies", b"PK\x03\x04" + b"\xff" * 1_000_000
    yield "sqlite of lies", b"SQLite format 3\0" + b"\xff" * 1_000_000
    yield "parquet of lies", b"PAR1" + b"\xff" * 1_000_000 + b"PAR1"
    yield "zstd of lies", b"\x28\xb5\x2f\xfd" + b"\xff" * 1_000_000
    yield "utf-16", ("\ufeff" + SESSION.read_text()).encode("utf-16-le")
    yield "latin-1", SESSION.read_bytes().replace(b" ", b"\xe9")
    yield "surrogates alone", chat % (b"\\ud800" * 1_000_000)
    yield "empty", b""
    yield "one byte", b"{"
    yield "an HTML page", b"<!doctype html>" + b"<p>" * 1_000_000


OPENCODE = """create table session (id text primary key, project_id text, parent_id text, directory text, title text, version text, time_created integer, time_updated integer);
    create table message (id text primary key, session_id text, time_created integer, time_updated integer, data text);
    create table part (id text primary key, message_id text, session_id text, time_created integer, time_updated integer, data text);"""
SLOW = "with recursive n(x) as (select 1 union all select x + 1 from n where x < 1000000000000) select"


def databases(folder):
    """Stores that a stranger made, by name."""
    def made(name, script, schema=OPENCODE, then=""):
        path = folder / f"{name.replace(' ', '-')}.db"
        with sqlite3.connect(path) as connection:
            connection.executescript(f"begin; {schema + script} commit;")
        if then:
            with sqlite3.connect(path) as connection:
                connection.executescript(f"pragma writable_schema=on; {then}")
        connection.close()
        return name, path
    one = "insert into session values ('s','p',null,'/','t','1',1,2);"
    yield made("sessions 100,000", "with recursive n(x) as (select 1 union all select x+1 from n where x<100000) insert into session select 's'||x,'p',null,'/','t','1',1,2 from n;")
    yield made("messages 200,000", one + "with recursive n(x) as (select 1 union all select x+1 from n where x<200000) insert into message select 'm'||x,'s',x,x,'{\"role\":\"user\"}' from n;")
    yield made("a blob of 900 MB", one + "insert into message values ('m','s',1,1,zeroblob(900000000));")
    yield made("parents in a loop", "insert into session values ('a','p','b','/','t','1',1,2),('b','p','a','/','t','1',1,2),('c','p','c','/','t','1',1,2); insert into message values ('m','a',1,1,'{\"role\":\"user\"}');")
    for table in ("session", "message", "part"):
        schema = OPENCODE.replace(f"create table {table} ", f"create table x{table} ")
        columns = {"session": "'s' id,'p' project_id,null parent_id,'/' directory,'t' title,'1' version,x time_created,2 time_updated", "message": "'m'||x id,'s' session_id,x time_created,x time_updated,'{}' data", "part": "'p'||x id,'m' message_id,'s' session_id,x time_created,x time_updated,'{}' data"}[table]
        yield made(f"view without an end as {table}", f"create view {table} as {SLOW} {columns} from n;", schema)
        yield made(f"generated column of {table}", f"alter table {table} add column slow text as (hex(zeroblob(400000000)));" + one + "insert into message(id,session_id,time_created,time_updated,data) values ('m','s',1,1,'{\"role\":\"user\"}');")
    yield made("generated column data", one + "insert into message(id,session_id,time_created,time_updated) values ('m','s',1,1);", OPENCODE.replace("time_updated integer, data text);\n    create table part", "time_updated integer, data text as (hex(zeroblob(400000000))));\n    create table part"))
    yield made("index of an expression", f"create index i on message(hex(zeroblob(length(data)*1000))); {one} insert into message values ('m','s',1,1,'{{\"role\":\"user\"}}');")
    yield made("views in views", "create view v0 as select 1 x;" + "".join(f"create view v{n} as select a.x from v{n-1} a, v{n-1} b;" for n in range(1, 60)) + one)
    yield made("4,000 tables", "".join(f"create table t{n} (a,b,c);" for n in range(4_000)) + one)
    yield made("2,000 columns", OPENCODE.replace("time_updated integer, data text);\n    create table part", "time_updated integer, data text, " + ",".join(f"c{n}" for n in range(1_900)) + ");\n    create table part") + one, "")
    yield made("virtual table", "create virtual table message using fts5(id, session_id, time_created, time_updated, data);" + one, OPENCODE.replace("create table message ", "create table xmessage "))
    yield made("schema of another", one, OPENCODE, "update sqlite_master set sql = 'create table message (id, session_id, data as (load_extension(''/x'')))' where name = 'message';")
    yield made("rows of a page in a circle", one + "insert into message values ('m','s',1,1,'{\"role\":\"user\"}');", OPENCODE, "update sqlite_master set rootpage = 1;")
    yield made("a root page beyond the file", one, OPENCODE, "update sqlite_master set rootpage = 999999999;")
    yield made("text that is no text", one + "insert into message values (x'ff00','s',1e308,-1,x'c328');")


def readers():
    wrong, tried, worst = [], 0, (0, 0, "")

    def judge(name, ran, says=None):
        nonlocal tried, worst
        tried += 1
        worst = max(worst, (ran.cpu, ran.megabytes, name))
        if why := ran.wrong():
            print("wrong:", name, why, flush=True)
            wrong.append((name, why))
        elif says and says not in ran.said + ran.errors:
            wrong.append((name, f"does not say {says!r}: {ran.code} {ran.errors[-300:]}"))
        return ran

    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        for name, content in shapes():
            path = folder / "s.jsonl"
            path.write_bytes(content)
            judge(f"inspect: {name}", Ran(["inspect", path], folder))
            if len(content) < 3_000_000:
                judge(f"compare: {name}", Ran(["compare", path, "--store=none", "--preset", "none,window"], folder))
                (folder / "below").mkdir(exist_ok=True)
                os.replace(path, folder / "below/s.json")
                judge(f"folder: {name}", Ran(["inspect", folder / "below"], folder))
        for name, path in databases(folder):
            judge(f"store: {name}", Ran(["inspect", path], folder))
            path.unlink()
        # What is no file.
        os.mkfifo(folder / "pipe.json")
        socket.socket(socket.AF_UNIX).bind(str(folder / "socket.json"))
        os.symlink("/dev/zero", folder / "zero.json")
        os.symlink(".", folder / "again")
        os.symlink("loop.json", folder / "loop.json")
        judge("socket", Ran(["inspect", folder / "socket.json"], folder))
        judge("loop", Ran(["inspect", folder / "loop.json"], folder))
        judge("folder with all of them", Ran(["inspect", folder], folder))
        limited = {"FOLDBACK_MAX_BYTES": "100000000"}
        judge("/dev/zero", Ran(["inspect", "/dev/zero"], folder, **limited), "FOLDBACK_MAX_BYTES")
        with open("/dev/zero", "rb") as zero:
            judge("zero on standard input", Ran(["inspect", "-"], folder, zero, **limited), "FOLDBACK_MAX_BYTES")
        with open(folder / "sparse.jsonl", "wb") as sparse:
            sparse.truncate(10 << 30)
        judge("sparse 10 GB", Ran(["inspect", folder / "sparse.jsonl"], folder), "FOLDBACK_MAX_BYTES")
        (folder / "sparse.jsonl").unlink()
        for value in ("0", "-1", "x", "1e30", "", "18446744073709551616"):
            judge(f"FOLDBACK_MAX_BYTES={value}", Ran(["inspect", SESSION], folder, FOLDBACK_MAX_BYTES=value))
        # A file that grows while it is read.
        growing = folder / "growing.jsonl"
        growing.write_bytes(SESSION.read_bytes())
        stop = threading.Event()
        def grow():
            with growing.open("ab", buffering=0) as out:
                while not stop.is_set() and out.tell() < 300_000_000:
                    out.write(b'{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"x"}}\n' * 1_000)
        writer = threading.Thread(target=grow)
        writer.start()
        judge("grows", Ran(["inspect", growing], folder))
        stop.set()
        writer.join()
        growing.unlink()
        # 50,000 files, and a web of links.
        many = folder / "many"
        many.mkdir()
        for number in range(50_000):
            (many / f"{number}.json").write_bytes(b'{"messages":[{"role":"user","content":"%d"},{"role":"assistant","content":"x"}]}' % number)
        judge("50,000 files", Ran(["inspect", many], folder))
        web = folder / "web"
        for number in range(30):
            (web / str(number)).mkdir(parents=True)
        for one, two in itertools.product(range(30), range(30)):
            os.symlink(f"../{two}", web / f"{one}/to{two}")
        judge("a web of links", Ran(["inspect", web], folder))
        # What others name: chains and circles of rollouts.
        for number in range(1_000):
            meta = {"id": f"s{number}", "cwd": "/", "cli_version": "0.150.0", "history_base": str(folder / f"r/rollout-{(number + 1) % 1_000}.jsonl"), "forked_from_id": f"s{(number + 1) % 1_000}"}
            (folder / "r").mkdir(exist_ok=True)
            (folder / f"r/rollout-{number}.jsonl").write_bytes(line({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": meta}))
        judge("rollouts in a circle", Ran(["inspect", folder / "r"], folder))
    print(f"at most {worst[0]:.1f} s of processor time ({worst[2]}, {worst[1]:.0f} MB)")
    check("reading costs what it may", wrong, tried)


CLASSES = {"letters": "a", "capitals": "A", "digits": "7", "blanks": " ", "line ends": "\n", "carriage returns": "\r\n", "tabs": "\t", "marks": "!", "quotes": "'", "apostrophes in words": "'s", "underscores": "_", "camels": "aB", "words": "word ", "letters and digits": "a1",
           "accents": "é", "combining": "e\u0301", "only combining": "\u0301", "Greek": "λ", "Cyrillic": "ж", "Arabic": "ب", "Devanagari": "क", "Thai": "ก", "Han": "漢", "kana": "あ", "Hangul": "한", "emoji": "🙂", "joined emoji": "👩\u200d💻", "flags": "🇩🇪", "invisible": "\u200b", "wide blanks": "\u3000", "other digits": "٣",
           "Roman numerals": "Ⅳ", "title case": "ǅ", "modifiers": "ʰ", "control": "\\u0001", "private": "\ue000", "beyond": "𝒜", "blank and mark": " !", "blanks and a line end": "   \n", "special tokens": "<|endoftext|>", "hex": "0f", "base64": "QUJD", "slashes": "/", "mixed ends": "\n\r", "blank then digit": " 1"}


def counters():
    """Processor time at one and at four times the length, under every estimator that the command takes."""
    wrong, tried, slowest = [], 0, (0, "")
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        path = folder / "s.json"
        path.write_bytes(b'{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"x"}]}')
        known = re.search(r"known are (.+)", Ran(["inspect", path, "--estimator", "?"], folder).errors)[1].strip().split(", ")
        base = min(Ran(["inspect", path], folder).cpu for _ in range(3))
        def cost(unit, size, estimator):
            text = unit * (size // len(unit.encode()))
            path.write_bytes(json.dumps({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "x"}]}, ensure_ascii=False).encode().replace(b"\\\\u", b"\\u"))
            ran = Ran(["inspect", path, "--estimator", estimator], folder)
            if why := ran.wrong():
                wrong.append((estimator, unit, size, why))
            return max(ran.cpu - base, 0.02)
        for (name, unit), estimator in itertools.product(CLASSES.items(), known):
            small, large = cost(unit, 1_000_000, estimator), cost(unit, 4_000_000, estimator)
            if large > 9 * small:
                small, large = min(small, cost(unit, 1_000_000, estimator)), min(large, cost(unit, 4_000_000, estimator))
            tried += 2
            slowest = max(slowest, (large, f"{name} by {estimator}"))
            if large > 9 * small or large > 5:
                wrong.append((name, estimator, f"{small:.2f} s, then {large:.2f} s"))
    print(f"estimators: {', '.join(known)}; slowest: 4 MB of {slowest[1]}, {slowest[0]:.2f} s")
    check("counting is linear in every class", wrong, tried)


NUMBERS = ["0", "-1", "-0.0", "1e30", "1e308", "1e999", "nan", "inf", "-inf", "0.5", "9223372036854775807", "18446744073709551615", "18446744073709551616", "1_000_000_000_000", "\"x\"", "\"200k\"", "[]", "{}", "true", "\"\""]
OPTIONS = ["compare {s} --store=none --preset window --window={n}", "compare {s} --store=none --preset window --max-output={n}", "compare {s} --store=none --preset none,window --keep={n}", "compare {s} --store=none --preset window --reader={n}",
           "compare {s} --store=none --preset window --jobs={n}", "compact {s} --preset window --window={n} --when live --show plan", "explain {s} --preset window --count={n}", "tune {s} --store=none --preset window --vary overflow.threshold={n}..0.9 --points 2",
           "tune {s} --store=none --preset window --vary overflow.threshold=0.5..0.9 --points={n}",
           "recommend {s} --store=none --preset window --budget keep={n}", "recommend {s} --store=none --preset window --budget cost={n}", "inspect {s} --estimator chars/{n}", "inspect {s} --since={n}", "serve --preset window --summarizer m --budget-usd={n} --listen 127.0.0.1:x", "serve --preset window --listen 127.0.0.1:{n} --upstream x"]


def fields(name, folder):
    """The numbers of a preset: section, field, value."""
    text = Ran(["presets", name, "-o", "-"], folder).said
    section, found = "", []
    for row in text.splitlines():
        if match := re.match(r"\[(.+)\]", row):
            section = match[1]
        elif match := re.match(r"(\w+) = (-?[\d._]+|\"[\d.]+[kM%]?\")", row):
            found.append((section, match[1], match[2]))
    return found


def numbers():
    wrong, tried = [], 0
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        runs = [row.format(s=SESSION, n=number.strip('"')).split(" ") for row, number in itertools.product(OPTIONS, NUMBERS) if number not in ("[]", "{}", '""')]
        with ThreadPoolExecutor(2) as pool:
            for args, ran in zip(runs, pool.map(lambda args: Ran(args, folder), runs), strict=True):
                tried += 1
                if why := ran.wrong():
                    wrong.append((" ".join(args), why))
    check("extreme options end in a result or an error", wrong, tried)


def presets():
    """Each number of each preset, replaced by each of the extreme ones, is checked; what passes is run."""
    wrong, tried, ran_too = [], 0, 0
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        names = [one["preset"] for one in json.loads(Ran(["presets", "--json"], folder).said) if one["runs"]]
        # Every preset in one run for each window, without those that refuse it; then every one alone with odd numbers.
        windows = [4_000, 4_096, 5_000, 8_000, 12_345, 16_384, 32_000, 60_000, 100_000, 128_000, 200_000, 400_000, 1_000_000]
        for window in windows:
            for output in (1, 1_000, window // 2, window - 1, window, window * 2):
                takes = list(names)
                while takes:
                    ran = Ran(["compare", SESSION, "--store=none", "--preset", ",".join(takes), "--window", window, "--max-output", output], folder)
                    refused = re.findall(r"preset (\S+) can't work with", ran.errors) if ran.code == 2 else []
                    if not refused:
                        break
                    takes = [name for name in takes if name not in refused]
                tried += len(names)
                why = ran.wrong()
                if why or ran.code not in ((0,) if takes else (2,)):
                    wrong.append((window, output, ran.code, why or ran.errors[-300:]))
        def one(name, section, field, number):
            path = folder / f"{name}-{section}-{field}-{NUMBERS.index(number)}.toml".replace("/", "-")
            path.write_text(f'schema = "foldback/strategy/1"\nname = "odd"\nextends = "{name}"\n[{section}]\n{field} = {number}\n')
            checked = Ran(["check", path], folder)
            said = checked.wrong()
            ran = None
            if checked.code == 0:
                ran = Ran(["compare", SESSION, "--store=none", "--preset", path, "--window", "20000"], folder)
                said = said or ran.wrong() or (ran.code == 1 and f"a fault: {ran.errors[-300:]}")
            path.unlink()
            return said, ran is not None
        wanted = [(name, *field[:2], number) for name in names for field in fields(name, folder) for number in NUMBERS[::2] if field[0]]
        with ThreadPoolExecutor(2) as pool:
            for given, (why, is_run) in zip(wanted, pool.map(lambda given: one(*given), wanted), strict=True):
                tried += 1
                ran_too += is_run
                if why:
                    wrong.append((given, why))
    print(f"{len(names)} presets; {ran_too} files with odd numbers passed the check and were run")
    check("presets take every window, and odd numbers or refuse them", wrong, tried)


ALPHABETS = ["line {n} of src/{f}.rs: let value_{n} = parse(input)?;\n", "    at module.f{n} (/srv/app/{f}.js:{n}:17)\n", "строка {n} файла {f}\n", "第{n}行 {f} 的内容，没有错误。\n", "{n} 👩\u200d💻 e\u0301\u200b {f}\n", "\u001b[31m{n}\u001b[0m {f}\t\r\n", "{{\"n\": {n}, \"f\": \"{f}\"}}\n", "{n:032x}{f}", "a"]


def text_of(chance, size):
    """A text of about so many characters."""
    line = chance.choice(ALPHABETS)
    if size <= 0:
        return chance.choice(["", " ", "\n"])
    file, length = chance.randrange(50), max(len(line) - 4, 1)
    return "".join(line.format(n=number, f=f"m{file}") for number in range(size // length + 1))[:size]


def steps_of(chance):
    """What happens in a session: who speaks, or calls with their results."""
    shape = chance.choices(["short ones", "usual", "full at once", "over the window", "empty"], [45, 30, 12, 8, 5])[0]
    size = lambda: {"short ones": chance.randrange(80), "usual": int(10 ** chance.uniform(1, 4.2)), "full at once": int(10 ** chance.uniform(3, 4.7)), "over the window": int(10 ** chance.uniform(4, 5.8)), "empty": 0}[shape]
    yield "user", text_of(chance, max(size(), 1)) or "go"
    count = {"short ones": chance.randrange(1, 150), "usual": chance.randrange(1, 60), "full at once": chance.randrange(1, 6), "over the window": chance.randrange(1, 4), "empty": chance.randrange(1, 40)}[shape]
    if shape == "full at once":
        # A first answer that fills the view.
        each = chance.choice([60_000, 250_000, 420_000])
        calls = chance.randint(1, 12)
        yield "calls", [text_of(chance, each // calls) for _ in range(calls)]
    for _ in range(count):
        what = chance.choices(["calls", "user", "answer"], [8, 1, 1])[0]
        if what == "calls":
            yield what, [text_of(chance, size() if chance.random() < 0.9 else 0) for _ in range(chance.randint(1, 12) if chance.random() < 0.3 else 1)]
        else:
            yield what, text_of(chance, max(size(), 1)) or "go on"


def as_chat(number, chance):
    messages = []
    for at, (what, said) in enumerate(steps_of(chance)):
        if what == "calls":
            ids = [f"call_{at}_{call}" for call in range(len(said))]
            calls = [{"id": one, "type": "function", "function": {"name": "read", "arguments": json.dumps({"path": f"src/m{call}.rs"})}} for call, one in enumerate(ids)]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages += [{"role": "tool", "tool_call_id": one, "content": text} for one, text in zip(ids, said, strict=True)]
        else:
            messages.append({"role": "user" if what == "user" else "assistant", "content": said})
    return f"{number}.json", json.dumps({"messages": messages}, ensure_ascii=chance.random() < 0.5).encode("utf-8", "replace")


def as_claude_code(number, chance):
    records, before, session = [], None, f"00000000-0000-4000-8000-{number:012}"
    def add(kind, message):
        nonlocal before
        here = f"u{number}-{len(records)}"
        minutes = len(records)
        records.append({"type": kind, "uuid": here, "parentUuid": before, "sessionId": session, "cwd": "/app", "version": "2.1.17", "timestamp": f"2026-01-{1 + minutes // 1440 % 27:02}T{minutes // 60 % 24:02}:{minutes % 60:02}:00.000Z", "message": message})
        before = here
    for at, (what, said) in enumerate(steps_of(chance)):
        usage = {"input_tokens": chance.randrange(50), "cache_read_input_tokens": chance.randrange(60_000), "cache_creation_input_tokens": chance.randrange(3_000), "output_tokens": chance.randrange(500)}
        if what == "user":
            add("user", {"role": "user", "content": said})
            continue
        calls = said if what == "calls" else []
        content = [{"type": "tool_use", "id": f"toolu_{at}_{call}", "name": "Read", "input": {"file_path": f"/app/m{call}.rs"}} for call in range(len(calls))] or [{"type": "text", "text": said}]
        for part in content:
            add("assistant", {"id": f"msg_{number}_{at}", "role": "assistant", "model": "claude-sonnet-4-5", "content": [part], "usage": usage, "stop_reason": "tool_use" if calls else "end_turn"})
        for call, text in enumerate(calls):
            add("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{at}_{call}", "content": text}]})
    return f"{number}.jsonl", b"".join(map(line, records))


def as_codex(number, chance):
    records = [("session_meta", {"id": f"00000000-0000-7000-8000-{number:012}", "cwd": "/app", "cli_version": "0.150.0", "timestamp": "2026-01-01T00:00:00Z"}), ("turn_context", {"model": "gpt-5.1-codex", "cwd": "/app"})]
    for at, (what, said) in enumerate(steps_of(chance)):
        if what == "calls":
            records += [("response_item", {"type": "function_call", "call_id": f"c{at}-{call}", "name": "shell", "arguments": json.dumps({"command": ["cat", f"m{call}.rs"]})}) for call in range(len(said))]
            records += [("response_item", {"type": "function_call_output", "call_id": f"c{at}-{call}", "output": text}) for call, text in enumerate(said)]
        else:
            kind = "input_text" if what == "user" else "output_text"
            records.append(("response_item", {"type": "message", "role": "user" if what == "user" else "assistant", "content": [{"type": kind, "text": said}]}))
        if chance.random() < 0.02:
            records.append(("compacted", {"message": "what was done so far"}))
    return f"rollout-{number}.jsonl", b"".join(line({"timestamp": f"2026-01-01T{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}Z", "type": kind, "payload": payload}) for at, (kind, payload) in enumerate(records))


def drawn(count=2_000):
    chance = random.Random(58)
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        (folder / "sessions").mkdir()
        bytes = 0
        for number in range(count):
            name, text = (as_chat, as_claude_code, as_codex)[number % 3](number, chance)
            bytes += len(text)
            (folder / "sessions" / name).write_bytes(text)
        for window in (60_000, 100_000):
            ran = Ran(["compare", "sessions", "--preset", "all", "--window", window, "--store=none", "--json", f"{window}.json"], folder, seconds=3_600)
            told = json.loads((folder / f"{window}.json").read_text()) if ran.code == 0 else {}
            print(f"{count:,} sessions, {bytes / 1e6:.0f} MB, window {window:,}: exit code {ran.code}, {ran.cpu:.0f} s of processor time, {ran.took:.0f} s, {ran.megabytes:.0f} MB")
            wrong = [ran.errors[-2_000:]] if ran.code or told.get("failed") else []
            check(f"all presets at {window:,}", wrong, count)


for story in (readers, counters, numbers, presets, drawn):
    if not sys.argv[2:] or story.__name__ in sys.argv[2:]:
        story()
