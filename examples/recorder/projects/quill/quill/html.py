"""The tree to HTML (L3)."""


def escape(text, quotes=False):
    text = text.replace("<", "&lt;").replace(">", "&gt;").replace("&", "&amp;")
    return text.replace('"', "&quot;") if quotes else text


class Html:
    """Writes HTML; ``out`` are its pieces."""

    def __init__(self, document):
        self.document = document
        self.anchors = {node.plain(): node.target for node in document.walk() if node.kind == "heading"}
        self.out = []

    def run(self):
        for block in self.document.children:
            self.block(block)
        return "\n".join(self.out) + "\n"

    def block(self, node):
        if node.kind == "heading":
            self.out.append(f'<h{node.level} id="{node.target}">{self.inline(node.children)}</h{node.level}>')
        elif node.kind == "paragraph":
            self.out.append(f"<p>{self.inline(node.children)}</p>")
        elif node.kind == "note":
            self.out.append(f'<aside class="{node.target}">{self.inline(node.children)}</aside>')
        elif node.kind == "raw":
            self.out.append(f"<pre>{escape(node.text)}</pre>")
        elif node.kind in ("list", "numbers"):
            self.items(node)

    def items(self, node):
        tag = "ul" if node.kind == "list" else "ol"
        self.out.append(f"<{tag}>")
        for item in node.children:
            lists = [child for child in item.children if child.kind in ("list", "numbers")]
            text = [child for child in item.children if child.kind not in ("list", "numbers")]
            self.out.append(f"<li>{self.inline(text)}</li>")
            for inner in lists:
                self.items(inner)
        self.out.append(f"</{tag}>")

    def inline(self, nodes):
        return "".join(self.span(node) for node in nodes)

    def span(self, node):
        if node.kind == "text":
            return escape(node.text)
        if node.kind == "strong":
            return f"<strong>{self.inline(node.children)}</strong>"
        if node.kind == "emphasis":
            return f"<em>{self.inline(node.children)}</em>"
        if node.kind == "code":
            return f"<code>{self.inline(node.children)}</code>"
        if node.kind == "link":
            return f'<a href="{escape(node.target)}">{self.inline(node.children)}</a>'
        if node.kind == "reference":
            target = self.anchors.get(node.text, "")
            return f'<a href="#{target}">{escape(node.text)}</a>'
        return ""


def render(document):
    """A document as HTML."""
    return Html(document).run()
