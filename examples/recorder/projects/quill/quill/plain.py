"""The tree to plain text (L4)."""

import textwrap

WIDTH = 72


class Plain:
    """Writes plain text; ``out`` are its blocks."""

    def __init__(self, document):
        self.document = document
        self.out = []
        self.links = []

    def run(self):
        for block in self.document.children:
            self.block(block)
        if self.links:
            self.out.append("\n".join(f"[{number}] {target}" for number, target in enumerate(self.links, 1)))
        return "\n\n".join(self.out) + "\n"

    def block(self, node):
        if node.kind == "heading":
            text = self.inline(node.children)
            under = {1: "=", 2: "-"}.get(node.level)
            self.out.append(f"{text}\n{under * len(text)}" if under else text)
        elif node.kind == "paragraph":
            self.out.append(textwrap.fill(self.inline(node.children), WIDTH))
        elif node.kind == "note":
            text = f"{node.target.upper()}: {self.inline(node.children)}"
            self.out.append(textwrap.fill(text, WIDTH, initial_indent="| ", subsequent_indent="| "))
        elif node.kind == "raw":
            self.out.append(textwrap.indent(node.text, "    "))
        elif node.kind in ("list", "numbers"):
            self.out.append("\n".join(self.items(node, 0)))

    def items(self, node, depth):
        lines = []
        for number, item in enumerate(node.children, 1):
            mark = "* " if node.kind == "list" else f"{number}. "
            text = [child for child in item.children if child.kind not in ("list", "numbers")]
            first = "  " * depth + mark
            lines.append(textwrap.fill(self.inline(text), WIDTH, initial_indent=first, subsequent_indent="  " * depth + "  "))
            for child in item.children:
                if child.kind in ("list", "numbers"):
                    lines.extend(self.items(child, depth + 1))
        return lines

    def inline(self, nodes):
        return "".join(self.span(node) for node in nodes)

    def span(self, node):
        if node.kind == "text":
            return node.text
        if node.kind in ("strong", "emphasis", "code"):
            return self.inline(node.children)
        if node.kind == "link":
            self.links.append(node.target)
            return f"{self.inline(node.children)} [{len(self.links)}]"
        if node.kind == "reference":
            return node.text
        return ""


def render(document):
    """A document as plain text."""
    return Plain(document).run()
