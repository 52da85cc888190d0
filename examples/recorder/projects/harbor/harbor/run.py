"""The command: ``python3 -m harbor.run``."""

import argparse
import sys

from . import report
from .port import Port


def main(argv=None):
    parser = argparse.ArgumentParser(prog="harbor", description="Runs a container port for some days.")
    parser.add_argument("--days", type=int, default=3)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--quiet", action="store_true", help="only warnings and errors, then the tables")
    parser.add_argument("--calm", action="store_true", help="no crane breaks down")
    parser.add_argument("--invoices", action="store_true", help="the invoices in place of the log")
    options = parser.parse_args(argv)

    def out(line):
        if not options.invoices and not (options.quiet and " INFO " in line):
            print(line)

    port = Port(options.days, options.seed, out, not options.calm).run()
    if options.invoices:
        print(report.invoices(port))
        return 0
    print()
    print(report.calls(port))
    print()
    print(report.cranes(port))
    print()
    print(f"{len(port.gone)} calls done, {len(port.lying)} at berths, {len(port.waiting)} waiting, {port.quay.looked} berths looked at")
    return 0


if __name__ == "__main__":
    sys.exit(main())
