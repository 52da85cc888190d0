"""The agent that stands in for a model.

It knows its task by heart: which settings to change, and in which files they stand. What stands
there it does not know. It sees the request that reaches it and nothing else, so what it needs and
the request lacks it looks up, and it edits only when it sees the old text and every value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from world import Setting, Step, Task, World

# Lookups for one step after which it goes round in circles. A step needs three texts at most.
CIRCLES = 12
# Steps between two runs of the tests.
TEST_EVERY = 8


@dataclass(frozen=True)
class Action:
    """What it says, and the tool it calls; without a tool it has finished a phase."""

    text: str
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass
class Agent:
    """One run. `world` is only asked what a text is that must be looked for in the request."""

    task: Task
    world: World
    searches: bool
    phase: int = 0
    step: int = 0
    lookups: int = 0
    tested: bool = False
    looped: bool = False
    # What it looked up, and how often it did so once more.
    seen: set[str] = field(default_factory=set)
    again: int = 0
    done: int = 0

    @property
    def finished(self) -> bool:
        return self.phase == len(self.task.phases)

    def act(self, texts: Iterable[str]) -> Action:
        """The next action by what a request shows."""
        if self.looped:
            return Action("I am going round in circles and stop here.")
        steps = self.task.phases[self.phase]
        if self.step == len(steps):
            self.phase, self.step = self.phase + 1, 0
            return Action(f"Phase {self.phase} is done: {len(steps)} settings have their values.")
        if self.done and self.done % TEST_EVERY == 0 and not self.tested:
            self.tested = True
            return Action(f"{self.done} changes are made. I run the tests.", "test")
        step = steps[self.step]
        old, shown = self.world.text_of(step.target), list(texts)
        for setting in (step.target, *step.sources):
            line = self.world.text_of(setting)
            if not any(line in text for text in shown):
                return self.look(setting)
        values = "+".join(self.world.value_of(source) for source in step.sources)
        new = f'{step.target.name} = "{self.world.value_of(step.target)}+{values}"'
        self.step, self.lookups, self.tested = self.step + 1, 0, False
        self.done += 1
        return self.edit(step, old, new)

    def look(self, setting: Setting) -> Action:
        self.lookups += 1
        if self.lookups > CIRCLES:
            self.looped = True
            return Action("I am going round in circles and stop here.")
        unit = "/".join(setting.group) if self.searches else setting.path
        self.again += unit in self.seen
        self.seen.add(unit)
        if self.searches:
            folder, stem = setting.group
            what = {"folder": folder, "text": f"{stem}_"}
            return Action(f"I look for {setting.name}.", "search", what)
        return Action(f"I look into the file of {setting.name}.", "read", {"path": setting.path})

    def edit(self, step: Step, old: str, new: str) -> Action:
        what = {"path": step.target.path, "old_string": old, "new_string": new}
        return Action(f"Now {step.target.name} gets its values.", "edit", what)
