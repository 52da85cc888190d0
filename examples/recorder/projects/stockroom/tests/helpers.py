"""Things that most tests need."""

from stockroom import sku
from stockroom.catalog import Catalog, Item
from stockroom.clock import ManualClock
from stockroom.ledger import Ledger, Movement
from stockroom.reservations import Desk

TEA = sku.make("TEA", 101)
COFFEE = sku.make("COF", 201)
MUG = sku.make("MUG", 310)
POT = sku.make("POT", 401)


def catalog():
    """Four items with round prices."""
    made = Catalog()
    made.add(Item(TEA, "Assam", 280, 7, ((1, 890), (10, 820), (50, 760)), 12))
    made.add(Item(COFFEE, "Espresso", 1040, 7, ((1, 1750), (6, 1640)), 6))
    made.add(Item(MUG, "Mug", 390, 19, ((1, 1190),), 6))
    made.add(Item(POT, "Teapot", 1450, 19, ((1, 4900), (4, 4500)), 2))
    return made


def stocked(quantity=100):
    """A ledger with ``quantity`` of each item, a clock and a desk."""
    clock = ManualClock()
    ledger = Ledger()
    for item in catalog():
        ledger.record(Movement(item.sku, quantity, "receipt", clock.now(), "opening"))
    return ledger, clock, Desk(ledger, clock)
