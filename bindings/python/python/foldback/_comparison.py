"""`compare`: presets on recorded sessions, as a table; `score`, its first half for a part of the sessions."""

import os
from typing import Any, Dict, Iterable, List, Optional, Union

from . import _foldback
from ._foldback import Comparison

Path = Union[str, "os.PathLike[str]"]


def compare(
    paths: Union[Path, Iterable[Path]] = (),
    presets: Optional[Iterable[Path]] = None,
    window: Optional[int] = None,
    *,
    scores: Iterable[Path] = (),
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

    `presets` are names, paths of strategy files, or groups (`seeds`, `today`, `all`); the controls are always there. In
    place of `paths`, `scores` are parts that `score` wrote. The other arguments are the options of the command. One row is
    one request that a preset would have sent.
    """
    options = _options(presets, window, max_output, model, estimator, experiment, project, since)
    options["--prices"] = prices
    switches = {"--redact": redact, "--strict": strict}
    parts = [f"--scores={os.fspath(part)}" for part in _several(scores)]
    return _foldback.compare(parts + _arguments(paths, options, exclude, switches))


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
    """Scores a part of a corpus into the file `out`, as `foldback score` does, for `compare(scores=[...])`.

    The presets and the other options must be the same there.
    """
    options = _options(presets, window, max_output, model, estimator, experiment, project, since)
    options["--out"] = os.fspath(out)
    _foldback.score(_arguments(paths, options, exclude, {"--strict": strict}))


def _several(paths: Union[Path, Iterable[Path]]) -> Iterable[Path]:
    return [paths] if isinstance(paths, (str, os.PathLike)) else paths


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
    return {
        "--preset": ",".join(os.fspath(preset) for preset in _several(presets or ())) or None,
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
    given += [f"--exclude={text}" for text in exclude]
    given += [name for name, on in switches.items() if on]
    return [*given, "--", *(os.fspath(path) for path in _several(paths))]
