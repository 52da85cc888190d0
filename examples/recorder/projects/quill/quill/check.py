"""Problems of a document (L5)."""


def problems(document):
    """``(line, message)`` of each problem, in the order of the document."""
    headings = {node.plain() for node in document.walk() if node.kind == "heading"}
    found = []
    for node in document.walk():
        if node.kind == "reference" and node.text not in headings:
            found.append((node.line, f"no heading is called {node.text!r}"))
    return found
