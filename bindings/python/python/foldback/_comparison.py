"""`compare`: presets on recorded sessions, as a table; `score`, its first half for a part of the sessions."""

import os
from typing import Any, Dict, Iterable, List, Optional, Union

from . import _foldback
from ._arguments import several, tokens
from ._foldback import Comparison, Error

Path = Union[str, "os.PathLike[str]"]


def compare(
    paths: Union[Path, Iterable[Path]] = (),
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

    `presets` are names, paths of strategy files, or groups (`seeds`, `today`, `all`); the controls are always there. `paths`
    may also be parts that `score` made. The other arguments are the options of the command. One row is one request that a
    preset would have sent.
    """
    options = _options(presets, window, max_output, model, estimator, experiment, project, since)
    options["--prices"] = prices
    switches = {"--redact": redact, "--strict": strict}
    return _foldback.compare(_arguments(paths, options, exclude, switches))


def score(
    paths: Union[Path, Iterable[Path]],
    out: Path,
    presets: Optional[Iterable[Path]] = None,
    window: Optional[int] = None,
    *,
    max_output: Optional[int] = None,
    model: Optional[str] = None,
    estimator: Optional[str] = None,
    experiment: Optional[Path] = None,
    exclude: Iterable[str] = (),
    project: Optional[str] = None,
    since: Optional[str] = None,
    strict: bool = False,
) -> None:
    """Scores a part of a corpus into the folder `out`, as `foldback score` does, for `compare([...])`.

    The presets and the other options must be the same there.
    """
    options = _options(presets, window, max_output, model, estimator, experiment, project, since)
    options["--store"] = _path("out", out)
    _foldback.score(_arguments(paths, options, exclude, {"--strict": strict}))


def _several(name: str, given: Union[Path, Iterable[Path]]) -> List[str]:
    """Paths or texts; one of them alone is one."""
    if isinstance(given, (str, bytes, os.PathLike)):
        return [_path(name, given)]
    return [_path(name, path) for path in several(name, "a path or a list of paths", given)]


def _path(name: str, given: Any) -> str:
    try:
        return os.fsdecode(given)
    except TypeError as wrong:
        raise Error(f"{name} is a path or a text, not {given!r}") from wrong


def _options(
    presets: Optional[Iterable[Path]],
    window: Optional[int],
    max_output: Optional[int],
    model: Optional[str],
    estimator: Optional[str],
    experiment: Optional[Path],
    project: Optional[str],
    since: Optional[str],
) -> Dict[str, Any]:
    """The options that both commands have."""
    tokens("window", window)
    tokens("max_output", max_output)
    return {
        "--preset": ",".join(_several("presets", presets or ())) or None,
        "--window": window,
        "--max-output": max_output,
        "--model": model,
        "--estimator": estimator,
        "--experiment": experiment,
        "--project": project,
        "--since": since,
    }


def _arguments(paths: Union[Path, Iterable[Path]], options: Dict[str, Any], exclude: Iterable[str], switches: Dict[str, bool]) -> List[str]:
    """The arguments of the command."""
    given = [f"{name}={value}" for name, value in options.items() if value is not None]
    given += [f"--exclude={text}" for text in _several("exclude", exclude)]
    given += [name for name, on in switches.items() if on]
    return [*given, "--", *_several("paths", paths)]
