import unittest

from stockroom import events
from stockroom.errors import JournalDamaged
from stockroom.events import Event, Journal
from tests.helpers import MUG, TEA


def received(number, sku, quantity):
    return Event(f"ev-{number}", "stock.received", number, {"sku": sku, "quantity": quantity})


def sold(number, sku, quantity):
    return Event(f"ev-{number}", "stock.sold", number, {"sku": sku, "quantity": quantity, "order": "SO-1"})


class ReplayTests(unittest.TestCase):
    def test_rebuilds_the_ledger(self):
        ledger = events.replay(Journal([received(1, TEA, 10), sold(2, TEA, 3), received(3, MUG, 5)]))
        self.assertEqual(ledger.on_hand(TEA), 7)
        self.assertEqual(ledger.on_hand(MUG), 5)

    def test_same_id_twice_counts_once(self):
        event = received(1, TEA, 10)
        ledger = events.replay(Journal([event, event, sold(2, TEA, 3), sold(2, TEA, 3)]))
        self.assertEqual(ledger.on_hand(TEA), 7)

    def test_count_corrects(self):
        count = Event("ev-2", "stock.counted", 2, {"sku": TEA, "counted": 8})
        ledger = events.replay(Journal([received(1, TEA, 10), count]))
        self.assertEqual(ledger.on_hand(TEA), 8)
        self.assertEqual(ledger.movements[-1].kind, "correction")

    def test_other_kinds_are_ignored(self):
        ledger = events.replay(Journal([Event("ev-1", "order.noted", 1, {})]))
        self.assertEqual(ledger.movements, [])


class TextTests(unittest.TestCase):
    def test_round_trip(self):
        journal = Journal([received(1, TEA, 10), sold(2, TEA, 3)])
        self.assertEqual(Journal.parse(journal.text()).events, journal.events)

    def test_cut_last_line_is_ignored_and_reported(self):
        text = Journal([received(1, TEA, 10), sold(2, TEA, 3)]).text()
        journal = Journal.parse(text[:-20])
        self.assertEqual(len(journal), 1)
        self.assertEqual(len(journal.warnings), 1)
        self.assertIn("line 2", journal.warnings[0])

    def test_whole_last_line_without_break_counts(self):
        text = Journal([received(1, TEA, 10)]).text()
        self.assertEqual(len(Journal.parse(text[:-1])), 1)

    def test_broken_line_inside_is_an_error(self):
        lines = Journal([received(1, TEA, 10), sold(2, TEA, 3)]).text().splitlines()
        with self.assertRaises(JournalDamaged) as caught:
            Journal.parse("\n".join([lines[0][:-5], lines[1]]) + "\n")
        self.assertEqual(caught.exception.code, "JRN-500")
        self.assertEqual(caught.exception.details["line"], 1)

    def test_empty_lines_are_skipped(self):
        self.assertEqual(len(Journal.parse("\n\n")), 0)
