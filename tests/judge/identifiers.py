"""Identifiers of a text, by rules.md (version 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator

Found = tuple[str, str]

STOP = frozenset(
    "--all --help --no-pager --oneline --quiet --stat --verbose --version /bin /bin/bash "
    "/bin/sh /dev/null /etc /home /root /tmp /usr /usr/bin /usr/bin/env /usr/local "
    "/usr/local/bin /var 100 1000 1024 2023 2024 2025 2026 404 500 CI/CD GitHub GitLab "
    "GraphQL I/O ISO-8601 JavaScript MacOS MySQL N/A OpenAI PostgreSQL SHA-256 SHA-512 TCP/IP "
    "TypeScript VSCode YouTube and/or application/json client/server console.log created_at "
    "e.g either/or file_path file_text files_with_matches gitHub he/she http/https i.e iOS "
    "in_progress input/output insert_line line_range macOS n/a new_str new_string "
    "node_modules old_str old_string on/off pass/fail pros/cons read/write replace_all "
    "request/response stdin/stdout str_replace text/html text/plain tool_use_id updated_at "
    "view_range true/false w/o yes/no".split()
)
EXTENSIONS = frozenset(
    "astro bash bat bin bmp c cc cfg cjs conf cpp cs css csv cts cu db diff ex exs gif go gz h hpp "
    "hs htm html ico ini ipynb java jpeg jpg js json jsonl jsx kt less lock lua md mdx mjs mts "
    "patch pdf php png proto py pyi rb rs rst scala scss sh sql sqlite svelte svg swift tf toml ts "
    "tsx txt vue xml yaml yml zip".split()
)
SYSTEM_ERRORS = frozenset(
    "EACCES EADDRINUSE EAGAIN EBADF EBUSY ECANCELED ECONNABORTED ECONNREFUSED ECONNRESET EEXIST "
    "EFAULT EHOSTUNREACH EINTR EINVAL EIO EISDIR ELOOP EMFILE ENETUNREACH ENODEV ENOENT ENOEXEC "
    "ENOMEM ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTFOUND EPERM EPIPE ERESOLVE EROFS "
    "ETIMEDOUT".split()
)
ENDS = ".:-+%#$@"
# Letters that make an escape with a backslash before them.
ESCAPES = frozenset("abfnrtuvx0")

NEXT = re.compile(r"\\[A-Za-z]?|[\"'`]|\n|[A-Za-z0-9_\-./:~@+%#$\u0080-\U0010ffff]+|[^ \t\r]")
WORD = re.compile(r"[A-Za-z0-9_\-./:~@+%#$\u0080-\U0010ffff]+")
DRIVE = re.compile(r"[A-Za-z]:\\[A-Za-z0-9_\-./:~@+%#$\\\u0080-\U0010ffff]*")
URL_REST = re.compile(r"[^\x00-\x20\"'`<>()\[\]{}\\|]*")
GUTTER = re.compile(r"[0-9]+(?=→|\t| ?\|)")
PLAIN = re.compile(r"(?:[A-Za-z][a-z]*|[0-9]{1,2})[.:\-+%#$@]*")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAMED_PART = re.compile(r"[A-Za-z0-9_]+")
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
PREFIXED_HEX = re.compile(r"0x[0-9a-fA-F]{4,}")
HEX = re.compile(r"(?=.*[0-9])(?=.*[a-fA-F])[0-9a-fA-F]{7,}")
TICKET = re.compile(r"[A-Z]{2,}((?:-[0-9]+)+)")
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*")
NAMED_ERROR = re.compile(r"[A-Z][A-Za-z0-9_]*(?:Error|Exception|Warning|Panic|Fault)")
ERR = re.compile(r"ERR_[A-Z0-9_]+")
SIGNAL = re.compile(r"SIG[A-Z]{3,5}")
CODE = re.compile(r"[A-Z]{1,4}[0-9]{3,5}")
JOINT = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
UNIT = re.compile(r"([0-9]{3,})(?:[\x00-/:-\x7f][\x00-\x7f]?)?")
FLAG = re.compile(r"-[A-Za-z][A-Za-z0-9_]+|--[A-Za-z][A-Za-z0-9_\-]+")
POSITION = re.compile(r"(.+)[:#][0-9L\-]*[0-9]", re.DOTALL)
CLOSING = re.compile(r"/[A-Za-z0-9_:.\-]+>")
PATCHED = re.compile(r" *(?:--- |\+\+\+ |diff --git .*)")
WINDOWS = re.compile(r"[A-Za-z0-9_\-.@]+(?:\\\\?[A-Za-z0-9_\-.@]+)+")
BESIDE = re.compile(r"-[0-9]+(?=-|$)")
LINE_NUMBER = re.compile(r"[0-9]+(?:[:\-]|$)")
SINGLE_COLON = re.compile(r"(?<!:):(?!:)")


def identifiers(text: str) -> Iterator[Found]:
    """The identifiers of a text with their classes, in order, repetitions included."""
    at = quoted_until = line = 0
    line_start = True
    while match := NEXT.search(text, at):
        token, start, at = match[0], match.start(), match.end()
        if token == "\n":
            line_start = True
            line = at
        elif token[0] == "\\":
            line = at if token == "\\n" else line
        elif token in "\"'`":
            line_start = False
            if start >= quoted_until:
                close, inner = quoted(text, start)
                quoted_until = close or quoted_until
                if inner and not taken_whole(inner) and inner not in STOP:
                    yield "quoted", inner
        elif WORD.match(token):
            gutter = GUTTER.match(text, start) if line_start else None
            line_start = False
            if gutter:
                at = gutter.end()
                continue
            if (drive := DRIVE.match(text, start)) and drive.start() + 2 == at:
                at = drive.end()
                yield from kept("path", drive[0].rstrip(".:\\-"))
                continue
            if windows := relative_windows(text, start, at):
                at = windows
                yield from kept("path", text[start:at])
                continue
            if text[start - 1 : start] == "<" and CLOSING.match(text, start):
                continue
            if token[:2] in ("a/", "b/") and PATCHED.fullmatch(text, line, start):
                start += 2
            if "://" in token:
                rest = URL_REST.match(text, start + token.index("://"))
                at = rest.end() if rest else at
            word = text[start:at]
            if not PLAIN.fullmatch(word):
                yield from classify(word, text[at : at + 1] == "(")
        else:
            line_start = False


def relative_windows(text: str, start: int, at: int) -> int | None:
    """Where a path with backslashes ends that begins here, if it can't be read as an escape."""
    match = WINDOWS.match(text, start)
    if not match or text[at : at + 1] != "\\":
        return None
    path = match[0].rstrip(".-@")
    plain_escapes = all(part[:1] in ESCAPES for part in re.split(r"\\", path)[1:])
    if plain_escapes or not has_extension(re.split(r"\\", path)[-1]):
        return None
    return start + len(path)


