"""The command: ``python3 -m stockroom.cli COMMAND``."""

import argparse
import sys

from . import config, csvio, events, reports
from .catalog import Catalog
from .clock import SystemClock
from .errors import StockroomError
from .reservations import Desk
from .store import FileStore


def build_parser():
    parser = argparse.ArgumentParser(prog="stockroom", description="Stock, orders and money for a small warehouse.")
    parser.add_argument("--config", default="stockroom.ini")
    commands = parser.add_subparsers(dest="command", required=True)
    prices = commands.add_parser("import", help="bring in a price list")
    prices.add_argument("file")
    prices.add_argument("--strict", action="store_true")
    stock = commands.add_parser("stock", help="what is there")
    stock.add_argument("--catalog", default="data/catalog.csv")
    moves = commands.add_parser("movements", help="every movement of the journal")
    moves.add_argument("--sku")
    return parser


def load_settings(path):
    try:
        with open(path, encoding="utf-8") as file:
            return config.parse(file.read())
    except FileNotFoundError:
        return config.Settings()


def read_catalog(path):
    catalog = Catalog()
    with open(path, encoding="utf-8") as file:
        report = csvio.import_prices(catalog, file.read())
    return catalog, report


def run(argv, out=print):
    """Runs a command and returns its exit code."""
    options = build_parser().parse_args(argv)
    try:
        settings = load_settings(options.config)
        if options.command == "import":
            _, report = read_catalog(options.file)
            for line, message in report.problems:
                out(f"{options.file}:{line}: {message}")
            out(report.summary())
            return 1 if report.problems and (options.strict or settings.strict_import) else 0
        ledger = events.replay(FileStore(settings.data_folder).journal())
        if options.command == "movements":
            out(reports.movement_report(ledger, options.sku))
            return 0
        catalog, _ = read_catalog(options.catalog)
        out(reports.stock_report(catalog, ledger, Desk(ledger, SystemClock())))
        return 0
    except StockroomError as problem:
        out(str(problem))
        return 2
    except FileNotFoundError as problem:
        out(f"no such file: {problem.filename}")
        return 2


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
