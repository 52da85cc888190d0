"""Examples of docs/definitions.md, worked out by hand."""

from __future__ import annotations

import base64
import json
import unittest
from dataclasses import replace
from typing import Any

import bill
import edits
import net
import prices
import rules
import verbatim
from check import Findings
from identifiers import identifiers
from references import References
from session import Message, Session, fall, scale_of, weight
from texts import Log, Standing
from view import History, calls, digest

TERMS = bill.Terms(
    "t", 1.0, 0.1, 1.25, 2.0, 5.0, hour=0.0, minimum=100, granularity=10, ttl_ms=1000
)


def said(text: str) -> str:
    return "|".join(f"{kind} {name}" for kind, name in identifiers(text))


def message(name: str, role: str, *parts: dict[str, Any]) -> Message:
    answer: dict[str, Any] = {"answer": {}} if role == "assistant" else {}
    return Message({"id": name, "role": role, "parts": list(parts), **answer})


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(arguments: str, tool: str = "run") -> dict[str, Any]:
    return {"type": "call", "call_id": "c", "tool": tool, "arguments": arguments}


def result(said: str) -> dict[str, Any]:
    return {"type": "result", "call_id": "c", "tool": "run", "text": said}


class Identifiers(unittest.TestCase):
    def test_rows(self) -> None:
        table = {
            "see ./src/main.rs:12:5, twice": "path src/main.rs",
            "and/or e.g. GitHub": "",
            "max_depth=MaxDepth": "symbol max_depth|symbol MaxDepth",
            "std::fs::read_dir(x)": "symbol std::fs::read_dir|symbol read_dir",
            "  12\tTypeError 8080ms": "error TypeError|number 8080",
            "C:\\me\\new.txt x": "path C:\\me\\new.txt",
            "(https://example.org/a).": "url https://example.org/a",
            'say "Hello, world"': "quoted Hello, world",
            "grep --name-only -rf deadbeef1 ABC-123": (
                "flag --name-only|flag -rf|hash deadbeef1|hash ABC-123"
            ),
        }
        for told, expected in table.items():
            self.assertEqual(said(told), expected, told)


class Frames(unittest.TestCase):
    def test_a_lost_beginning_is_no_frame(self) -> None:
        def answer(name: str, size: int) -> Message:
            raw = {"answer": {"usage": {"uncached": size}}, "parts": []}
            return Message({"id": name, "role": "assistant", **raw})

        # Three tokens for each message, and what it says.
        log = [message("u", "user", text("a b")), answer("a", 1000), answer("b", 1003)]
        self.assertEqual(Session({"id": "s", "frame": []}, log).frame_tokens, 1000 - 5)
        # The second request has less than the first had besides its messages.
        log = [*log[:2], answer("b", 400)]
        lost = Session({"id": "s", "frame": []}, log, boundaries=[{"before": 2}])
        self.assertEqual((lost.is_headless, lost.frame_tokens), (True, 400))


class Images(unittest.TestCase):
    def test_an_image_weighs_by_its_size(self) -> None:
        def png(width: int, height: int) -> dict[str, Any]:
            head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4) + height.to_bytes(4)
            url = base64.b64encode(head + b"more").decode()
            return {"type": "file", "mime": "image/png", "url": url}

        files = [png(116, 88), png(2047, 642), png(1568, 1568)]
        files += [{"mime": "image/png", "url": "x"}, {"mime": "application/pdf", "url": ""}]
        self.assertEqual([weight(file) for file in files], [14, 1027, 1600, 1600, 0])
        shot = message("t", "tool", {**result("a b"), "media": [png(750, 10)]}).parts[0]
        self.assertEqual([shot.tokens, shot.tokens_with("gone")], [12, 1])


class Scales(unittest.TestCase):
    def test_a_scale_meets_what_was_recorded(self) -> None:
        # A frame of 1,000 that was not recorded, and 1.5 tokens of the provider for each of ours.
        calls = [(1_100 + 200 * n, 1_100 + 300 * n) for n in range(6)]
        scale = scale_of(calls)
        assert scale is not None
        sizes = [scale.request(tokens) for tokens in (1_100, 2_100, 1_060, 0)]
        self.assertEqual((scale.kappa, sizes), (1.5, [1_100, 2_600, 1_040, 0]))
        self.assertIsNone(scale_of(calls[:5]))
        self.assertIsNone(scale_of([(1_000 * n, 500 * (n % 3)) for n in range(9)]))


