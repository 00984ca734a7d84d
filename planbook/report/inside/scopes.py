"""The events of an episode as a reader follows them: scope in scope, cell after cell.

Nothing here knows a planning method: whatever scope asks or acts stands where its path puts it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from planbook.envs import Task
from planbook.planner import Cell, Ending, Step
from planbook.planner.graph import NodeAnswered as Node
from planbook.planner.spans import RecordedSpan, Spans
from planbook.planner.strategies.adapt.executor import Subtask
from planbook.planner.strategies.advocate.tree import BranchTried as Branch
from planbook.planner.strategies.advocate.tree import PlanMade as Planned
from planbook.planner.strategies.deps.pursuit import GoalTried as Goal
from planbook.planner.trajectory import as_asked
from planbook.report.inside.evaluated import Graphs, Passed, as_text, shorten
from planbook.report.inside.items import Asked, Began, Ended, Noted, Ran, Rewound, Said, Took, Tried
from planbook.report.inside.places import Item, Place
from planbook.report.inside.searched import Limb, Searched, link
from planbook.report.learnt import step_text
from planbook.store import Event

REPLY = "assistant"


def told(root: str, events: Iterable[Event], anchor: str) -> Place:
    """Everything that happened in a scope and below it. ``anchor`` begins the page's names for its prompts."""
    teller = _Teller(root, anchor)
    listed, spans = as_asked(events), Spans()
    for order, event in enumerate(listed):
        spans.take(event, order)
    ended = {span.end: span for span in spans.recorded()}
    for order, event in enumerate(listed):
        if (span := ended.get(order)) and span.name in TELL_SPANS:
            TELL_SPANS[span.name](teller, span)
        elif event.kind != "span":
            TELL.get(event.kind, _Teller.note)(teller, event)
    link(list(teller.searched.values()), teller.flow)
    shorten(list(teller.passes.values()))
    return teller.root


class _Teller:
    def __init__(self, root: str, anchor: str) -> None:
        self.root, self._anchor = Place(root), anchor
        self._places: dict[str, Place] = {root: self.root}
        self._cells: dict[tuple[str, int], Ran] = {}
        self._steps: dict[str, list[Took]] = {}
        self._before: dict[str, dict[tuple[str, str], str]] = {}
        self._asked = self._acted = 0
        self._graphs = Graphs(anchor)
        self.passes: dict[tuple[str, int], Passed] = {}
        self.searched: dict[tuple[str, int], Searched] = {}
        self.flow: list[Asked | Ran] = []
        """Prompts and cells in the order in which they came, whatever their scopes."""

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
        asked = Asked(anchor, row, messages)
        self.flow.append(asked)
        self._at(event.scope).append(asked)

    def act(self, event: Event) -> None:
        step = Step.model_validate(event.body)
        self._acted += 1
        took = Took(step, self._acted, f"{self._anchor}-step-{self._acted}")
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
        parts = {name: as_text(value) for name, value in event.body.items() if value}
        self._at(event.scope).insert(0, Noted(event.kind, event.n, parts))

    def subtask(self, span: RecordedSpan) -> None:
        self._at(span.scope)
        self._places[span.scope].subtask = Subtask.model_validate(span.data)

    def goal(self, span: RecordedSpan) -> None:
        self._at(span.scope).append(Tried(Goal.model_validate(span.data)))

    def plan(self, span: RecordedSpan) -> None:
        planned = Planned.model_validate(span.data)
        self._search(span.scope, planned.round).plans.append(planned)

    def branch(self, span: RecordedSpan) -> None:
        branch = Branch.model_validate(span.data)
        limb = Limb(branch, None if branch.cell is None else self._ran_in(span.scope, branch.cell))
        self._search(span.scope, branch.round).limbs.append(limb)

    def node(self, span: RecordedSpan) -> None:
        node = Node.model_validate(span.data)
        inner = span.scope.endswith("/0") and f"/{node.node}/" in span.scope
        scope = span.scope.rpartition(f"/{node.node}/")[0] if inner else span.scope
        items, key = self._at(scope), (scope, node.number)
        asked = _taken(items, f"{scope}/{node.node}/")
        evaluated = self._graphs.evaluated(_play(scope), node, asked)
        if key not in self.passes:
            self.passes[key] = Passed(node.number)
            items.append(self.passes[key])
        self.passes[key].nodes.append(evaluated)

    def learnt(self, event: Event) -> None:
        """What a step of learning changed; all that was known then stands in the store."""
        text = step_text(event.scope, event.body)
        self._at(event.scope).append(Noted(event.kind, event.n, {"": as_text(event.body) if text is None else text}))

    def note(self, event: Event) -> None:
        self._at(event.scope).append(Noted(event.kind, event.n, {"": as_text(event.body)}))

    def _at(self, path: str) -> list[Item]:
        """What happened in a scope so far; the scope is put into the one above it when it first appears."""
        if path not in self._places:
            above = "/".join(path.split("/")[:-2])
            self._places[path] = Place(path)
            self._at(above if len(above) > len(self.root.path) else self.root.path).append(self._places[path])
        return self._places[path].items

    def _cell(self, scope: str, number: int) -> Ran:
        if (scope, number) not in self._cells:
            before = self.flow[-1] if self.flow else None
            reply = before.row["reply"]["text"] if isinstance(before, Asked) else ""
            ran = Ran(number, f"{self._anchor}-cell-{len(self._cells)}", reply=reply)
            self._cells[scope, number] = ran
            self._at(scope).append(ran)
            self.flow.append(ran)
        return self._cells[scope, number]

    def _ran_in(self, scope: str, number: int) -> Ran | None:
        """The cell of that number in the frame of a scope, or in one below it."""
        below = (ran for (path, n), ran in self._cells.items() if n == number and path.startswith(f"{scope}/"))
        return self._cells.get((scope, number)) or next(below, None)

    def _search(self, scope: str, number: int) -> Searched:
        """What was tried in a round of planning; it stands where that began."""
        key = (_play(scope), number)
        if key not in self.searched:
            self.searched[key] = Searched(number)
            self._at(scope).append(self.searched[key])
        return self.searched[key]


def _taken(items: list[Item], begin: str) -> tuple[Asked, ...]:
    """The prompts in the scopes whose paths begin so, which are taken out: they stand with their node instead."""
    own = [item for item in items if isinstance(item, Place) and item.path.startswith(begin)]
    items[:] = [item for item in items if not any(item is each for each in own)]
    return tuple(item for each in own for item in each.items if isinstance(item, Asked))


def _play(scope: str) -> str:
    """The part of a scope that says which play of an episode it is in."""
    return scope.partition("/round/")[0]


TELL: Mapping[str, Callable[[_Teller, Event], None]] = {
    "ask": _Teller.ask,
    "act": _Teller.act,
    "rewind": _Teller.rewind,
    "cell": _Teller.cell,
    "task": _Teller.task,
    "outcome": _Teller.outcome,
    "recall": _Teller.recall,
    "learnt": _Teller.learnt,
}
TELL_SPANS: Mapping[str, Callable[[_Teller, RecordedSpan], None]] = {
    "subtask": _Teller.subtask,
    "goal": _Teller.goal,
    "plan": _Teller.plan,
    "branch": _Teller.branch,
    "node": _Teller.node,
}
