"""A toy environment that changes during a run, and a scripted model that adapts to the change.

- ``-o change=renamed``: boxes do not open any more; they have to be pulled.
- ``-o change=reworded``: an observation says in other words what is in a box.
- ``-o change=sticky``: things stick to the hand. An episode goes on until the agent leaves, and a thing has to be put
  down twice after the change.
"""

import json
import re
from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel

from planbook.envs import Observation, Preconditions, Task, action
from planbook.envs.toy import Toy
from planbook.planner import Message, Sampling

REFUSED, NEW_WORDS, HELD = "boxes do not open any more; pull them", "Inside: ", "after the procedure agent.holding is"


class DriftOptions(BaseModel):
    """What changes, and after how many tasks. ``run`` distinguishes runs in the same process."""

    change: str = "renamed"
    after: int = 6
    run: str = ""


class Drifting(Toy):
    """The toy environment with the change that its options name."""

    name = "drifting"
    Options = DriftOptions
    seen_tasks: ClassVar[dict[str, set[str]]] = {}

    def begin(self, task: Task) -> Observation:
        """Begin a task; the environment may have changed since the last one."""
        options = DriftOptions.model_validate(self.options)
        self._change_to_come = options.change
        seen_tasks = self.seen_tasks.setdefault(options.run, set())
        seen_tasks.add(task.id)
        self._change, self._stuck = options.change if len(seen_tasks) > options.after else "", ""
        return super().begin(task)

    @classmethod
    def preconditions(cls, task: Task, options: BaseModel | None = None) -> Preconditions:
        """Declare nothing in advance."""
        return Preconditions({})

    @action("agent.open('box_2') -> 'You open box_2. In it, you see key.'")
    def open(self, box: str) -> Observation:
        """Open a box and see what is in it."""
        if self._change == "renamed":
            return Observation.refused(REFUSED)
        seen = super().open(box)
        return Observation(seen.text.replace("In it, you see ", NEW_WORDS)) if self._change == "reworded" else seen

    @action("agent.put('key') -> 'You put key on the table.'")
    def put(self, thing: str) -> Observation:
        """Put the thing in hand on the table."""
        if self._change == "sticky" and self._holding == thing != self._stuck:
            self._stuck = thing
            return Observation(f"You put {thing} on the table.")
        seen = super().put(thing)
        return seen if self._change_to_come != "sticky" else Observation(seen.text, accepted=seen.accepted)

    @action("agent.leave() -> 'You leave.'")
    def leave(self) -> Observation:
        """Leave, which ends the episode."""
        return Observation("You leave.", terminated=True)

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
        agent.put(thing){again}
        break
"""


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply with a task type, a plan, its continuation or a procedure, adapted to the change once it was observed."""
    conversation = "\n".join(message.content for message in messages)
    *_, thing = re.findall(r"put the (\w+) on the table", conversation)
    if "# Types of tasks that have a procedure" in messages[-1].content:
        return json.dumps({"type": "put_table", "params": {"thing": thing}})
    if messages[-1].content.startswith("# Feedback"):
        return "### Code\n```python\nagent.leave()\n```"
    if "# An earlier attempt" in messages[-1].content and HELD in conversation:
        return f"### Code\n```python\nagent.put({thing!r})\nagent.leave()\n```"
    verb = "pull" if REFUSED in conversation else "open"
    seen = {"verb": verb, "words": NEW_WORDS if NEW_WORDS in conversation else "you see "}
    seen["again"] = "\n        agent.put(thing)" if HELD in conversation else ""
    if "# A task that was done" in messages[-1].content:
        body = PLAN.format(thing='task.params["thing"]', **seen).strip().replace("\n", "\n    ")
        return f"```python\ndef solve(agent, task):\n    {body}\n```"
    return f"### Code\n```python{PLAN.format(thing=repr(thing), **seen)}```"


def answer_with_unnamed_constant(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply like ``answer``, but with a plan that also contains a constant of the goals without giving it a name."""
    reply = answer(messages, sampling)
    place = 'task.params["value"]' if "def solve" in reply else "'table'"
    return re.sub("( *)thing = ", rf"\1assert task.goal.endswith({place})\n\1thing = ", reply)