class Views(unittest.TestCase):
    def test_edits_entries_and_a_layout(self) -> None:
        history = History()
        for name in "abc":
            history.append(message(name, "tool", result(name * 3)))
        history.fold(
            {
                "id": 1,
                "history_len": 3,
                "edits": [{"at": {"item": 1, "part": 0}, "kind": "clear", "text": "gone"}],
                "entries": [{"id": "s", "role": "user", "parts": [text("sum")], "origin": "x"}],
                "layout": {
                    "slots": [
                        {
                            "insert": {
                                "id": "i",
                                "role": "user",
                                "text": "note",
                                "origin": "summary",
                            }
                        },
                        {"keep": {"start": 3, "end": 4}},
                        {"keep": {"start": 1, "end": 2}},
                    ],
                    "tail_from": 4,
                },
            }
        )
        history.append(message("d", "tool", result("ddd")))
        shown = [shown.texts[0] for shown in history.view()]
        self.assertEqual(shown, ["note", "sum", "gone", "ddd"])
        self.assertNotEqual(digest(history.view()), digest(history.view()[1:]))


class Bills(unittest.TestCase):
    def test_the_longest_prefix_that_is_alive_is_read(self) -> None:
        def request(names: str, start: int) -> bill.Sent:
            return bill.Sent([(name, 60) for name in names], start, 1, 10)

        # Nothing yet; two blocks; none in common; the first again; too late.
        rows = [("ab", 0), ("abc", 10), ("xyz", 20), ("abcd", 30), ("abcde", 1_100)]
        requests = [request(*row) for row in rows]
        reads = bill.cache_reads(requests, TERMS, bill.times(requests, False))
        self.assertEqual(reads, [0, 120, 0, 180, 0])
        one = bill.bill(requests[:1], [bill.Asked(1, 1000, 100)], TERMS)
        self.assertAlmostEqual(one.input_usd, 120 * 1.25 / 1e6)
        self.assertAlmostEqual(one.output_usd, 10 * 5 / 1e6)
        self.assertAlmostEqual(one.summaries_usd, (1000 + 500) / 1e6)

    def test_the_input_falls_where_something_was_cut(self) -> None:
        table = [
            ([10, 20, 30, 9, 12], 3),
            ([10, 20, 30, 16, 18], 5),
            ([10, 20, 30, 9, 29], 5),
            ([200_000, 136_001, 137_000], 3),
            ([200_000, 136_000, 137_000], 1),
        ]
        for sizes, calls in table:
            self.assertEqual(fall([(0, size) for size in sizes]), calls, sizes)

    def test_what_is_told_of_the_cache_is_held(self) -> None:
        rows = [("abc", 0), ("abcd", 1), ("abcde", 5_000)]
        requests = [
            bill.Sent([(name, 60) for name in names], start, 1, 10) for names, start in rows
        ]
        starts = bill.times(requests, False)
        table: list[tuple[bill.Held, list[int], bool]] = [
            ([], [0, 180, 0], True),
            ([None, (2, 3), (9, 9)], [0, 120, 240], False),
            ([(2, 3), None, (0, 9)], [120, 180, 0], True),
            ([(9, 9)], [180, 180, 0], True),
        ]
        for held, reads, lost in table:
            self.assertEqual(bill.cache_reads(requests, TERMS, starts, held), reads)
            self.assertEqual(bill.cold_calls(starts, TERMS, held)[2], lost)

    def test_what_was_held_is_what_was_read_of_what_could_be(self) -> None:
        def call(name: str, size: int, read: int) -> Message:
            usage = {"uncached": size - read, "cache_read": read}
            return Message(
                {"id": name, "role": "assistant", "parts": [], "answer": {"usage": usage}}
            )

        sizes = [(100, 20), (150, 90), (140, 50), (0, 0), (160, 150), (170, 160)]
        log = [call(str(number), *size) for number, size in enumerate(sizes)]
        session = Session({"id": "s"}, log, [{"before": 5}])
        expected = [(20, 100), (90, 100), None, None, (140, 140), None]
        self.assertEqual(bill.held_of(session), expected)
        self.assertEqual(bill.held_of(Session({"id": "s"}, [call("a", 9, 0)])), [])

    def test_a_summary_reads_what_the_request_before_had(self) -> None:
        requests = [bill.Sent([("a", 600)], start, 1, 10) for start in (0, 500, 5_000)]
        for call, read in ((1, 600), (2, 0)):
            asked = bill.Asked(call, 1000, 100, shared=600)
            one = bill.bill(requests, [asked], TERMS)
            expected = (read * 0.1 + (1000 - read) * 1.0 + 500) / 1e6
            self.assertAlmostEqual(one.summaries_usd, expected)

    def test_names_are_found_without_what_stands_around_them(self) -> None:
        table = {
            "us.anthropic.claude-opus-4-8[1m]": ("claude-opus-4-8", False),
            "anthropic.claude-haiku-4-5-20251001-v1:0": ("claude-haiku-4-5", False),
            "vertex_ai/claude-sonnet-4-5@20250929": ("claude-sonnet-4-5", False),
            "claude-opus-4.8-fast": ("claude-opus-4-8", True),
            "gpt-5.3-codex-high": ("gpt-5.3-codex", False),
        }
        for name, expected in table.items():
            found = prices.model_of(name)
            assert found is not None, name
            self.assertEqual((found[0]["id"], found[1]), expected)
        self.assertIsNone(prices.model_of("claude-3"))

    def test_what_was_paid_is_by_what_was_used(self) -> None:
        def answer(name: str, usage: dict[str, int], **more: Any) -> Message:
            return Message(
                {"id": name, "role": "assistant", "parts": [], "answer": {"usage": usage, **more}}
            )

        log = [
            answer(
                "a",
                {"cache_write": 100_000, "cache_write_1h": 80_000, "output": 1_000},
                web_searches=3,
            ),
            answer("b", {"uncached": 100_000}, service="fast"),
            answer("c", {"uncached": 100_000}, model="owl-1"),
        ]
        session = Session({"id": "s", "frame": [], "model": "claude-opus-4-8"}, log)
        paid = prices.spent(session)
        self.assertAlmostEqual(paid[prices.OWN], 0.98 + 1.0 + 0.2)
        self.assertAlmostEqual(paid["no-cache"], 0.2 + 0.01 + 0.03 + 0.2 + 0.2)

    def test_searches_are_billed_by_number(self) -> None:
        terms = replace(TERMS, web_search=10.0)
        one = bill.bill([bill.Sent([("a", 60)], 0, 1, 10, web_searches=3)], [], terms)
        self.assertAlmostEqual(one.output_usd, 10 * 5 / 1e6 + 0.03)


