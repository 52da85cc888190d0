"""Runs the notebook from top to bottom on the sessions that ship with the project. `--write` keeps its figure for the book."""

import pathlib
import shutil
import sys
import tempfile

import nbformat
from nbclient import NotebookClient

HERE = pathlib.Path(__file__).resolve().parent
WORKSPACE = HERE.parent.parent


def main(write):
    notebook = nbformat.read(HERE / "figure.ipynb", as_version=4)
    assert len(notebook.cells) == 10 and not any(cell.get("outputs") for cell in notebook.cells), "ten cells, without outputs"
    nbformat.validate(notebook)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "sessions").symlink_to(HERE.parent / "sessions")
        run = pathlib.Path(folder) / "notebook"
        run.mkdir()
        # A cell that raises ends the run.
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(run)}}).execute()
        figure = (run / "figure.svg").read_text()
        assert all(f">{name}<" in figure for name in ("window+extractive", "keep-last-1")), "it names presets and controls"
        if write:
            shutil.copy(run / "figure.svg", WORKSPACE / "docs" / "figure.svg")
    printed = [output["text"] for cell in notebook.cells for output in cell.get("outputs", []) if output["output_type"] == "stream"]
    print(printed[-1])


if __name__ == "__main__":
    main("--write" in sys.argv)
