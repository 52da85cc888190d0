"""Makes the picture of the README: the first screen of the page of the sessions that ship.

    python3 tests/page/picture.py FOLDBACK_BINARY docs/report.png
"""

import pathlib
import subprocess
import sys
import tempfile

from browser import Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main(binary, out):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "report.html"
        compare = [binary, "compare", "--no-store", "examples/sessions", "--html", str(page)]
        subprocess.run(compare, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        with Browser(1400, 900) as browser:
            browser.open(str(page))
            browser.picture(out, whole=False)


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2])
