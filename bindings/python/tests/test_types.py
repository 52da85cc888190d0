"""The types of the package, as a type checker sees them."""

import subprocess
import sys
from pathlib import Path

import pytest

import foldback

pytest.importorskip("mypy", reason="the quick part of the tests leaves the type checker out")


def test_the_package_and_its_stubs_are_typed():
    package = Path(foldback.__file__).parent
    assert (package / "py.typed").exists()
    for check in (["mypy", "--strict", "-p", "foldback"], ["mypy.stubtest", "--ignore-disjoint-bases", "foldback._foldback"]):
        done = subprocess.run([sys.executable, "-m", *check], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
