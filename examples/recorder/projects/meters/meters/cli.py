"""The command: ``python3 -m meters.cli COMMAND``."""

import argparse
import sys

from . import alarms, district, monthly, v1
from .reading import ArchiveError, clock
from .series import by_meter


def read(path):
    with open(path, encoding="utf-8") as file:
        return v1.parse(file.read())


def main(argv=None):
    parser = argparse.ArgumentParser(prog="meters", description="An archive of electricity meters.")
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="made-up readings in format 1")
    make.add_argument("--days", type=int, default=1)
    make.add_argument("--seed", type=int, default=3)
    make.add_argument("--meters", type=int, default=6)
    make.add_argument("--start", type=int, default=0)
    for name, what in (("show", "use per quarter hour"), ("alarms", "all alarms"), ("month", "use per month")):
        command = commands.add_parser(name, help=what)
        command.add_argument("file")
        command.add_argument("--meter")
    options = parser.parse_args(argv)
    if options.command == "make":
        print(v1.write(district.readings(options.days, options.seed, options.meters, options.start)), end="")
        return 0
    try:
        found = [series for series in by_meter(read(options.file)) if options.meter in (None, series.meter)]
    except (ArchiveError, FileNotFoundError) as problem:
        print(f"{options.file}: {problem}", file=sys.stderr)
        return 2
    for series in found:
        if options.command == "show":
            for minute, use in series.quarters():
                reading = series.by_minute.get(minute)
                state = f"{reading.counter:06d} {reading.flag}" if reading else "------ -"
                print(f"{series.meter} {clock(minute)} {state} {'-' if use is None else use:>6}")
        elif options.command == "alarms":
            for alarm in alarms.of(series):
                print(alarm)
        else:
            for month, (use, missing) in sorted(monthly.table(series).items()):
                print(f"{series.meter} 2024-{month:02d} {use:>9} Wh, {missing} quarter hours missing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
