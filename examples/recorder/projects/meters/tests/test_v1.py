import unittest

from meters import v1
from meters.reading import ArchiveError, Reading


class LineTests(unittest.TestCase):
    def test_known_check(self):
        self.assertEqual(v1.check("123456789"), 0x29B1)

    def test_line(self):
        self.assertEqual(v1.line(Reading("40017", 1_440, 81_230))[:20], "40017    1440081230A")

    def test_round_trip(self):
        readings = [Reading("40017", 0, 1), Reading("7", 15, 999_999, "X")]
        self.assertEqual(v1.parse(v1.write(readings)), readings)

    def test_wrong_check_names_the_line(self):
        text = v1.write([Reading("40017", 0, 1)]) + "40017      15000002A0000\n"
        with self.assertRaises(ArchiveError) as caught:
            v1.parse("# comment\n" + text)
        self.assertEqual(caught.exception.line, 3)
