"""The table of results of a run: a row for each episode, and the spending outside episodes, read in one pass.

Every event is read once, in one query, so a run that is still played is seen at one moment.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from planbook.planner import Outcome, Spent, bulky_fields, cost_of, figures_of
from planbook.results.learning_cost import Paying, learning_behind
from planbook.results.measures import known_milestones
from planbook.results.rows import NOTHING, Result
from planbook.results.summary import Summary, summarise
from planbook.runs import Run, index_of, set_aside
from planbook.spending import Price, prices_from
from planbook.store import Event


@dataclass(frozen=True)
class Speaker:
    """A role and its model; ``served`` is the name of the model that the server reported."""

    role: str
    model: str
    served: str


@dataclass
class RunResults:
    """A run at one moment; ``order`` lists the episodes that had ended, in the order of their ends."""

    run: Run
    name: str
    """The displayed name of the run, unique among the runs shown with it."""
    price: Price
    episodes: dict[int, Result]
    """The rows, by the number of the episode."""
    order: list[int] = field(default_factory=list)
    outside: list[Event] = field(default_factory=list)
    """Events outside every episode."""
    outside_cost: Spent = NOTHING
    speakers: dict[Speaker, Spent] = field(default_factory=dict)
    prompts: dict[str, Spent] = field(default_factory=dict)
    """Spending by prompt: the name of a template, or of a node of a graph."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions that the environment reported."""
    set_aside: frozenset[str] = frozenset()
    """Scopes of endings that do not count because their episodes are played again."""
    first: float | None = None
    last: float | None = None
    """Times of the first and the last event that was played, in seconds since 1970."""
    _invocations: int = 0
    _strays: set[int] = field(default_factory=set)
    """Numbers of ended episodes that the run does not list."""
    _summary: Summary | None = None

    @classmethod
    def empty(cls, run: Run, name: str, price: Price | None = None) -> "RunResults":
        """Return the table before any event is read; the default prices are those that ship."""
        env = run.config.env if run.config.env.partition(":")[0].endswith(".py") else ""
        copied, bulky = bool(run.config.copies), bulky_fields(run.config.planner)
        rows = (Result(entry, name, env, copied, bulky) for entry in run.entries())
        return cls(run, name, price or prices_from(None), {row.index: row for row in rows}, set_aside=set_aside(run))

    def take(self, event: Event) -> None:
        """Read the next event. An episode that was copied from another run costs nothing here."""
        self._summary = None
        own = self.run.is_own(event)
        cost = cost_of(event.kind, event.body, self.price)
        self.first = event.at if self.first is None else self.first
        self.last = max(event.at, self.last or 0.0)
        self._invocations += event.kind == "sitting"
        if (event.scope, event.kind) == ("run", "versions"):
            self.versions.update({name: str(version) for name, version in event.body.items()})
        elif row := self.episodes.get(index_of(event.scope)):
            if row.take(event, cost, self._invocations, self.set_aside):
                self.order.append(row.index)
        else:
            if event.kind == "outcome" and index_of(event.scope) >= 0:
                self._strays.add(index_of(event.scope))
            self.outside.append(event)
            self.outside_cost += (cost if own else None) or NOTHING
        if own and event.kind == "ask":
            self._add_call(event.body, cost or NOTHING)

    def _add_call(self, body: Any, cost: Spent) -> None:
        speaker = Speaker(body["role"], body["model"], body["reply"]["model"])
        prompt = str(body["template"])
        self.speakers[speaker] = self.speakers.get(speaker, NOTHING) + cost
        self.prompts[prompt] = self.prompts.get(prompt, NOTHING) + cost

    @property
    def counted(self) -> list[Result]:
        """The rows without building tasks that were left out on purpose."""
        return [row for row in self.episodes.values() if not row.is_skipped]

    def so_far(self) -> "RunResults":
        """Return the table without episodes that have not ended."""
        ended = {*self.order, *(row.index for row in self.episodes.values() if row.is_skipped)}
        return replace(self, episodes={index: self.episodes[index] for index in sorted(ended)}, _summary=None)

    @property
    def skipped(self) -> int:
        """The number of building tasks that were left out on purpose."""
        return sum(row.is_skipped for row in self.episodes.values())

    @property
    def builds(self) -> bool:
        """True for a building run, whose later tasks are played with more knowledge."""
        return self.run.config.learning is not None

    @property
    def environments(self) -> frozenset[str]:
        """The environments of its tasks."""
        return frozenset(row.entry.task.env for row in self.counted)

    def contradictions(self) -> list[str]:
        """Return endings that contradict their verdict or belong to no task; there should be none."""
        mismatches = [
            f"{row.name}: the outcome is {row.outcome.value}, the verdict beside it "
            f"{'solved' if row.ending.verdict.solved else 'not solved'}"
            for row in self.episodes.values()
            if row.outcome is not Outcome.NOT_RUN and row.solved != row.ending.verdict.solved
        ]
        strays = sorted(self._strays)
        return [*mismatches, *(f"task/{index}: an outcome of a task that the run does not list" for index in strays)]

    @property
    def seconds(self) -> float:
        """Time from the first event to the last, with pauses."""
        return (self.last or 0.0) - (self.first or 0.0)

    @property
    def cost(self) -> Spent:
        """All spending of the run itself."""
        return sum((row.cost for row in self.episodes.values()), self.outside_cost)

    @cached_property
    def learning_behind(self) -> Spent | None:
        """The spending of earlier runs on learning the knowledge of this one; None if it is not known."""
        return learning_behind(self.run.config, self.price)

    def paying(self, rows: Sequence[Result] | None = None) -> Paying | None:
        """Return the cost of a solved task with learning included, over all rows or the given ones.

        Spending outside episodes is learning. None for a forked episode, and if the spending of earlier runs on
        learning is not known.
        """
        if self.learning_behind is None or self.run.forked:
            return None
        rows = list(self.episodes.values()) if rows is None else rows
        playing = sum((row.cost for row in rows), NOTHING)
        return Paying.of(sum(row.solved for row in rows), playing, self.outside_cost + self.learning_behind)

    def summary(self, seconds: float | None = None, spent: Spent | None = None) -> Summary:
        """Return the summary of the run; ``seconds`` and ``spent`` replace the values that were read."""
        if self._summary is None or seconds is not None:
            self._summary = summarise(
                list(self.episodes.values()),
                self.seconds if seconds is None else seconds,
                str(self.run.folder),
                spent or self.cost,
                known_milestones(self.run.config),
                self.run.unjudgeable,
                figures_of(self.run.config.planner),
                self.paying(),
            )
        return self._summary

    def events(self, row: Result) -> Iterator[Event]:
        """Yield the events of an episode that existed when the run was read."""
        return islice(self.run.store.events(row.entry.path), row.events)


def read_run(run: Run, name: str = "", price: Price | None = None) -> RunResults:
    """Read a run, which may be unfinished or still be played; the default prices are those that ship."""
    results = RunResults.empty(run, name or str(run.folder), price)
    for event in run.store.events():
        if (event.scope, event.kind) != ("run", "task"):
            results.take(event)
    return results


def read_folder(folder: Path, price: Price | None = None) -> RunResults:
    """Read the run in a folder and close it; events outside episodes are not kept. Raises BadRun."""
    with closing(Run.open(folder)) as run:
        results = read_run(run, str(folder), price)
    results.outside.clear()
    return results
