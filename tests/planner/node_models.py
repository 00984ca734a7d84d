"""A kit for tests of AgentKit: scripted models that reply by graph node, and whole episodes in any environment."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planbook.envs import Selection, Task, load_environment
from planbook.planner import Ending, Episode, Message, Model, Sampling, ScriptedModel
from planbook.planner.models.types import current_question
from planbook.sandbox import Sandbox
from tests.planner import episode_kit

Reply = str | Mapping[str, Any] | Sequence[Any] | Callable[[int], Any]
"""A text, a list of texts in turn, another JSON value, or a function of the number of earlier requests of the node."""


class NodeModels:
    """Scripted models that reply by the node that asks. A node for which no reply is given gets its name."""

    def __init__(self, replies: Mapping[str, Reply] | None = None, **more: Reply) -> None:
        self.replies = {**(replies or {}), **more}
        self.asked: list[tuple[str, str, str]] = []
        """Role, node and question of every request."""
        self._counts: Counter[str] = Counter()

    @property
    def names(self) -> list[str]:
        """Return the nodes that asked, in order."""
        return [node for _, node, _ in self.asked]

    def questions(self, node: str) -> list[str]:
        """Return the last message of every request of a node."""
        return [text for _, name, text in self.asked if name == node]

    def prompt(self, node: str) -> str:
        """Return the last prompt of a node."""
        return self.questions(node)[-1]

    def model(self, role: str) -> Model:
        """Return the model of a role."""

        def answer(messages: Sequence[Message], sampling: Sampling) -> str:
            node = current_question().label.partition(": ")[2]
            self.asked.append((role, node, messages[-1].content))
            return self.say(node)

        return ScriptedModel(answer, name=f"the {role}'s")

    def say(self, node: str) -> str:
        """Return the next reply to a node."""
        reply, number = self.replies.get(node, f"{node} says so"), self._counts[node]
        self._counts[node] += 1
        if callable(reply):
            reply = reply(number)
        elif isinstance(reply, list) and isinstance(reply[0], str):
            reply = reply[min(number, len(reply) - 1)]
        return reply if isinstance(reply, str) else json.dumps(reply)


def task_of(environment: str, task: str) -> Task:
    """Return the task with this id."""
    return load_environment(environment).select(Selection(ids=(task,)))[0]


def played(
    sandbox: Sandbox, nodes: NodeModels, environment: str, task: str, *, method: str = "agentkit", **settings: Any
) -> tuple[Ending, Episode]:
    """Play a whole episode."""
    return episode_kit.played(
        sandbox, nodes, method, environment=load_environment(environment)(), task=task_of(environment, task), **settings
    )
