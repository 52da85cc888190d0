"""Lines to a tree of blocks (L1)."""

import re

from . import inline
from .lines import scan
from .nodes import Node

_KIND = re.compile(r"([A-Z]+): ?(.*)$")


def anchor(text):
    """The anchor of a heading (L1.1)."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())


class Parser:
    """Reads one document."""

    def __init__(self, text):
        self.lines = scan(text)
        self.place = 0
        self.anchors = {}

    def peek(self):
        return self.lines[self.place] if self.place < len(self.lines) else None

    def take(self):
        line = self.lines[self.place]
        self.place += 1
        return line

    def document(self):
        root = Node("document", 1)
        while (line := self.peek()) is not None:
            if line.kind == "empty":
                self.take()
            elif line.kind == "heading":
                root.children.append(self.heading())
            elif line.kind in ("item", "number"):
                root.children.append(self.items(line.kind, line.level))
            elif line.kind == "fence":
                root.children.append(self.raw())
            elif line.kind == "note":
                root.children.append(self.note())
            else:
                root.children.append(self.paragraph())
        return root

    def heading(self):
        line = self.take()
        node = Node("heading", line.number, level=line.level, children=inline.spans(line.text, line.number))
        name = anchor(node.plain())
        self.anchors[name] = self.anchors.get(name, 0) + 1
        if self.anchors[name] > 1:
            name = f"{name}{self.anchors[name]}"
        node.target = name
        return node

    def items(self, kind, level):
        """A list; items of deeper levels become lists in the item before them."""
        node = Node("list" if kind == "item" else "numbers", self.peek().number, level=level)
        while (line := self.peek()) is not None and line.kind == kind and line.level >= level:
            if line.level > level and node.children:
                node.children[-1].children.append(self.items(kind, line.level))
                continue
            self.take()
            text = [line.text]
            while (more := self.peek()) is not None and more.kind == "text":
                text.append(self.take().text)
            node.children.append(Node("item", line.number, children=inline.spans(" ".join(text), line.number)))
        return node

    def raw(self):
        first = self.take()
        text = []
        while (line := self.peek()) is not None and line.kind != "fence":
            text.append(self.take().text)
        if self.peek() is not None:
            self.take()
        return Node("raw", first.number, "\n".join(text))

    def note(self):
        first = self.peek()
        text = []
        while (line := self.peek()) is not None and line.kind == "note":
            text.append(self.take().text)
        kind, body = "note", " ".join(text)
        if match := _KIND.match(body):
            kind, body = match[1].lower(), match[2]
        return Node("note", first.number, target=kind, children=inline.spans(body, first.number))

    def paragraph(self):
        first = self.peek()
        text = []
        while (line := self.peek()) is not None and line.kind == "text":
            text.append(self.take().text)
        return Node("paragraph", first.number, children=inline.spans(" ".join(text), first.number))


def parse(text):
    """The tree of a document."""
    return Parser(text).document()
