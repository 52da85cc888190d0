"""Tables for people."""

from . import invoice


def table(head, rows):
    """Rows as columns of equal width."""
    rows = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def calls(port):
    """All calls that have left."""
    rows = [
        (call.id, call.ship.name, call.berth, call.waited, call.departed - call.berthed, call.moved)
        for call in port.gone
    ]
    return table(("call", "ship", "berth", "waited", "minutes", "moves"), rows)


def cranes(port):
    return table(("crane", "moves"), [(crane.number, crane.moves) for crane in port.cranes.all])


def invoices(port):
    """Every invoice, and the sum per line."""
    texts, sums = [], {}
    for number, call in enumerate(port.gone, 1):
        found = invoice.of(call, number)
        texts.append(invoice.text(found, call))
        sums[found.line] = sums.get(found.line, 0) + found.total
    rows = [(line, invoice.show(cents)) for line, cents in sorted(sums.items())]
    return "\n".join([*texts, "", table(("line", "sum"), rows)])
