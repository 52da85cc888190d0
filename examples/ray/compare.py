"""Compares presets on sessions with Ray Data: workers score batches of files, the driver compares the scores.

    python compare.py sessions --preset today --window 200000
"""

import argparse
import io
import os
import pathlib
import shutil
import sys
import tempfile
import time
import zipfile

import foldback
import ray

#: Files of one task. A task that is lost with its worker is done again.
BATCH = 20


def files(folder):
    """The session files of a folder, or the file itself."""
    folder = pathlib.Path(folder)
    endings = {".json", ".jsonl", ".ndjson", ".traj", ".eval"}
    found = [folder] if folder.is_file() else folder.rglob("*")
    return sorted(str(path) for path in found if path.suffix in endings and path.is_file())


def score(batch, presets, window):
    """One part, packed: the scores of a batch of files."""
    with tempfile.TemporaryDirectory() as folder:
        part = pathlib.Path(folder, "part")
        foldback.score([str(path) for path in batch["path"]], part, presets, window)
        return {"part": [pathlib.Path(shutil.make_archive(folder + "/packed", "zip", part)).read_bytes()]}


def parts(paths, presets, window, score=score, batch=BATCH):
    """The parts of a corpus, in whatever order they are done."""
    rows = ray.data.from_items([{"path": path} for path in paths])
    scored = rows.map_batches(
        score, batch_size=batch, fn_kwargs={"presets": presets, "window": window}, num_cpus=1
    )
    for row in scored.iter_rows():
        yield row["part"]


def gather(parts, folder):
    """Unpacks the parts into a folder and gives their paths."""
    paths = []
    for number, part in enumerate(parts):
        paths.append(pathlib.Path(folder, str(number)))
        with zipfile.ZipFile(io.BytesIO(part)) as packed:
            packed.extractall(paths[-1])
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--preset", action="append")
    parser.add_argument("--window", type=int)
    parser.add_argument("--workers", type=int, help="processors to use on this machine, one thread each")
    parser.add_argument("--batch", type=int, default=BATCH, help="files of one task")
    arguments = parser.parse_args()
    if arguments.workers:
        # The workers inherit it.
        os.environ["RAYON_NUM_THREADS"] = "1"
        ray.init(num_cpus=arguments.workers, include_dashboard=False)
    paths = files(arguments.folder)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        scores = gather(
            parts(paths, arguments.preset, arguments.window, batch=arguments.batch), folder
        )
        taken = time.monotonic() - begun
        print(f"{len(paths)} files scored in {taken:.1f} s", file=sys.stderr)
        print(foldback.compare(scores, presets=arguments.preset, window=arguments.window))


if __name__ == "__main__":
    main()
