import unittest

from quill import blocks, check, html, plain


def to_html(text):
    return html.render(blocks.parse(text))


def to_text(text):
    return plain.render(blocks.parse(text))


class HtmlTests(unittest.TestCase):
    def test_escapes(self):
        self.assertEqual(to_html("a < b & c"), "<p>a &lt; b &amp; c</p>\n")
        self.assertEqual(to_html('[a](x?a=1&b="2")'), '<p><a href="x?a=1&amp;b=&quot;2&quot;">a</a></p>\n')

    def test_inner_lists_stand_inside(self):
        expected = "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>\n"
        self.assertEqual(to_html("* a\n  * b"), expected)

    def test_notes(self):
        self.assertEqual(to_html("> TIP: oil"), '<aside class="tip">oil</aside>\n')
        self.assertEqual(to_html("> oil"), '<aside class="note">oil</aside>\n')

    def test_references(self):
        self.assertIn('<a href="#oil-water">Oil &amp; water</a>', to_html("= Oil & water\n\n[[Oil & water]]"))


class PlainTests(unittest.TestCase):
    def test_links_once_each(self):
        self.assertEqual(to_text("[a](x) [b](y) [c](x)"), "a [1] b [2] c [1]\n\n[1] x\n[2] y\n")

    def test_items_hang(self):
        text = to_text("1. " + "word " * 20)
        self.assertTrue(text.splitlines()[1].startswith("   word"), text)

    def test_headings(self):
        self.assertEqual(to_text("= Oil\n== Tar\n=== Pitch"), "Oil\n===\n\nTar\n---\n\nPitch\n")


class CheckTests(unittest.TestCase):
    def test_dead_reference(self):
        self.assertEqual(check.problems(blocks.parse("= A\n\n[[B]]")), [(3, "no heading is called 'B'")])

    def test_item_too_deep(self):
        self.assertEqual(check.problems(blocks.parse("* a\n    * b")), [(2, "item is 2 levels below the one before it")])
