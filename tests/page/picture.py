"""Makes the picture of the README: the first screen of the page of the sessions that ship.

    python3 tests/page/picture.py FOLDBACK_BINARY docs/report.png

Pixels depend on the fonts of a machine, so the picture says of which page it was made: a test of the command
(`the_picture_is_of_the_page`) compares that with the page as it is now, up to the end of what is shown.
"""

import hashlib
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

from browser import Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: The section below the picture's edge.
BELOW = '<section id="presets">'
#: A PNG begins with eight bytes and a header of 25.
HEADER = 33


def page_of(binary, page):
    """Writes the page; the hash of what is shown of it."""
    compare = [binary, "compare", "--store=none", "--quiet", "examples/sessions", "--html", str(page)]
    subprocess.run(compare, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    shown, found, _ = page.read_text(encoding="utf-8").partition(BELOW)
    assert found, "the page has no presets"
    return hashlib.sha256(shown.encode()).hexdigest()


def note(digest):
    """The chunk of a PNG that holds a text, after its header."""
    data = b"tEXt" + b"page\0" + digest.encode()
    return struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))


def main(binary, out):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "report.html"
        digest = page_of(binary, page)
        with Browser(1400, 900) as browser:
            browser.open(str(page))
            browser.picture(str(out), whole=False)
    png = out.read_bytes()
    out.write_bytes(png[:HEADER] + note(digest) + png[HEADER:])


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]))