def kept(kind: str, text: str) -> Iterator[Found]:
    if text and text not in STOP:
        yield kind, text


def ascii_alnum(char: str) -> bool:
    return char.isascii() and char.isalnum()


def quoted(text: str, start: int) -> tuple[int | None, str | None]:
    """Where a quote that opens at `start` ends, and what it holds if it is worth naming."""
    if start > 0 and ascii_alnum(text[start - 1]):
        return None, None
    line_end = text.find("\n", start + 1)
    close = text.find(text[start], start + 1, len(text) if line_end < 0 else line_end)
    if close < 0 or len(text[start + 1 : close].encode()) >= 800:
        return None, None
    if ascii_alnum(text[close + 1 : close + 2]):
        return None, None
    inner = text[start + 1 : close].rstrip("\\")
    worth = (
        8 <= len(inner) <= 200 and inner == inner.strip() and any(char.isalpha() for char in inner)
    )
    return close + 1, inner if worth else None


def taken_whole(inner: str) -> bool:
    bare = inner
    while bare.startswith("./"):
        bare = bare[2:]
    return any(found == bare for _, found in identifiers(inner))


def classify(word: str, call: bool) -> Iterator[Found]:
    if word.isascii():
        yield from plain(word, call)
        return
    pieces = "".join(c if c.isascii() or c.isalnum() else "\n" for c in word).split("\n")
    for number, piece in enumerate(pieces, 1):
        yield from plain(piece, call and number == len(pieces))


def plain(word: str, call: bool) -> Iterator[Found]:
    word = word.rstrip(ENDS).lstrip(":+%#$@")
    if len(word.encode()) < 2:
        return
    if "://" in word:
        yield from kept("url", word.rstrip(",;!?*/"))
    elif word[0] == "-":
        if FLAG.fullmatch(word):
            yield from kept("flag", word)
        else:
            yield from plain(word.lstrip("-"), call)
    elif not any(sign in word for sign in "./-:#"):
        for part in re.split(r"[+%$@~]", word):
            yield from name_parts(part)
    else:
        yield from signed(word, call)


def signed(word: str, call: bool) -> Iterator[Found]:
    """A word with signs in it: a path, a hash, a number, or names with signs between them."""
    bare = without_position(word)
    if cut := behind_path(bare):
        yield from plain(bare[: cut[0]], False)
        yield from plain(word[cut[1] :], call)
        return
    if is_path(bare):
        while bare.startswith("./"):
            bare = bare[2:]
        up = bare
        while up.startswith("../"):
            up = up[3:]
        bare = up if is_path(up) else bare
        yield from kept("path", bare.rstrip("/") if len(bare) > 1 else bare)
    elif kind := whole(bare):
        yield from kept(kind, bare)
    else:
        for part in re.split(r"[/\-+%#$@~]", word):
            yield from dotted(part, call)


