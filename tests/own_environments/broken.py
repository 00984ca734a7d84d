"""An environment whose action fails in a different way on each task. The plan is never at fault."""

import sys
from collections.abc import Sequence
from typing import Any

import beside
from pydantic import BaseModel

from planbook.envs import Environment, Selection, Task, Verdict, action

FAULTS = ("sound", "raises", "returns a number", "exits", "fails with the argument")


class Broken(Environment):
    """A door that may be broken."""

    name, types, splits = "broken", FAULTS, ("all",)

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        return [Task(id=kind, env="broken", split="all", type=kind, goal="open the door") for kind in FAULTS]

    def begin(self, task: Task) -> Any:
        self.kind, self.open = task.type, False
        return "A door."

    @action("agent.push('north') -> 'It opens.'")
    def push(self, way: str) -> Any:
        """Push the door."""
        if self.kind == "raises":
            return beside.half(0)
        if self.kind == "returns a number":
            return 7
        if self.kind == "exits":
            sys.exit(3)
        if self.kind == "fails with the argument":
            return {"north": "It opens."}[way + "west"]
        self.open = True
        return "It opens."

    def verdict(self) -> Verdict:
        return Verdict(self.open, float(self.open))
