"""The tree: blocks that hold spans or other blocks."""

from dataclasses import dataclass, field


@dataclass
class Node:
    """A node of any kind. ``line`` is where it begins, counted from 1."""

    kind: str
    line: int = 0
    text: str = ""
    target: str = ""
    level: int = 0
    children: list = field(default_factory=list)

    def walk(self):
        """This node and all below it, in the order of the document."""
        yield self
        for child in self.children:
            yield from child.walk()

    def plain(self):
        """The text of a node without its marks."""
        return self.text + "".join(child.plain() for child in self.children)


def show(node, depth=0):
    """The tree as indented lines."""
    parts = [f"{node.line:>4} {'  ' * depth}{node.kind}"]
    if node.level:
        parts.append(f"level={node.level}")
    if node.target:
        parts.append(f"target={node.target!r}")
    if node.text:
        parts.append(repr(node.text))
    lines = [" ".join(parts)]
    for child in node.children:
        lines.extend(show(child, depth + 1))
    return lines
