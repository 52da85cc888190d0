import os
import tempfile
import unittest

from stockroom import cli, config
from stockroom.errors import ConfigError
from stockroom.events import Event
from stockroom.store import FileStore
from tests.helpers import TEA


class StoreTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.store = FileStore(folder.name)

    def test_documents(self):
        self.store.save("limits", {"b": 1, "a": [2]})
        self.assertEqual(self.store.load("limits"), {"a": [2], "b": 1})
        self.assertEqual(self.store.names(), ["limits"])

    def test_missing_document(self):
        self.assertIsNone(self.store.load("nothing"))
        self.assertEqual(self.store.load("nothing", []), [])

    def test_names_stay_inside_the_folder(self):
        for name in ("../x", ".hidden", "a/b"):
            with self.subTest(name=name):
                self.assertRaises(ValueError, self.store.save, name, {})

    def test_journal(self):
        self.assertEqual(len(self.store.journal()), 0)
        self.store.append(Event("ev-1", "stock.received", 1, {"sku": TEA, "quantity": 3}))
        self.assertEqual(len(self.store.journal()), 1)


class ConfigTests(unittest.TestCase):
    def test_defaults(self):
        self.assertEqual(config.parse("").look_back_days, 28)

    def test_values_are_converted(self):
        settings = config.parse("[stockroom]\nlead_days = 9\nstrict_import = yes\ncurrency = CHF\n")
        self.assertEqual((settings.lead_days, settings.strict_import, settings.currency), (9, True, "CHF"))

    def test_unknown_names_and_wrong_types(self):
        for text in ("[stockroom]\nleaddays = 9\n", "[stockroom]\nlead_days = many\n", "[stockroom]\nstrict_import = 2\n"):
            with self.subTest(text=text):
                self.assertRaises(ConfigError, config.parse, text)


class CliTests(unittest.TestCase):
    def test_missing_file(self):
        lines = []
        self.assertEqual(cli.run(["import", "/nowhere/prices.csv"], lines.append), 2)
        self.assertEqual(lines, ["no such file: /nowhere/prices.csv"])

    def test_import_of_the_shipped_catalogue(self):
        path = os.path.join(os.path.dirname(__file__), "..", "data", "catalog.csv")
        lines = []
        self.assertEqual(cli.run(["import", path], lines.append), 0)
        self.assertEqual(lines, ["16 added, 0 changed, 0 unchanged, 0 problems"])
