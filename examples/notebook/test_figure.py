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
    # What the saw-tooth shows, told where it was drawn. The last line is the window.
    drawn = "print(*sorted(line.get_label() for line in axes.get_lines()[:-1]))"
    at = next(at for at, cell in enumerate(notebook.cells) if "saw-tooth" in cell.source)
    notebook.cells.insert(at + 1, nbformat.v4.new_code_cell(drawn))
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "sessions").symlink_to(HERE.parent / "sessions")
        run = pathlib.Path(folder) / "notebook"
        run.mkdir()
        # A cell that raises ends the run.
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(run)}}).execute()
        figure = (run / "figure.svg").read_text()
        assert all(f">{name}<" in figure for name in ("window+extractive", "keep-last-1")), "it names presets and controls"
        lines = notebook.cells[at + 1].outputs[0].text.split()
        assert lines == ["indexed", "none", "opencode-1.17+extractive", "tiered+extractive", "tunacode", "window+extractive"], lines
        if write:
            shutil.copy(run / "figure.svg", WORKSPACE / "docs" / "figure.svg")
    printed = [output["text"] for cell in notebook.cells for output in cell.get("outputs", []) if output["output_type"] == "stream"]
    print(printed[-1])


if __name__ == "__main__":
    main("--write" in sys.argv)
