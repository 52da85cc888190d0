"""The text of a block to spans (L2)."""

from .nodes import Node

MARKS = {"*": "strong", "_": "emphasis", "`": "code"}


def spans(text, line):
    """Spans of a text."""
    return _Inline(text, line).read("")


class _Inline:
    def __init__(self, text, line):
        self.text, self.line, self.place = text, line, 0

    def read(self, closing):
        """Spans up to the mark that closes, or to the end."""
        found, plain = [], ""

        def flush():
            nonlocal plain
            if plain:
                found.append(Node("text", self.line, plain))
                plain = ""

        while self.place < len(self.text):
            char = self.text[self.place]
            if char == "\\":
                plain += self.text[self.place + 1 : self.place + 2]
                self.place += 2
            elif closing and char == closing:
                break
            elif char in MARKS and self.closes(char):
                flush()
                self.place += 1
                found.append(Node(MARKS[char], self.line, children=self.read(char)))
                self.place += 1
            elif self.text.startswith("[[", self.place) and "]]" in self.text[self.place :]:
                flush()
                end = self.text.index("]]", self.place)
                found.append(Node("reference", self.line, self.text[self.place + 2 : end]))
                self.place = end + 2
            elif char == "[" and (link := self.link()):
                flush()
                found.append(link)
            else:
                plain += char
                self.place += 1
        flush()
        return found

    def closes(self, mark):
        """Whether a mark that opens here is closed later."""
        return mark in self.text[self.place + 1 :]

    def link(self):
        middle = self.text.find("](", self.place)
        end = self.text.find(")", middle)
        if middle < 0 or end < 0:
            return None
        text, target = self.text[self.place + 1 : middle], self.text[middle + 2 : end]
        self.place = end + 1
        return Node("link", self.line, target=target, children=spans(text, self.line))
