"""What is sold: items with weight, tax rate and price tiers."""

from dataclasses import dataclass, field

from . import sku as skus
from .errors import UnknownSku


@dataclass(frozen=True)
class Item:
    """One thing that can be bought. ``tiers`` maps a smallest quantity to the price of one piece in cents."""

    sku: str
    name: str
    grams: int
    tax_rate: int
    tiers: tuple = ((1, 0),)
    pack_size: int = 1
    sample: bool = False

    def __post_init__(self):
        quantities = [quantity for quantity, _ in self.tiers]
        if quantities != sorted(set(quantities)) or quantities[0] != 1:
            raise ValueError(f"{self.sku}: tiers start at 1 and rise, got {quantities}")
        if self.grams <= 0 or self.pack_size <= 0:
            raise ValueError(f"{self.sku}: weight and pack size are positive")


@dataclass
class Catalog:
    """Items by SKU, in the order in which they were added."""

    items: dict = field(default_factory=dict)

    def add(self, item):
        """Adds or replaces an item. The SKU is checked."""
        skus.parse(item.sku)
        self.items[item.sku] = item
        return item

    def get(self, sku):
        """The item, or ``UnknownSku``."""
        try:
            return self.items[sku]
        except KeyError:
            raise UnknownSku(f"{sku} is not in the catalogue", sku=sku) from None

    def __contains__(self, sku):
        return sku in self.items

    def __iter__(self):
        return iter(self.items.values())

    def __len__(self):
        return len(self.items)

    def group(self, letters):
        """All items of a product group."""
        return [item for item in self if skus.group_of(item.sku) == letters]

    def search(self, words):
        """Items whose name holds all words, whatever their case."""
        needles = words.lower().split()
        return [item for item in self if all(needle in item.name.lower() for needle in needles)]
