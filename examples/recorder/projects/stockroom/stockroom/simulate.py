"""A warehouse that runs by itself for some days: every number comes from one seed, so two runs are alike.

    python3 -m stockroom.simulate --days 14 --seed 7 [--journal PATH] [--duplicate-every N] [--quiet]
"""

import argparse

from . import csvio, events, money, replenish, reports
from .cart import Cart
from .catalog import Catalog
from .clock import DAY, ManualClock
from .discounts import Coupon, CouponBook
from .errors import StockroomError
from .orders import OrderBook
from .payments import FakeGateway
from .reservations import Desk

CUSTOMERS = ("arkady", "berit", "chidi", "dunya", "emeka", "farah", "goran", "hana")
GROUPS = ("retail", "retail", "retail", "trade", "staff")


class Dice:
    """A small linear congruential generator; the same on every version of Python."""

    def __init__(self, seed):
        self.state = seed * 2_862_933_555_777_941_757 + 3_037_000_493 & (1 << 64) - 1

    def roll(self, sides):
        """A number from 0 to ``sides`` - 1."""
        self.state = self.state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407 & (1 << 64) - 1
        return (self.state >> 33) % sides

    def pick(self, things):
        return things[self.roll(len(things))]


class Simulation:
    """Runs days; ``out`` gets every line of the log."""

    def __init__(self, catalog, seed, out, duplicate_every=0):
        self.catalog, self.dice, self.out = catalog, Dice(seed), out
        self.clock = ManualClock()
        self.start = self.clock.now()
        self.journal = events.Journal()
        self.ledger = events.replay(self.journal)
        self.desk = Desk(self.ledger, self.clock)
        self.book = OrderBook(self.desk, self.clock)
        self.gateway = FakeGateway()
        self.coupons = CouponBook([Coupon("SPRING10", percent=10, minimum=2_000), Coupon("FIVER", amount=500)])
        self.duplicate_every = duplicate_every
        self.on_order = {}

    def log(self, level, message):
        day, second = divmod(self.clock.now() - self.start, DAY)
        self.out(f"day {day + 1:02d} {second // 3600:02d}:{second % 3600 // 60:02d} {level:<5} {message}")

    def emit(self, kind, live=True, **data):
        """Appends an event; ``live`` also applies it to the ledger. The message bus may deliver one twice."""
        event = events.Event(f"ev-{len(self.journal) + 1:05d}", kind, self.clock.now(), data)
        self.journal.append(event)
        if live:
            events.apply(self.ledger, event)
        if self.duplicate_every and len(self.journal) % self.duplicate_every == 0:
            self.journal.append(event)
            self.log("WARN", f"bus delivered {event.id} {kind} twice")
        return event

    def open_day(self):
        for item in self.catalog:
            if self.ledger.on_hand(item.sku) == 0 and self.clock.now() == self.start:
                quantity = 40 + self.dice.roll(60)
                self.emit("stock.received", sku=item.sku, quantity=quantity)
                self.log("INFO", f"received {quantity:>3} x {item.sku} {item.name!r}, opening stock")
        for sku, (due, quantity) in sorted(self.on_order.items()):
            if due <= self.clock.now():
                self.emit("stock.received", sku=sku, quantity=quantity)
                self.log("INFO", f"received {quantity:>3} x {sku} from purchase, on hand now {self.ledger.on_hand(sku)}")
        self.on_order = {sku: entry for sku, entry in self.on_order.items() if entry[0] > self.clock.now()}

    def shop(self):
        customer, group = self.dice.pick(CUSTOMERS), self.dice.pick(GROUPS)
        cart = Cart(self.catalog, self.desk, customer, group)
        items = list(self.catalog)
        for _ in range(1 + self.dice.roll(3)):
            item, quantity = self.dice.pick(items), 1 + self.dice.roll(12)
            try:
                cart.put(item.sku, quantity)
            except StockroomError as problem:
                self.log("WARN", f"{customer}: {problem}")
        if not cart.lines:
            return
        try:
            if self.dice.roll(4) == 0:
                cart.use_coupon(self.coupons, self.dice.pick(("SPRING10", "FIVER", "BOGUS")), self.clock.now())
            order = self.book.place(cart)
        except StockroomError as problem:
            self.log("WARN", f"{customer}: {problem}; cart given up")
            cart.release()
            return
        totals = order.totals
        self.log(
            "INFO",
            f"{order.id} {customer}/{group} goods {money.show(totals.goods)} coupon {money.show(totals.coupon)} "
            f"shipping {money.show(totals.shipping)} tax {money.show(totals.tax)} total {money.show(totals.total)}",
        )
        self.clock.advance(60 + self.dice.roll(1_000))
        try:
            receipt = self.book.pay(order, self.gateway)
        except StockroomError as problem:
            self.log("ERROR", f"{order.id} {problem}")
            return
        for sku, quantity in order.lines:
            self.emit("stock.sold", live=False, sku=sku, quantity=quantity, order=order.id)
        self.log("INFO", f"{order.id} paid {money.show(receipt.amount)} {receipt.id}, {len(order.lines)} line(s) picked")

    def close_day(self):
        coming = {sku: quantity for sku, (_, quantity) in self.on_order.items()}
        for proposal in replenish.propose(self.catalog, self.ledger, self.desk, self.clock.now(), on_order=coming):
            due = self.clock.now() + 5 * DAY
            earlier = self.on_order.get(proposal.sku, (due, 0))
            self.on_order[proposal.sku] = (earlier[0], earlier[1] + proposal.quantity)
            self.log(
                "INFO",
                f"purchase {proposal.quantity:>3} x {proposal.sku} available {proposal.available} "
                f"on order {proposal.on_order} point {proposal.point}",
            )
        rebuilt = events.replay(self.journal)
        for item in self.catalog:
            live, replayed = self.ledger.on_hand(item.sku), rebuilt.on_hand(item.sku)
            if live != replayed:
                self.log("ERROR", f"drift {item.sku}: ledger {live}, journal {replayed} ({replayed - live:+d})")

    def run(self, days):
        for day in range(days):
            self.open_day()
            for _ in range(6 + self.dice.roll(5)):
                self.clock.advance(600 + self.dice.roll(3_000))
                self.shop()
            self.close_day()
            self.clock.advance(self.start + (day + 1) * DAY - self.clock.now())
        return self


def main(argv=None):
    parser = argparse.ArgumentParser(prog="stockroom.simulate", description="Runs a warehouse for some days.")
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--catalog", default="data/catalog.csv")
    parser.add_argument("--journal", help="write the journal to this file")
    parser.add_argument("--duplicate-every", type=int, default=0, help="deliver every Nth event twice")
    parser.add_argument("--quiet", action="store_true", help="only warnings, errors and the reports")
    options = parser.parse_args(argv)
    catalog = Catalog()
    with open(options.catalog, encoding="utf-8") as file:
        csvio.import_prices(catalog, file.read())

    def out(line):
        if not options.quiet or " INFO " not in line:
            print(line)

    simulation = Simulation(catalog, options.seed, out, options.duplicate_every).run(options.days)
    print()
    print(reports.stock_report(catalog, simulation.ledger, simulation.desk))
    print()
    print(reports.sales_report(catalog, simulation.ledger, simulation.start, options.days))
    print()
    print(f"{len(simulation.book.orders)} orders, {money.show(simulation.gateway.balance())} taken, {len(simulation.journal)} events")
    if options.journal:
        with open(options.journal, "w", encoding="utf-8") as file:
            file.write(simulation.journal.text())


if __name__ == "__main__":
    main()
