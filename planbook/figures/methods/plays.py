"""What the methods of a run recorded of their own (``tried``), play by play, read from the store."""

import re
from collections import Counter, defaultdict
from contextlib import suppress
from typing import Any, NamedTuple

from planbook.figures.methods.records import Branch, Goal, Node, Planned, Subtask
from planbook.planner import EventKind
from planbook.planner.strategies.advocate.replies import read_verdict
from planbook.planner.strategies.deps.baselines import says_done
from planbook.store import RESTART, Event, Store

OF_EPISODE = re.compile(rf"(task/\d+)(?:{RESTART}(\d+))?/round/.+")
"""A scope inside the play of an episode, and how often it had been started over by then."""
KINDS: tuple[EventKind, ...] = ("subtask", "goal", "plan", "branch", "node", "act", "rewind")
"""What is read; a play has a method of the name of each."""
SPEAKING: tuple[EventKind, ...] = ("goal", "plan")
"""Kinds of methods that say in a reply, and nowhere else, what they hold of the task: then those are read, too."""

TASK_DONE = "advocate/task_done.j2"
"""The template of the question whether the whole task is complete (Devil's Advocate and its kin)."""
NEXT_GOAL = "deps/next.j2"
NAMES_GOALS = ("deps/task.j2", NEXT_GOAL)
"""The templates of the questions that Inner Monologue answers with a goal, or with the word that the task is done."""


class Nodes(NamedTuple):
    """How many nodes of prompt graphs were answered, and how many of a pass kept the answer that they had before.

    ``skipped`` are those that had none before, so that nothing was asked of them yet.
    """

    passes: int = 0
    answered: int = 0
    reused: int = 0
    temporary: int = 0
    skipped: int = 0


class Play:
    """One play of an episode, in the order in which things happened."""

    def __init__(self) -> None:
        self.subtasks: list[Subtask] = []
        self.goals: list[Goal] = []
        self.plans: list[Planned] = []
        self.branches: list[Branch] = []
        self.actions: Counter[int] = Counter()
        """Those that count, by the round of the plan that they were taken under; undone ones too."""
        self.last_act: Any = None
        """The last action with its observation, as recorded."""
        self.judged: bool | None = None
        """Whether an evaluator held the task to be complete, where nothing was done after that."""
        self.over_and_out = False
        """Whether the planner said at last that nothing is left to do."""
        self.asked_since = False
        """Whether a model was asked after the last goal."""
        self.one_by_one = False
        """Whether goals were named one at a time, each after what came of the one before."""
        self._lasting: defaultdict[str, list[bool]] = defaultdict(list)
        self._passes: set[tuple[str, int]] = set()
        self._nodes: Counter[str] = Counter()
        self._answered: set[str] = set()
        self._gone_behind: set[tuple[str, int]] = set()

    @property
    def ended(self) -> bool:
        """Whether the world's own episode ended with the last action."""
        seen = self.last_act["observation"] if self.last_act else {}
        return bool(seen.get("terminated") or seen.get("truncated"))

    @property
    def lasting(self) -> int:
        """Actions that changed what no rewind brings back."""
        return sum(map(sum, self._lasting.values()))

    @property
    def lasting_gone_behind(self) -> int:
        """Those of them that were left by a rewind, which did not undo them."""
        return sum(self._lasting[scope][number] for scope, number in self._gone_behind)

    @property
    def nodes(self) -> Nodes:
        """What prompt graphs did."""
        return Nodes(len(self._passes), *(self._nodes[name] for name in Nodes._fields[1:]))

    def subtask(self, event: Event) -> None:
        """Keep a sub-task."""
        self.subtasks.append(Subtask.model_validate(event.body))

    def goal(self, event: Event) -> None:
        """Keep a goal."""
        self.asked_since = False
        self.goals.append(Goal.model_validate(event.body))

    def plan(self, event: Event) -> None:
        """Keep a plan: what is done from now on is done under it."""
        self.judged = None
        self.plans.append(Planned.model_validate(event.body))

    def branch(self, event: Event) -> None:
        """Keep a branch."""
        self.branches.append(Branch.model_validate(event.body))

    def node(self, event: Event) -> None:
        """Counted only: a game of many steps has more answers than need to be kept."""
        node = Node.model_validate(event.body)
        self._passes.add((event.scope, node.number))
        if not node.skipped:
            self._answered.add(node.node)
        reused = "reused" if node.node in self._answered else "skipped"
        self._nodes[reused if node.skipped else "answered"] += 1
        self._nodes["temporary"] += node.temporary

    def act(self, event: Event) -> None:
        """Count an action."""
        body: Any = event.body
        self.last_act, self.judged = body, None
        self.actions[self.plans[-1].round if self.plans else 0] += bool(body["counted"])
        self._lasting[event.scope].append(bool(body["observation"].get("lasting")))

    def rewind(self, event: Event) -> None:
        """Note which actions were gone back behind."""
        body: Any = event.body
        self.judged = None
        taken = len(self._lasting[event.scope])
        self._gone_behind |= {(event.scope, number) for number in range(body["steps"], taken)}

    def ask(self, event: Event) -> None:
        """Keep what a reply says of the whole task."""
        body: Any = event.body
        self.asked_since = True
        self.one_by_one = self.one_by_one or body["template"] == NEXT_GOAL
        self.over_and_out = body["template"] in NAMES_GOALS and says_done(body["reply"]["text"])
        if body["template"] == TASK_DONE:
            with suppress(ValueError):  # asked again; what stays unusable is no verdict
                self.judged = read_verdict(body["reply"]["text"])


class Deeds:
    """What was recorded of that, by the path of the episode. Of one that was started over, the last play counts."""

    def __init__(self, env: str = "") -> None:
        self.env = env if env.partition(":")[0].endswith(".py") else ""
        """The environment of the user's own that was played, by its file; empty for others, which tasks name."""
        self._last: dict[str, int] = {}
        self._plays: defaultdict[tuple[str, int], Play] = defaultdict(Play)

    def take(self, event: Event) -> None:
        """Keep an event, if it is one; they come in the order in which they were written."""
        if event.kind not in (*KINDS, "ask"):
            return
        if inside := OF_EPISODE.fullmatch(event.scope):
            path, again = inside[1], int(inside[2] or 0)
            self._last[path] = max(again, self._last.get(path, 0))
            getattr(self._plays[path, again], event.kind)(event)

    def play(self, path: str) -> Play:
        """All of it, of an episode."""
        return self._plays.get((path, self._last.get(path, 0)), Play())


def deeds_in(store: Store, env: str = "") -> Deeds:
    """All that a run's methods have recorded so far, in the environment of that name."""
    found = Deeds(env)
    speaks = next(store.events(kind=SPEAKING), None) is not None
    for event in store.events(kind=(*KINDS, "ask") if speaks else KINDS):
        found.take(event)
    return found
