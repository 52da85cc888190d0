"""How many of the rules that two public kits plant stay in view under every preset, over five rounds.

The kits' sessions are short, so that what they plant is followed by work that fills the window, one window in each
round. An agent keeps the whole conversation and sends what `foldback` makes of it, and the kit looks at that. Both kits
run twice: as they are, and with every rule between `<pin>` marks, where each must stand word for word in every round.

The table in `docs/findings.md` must be the one that is made here; `UPDATE_DOCS=1` writes it.
"""

import dataclasses
import os
import random
import re
import sys
from pathlib import Path

import foldback
from compaction_kit.canaries import CanaryType, seeded_canaries
from compaction_kit.compacted import CompactedContext
from compaction_kit.runner import run_conformance
from compaction_kit.session import build_seeded_session
from conpact.constraints import SCS, render_sc
from conpact.generate import inject

FINDINGS = Path(__file__).resolve().parents[2] / "docs" / "findings.md"
ROUNDS = 5
WINDOW = 100_000
#: Files that are read in a round, of about 4,000 tokens each.
FILES, LINES = 25, 540
#: Where the constraints of conpact are put.
SEED = 42
#: In place of a figure where a preset did nothing.
NOTHING = "–"  # noqa: RUF001


def pinned(text):
    return f"<pin>{text}</pin>"


def work(number):
    """What the agent does in a round, up to the next thing that the user says."""
    for file in range(number * FILES, (number + 1) * FILES):
        function = {"name": "read", "arguments": f'{{"path": "src/part_{file}.rs"}}'}
        call = {"id": f"call_{file}", "type": "function", "function": function}
        yield {"role": "assistant", "content": f"I read part {file}.", "tool_calls": [call]}
        lines = (f"let value_{line} = load({file * 7_919 + line});" for line in range(LINES))
        yield {"role": "tool", "tool_call_id": call["id"], "content": "\n".join(lines)}
    yield {"role": "assistant", "content": f"Round {number} is done."}
    yield {"role": "user", "content": "Go on."}


class Agent:
    """An agent under a preset: a compactor of the first kit's protocol."""

    def __init__(self, preset):
        self.name = preset
        self.conversation = foldback.Conversation(preset, WINDOW)
        #: Whether any view was changed, hid what a user said, or was larger than the window.
        self.acted = self.hid = self.over = False

    def compact(self, turns, round_num=1):
        """The later rounds of the kit give back what they got: the agent has it already, and more."""
        if round_num == 1:
            self.conversation.append(*({"role": turn.role, "content": turn.text} for turn in turns))
        return CompactedContext(self.round(round_num), self.name, round_num)

    def round(self, number):
        """What is sent after more work, as the kit writes sessions down."""
        self.conversation.append(*work(number))
        view, whole = self.conversation.view(), self.conversation.messages
        shown = [message["content"] for message in view if message["role"] == "user"]
        self.acted |= view != whole
        self.hid |= any(message["role"] == "user" and message["content"] not in shown for message in whole)
        self.over |= self.conversation.sizes.sent > WINDOW
        return "\n".join(f"[{message['role']}] {text(message['content'])}" for message in view)

    def did(self):
        """What becomes of what users said."""
        return "hidden" if self.hid else "stays" if self.acted else "nothing fires"


def text(content):
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or ())


def canaries(preset, mark):
    """The survival of each type in each round, by the kit; and whether all stand word for word in all rounds."""
    session, planted = build_seeded_session(), seeded_canaries()
    turns = [dataclasses.replace(turn, text=mark(turn.text)) if turn.canary_id else turn for turn in session.turns]
    agent = Agent(preset)
    run = run_conformance(dataclasses.replace(session, turns=tuple(turns)), agent, ROUNDS, planted)
    lost = [one.content for one in planted for round in run.rounds if one.content not in round.context.text]
    return agent, [run.survival_curve(type) for type in CanaryType], lost


def constraints(preset, mark):
    """The share of constraints that stand word for word in each round."""
    said = [turn for turn in build_seeded_session().turns if not turn.canary_id and not turn.text.startswith("Noted:")]
    messages = [{"role": turn.role, "content": turn.text} for turn in said]
    rules, draw = [render_sc(one["sc"], strict=False, direct=True) for one in SCS], random.Random(SEED)
    for rule in rules:
        messages, _ = inject(messages, mark(rule), "multi", 1, draw)
    agent = Agent(preset)
    agent.conversation.append(*messages)
    rounds = [agent.round(number) for number in range(1, ROUNDS + 1)]
    lost = [rule for rule in rules for view in rounds if rule not in view]
    return [sum(rule in view for rule in rules) / len(rules) for view in rounds], lost


def cell(curve):
    """The rounds in percent; one number where they are all the same."""
    percents = [f"{100 * share:.0f}" for share in curve]
    return percents[0] if len(set(percents)) == 1 else "/".join(percents)


def rows():
    """The rows of the table, with all presets of which the figures are the same in one."""
    found = {}
    for preset in sorted(preset.name for preset in foldback.presets()):
        agent, types, _ = canaries(preset, str)
        curve, _ = constraints(preset, str)
        for kit in canaries(preset, pinned)[-1], constraints(preset, pinned)[-1]:
            assert not kit, f"{preset}: pinned, and not in view word for word: {kit}"
        cells = [cell(each) if agent.acted else NOTHING for each in [*types, curve]]
        figures = [agent.did(), *cells]
        print(preset, *figures, "over" if agent.over else "", flush=True)
        found.setdefault(tuple(figures), []).append(preset + " ✗" * agent.over)
    return found


def table():
    heads = ["presets", "said", *(type.value.replace("_", " ") for type in CanaryType), "side constraints"]
    lines = [heads, ["---"] * len(heads), *([", ".join(names), *figures] for figures, names in rows().items())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main():
    made, page = table(), FINDINGS.read_text()
    found = re.search(r"^\| presets \| said \|.*\n(?:\|.*\n)+", page, re.MULTILINE)
    assert found, f"{FINDINGS} has no table of the kits"
    if os.environ.get("UPDATE_DOCS"):
        FINDINGS.write_text(page[: found.start()] + made + page[found.end() :])
    elif found[0] != made:
        sys.exit(f"{FINDINGS} has another table than this one; UPDATE_DOCS=1 writes it:\n{made}")


if __name__ == "__main__":
    main()
