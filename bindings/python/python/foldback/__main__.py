"""The command: `foldback`, and `python -m foldback`."""

import signal
import sys

from . import _foldback


def main() -> int:
    # Python's own handler only takes note of Ctrl-C until the engine returns.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _foldback.command(_foldback.__file__, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
