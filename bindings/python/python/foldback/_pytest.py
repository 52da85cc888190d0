"""The plugin for pytest: the fixture `compaction_snapshot`, and `--foldback-update`."""

import difflib
import re
from pathlib import Path
from typing import Any, Dict, Optional, Sequence

import pytest

from .testing import Compaction, render

#: The tests of this run, by the files that they are compared with.
_OWNERS = pytest.StashKey[Dict[Path, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("foldback")
    group.addoption("--foldback-update", action="store_true", help="write the snapshots of compaction_snapshot")


class Snapshots:
    """Compares what compaction makes of messages with files beside a test."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._count = 0

    def __call__(
        self, messages: Sequence[Any], compaction: Compaction, window: Optional[int] = None, *, name: Optional[str] = None, **options: Any
    ) -> None:
        """Fails where `foldback.testing.render` gives something else than the file says.

        The file is `snapshots/MODULE.TEST.snapshot.txt`, with a number from the second snapshot of a test on, or with `name`
        in place of the test's.
        """
        __tracebackhide__ = True
        self._count += 1
        test = self._request.node.nodeid.split("::", 1)[-1]
        title = name or (test if self._count == 1 else f"{test}.{self._count}")
        path = self._file(title)
        now = render(messages, compaction, window, title=title, **options)
        # Git may have given it the line ends of another system.
        kept = path.read_text("utf-8").replace("\r\n", "\n") if path.exists() else None
        if now == kept:
            return
        if self._request.config.getoption("--foldback-update"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(now.encode())
        elif kept is None:
            pytest.fail(f"there is no snapshot yet, so nothing holds; write {path} with --foldback-update", pytrace=False)
        else:
            lines = difflib.unified_diff(kept.splitlines(), now.splitlines(), str(path), "now", lineterm="")
            pytest.fail("\n".join([*lines, "Accept the lines above with --foldback-update."]), pytrace=False)

    def _file(self, title: str) -> Path:
        """The file of a snapshot. No two snapshots of a run have one."""
        module = self._request.path
        path = module.parent / "snapshots" / (re.sub(r"[^\w.-]", "-", f"{module.stem}.{title}") + ".snapshot.txt")
        owner = f"{self._request.node.nodeid} {self._count}"
        if self._request.config.stash.setdefault(_OWNERS, {}).setdefault(path, owner) != owner:
            pytest.fail(f"two snapshots would be in {path}; give one another name", pytrace=False)
        return path


@pytest.fixture
def compaction_snapshot(request: pytest.FixtureRequest) -> Snapshots:
    """Compares what compaction makes of messages with a file beside the test."""
    return Snapshots(request)
