"""Value added tax (R4). Prices are net; tax is added on top."""

from collections import OrderedDict
from dataclasses import dataclass

from . import money

RATES = (0, 7, 19)


@dataclass(frozen=True)
class TaxLine:
    """One rate with its net sum and its tax."""

    rate: int
    net: int
    tax: int


def check_rate(rate):
    """The rate, if it is one that exists."""
    if rate not in RATES:
        raise ValueError(f"unknown tax rate {rate}, known are {RATES}")
    return rate


def tax_lines(lines):
    """Tax per rate from ``(net, rate)`` pairs, highest rate first."""
    sums = OrderedDict()
    for net, rate in lines:
        check_rate(rate)
        seen_net, seen_tax = sums.get(rate, (0, 0))
        sums[rate] = (seen_net + net, seen_tax + money.percent(net, rate))
    return [TaxLine(rate, net, tax) for rate, (net, tax) in sorted(sums.items(), reverse=True)]


def total_tax(lines):
    """Sum over all rates."""
    return money.add_up(line.tax for line in tax_lines(lines))


def shipping_rate(lines):
    """The rate that shipping carries (R4.2): that of the goods with the largest sum, the higher one in a tie."""
    sums = {}
    for net, rate in lines:
        sums[check_rate(rate)] = sums.get(rate, 0) + net
    if not sums:
        return max(RATES)
    return max(sums, key=lambda rate: (sums[rate], rate))


def share_of_lines(lines):
    """The tax of each line, adding up to ``total_tax``; refunds need it (R6.4)."""
    shares = [0] * len(lines)
    for rate_line in tax_lines(lines):
        places = [index for index, (_, rate) in enumerate(lines) if rate == rate_line.rate]
        parts = money.allocate(rate_line.tax, [lines[index][0] for index in places])
        for index, part in zip(places, parts):
            shares[index] = part
    return shares
