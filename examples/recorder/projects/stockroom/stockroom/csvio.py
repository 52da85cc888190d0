"""Price lists as CSV (R9): ``sku;name;grams;tax;price;tiers;pack;flags``.

``tiers`` is empty or ``10:4.50|50:4.20``; ``flags`` is empty or ``sample``.
"""

import csv
import io
from dataclasses import dataclass, field

from . import money, tax
from . import sku as skus
from .catalog import Item
from .errors import ImportProblem, StockroomError

COLUMNS = ("sku", "name", "grams", "tax", "price", "tiers", "pack", "flags")


@dataclass
class ImportReport:
    """What an import did. ``problems`` are ``(line, message)``."""

    added: list = field(default_factory=list)
    changed: list = field(default_factory=list)
    unchanged: list = field(default_factory=list)
    problems: list = field(default_factory=list)

    def ok(self):
        return not self.problems

    def summary(self):
        return (
            f"{len(self.added)} added, {len(self.changed)} changed, "
            f"{len(self.unchanged)} unchanged, {len(self.problems)} problems"
        )


def read_rows(text):
    """``(line number, row)`` pairs. The header decides the order of the columns."""
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    reader = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    missing = [column for column in COLUMNS[:5] if column not in (reader.fieldnames or [])]
    if missing:
        raise ImportProblem(f"columns missing: {', '.join(missing)}", missing=missing)
    return [(number, row) for number, row in enumerate(reader, 1)]


def parse_tiers(price, text):
    """Tiers of an item from the base price and the column ``tiers``."""
    tiers = [(1, price)]
    for part in filter(None, (text or "").split("|")):
        quantity, _, amount = part.partition(":")
        tiers.append((int(quantity), money.parse(amount)))
    return tuple(tiers)


def parse_row(row):
    """An item from one row; raises ``ValueError`` or a ``StockroomError`` that says what is wrong."""
    flags = set(filter(None, (row.get("flags") or "").split()))
    price = money.parse(row["price"])
    if price < 0:
        raise ValueError("price is negative")
    return Item(
        sku=skus.parse(row["sku"]),
        name=row["name"].strip(),
        grams=int(row["grams"]),
        tax_rate=tax.check_rate(int(row["tax"])),
        tiers=parse_tiers(price, row.get("tiers")),
        pack_size=int(row.get("pack") or 1),
        sample="sample" in flags,
    )


def import_prices(catalog, text, strict=False):
    """Brings a price list into the catalogue and reports line by line (R9.3)."""
    report = ImportReport()
    items = []
    for number, row in read_rows(text):
        try:
            items.append(parse_row(row))
        except (ValueError, StockroomError) as problem:
            report.problems.append((number, str(problem)))
    for item in items:
        known = catalog.items.get(item.sku)
        if known == item:
            report.unchanged.append(item.sku)
            continue
        (report.changed if known else report.added).append(item.sku)
        catalog.add(item)
    return report


def export_prices(catalog):
    """The catalogue as a price list that ``import_prices`` reads back unchanged."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";", lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in catalog:
        tiers = "|".join(f"{quantity}:{money.show(price)}" for quantity, price in item.tiers[1:])
        flags = "sample" if item.sample else ""
        writer.writerow(
            (item.sku, item.name, item.grams, item.tax_rate, money.show(item.tiers[0][1]), tiers, item.pack_size, flags)
        )
    return out.getvalue()
