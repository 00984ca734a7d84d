"""For the tests of AgentKit: models that reply by the node that asks, and whole episodes on any environment."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planbook.envs import Selection, Task, load_environment
from planbook.planner import (
    METHODS,
    Ending,
    Episode,
    EpisodeSettings,
    Journal,
    MemoryJournal,
    Message,
    Model,
    Sampling,
    ScriptedModel,
    play,
)
from planbook.planner.models.types import label
from planbook.planner.roles import Roles
from planbook.sandbox import Sandbox

Reply = str | Mapping[str, Any] | Sequence[Any] | Callable[[int], Any]
"""A text, what stands as JSON, or either by how often the node was asked before."""


class Nodes:
    """A model for all roles: what each node replies. A node that is not there says that nothing is to be said."""

    def __init__(self, replies: Mapping[str, Reply]) -> None:
        self.replies = dict(replies)
        self.asked: list[tuple[str, str, str]] = []
        """Role, node and question, of every request."""
        self._counts: Counter[str] = Counter()

    @property
    def names(self) -> list[str]:
        """The nodes that asked, in order."""
        return [node for _, node, _ in self.asked]

    def questions(self, node: str) -> list[str]:
        """What a node asked, in order; of a repaired reply, the repair."""
        return [text for _, name, text in self.asked if name == node]

    def model(self, role: str) -> Model:
        """The model of a role."""

        def answer(messages: Sequence[Message], sampling: Sampling) -> str:
            node = label().partition(": ")[2]
            self.asked.append((role, node, messages[-1].content))
            reply = self.replies.get(node, "Nothing is to be said.")
            number = self._counts[node]
            self._counts[node] += 1
            return _text(reply(number) if callable(reply) else reply)

        return ScriptedModel(answer, name=f"the {role}'s")


def _text(reply: Any) -> str:
    return reply if isinstance(reply, str) else json.dumps(reply)


def task_of(environment: str, task: str) -> Task:
    """The task of that id."""
    return load_environment(environment).select(Selection(ids=(task,)))[0]


def episode(
    sandbox: Sandbox, nodes: Nodes, environment: str, task: str, *, journal: Journal | None = None, actions: int = 60
) -> Episode:
    """An episode whose nodes reply as they are told to."""
    return Episode(
        task_of(environment, task),
        load_environment(environment)(),
        sandbox,
        journal if journal is not None else MemoryJournal(),
        settings=EpisodeSettings(actions=actions),
        roles=Roles(nodes.model, {}),
    )


def played(
    sandbox: Sandbox,
    nodes: Nodes,
    environment: str,
    task: str,
    *,
    method: str = "agentkit",
    options: Mapping[str, Any] | None = None,
    **given: Any,
) -> tuple[Ending, Episode]:
    """A whole episode."""
    playing = episode(sandbox, nodes, environment, task, **given)
    chosen = METHODS[method]
    return play(playing, chosen.play, chosen.options.model_validate(options or {})), playing
