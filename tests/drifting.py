"""A toy environment that changes during a run, and a model that notices: ``-o change=renamed`` or ``reworded``."""

import json
import re
from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel

from planbook.envs import Observation, Preconditions, Task, action
from planbook.envs.toy import Toy
from planbook.planner import Message, Sampling

REFUSED, NEW_WORDS = "boxes do not open any more; pull them", "Inside: "


class DriftOptions(BaseModel):
    """What changes, and after how many tasks. ``run`` tells runs of one process apart."""

    change: str = "renamed"
    after: int = 6
    run: str = ""


class Drifting(Toy):
    """Boxes are opened until then, and pulled afterwards; or what is in them is worded otherwise."""

    name = "drifting"
    Options = DriftOptions
    begun: ClassVar[dict[str, set[str]]] = {}

    def begin(self, task: Task) -> Observation:
        """Begin a task, which the environment may have changed before."""
        options = DriftOptions.model_validate(self.options)
        begun = self.begun.setdefault(options.run, set())
        begun.add(task.id)
        self._change = options.change if len(begun) > options.after else ""
        return super().begin(task)

    @classmethod
    def preconditions(cls, task: Task, options: BaseModel | None = None) -> Preconditions:
        """Say nothing beforehand."""
        return Preconditions({})

    @action("agent.open('box_2') -> 'You open box_2. In it, you see key.'")
    def open(self, box: str) -> Observation:
        """Open a box and see what is in it."""
        if self._change == "renamed":
            return Observation.refused(REFUSED)
        seen = super().open(box)
        return Observation(seen.text.replace("In it, you see ", NEW_WORDS)) if self._change else seen

    @action("agent.pull('box_2') -> 'You open box_2. In it, you see key.'")
    def pull(self, box: str) -> Observation:
        """Pull a box and see what is in it."""
        return super().open(box) if self._change == "renamed" else Observation.refused("boxes cannot be pulled")


PLAN = """
thing = {thing}
boxes = [word.strip(",.") for word in task.observation.split() if word.startswith("box_")]
for box in boxes:
    if thing in agent.{verb}(box).split("{words}")[1]:
        agent.take(thing, box)
        agent.put(thing)
        break
"""


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """The type of a goal, a plan, or the procedure that it makes; the last two do as was seen last of boxes."""
    told = "\n".join(message.content for message in messages)
    *_, thing = re.findall(r"put the (\w+) on the table", told)
    if "# Types of tasks that have a procedure" in messages[-1].content:
        return json.dumps({"type": "put_table", "params": {"thing": thing}})
    verb = "pull" if REFUSED in told else "open"
    said = NEW_WORDS if NEW_WORDS in told else "you see "
    if "# A task that was done" in messages[-1].content:
        body = PLAN.format(thing='task.params["thing"]', verb=verb, words=said).strip().replace("\n", "\n    ")
        return f"```python\ndef solve(agent, task):\n    {body}\n```"
    return f"### Code\n```python{PLAN.format(thing=repr(thing), verb=verb, words=said)}```"