class Rules(unittest.TestCase):
    def test_what_is_a_rule(self) -> None:
        table = {
            "Never push. Run it. Don’t ask.": "Never push.|Don’t ask.",  # noqa: RUF001
            "I don't know, we do not.\n- Do NOT stop": "- Do NOT stop",
            "1. Always run e.g. this. 2. Whatever": "1. Always run e.g. this.",
        }
        for told, expected in table.items():
            found = "|".join(filter(rules.RULE.search, rules.sentences(told)))
            self.assertEqual(found, expected, told)

    def test_what_of_it_is_in_view(self) -> None:
        log = [
            message("u", "user", text("Fix it. Do not touch src/db.rs.")),
            message("a", "assistant", call("{}")),
            message("v", "user", text("Never push.")),
            message("b", "assistant", call("{}")),
        ]
        of = rules.Rules(Log(Session({"id": "s", "frame": []}, log)))
        standing = Standing(of.log, [])
        table = {
            "Leave /a/src/db.rs alone": [(False, True), (False, False)],
            "Do not touch src/db.rs. Never push.": [(True, True), (True, False)],
            "db.rs": [(False, False), (False, False)],
        }
        for written, expected in table.items():
            standing.written = {written}
            self.assertEqual(list(of.kept(1, standing)), expected, written)
            self.assertEqual(list(of.kept(0, standing)), expected[:1], written)


