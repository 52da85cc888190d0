"""A cart collects lines, holds stock for them and works out the sums of the order."""

from dataclasses import dataclass, field

from . import discounts, money, pricing, shipping, tax


@dataclass(frozen=True)
class Totals:
    """All sums of an order in cents. ``total`` is what the customer pays."""

    goods: int
    coupon: int
    shipping: int
    tax: int
    total: int
    line_nets: tuple
    line_rates: tuple
    tax_rates: tuple


@dataclass
class Cart:
    """Quantities by SKU for one customer."""

    catalog: object
    desk: object
    owner: str
    group: str = "retail"
    lines: dict = field(default_factory=dict)
    holds: dict = field(default_factory=dict)
    coupon: object = None

    def put(self, sku, quantity):
        """Sets the quantity of a SKU; 0 removes it. The hold is made anew, so the 15 minutes start again."""
        item = self.catalog.get(sku)
        if sku in self.holds:
            self.desk.release(self.holds.pop(sku).id)
        if quantity == 0:
            self.lines.pop(sku, None)
            return None
        self.holds[sku] = self.desk.hold(sku, quantity, self.owner)
        self.lines[sku] = quantity
        return item

    def use_coupon(self, book, code, now):
        """Applies a coupon; a second one replaces the first (R3.2)."""
        self.coupon = book.find(code, self.goods(), now)
        return self.coupon

    def priced(self):
        """Every line with its price."""
        return [
            pricing.line_price(self.catalog.get(sku), quantity, self.group) for sku, quantity in self.lines.items()
        ]

    def goods(self):
        """Sum of all lines before the coupon."""
        return money.add_up(line.goods for line in self.priced())

    def hints(self):
        """What more pieces would save, per SKU."""
        found = {}
        for sku, quantity in self.lines.items():
            better = pricing.next_tier(self.catalog.get(sku), quantity)
            if better is not None:
                found[sku] = better
        return found

    def totals(self):
        """All sums; see ``Totals``."""
        priced = self.priced()
        line_totals = [line.goods for line in priced]
        off = discounts.spread(self.coupon, line_totals) if self.coupon else [0] * len(line_totals)
        nets = [total - part for total, part in zip(line_totals, off)]
        rates = [self.catalog.get(line.sku).tax_rate for line in priced]
        goods, coupon = money.add_up(line_totals), money.add_up(off)
        pieces = [(self.catalog.get(sku), quantity) for sku, quantity in self.lines.items()]
        parcel = shipping.quote(pieces, goods - coupon) if pieces else 0
        taxed = list(zip(nets, rates))
        if parcel:
            taxed.append((parcel, tax.shipping_rate(taxed)))
        tax_sum = tax.total_tax(taxed)
        return Totals(
            goods=goods,
            coupon=coupon,
            shipping=parcel,
            tax=tax_sum,
            total=goods - coupon + parcel + tax_sum,
            line_nets=tuple(nets),
            line_rates=tuple(rates),
            tax_rates=tuple(tax.tax_lines(taxed)),
        )

    def release(self):
        """Gives all holds back."""
        for hold in self.holds.values():
            self.desk.release(hold.id)
        self.holds.clear()
        self.lines.clear()
