"""Plain text reports with aligned columns."""

from . import money
from .clock import DAY


def table(header, rows):
    """Columns padded to their widest cell; numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(str(title)), *(len(row[i]) for row in cells)) if cells else len(str(title)) for i, title in enumerate(header)]
    numeric = [bool(rows) and all(isinstance(row[i], int) for row in rows) for i in range(len(header))]

    def line(values):
        padded = [value.rjust(w) if right else value.ljust(w) for value, w, right in zip(values, widths, numeric)]
        return "  ".join(padded).rstrip()

    return "\n".join([line([str(title) for title in header]), line(["-" * w for w in widths]), *map(line, cells)])


def stock_report(catalog, ledger, desk):
    """On hand, held and available per item."""
    rows = []
    for item in sorted(catalog, key=lambda item: item.sku):
        on_hand, available = ledger.on_hand(item.sku), desk.available(item.sku)
        rows.append((item.sku, item.name, on_hand, on_hand - available, available))
    return table(("sku", "name", "on hand", "held", "available"), rows)


def sales_report(catalog, ledger, start, days):
    """Pieces sold per item and day."""
    header = ["sku"] + [f"d{day + 1}" for day in range(days)] + ["sum"]
    rows = []
    for item in sorted(catalog, key=lambda item: item.sku):
        sold = [ledger.sold_between(item.sku, start + day * DAY, start + (day + 1) * DAY) for day in range(days)]
        rows.append((item.sku, *sold, sum(sold)))
    return table(header, rows)


def order_report(book):
    """All orders with their sums."""
    rows = [
        (order.id, order.owner, order.state, money.show(order.totals.total), money.show(order.refunded()))
        for order in book.orders.values()
    ]
    return table(("order", "customer", "state", "total", "refunded"), rows)


def movement_report(ledger, sku=None):
    """Every movement, of one SKU or of all, with the balance after it."""
    balance = {}
    rows = []
    for movement in ledger.movements:
        balance[movement.sku] = balance.get(movement.sku, 0) + movement.quantity
        if sku in (None, movement.sku):
            rows.append((movement.at, movement.sku, movement.kind, movement.quantity, balance[movement.sku], movement.reference))
    return table(("at", "sku", "kind", "quantity", "balance", "reference"), rows)
