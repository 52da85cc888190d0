"""The closed loop by itself, and a short one through the program that FOLDBACK names."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

import check
from agent import CIRCLES, Agent
from loop import HABITS, LARGE, REGIME, Run, run, terms_of, written
from provider import Provider, broken
from world import Habits, Step, Task, made, planned

FOLDBACK = os.environ.get("FOLDBACK", "")
SHORT = Habits(steps=30, phases=2, moves=0.4)
WINDOW = 24_000


def user(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


class Worlds(unittest.TestCase):
    def test_a_seed_makes_one_world(self) -> None:
        self.assertEqual(made(1).files, made(1).files)
        self.assertNotEqual(made(1).files, made(2).files)

    def test_every_line_with_a_setting_stands_once(self) -> None:
        world = made(3)
        every = [line.strip() for lines in world.files.values() for line in lines]
        texts = [world.text_of(setting) for setting in world.settings]
        self.assertEqual(len(set(texts)), len(texts))
        for text in texts[::50]:
            self.assertEqual(every.count(text), 1)

    def test_a_task_uses_each_setting_once(self) -> None:
        for kind, habits in HABITS.items():
            task = planned(made(1), 1, habits, kind == "reads")
            steps = [step for phase in task.phases for step in phase]
            used = [setting for step in steps for setting in (step.target, *step.sources)]
            self.assertEqual((len(steps), len(task.phases)), (habits.steps, habits.phases))
            self.assertEqual(len(set(used)), len(used), msg=kind)

    def test_tools(self) -> None:
        world = made(1)
        setting = world.settings[0]
        old = world.text_of(setting)
        self.assertIn(old, world.run("read", {"path": setting.path}))
        folder, stem = setting.group
        found = world.run("search", {"folder": folder, "text": f"{stem}_"})
        self.assertIn(old, found)
        self.assertLess(len(found), sum(map(len, world.files[setting.path])) * 3)
        edit = {"path": setting.path, "old_string": old, "new_string": f'{setting.name} = "new"'}
        self.assertIn('"new"', world.run("edit", edit))
        self.assertEqual((world.value_of(setting), world.edits), ("new", 1))
        self.assertIn("0 times", world.run("edit", edit))
        self.assertEqual(world.edits, 1)


class Agents(unittest.TestCase):
    def agent(self, searches: bool = False) -> Agent:
        world = made(1)
        target, source = world.settings[0], world.settings[-1]
        return Agent(Task([[Step(target, (source,))]]), world, searches)

    def test_it_edits_once_it_sees_everything(self) -> None:
        agent = self.agent()
        [step] = agent.task.phases[0]
        shown = []
        for setting in (step.target, *step.sources):
            action = agent.act(shown)
            self.assertEqual((action.tool, action.arguments), ("read", {"path": setting.path}))
            shown.append(agent.world.run(action.tool, action.arguments))
        action = agent.act(shown)
        self.assertEqual(action.tool, "edit")
        self.assertIn(agent.world.value_of(step.sources[0]), action.arguments["new_string"])
        agent.world.run(action.tool, action.arguments)
        self.assertEqual((agent.act(shown).tool, agent.finished, agent.again), ("", True, 0))

    def test_one_that_never_sees_it_stops(self) -> None:
        agent = self.agent(searches=True)
        tools = [agent.act([]).tool for _ in range(CIRCLES + 2)]
        self.assertEqual(tools, ["search"] * CIRCLES + ["", ""])
        self.assertEqual((agent.looped, agent.again), (True, CIRCLES - 1))


class Providers(unittest.TestCase):
    def test_it_reads_the_beginning_that_an_earlier_request_had(self) -> None:
        agent = Agents().agent()
        provider = Provider(agent, terms_of(REGIME))
        one, other = user("word " * 3_000), user("more " * 500)
        reply = {"role": "assistant", "content": "ok"}
        sent = [[one], [one, reply, other], [one, reply, other], [one, reply, user("x")]]
        for messages in sent:
            status, _ = provider.answer({"system": "s", "tools": [], "messages": messages})
            self.assertEqual(status, 200)
        first, second, same, changed = provider.requests
        self.assertEqual((first.read, first.write), (0, first.input))
        self.assertEqual((second.read, second.write), (first.input, second.input - first.input))
        self.assertEqual((same.read, same.write), (second.input, 0))
        self.assertGreater(changed.read, first.input)
        self.assertLess(changed.read, second.input)

    def test_it_refuses_what_providers_refuse(self) -> None:
        call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "a", "content": "text"}
        asked = {"role": "assistant", "content": [call]}
        answered = {"role": "user", "content": [result]}
        table = [
            ([user("a"), asked, answered], False),
            ([user("a"), asked], True),
            ([user("a"), asked, user("b")], True),
            ([user("a"), answered], True),
            ([asked, answered], True),
            ([user("")], True),
            ([], True),
        ]
        for messages, refused in table:
            self.assertEqual(bool(broken(messages)), refused, msg=messages)


class Figures(unittest.TestCase):
    def case(self, preset: str, true: float, bill: float, ended: str = "solved") -> check.Case:
        numbers = {"calls": 10, "plain_calls": 10, "again": 0, "largest": 1, "refused": 0}
        dollars = {"served": true, "summaries": 0.0, "replayed": true, "bill": bill, "net": None}
        return check.Case(
            "reads", 1, 1, preset, **numbers, ended=ended, **dollars, near=1.0, loses=False
        )

    def test_pairs_in_the_wrong_order(self) -> None:
        some = [self.case("a", 1, 2), self.case("b", 2, 3), self.case("c", 3, 1)]
        self.assertEqual(check.wrong_pairs(some, lambda case: case.bill), (2, 3))
        # Who does not finish, or sends more than fits, is in no pair.
        some += [self.case("d", 9, 0, "looped"), self.case("e", 9, 0)]
        some[-1].largest = 2
        self.assertEqual(check.wrong_pairs(some, lambda case: case.bill), (2, 3))

    def test_complaints(self) -> None:
        fine, off = self.case("a", 1, 2), self.case("b", 1, 2)
        loops, loses = self.case("c", 1, 2, "looped"), self.case("d", 1, 2)
        nets, masks = self.case("e", 1, 2), self.case("masking-10", 1, 2)
        off.replayed, loses.loses, nets.net, masks.net = 1.006, True, 1.06, 1.06
        named = [line.split(":")[0].split()[-1] for line in check.complaints([fine])]
        self.assertEqual(named, [])
        some = [fine, off, loops, loses, nets, masks]
        named = [line.split(":")[0].split()[-1] for line in check.complaints(some)]
        self.assertEqual(named, ["b", "c", "d", "e"])
        off.largest = 2
        self.assertEqual(list(check.complaints([off])), [])
        fine.net, nets.net, nets.served = 3.0, 1.0, 1.01
        pairs = [line for line in check.complaints([fine, nets]) if "1 of 1 pairs" in line]
        self.assertEqual(len(pairs), 1)


@unittest.skipUnless(FOLDBACK, "FOLDBACK names no program")
class Loops(unittest.TestCase):
    """Short runs with a small window."""

    def played(self, preset: str, window: int = WINDOW) -> Run:
        return run(FOLDBACK, "reads", 1, preset, window, habits=SHORT)

    def told(self, made: Run, presets: list[str], window: int) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "run.jsonl")
            written(made, log)
            return check.compared(FOLDBACK, [log], presets, window)

    def test_what_was_served_is_what_is_replayed(self) -> None:
        terms, ends = terms_of(REGIME), {"indexed": "solved", "keep-last-1": "looped"}
        whole = self.played("none", LARGE)
        predicted = self.told(whole, ["none", *ends], WINDOW)
        self.assertEqual((whole.ended, whole.again, whole.refused), ("solved", 0, []))
        self.assertAlmostEqual(predicted["none"]["usd"] / whole.usd(terms), 1, delta=1e-6)
        for preset, ended in ends.items():
            made = self.played(preset)
            self.assertEqual((made.ended, made.refused), (ended, []), msg=preset)
            self.assertGreater(made.again, 0, msg=preset)
            told = self.told(made, [preset], WINDOW)[preset]
            replayed = told["input_usd"] + told["output_usd"]
            self.assertAlmostEqual(replayed / made.usd(terms), 1, delta=check.SERVED, msg=preset)
            self.assertEqual(predicted[preset]["loses"], ended == "looped", msg=preset)
            if ended == "solved":
                net = predicted[preset]["net_all_usd"] / (made.usd(terms) + told["summaries_usd"])
                self.assertAlmostEqual(net, 1, delta=check.NET, msg=preset)

    def test_a_run_is_the_same_again(self) -> None:
        first, second = (self.played("indexed") for _ in range(2))
        self.assertEqual((first.requests, first.log), (second.requests, second.log))


if __name__ == "__main__":
    unittest.main()
