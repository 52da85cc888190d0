"""The journal: one JSON object per line, the truth from which all other state is rebuilt (R7)."""

import json
from dataclasses import dataclass, field

from .errors import JournalDamaged
from .ledger import Ledger, Movement


@dataclass(frozen=True)
class Event:
    """``kind`` says what happened; ``data`` is plain JSON."""

    id: str
    kind: str
    at: int
    data: dict = field(default_factory=dict)

    def line(self):
        """The event as a line of the journal, without the line break."""
        return json.dumps(
            {"id": self.id, "kind": self.kind, "at": self.at, "data": self.data}, sort_keys=True, separators=(",", ":")
        )


class Journal:
    """Events in the order in which they happened."""

    def __init__(self, events=()):
        self.events = list(events)
        self.warnings = []

    def append(self, event):
        self.events.append(event)
        return event

    def text(self):
        """All lines, each ended by a line break."""
        return "".join(event.line() + "\n" for event in self.events)

    @classmethod
    def parse(cls, text):
        """Reads lines back. A line that is not whole is an error (R7.2)."""
        journal = cls()
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            try:
                raw = json.loads(line)
                event = Event(raw["id"], raw["kind"], raw["at"], raw.get("data", {}))
            except (ValueError, KeyError, TypeError) as problem:
                raise JournalDamaged(f"line {number}: {problem}", line=number) from problem
            journal.events.append(event)
        return journal

    def __len__(self):
        return len(self.events)


def replay(journal):
    """The ledger that the journal stands for."""
    ledger = Ledger()
    for event in journal.events:
        apply(ledger, event)
    return ledger


def apply(ledger, event):
    """Applies one event to a ledger. Kinds that do not move stock are ignored."""
    handler = HANDLERS.get(event.kind)
    if handler is not None:
        handler(ledger, event)


def _received(ledger, event):
    ledger.record(Movement(event.data["sku"], event.data["quantity"], "receipt", event.at, event.id))


def _sold(ledger, event):
    ledger.record(Movement(event.data["sku"], -event.data["quantity"], "sale", event.at, event.data.get("order", event.id)))


def _returned(ledger, event):
    ledger.record(Movement(event.data["sku"], event.data["quantity"], "return", event.at, event.data.get("order", event.id)))


def _counted(ledger, event):
    """A count on the shelf replaces the balance by a correction."""
    difference = event.data["counted"] - ledger.on_hand(event.data["sku"])
    if difference:
        ledger.record(Movement(event.data["sku"], difference, "correction", event.at, event.id))


HANDLERS = {
    "stock.received": _received,
    "stock.sold": _sold,
    "stock.returned": _returned,
    "stock.counted": _counted,
}
