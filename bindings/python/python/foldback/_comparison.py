"""`compare`: presets on recorded sessions, as a table."""

import os
from typing import Iterable, List, Optional, Union

from . import _foldback
from ._foldback import Comparison

Path = Union[str, "os.PathLike[str]"]


def compare(
    paths: Union[Path, Iterable[Path]],
    presets: Optional[Iterable[Path]] = None,
    window: Optional[int] = None,
    *,
    max_output: Optional[int] = None,
    model: Optional[str] = None,
    prices: Optional[str] = None,
    estimator: Optional[str] = None,
    experiment: Optional[Path] = None,
    exclude: Iterable[str] = (),
    project: Optional[str] = None,
    since: Optional[str] = None,
    redact: bool = False,
    strict: bool = False,
) -> Comparison:
    """Compares presets on recorded sessions, as `foldback compare` does: files, or folders of them, in any format.

    `presets` are names, paths of strategy files, or groups (`seeds`, `today`, `all`); the controls are always there. The
    other arguments are the options of the command. One row is one request that a preset would have sent.
    """
    if isinstance(presets, (str, os.PathLike)):
        presets = [presets]
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    options = {
        "--preset": ",".join(os.fspath(preset) for preset in presets or ()) or None,
        "--window": window,
        "--max-output": max_output,
        "--model": model,
        "--prices": prices,
        "--estimator": estimator,
        "--experiment": experiment,
        "--project": project,
        "--since": since,
    }
    arguments: List[str] = []
    for name, value in options.items():
        if value is not None:
            arguments.append(f"{name}={value}")
    arguments += [f"--exclude={text}" for text in exclude]
    arguments += [name for name, on in (("--redact", redact), ("--strict", strict)) if on]
    return _foldback.compare([*arguments, "--", *(os.fspath(path) for path in paths)])
