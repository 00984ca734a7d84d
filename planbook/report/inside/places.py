"""The scopes of an episode as a page has them, each with what happened in it; those of sub-tasks as a tree."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from planbook.planner.roles import PLANNER
from planbook.planner.strategies.adapt.executor import Subtask
from planbook.report.inside.evaluated import Passed
from planbook.report.inside.items import Asked, Began, Ended, Noted, Ran, Rewound, Took, Tried
from planbook.report.inside.searched import Searched


@dataclass
class Place:
    """A scope, with what happened in it in order; a scope below it stands where it began."""

    kind: ClassVar[str] = "place"
    path: str
    items: list["Item"] = field(default_factory=list)
    subtask: Subtask | None = None
    """What somebody was given to do there, where that was recorded."""

    @property
    def below(self) -> str:
        """The last two parts of the path: the scope's name and number."""
        return "/".join(self.path.split("/")[-2:])


@dataclass
class Branch:
    """A sub-task: what the executor did with it, and, where that was not enough, how the planner took it apart."""

    kind: ClassVar[str] = "branch"
    executor: Place | None
    planner: Place | None

    @property
    def subtask(self) -> Subtask:
        """As it was left: the planner has the last word."""
        last = self.planner or self.executor
        assert last is not None
        assert last.subtask is not None
        return last.subtask


Item = Took | Asked | Ran | Began | Rewound | Ended | Noted | Place | Branch | Tried | Searched | Passed


def grown(place: Place) -> Place:
    """The place with the scopes of sub-tasks put together as a tree, one branch for each sub-task."""
    items: list[Item] = []
    for item in place.items:
        if not isinstance(item, Place):
            items.append(item)
            continue
        inside, before = grown(item), items[-1] if items else None
        if inside.subtask is None:
            items.append(inside)
        elif inside.subtask.by != PLANNER:
            items.append(Branch(inside, None))
        elif isinstance(before, Branch) and before.planner is None and before.subtask.text == inside.subtask.text:
            before.planner = inside
        else:
            items.append(Branch(None, inside))
    return replace(place, items=items)
