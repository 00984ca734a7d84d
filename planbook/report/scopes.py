"""The events of an episode as a reader follows them: scope in scope, cell after cell.

Nothing here knows a planning method: whatever scope asks or acts stands where its path puts it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from envs import Task
from planbook.deeds import Goal, Subtask
from planbook.report.items import Asked, Began, Ended, Item, Noted, Place, Ran, Rewound, Said, Took, Tried
from planbook.report.learnt import step_text
from planbook.store import Event
from planner import Cell, Ending, Step

REPLY = "assistant"


def told(root: str, events: Iterable[Event], anchor: str) -> Place:
    """Everything that happened in a scope and below it. ``anchor`` begins the page's names for its prompts."""
    teller = _Teller(root, anchor)
    for event in events:
        TELL.get(event.kind, _Teller.note)(teller, event)
    return teller.root


class _Teller:
    def __init__(self, root: str, anchor: str) -> None:
        self.root, self._anchor = Place(root), anchor
        self._places: dict[str, Place] = {root: self.root}
        self._cells: dict[tuple[str, int], Ran] = {}
        self._steps: dict[str, list[Took]] = {}
        self._before: dict[str, dict[tuple[str, str], str]] = {}
        self._asked = 0

    def ask(self, event: Event) -> None:
        """A message that stood in the scope's previous prompt, or was its reply, is named by where it stands."""
        row: Any = event.body
        anchor = f"{self._anchor}-ask-{self._asked}"
        self._asked += 1
        before, now = self._before.get(event.scope, {}), dict[tuple[str, str], str]()
        messages = []
        for number, message in enumerate(row["messages"]):
            key = (message["role"], message["content"])
            own = f"{anchor}-{number}"
            messages.append(Said(*key, own, before.get(key, "")))
            now[key] = before.get(key, own)
        now[REPLY, row["reply"]["text"]] = f"{anchor}-reply"
        self._before[event.scope] = now
        self._at(event.scope).append(Asked(anchor, row, messages))

    def act(self, event: Event) -> None:
        step = Step.model_validate(event.body)
        took = Took(step)
        self._cell(step.scope, step.cell).steps.append(took)
        self._steps.setdefault(event.scope, []).append(took)

    def rewind(self, event: Event) -> None:
        """Mark the steps of the round after the mark as undone; they stay where they are."""
        body: Any = event.body
        for took in self._steps.get(event.scope, [])[body["steps"] :]:
            took.undone = True
        self._at(body["path"]).append(Rewound(body["steps"]))

    def cell(self, event: Event) -> None:
        cell = Cell.model_validate(event.body)
        self._cell(cell.scope, cell.number).cell = cell

    def task(self, event: Event) -> None:
        body: Any = event.body
        began = Began(Task.model_validate(body["task"]), body["observation"]["text"])
        self._at(event.scope).append(began)

    def outcome(self, event: Event) -> None:
        self._at(event.scope).append(Ended(Ending.model_validate(event.body)))

    def recall(self, event: Event) -> None:
        """What was known stands before what was done with it, though the world was reset before it was asked for."""
        parts = {name: _as_text(value) for name, value in event.body.items() if value}
        self._at(event.scope).insert(0, Noted(event.kind, event.n, parts))

    def subtask(self, event: Event) -> None:
        self._at(event.scope)
        self._places[event.scope].subtask = Subtask.model_validate(event.body)

    def goal(self, event: Event) -> None:
        self._at(event.scope).append(Tried(Goal.model_validate(event.body)))

    def learnt(self, event: Event) -> None:
        """What a step of learning changed; all that was known then stands in the store."""
        text = step_text(event.scope, event.body)
        self._at(event.scope).append(Noted(event.kind, event.n, {"": _as_text(event.body) if text is None else text}))

    def note(self, event: Event) -> None:
        self._at(event.scope).append(Noted(event.kind, event.n, {"": _as_text(event.body)}))

    def _at(self, path: str) -> list[Item]:
        """What happened in a scope so far; the scope is put into the one above it when it first appears."""
        if path not in self._places:
            above = "/".join(path.split("/")[:-2])
            self._places[path] = Place(path)
            self._at(above if len(above) > len(self.root.path) else self.root.path).append(self._places[path])
        return self._places[path].items

    def _cell(self, scope: str, number: int) -> Ran:
        if (scope, number) not in self._cells:
            self._cells[scope, number] = Ran(number)
            self._at(scope).append(self._cells[scope, number])
        return self._cells[scope, number]


TELL: Mapping[str, Callable[[_Teller, Event], None]] = {
    "ask": _Teller.ask,
    "act": _Teller.act,
    "rewind": _Teller.rewind,
    "cell": _Teller.cell,
    "task": _Teller.task,
    "outcome": _Teller.outcome,
    "recall": _Teller.recall,
    "learnt": _Teller.learnt,
    "subtask": _Teller.subtask,
    "goal": _Teller.goal,
}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
