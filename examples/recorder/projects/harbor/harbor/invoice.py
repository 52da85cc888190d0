"""The invoice of a call."""

from dataclasses import dataclass, field

from . import tariff


@dataclass
class Invoice:
    """Lines of ``(text, cents)``."""

    number: str
    call: str
    line: str
    lines: list = field(default_factory=list)

    @property
    def total(self):
        return sum(cents for _, cents in self.lines)


def show(cents):
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def of(call, number):
    """The invoice of a call that has departed."""
    minutes = call.departed - call.berthed
    moves = tariff.handling(call.moves)
    hire = tariff.hire(minutes)
    found = Invoice(f"INV-{number:05d}", call.id, call.ship.line)
    found.lines.append((f"dues {call.ship.tonnage} t", tariff.dues(call.ship.tonnage)))
    found.lines.append((f"berth {call.berth}, {minutes} min", hire))
    found.lines.append((f"{call.moves} moves", moves))
    if call.dangerous:
        found.lines.append(("dangerous goods", tariff.dangerous(moves)))
    back = tariff.waiting(call.waited, hire)
    if back:
        found.lines.append((f"waited {call.waited} min", -back))
    return found


def text(invoice, call):
    """An invoice as lines of text."""
    head = f"{invoice.number} {invoice.call} {call.ship.name} ({invoice.line}), berth {call.berth}"
    rows = [f"    {name:<28} {show(cents):>14}" for name, cents in invoice.lines]
    return "\n".join([head, *rows, f"    {'total':<28} {show(invoice.total):>14}"])
