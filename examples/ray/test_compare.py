"""Scores on a local cluster of two workers, one of which is killed in the middle."""

import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile

import foldback
import ray

HERE = pathlib.Path(__file__).resolve().parent
SESSIONS = HERE.parents[1] / "tests" / "four-sessions"
PRESETS, WINDOW = ["opencode-1.17", "window"], 60_000

sys.path.insert(0, str(HERE))
import compare  # noqa: E402


def without_command(comparison):
    """The JSON of a comparison, but for the command line that it quotes."""
    everything = json.loads(comparison.json())
    everything["provenance"]["command"] = None
    return everything


def main():
    ray.cloudpickle.register_pickle_by_value(compare)
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    with tempfile.TemporaryDirectory() as folder:
        corpus = pathlib.Path(folder, "sessions")
        for copy in range(3):
            target = corpus / str(copy)
            target.mkdir(parents=True)
            for path in SESSIONS.glob("*.json*"):
                # Other bytes, so that the copies are sessions of their own.
                (target / path.name).write_bytes(path.read_bytes() + b"\n" * (copy + 1))
        killed = pathlib.Path(folder, "killed")

        def score(batch, presets, window):
            if any("/1/" in path for path in batch["path"]) and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return compare.score(batch, presets, window)

        paths = compare.files(corpus)
        found = compare.parts(paths, PRESETS, WINDOW, score, batch=2)
        scores = compare.gather(found, folder)
        assert killed.exists(), "no worker was killed"
        assert len(scores) > 2, scores
        apart = foldback.compare(scores, presets=PRESETS, window=WINDOW)
        whole = foldback.compare(corpus, PRESETS, WINDOW)
        assert without_command(apart) == without_command(whole)
        shutil.rmtree(corpus)
    print(f"{len(paths)} files in {len(scores)} parts, a worker killed: the same as at once")


if __name__ == "__main__":
    main()
