import unittest

from quill import blocks
from quill.lines import scan


def kinds(text):
    return [node.kind for node in blocks.parse(text).children]


class HeadingTests(unittest.TestCase):
    def test_anchor(self):
        self.assertEqual(blocks.parse("== Oil & water: how?").children[0].target, "oil-water-how")

    def test_doubled_anchors(self):
        document = blocks.parse("= Oil\n= Oil\n= Oil")
        self.assertEqual([node.target for node in document.children], ["oil", "oil-2", "oil-3"])

    def test_five_signs_are_a_paragraph(self):
        self.assertEqual(kinds("===== Oil"), ["paragraph"])


class ListTests(unittest.TestCase):
    def test_levels(self):
        document = blocks.parse("* a\n  * b\n    * c\n* d")
        self.assertEqual([item.plain() for item in document.children[0].children], ["abc", "d"])

    def test_numbers_above_nine(self):
        text = "\n".join(f"{number}. step" for number in range(1, 13))
        self.assertEqual(kinds(text), ["numbers"])

    def test_numbers_below_items(self):
        document = blocks.parse("* a\n  1. b\n  2. c\n* d")
        self.assertEqual([node.kind for node in document.children], ["list"])
        self.assertEqual([item.plain() for item in document.children[0].children], ["abc", "d"])

    def test_text_goes_on(self):
        self.assertEqual(blocks.parse("* a\n  b\n\nc").children[0].children[0].plain(), "a b")


class OtherTests(unittest.TestCase):
    def test_raw_stands_as_it_is(self):
        self.assertEqual(blocks.parse("----\n  a  \n= b\n----").children[0].text, "  a\n= b")

    def test_raw_keeps_blanks_at_the_end(self):
        self.assertEqual(blocks.parse("----\na  \n----").children[0].text, "a  ")

    def test_notes(self):
        first = blocks.parse("> WARNING: hot\n> and loud").children[0]
        self.assertEqual((first.target, first.plain()), ("warning", "hot and loud"))

    def test_scan_counts_from_one(self):
        self.assertEqual([line.number for line in scan("a\n\nb")], [1, 2, 3])
