"""The command: ``python3 -m quill.cli COMMAND FILE``."""

import argparse
import sys

from . import blocks, check, html, lines, nodes, plain


def main(argv=None):
    parser = argparse.ArgumentParser(prog="quill", description="Handbooks to HTML and plain text.")
    parser.add_argument("command", choices=("html", "text", "tokens", "tree", "check"))
    parser.add_argument("files", nargs="+")
    options = parser.parse_args(argv)
    bad = 0
    for path in options.files:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if options.command == "tokens":
            print("\n".join(str(line) for line in lines.scan(text)))
            continue
        document = blocks.parse(text)
        if options.command == "tree":
            print("\n".join(nodes.show(document)))
        elif options.command == "html":
            print(html.render(document), end="")
        elif options.command == "text":
            print(plain.render(document), end="")
        for line, message in check.problems(document):
            bad += 1
            print(f"{path}:{line}: {message}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
