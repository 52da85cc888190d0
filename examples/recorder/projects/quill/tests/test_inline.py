import unittest

from quill import inline
from quill.nodes import show


def spans(text):
    return [" ".join(line.split()[1:]) for node in inline.spans(text, 1) for line in show(node)]


class InlineTests(unittest.TestCase):
    def check(self, text, *expected):
        with self.subTest(text=text):
            self.assertEqual(spans(text), list(expected))

    def test_marks(self):
        self.check("*a*", "strong", "text 'a'")
        self.check("_a_ b", "emphasis", "text 'a'", "text ' b'")
        self.check("*a _b_*", "strong", "text 'a '", "emphasis", "text 'b'")

    def test_inside_words(self):
        self.check("snake_case_name", "text 'snake_case_name'")
        self.check("2 * 3 * 4", "text '2 * 3 * 4'")
        self.check("a_b _c_", "text 'a_b '", "emphasis", "text 'c'")

    def test_code_has_no_marks(self):
        self.check("`a*b*c`", "code", "text 'a*b*c'")
        self.check("`[a](b)`", "code", "text '[a](b)'")

    def test_links(self):
        self.check("[a](b)", "link target='b'", "text 'a'")
        self.check("[a] (b)", "text '[a] (b)'")
        self.check("[*a*](b)", "link target='b'", "strong", "text 'a'")
        self.check("[a and [b](c)", "text '[a and '", "link target='c'", "text 'b'")

    def test_references(self):
        self.check("[[Oil]]", "reference 'Oil'")

    def test_backslash(self):
        self.check("\\*a\\*", "text '*a*'")
        self.check("a\\\\b", "text 'a\\\\b'")

    def test_mark_without_partner(self):
        self.check("*a", "text '*a'")
        self.check("*a _b* c_", "strong", "text 'a _b'", "text ' c_'")