def behind_path(word: str) -> tuple[int, int] | None:
    """Where a path ends that a tool has put before a line, and where the line begins."""
    for match in BESIDE.finditer(word):
        path = word[: match.start()]
        if has_extension(path.rpartition("/")[2]) and is_path(path):
            return match.start(), min(match.end() + 1, len(word))
    if colon := SINGLE_COLON.search(word):
        rest = colon.end()
        if is_path(word[: colon.start()]):
            while number := LINE_NUMBER.match(word, rest):
                rest = number.end()
            return colon.start(), rest
        if "/" in word[rest:] and not word[rest].isdigit():
            return colon.start(), rest
    return None


def without_position(word: str) -> str:
    for _ in range(2):
        match = POSITION.fullmatch(word)
        # The sign that cuts is the last one before nothing but figures, hyphens and L.
        if not match:
            break
        word = match[1]
    return word


def has_extension(name: str) -> bool:
    stem, dot, extension = name.rpartition(".")
    return bool(dot) and extension in EXTENSIONS and any(c.isalnum() for c in stem)


def is_path(word: str) -> bool:
    if ":" in word:
        return False
    if "/" not in word:
        return has_extension(word)
    if "//" in word:
        return False
    rooted = word.startswith(("/", "~/", "./", "../"))
    parts = [part for part in word.split("/") if part and part != "~"]
    if not any(c.isalpha() for part in parts for c in part):
        return False
    if rooted:
        return len(parts) >= 1
    if len(parts) > 2:
        return parts[0] not in ("s", "y", "tr")
    return len(parts) == 2 and all(len(part.encode()) > 1 for part in parts)


def whole(word: str) -> str | None:
    if UUID.fullmatch(word) or PREFIXED_HEX.fullmatch(word):
        return "hash"
    if not word.startswith("0x") and HEX.fullmatch(word):
        return "hash"
    ticket = TICKET.fullmatch(word)
    if ticket and sum(c.isdigit() for c in ticket[1]) >= 2:
        return "hash"
    if NUMBER.fullmatch(word) and sum(c.isdigit() for c in word) >= 3:
        return "number"
    return None


def dotted(word: str, call: bool) -> Iterator[Found]:
    if colon := SINGLE_COLON.search(word):
        yield from plain(word[: colon.start()], False)
        yield from plain(word[colon.end() :], call)
    elif "::" in word:
        parts = word.split("::")
        if all(NAMED_PART.fullmatch(part) for part in parts):
            yield from kept("symbol", word)
        for part in parts:
            yield from name_parts(part)
    elif "." in word:
        parts = [part for part in word.split(".") if part]
        names = len(parts) >= 2 and all(NAME.fullmatch(part) for part in parts)
        if names and (call or all(len(part) >= 2 for part in parts)):
            yield from kept("symbol", word.strip("."))
        for part in parts:
            yield from name_parts(part)
    else:
        yield from name_parts(word)


def name_parts(word: str) -> Iterator[Found]:
    if kind := whole(word):
        yield from kept(kind, word)
    elif is_error(word):
        yield from kept("error", word)
    elif NAME.fullmatch(word) and (is_snake(word) or is_camel(word)):
        yield from kept("symbol", word)
    elif match := UNIT.fullmatch(word):
        yield from kept("number", match[1])


def is_error(word: str) -> bool:
    if SIGNAL.fullmatch(word):
        return word not in ("SIGNAL", "SIGNED", "SIGNIN", "SIGNUP")
    patterns = (NAMED_ERROR, ERR, CODE)
    return word in SYSTEM_ERRORS or any(pattern.fullmatch(word) for pattern in patterns)


def is_snake(word: str) -> bool:
    inner = word.strip("_")
    return len(inner) >= 3 and "_" in inner


def is_camel(word: str) -> bool:
    return len(word) >= 3 and any(c.islower() for c in word) and bool(JOINT.search(word))


# What is a reference.

LIBRARY = frozenset(
    "Array BigInt Boolean Buffer Date JSON Map Math Number Object Promise Reflect RegExp Set "
    "String Symbol base64 console datetime document fmt io json logging math module navigator "
    "np os pd process random re shutil std strings subprocess sys time typing window xml".split()
)
FOREIGN = ("http://www.w3.org/", "http://json-schema.org/", "https://json-schema.org/")
PLAIN_PAIR = re.compile(r"[a-z]+[/\\][a-z]+")


def telling(kind: str, text: str) -> bool:
    """Whether an identifier says enough that finding it again is no coincidence."""
    if kind == "number":
        return text.count(".") > 1 or len(text.strip("0.").replace(".", "")) >= 3
    if kind == "flag":
        return text.startswith("--") and "-" in text[2:]
    if kind == "quoted":
        marks = any(not char.isalpha() for char in text.rstrip("/"))
        return marks and sum(char.isalnum() for char in text) >= 8
    if kind == "path":
        return not PLAIN_PAIR.fullmatch(text)
    if kind == "url":
        return not text.startswith(FOREIGN)
    if kind == "symbol":
        return re.split(r"[.:]", text)[0] not in LIBRARY
    return True
