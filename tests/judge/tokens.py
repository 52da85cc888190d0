"""Tokens of a text: o200k by tiktoken, with ranks that a registry package carries."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import subprocess
from functools import cache, lru_cache
from pathlib import Path

import tiktoken

ROOT = Path(__file__).resolve().parents[2]
# SHA-256 of the file that OpenAI publishes; tiktoken checks its own download against the same.
RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
# The pattern of o200k_base, as tiktoken has it.
PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
# Packages that carry the ranks, and where in them.
PACKAGES = {
    "tiktoken-rs": "assets/o200k_base.tiktoken",
    "bpe-openai": "data/o200k_base.tiktoken.gz",
}


class RanksError(Exception):
    """No package with the ranks was found."""


def output(*command: str) -> str:
    """What a program prints."""
    run = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    return run.stdout


def candidates() -> list[Path]:
    """Files that may hold the ranks: the one that the environment names, then those of crates."""
    named = os.environ.get("FOLDBACK_JUDGE_RANKS")
    if named:
        return [Path(named)]
    try:
        # What other platforms need was never fetched here.
        here = re.search(r"^host: (.*)$", output("rustc", "-vV"), re.MULTILINE)
        platform = ["--filter-platform", here[1]] if here else []
        found = output("cargo", "metadata", "--format-version", "1", "--offline", *platform)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RanksError(f"cargo metadata failed: {error}") from error
    packages = json.loads(found)["packages"]
    return [
        Path(package["manifest_path"]).parent / PACKAGES[package["name"]]
        for package in packages
        if package["name"] in PACKAGES
    ]


def read_ranks(path: Path) -> dict[bytes, int]:
    """Reads a file of ranks and makes sure that it is the published one."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if hashlib.sha256(data).hexdigest() != RANKS_SHA256:
        raise RanksError(f"{path}: not the published ranks of o200k_base")
    pairs = (line.split() for line in data.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


@cache
def encoding() -> tiktoken.Encoding:
    """The encoding. Texts are content, so nothing in them is a special token."""
    for path in candidates():
        if path.is_file():
            return tiktoken.Encoding(
                "o200k_base",
                pat_str=PATTERN,
                mergeable_ranks=read_ranks(path),
                special_tokens={},
            )
    raise RanksError("no crate with the o200k ranks; name a file in FOLDBACK_JUDGE_RANKS")


@lru_cache(maxsize=200_000)
def count(text: str) -> int:
    """Tokens of a bare text."""
    # A lone surrogate can't be written in UTF-8; no recording that was read as text has one.
    return len(encoding().encode_ordinary(text))
