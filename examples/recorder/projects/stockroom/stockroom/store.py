"""Files: the journal and small JSON documents in one folder."""

import json
import os

from .events import Journal


class FileStore:
    """A folder with ``journal.jsonl`` and documents named ``<name>.json``."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def _path(self, name):
        if os.sep in name or name.startswith("."):
            raise ValueError(f"not a name: {name!r}")
        return os.path.join(self.folder, name)

    def save(self, name, document):
        """Writes a JSON document."""
        path = self._path(name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=2, sort_keys=True)
            file.write("\n")

    def load(self, name, default=None):
        """Reads a JSON document, or gives ``default`` when there is none."""
        try:
            with open(self._path(name + ".json"), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return default

    def names(self):
        """Names of all documents, sorted."""
        return sorted(name[:-5] for name in os.listdir(self.folder) if name.endswith(".json"))

    def append(self, event):
        """Adds one event to the journal on disk."""
        with open(self._path("journal.jsonl"), "a", encoding="utf-8") as file:
            file.write(event.line() + "\n")

    def journal(self):
        """The journal on disk; empty when there is none."""
        try:
            with open(self._path("journal.jsonl"), encoding="utf-8") as file:
                return Journal.parse(file.read())
        except FileNotFoundError:
            return Journal()