class Needs(unittest.TestCase):
    def setUp(self) -> None:
        log = [
            message("u", "user", text("look at lib/known.rs")),
            message("a", "assistant", call('{"path": "lib/known.rs"}')),
            message("t", "tool", result("  1\tfn far_away(one: u8) {\n  2\t    body();\n  3\t}\n")),
            message("b", "assistant", call('{"command": "grep far_away lib/known.rs"}')),
            message("v", "tool", result("nothing")),
            message(
                "c",
                "assistant",
                call('{"old_string": "fn far_away(one: u8) {\\n    body();"}', "edit"),
            ),
        ]
        self.session = Session({"id": "s", "frame": []}, log)
        self.log = Log(self.session)

    def test_references_are_what_only_tools_had_said(self) -> None:
        needs = References(self.log).needs
        names = [[(need.identifier, need.distance) for need in call] for call in needs]
        self.assertEqual(names, [[], [("far_away", 1)], [("far_away", 1)]])
        self.assertEqual([need.observed for call in needs for need in call], [True, False])

    def test_old_texts_are_found_without_line_numbers(self) -> None:
        found = edits.edits(self.log)
        self.assertEqual([len(call) for call in found], [0, 0, 1])
        view = list(calls(self.session, []))[2].view
        self.assertTrue(found[2][0].kept(Standing(self.log, view)))
        self.assertFalse(found[2][0].kept(Standing(self.log, view[:2])))

    def test_pieces_are_maximal_and_new(self) -> None:
        pieces = verbatim.pieces(self.log)
        self.assertEqual([[piece.text for piece in call] for call in pieces[:2]], [[], []])
        # The line numbers stand between the two lines of the result.
        self.assertEqual([piece.text for piece in pieces[2]], ["fn far_away(one: u8"])


class Nets(unittest.TestCase):
    def test_draws_are_those_of_the_rules(self) -> None:
        self.assertEqual(net.draw("s", 0, "edit", "a b"), 0.6781391150186739)
        others = {net.draw("s", call, kind, "a b") for call in (0, 1) for kind in ("edit", "piece")}
        self.assertEqual(len(others), 4)

    def test_of_long_results_the_lines_around_are_read(self) -> None:
        lines = [f"{n}\tlet x{n} = 1;" for n in range(1000)]
        place = Log(
            Session({"id": "s", "frame": []}, [message("t", "tool", result("\n".join(lines)))])
        ).places[0]
        need = net.Need(edits.Edit("let x500 = 1;\nlet x501 = 1;", None, (place,)), place, 0.0)
        self.assertEqual(need.lines(), (500, 501))
        self.assertEqual(net.excerpt([need]), "\n".join(lines[300:702]))

    def test_what_was_asked_for_is_read_again(self) -> None:
        def call(number: int, arguments: dict[str, str], text: str) -> list[Message]:
            made = {"type": "call", "call_id": f"c{number}", "tool": "x"}
            made["arguments"] = json.dumps(arguments)
            answer = {"type": "result", "call_id": f"c{number}", "tool": "x", "text": text}
            return [message(f"a{number}", "assistant", made), message(f"t{number}", "tool", answer)]

        read = call(0, {"path": "a.rs"}, "let far_away = 1;")
        match = call(1, {"for": "far"}, "a.rs:7:let far_away = 1;")
        beside = call(2, {"for": "let"}, "a.rs-7-let far_away = 1;")
        edit = call(3, {"path": "a.rs", "old_string": "let x = 1;"}, "7\tlet far_away = 1;")
        table = (
            ([read, match], 1),
            ([match, beside], 0),
            ([read, edit], 0),
            ([beside, edit], 0),
            ([edit], 0),
        )
        for shown, expected in table:
            session = Session({"id": "s", "frame": []}, [one for pair in shown for one in pair])
            places = Log(session).places
            need = edits.Edit("let far_away = 1;", "a.rs", tuple(places))
            source = net.source_of(need, places, net.results_of_edits(session))
            self.assertEqual(source, places[2 * expected + 1])


class Checks(unittest.TestCase):
    def test_what_differs_is_told(self) -> None:
        found = Findings()
        found.near("tokens", 100, 100.5, 0.01, "here")
        found.share("share", 0.5, 0.51, 0.02, "here")
        self.assertTrue(found.agrees())
        found.near("tokens", 100, 102, 0.01, "here")
        found.share("share", 0.5, None, 0.02, "here")
        found.exact("views", False, True, "here")
        self.assertEqual((len(found.details), found.agrees()), (3, False))
        self.assertFalse(Findings().agrees(), "what compared nothing does not agree")


if __name__ == "__main__":
    unittest.main()
