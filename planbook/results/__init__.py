"""The table of results of a run: a row for each episode, and the costs outside episodes.

All events are read in a single query, so the table is a consistent snapshot even while the run is being played.

- ``rows`` defines ``EpisodeResult``, the row of an episode.
- ``summary`` counts the episodes of a run by outcome, and the agents' claims about their tasks. It formats the counts
  as sentences and small tables, together with the statistics that the run's planning method computes.
- ``measures`` averages the measures of environments, counts milestones, and counts how goals were matched with found
  task types.
- ``learning_cost`` computes the cost of learning, and when it pays off.
- ``statistics`` computes confidence intervals and significance tests.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from planbook.config import SHIPPED_LIBRARY
from planbook.envs import MissingRequirement
from planbook.errors import BadRun
from planbook.knowledge import FAILURE_KEY, LEARNED
from planbook.planner import INVOCATION, Outcome, Spending, bulky_fields, cost_of, figures_of
from planbook.results.learning_cost import BuildingState, LearningPayoff, state_after
from planbook.results.measures import known_milestones
from planbook.results.rows import NOT_PLAYED, NOTHING, EpisodeResult
from planbook.results.summary import Summary, summarise
from planbook.runs import AGAIN, Run, RunInputs, index_of, recorded_inputs
from planbook.spending import PlayedTime, Pricing
from planbook.store import Event

FORMULATING_SCOPE = "formulate/"
COUNTED_KNOWLEDGE = ("rules", "skills", "reflections", "procedures")
"""The parts of the knowledge that are counted after each task of a run of `planbook build`."""


def _model_name(body: Any) -> str:
    """Return the name of the model that was asked. If its server reported a different name, add that name."""
    model, served = body["model"], body["reply"]["model"]
    return str(model) if served in ("", model) else f"{model}, served as {served}"


CALL_FACTS: Mapping[str, Callable[[Any], str]] = {
    "role": lambda body: str(body["role"]),
    "model": _model_name,
    "prompt": lambda body: str(body["template"]),
}
"""Maps the name of each fact about model calls to a function that returns it. Spending is summed by fact and value."""
COSTS_MISSING = "for {} episodes, only the endings were exported, so calls, tokens and money are too low"


@dataclass
class RunResults:
    """The table of results of a run, made by reading its events.

    ``order`` lists the indexes of the ended episodes, in the order in which they ended.
    """

    run: Run
    name: str
    """The name under which the run is shown. If several runs are shown together, their names differ."""
    price: Pricing
    episodes: dict[int, EpisodeResult]
    """Maps the index of each episode to its row."""
    order: list[int] = field(default_factory=list)
    outside_events: list[Event] = field(default_factory=list)
    """Events that belong to no episode."""
    outside_cost: Spending = NOTHING
    building_states: list[BuildingState] = field(default_factory=list)
    """The knowledge and the costs of a run of `planbook build` after each task."""
    costs: dict[str, dict[str, Spending]] = field(default_factory=lambda: {fact: {} for fact in CALL_FACTS})
    """Maps "role", "model" and "prompt" to dicts from names to spending. Prompts have names of templates or nodes."""
    answering_models: dict[str, None] = field(default_factory=dict)
    """The names of the models that answered, including those in episodes that were copied from other runs."""
    versions: dict[str, str] = field(default_factory=dict)
    """Maps names of software to the versions that the environment reported."""
    first_time: float | None = None
    last_time: float | None = None
    """Times of the first and the last event, in seconds since 1970. Events that only list the episodes are ignored."""
    inputs: list[RunInputs] = field(default_factory=list)
    """The inputs with which the run was played: several if they changed before a resume, none if nothing was played."""
    _new_inputs: RunInputs | None = None
    """The current inputs, until an event shows that they are used."""
    _spent_without_manual: Spending = NOTHING
    _time: PlayedTime = field(default_factory=PlayedTime)
    _invocations: int = 0
    _strays: set[int] = field(default_factory=set)
    """Indexes of ended episodes that the run does not list."""
    _summary: Summary | None = None

    @classmethod
    def empty(cls, run: Run, name: str, price: Pricing | None = None) -> "RunResults":
        """Return the table of a run before any event is read. The default ``price`` is from the run's price table."""
        is_copied, bulky = bool(run.config.copies_episodes), bulky_fields(run.config.planner)
        rows = (EpisodeResult(entry, run.file.answer_action, is_copied, bulky) for entry in run.entries())
        return cls(run, name, price or run.pricing, {row.index: row for row in rows}, _new_inputs=run.initial_inputs)

    def take(self, event: Event) -> Iterable[int]:
        """Add the next event to the table, and return the indexes of the episodes that it changes.

        If the event belongs to an episode that was copied from another run, its cost is not added to the run's costs.
        """
        if (event.scope, event.kind) == ("run", "task"):  # an entry of the list of episodes, which ``empty`` has read
            return ()
        self._summary = None
        cost = cost_of(event.kind, event.body, self.price)
        own_cost = cost if self.run.is_own(event) else None
        self.first_time = event.at if self.first_time is None else self.first_time
        self.last_time = max(event.at, self.last_time or 0.0)
        self._time.take(event)
        if self._new_inputs is not None and event.scope != "run":
            self.inputs.append(self._new_inputs)
            self._new_inputs = None
        changed = self._take_invocation_event(event) if event.kind == INVOCATION else set[int]()
        if (event.scope, event.kind) == ("run", "versions"):
            for name, version in event.body.items():
                earlier = self.versions.get(name, "").split(", ")
                self.versions[name] = ", ".join(filter(None, dict.fromkeys([*earlier, str(version)])))
        elif row := self.episodes.get(index_of(event.scope)):
            changed = {row.index}
            if row.take(event, cost, self._invocations):
                self.order.append(row.index)
        else:
            self._take_outside(event, own_cost or NOTHING)
        if event.kind == "ask":
            body: Any = event.body
            self.answering_models[str(body["reply"]["model"] or body["model"])] = None
        if own_cost:
            self._add_cost(event, own_cost)
        return changed

    def _take_invocation_event(self, event: Event) -> set[int]:
        """Count an invocation. Drop the endings of the episodes that it plays again, and return their indexes."""
        body: Any = event.body
        self._invocations += 1
        self._new_inputs = recorded_inputs(body) or self._new_inputs
        played_again = self.episodes.keys() & map(index_of, body.get(AGAIN, ()))
        self.order = [index for index in self.order if index not in played_again]
        for index in played_again:
            self.episodes[index].ending = NOT_PLAYED
        return played_again

    def _take_outside(self, event: Event, cost: Spending) -> None:
        if event.kind == "outcome" and index_of(event.scope) >= 0:
            self._strays.add(index_of(event.scope))
        if self.is_building_run and event.kind == "learned" and FAILURE_KEY not in event.body:
            match = LEARNED.fullmatch(event.scope)
            if match and int(match[1]) in self.episodes:
                self._add_building_state(int(match[1]), event.body)
        self.outside_events.append(event)
        self.outside_cost += cost

    def _add_cost(self, event: Event, cost: Spending) -> None:
        if not event.scope.startswith(FORMULATING_SCOPE):
            self._spent_without_manual += cost
        if event.kind == "ask":
            for fact, name_of in CALL_FACTS.items():
                totals, name = self.costs[fact], name_of(event.body)
                totals[name] = totals.get(name, NOTHING) + cost

    def _add_building_state(self, index: int, body: Any) -> None:
        """Record what a run of `planbook build` has learned and spent after an episode."""
        counts = {name: len(body["knowledge"][name]) for name in COUNTED_KNOWLEDGE}
        spent = {name: getattr(self._spent_without_manual, name) for name in ("calls", "tokens", "actions")}
        self.building_states.append(BuildingState(tasks=index + 1, **spent, **counts))

    @property
    def counted_rows(self) -> list[EpisodeResult]:
        """The rows of all episodes, except those that a run of `planbook build` skipped."""
        return [row for row in self.episodes.values() if not row.is_skipped]

    def so_far(self) -> "RunResults":
        """Return a table with only the rows of episodes that have ended or were skipped."""
        ended = {*self.order, *(row.index for row in self.episodes.values() if row.is_skipped)}
        table = copy(self)  # also copies the cached ``earlier_learning``
        table.episodes, table._summary = {index: self.episodes[index] for index in sorted(ended)}, None
        return table

    @property
    def is_building_run(self) -> bool:
        """True for a run of `planbook build`, and for a run that was imported from one.

        Such a run plays later tasks with more knowledge than earlier ones.
        """
        origins = self.run.imported.configs if self.run.imported else []
        return self.run.config.learning is not None or any(config.get("learning") for config in origins)

    @property
    def environments(self) -> frozenset[str]:
        """The names of the environments to which the run's tasks belong."""
        return frozenset(row.entry.task.env for row in self.counted_rows)

    @property
    def all_milestones(self) -> Sequence[str]:
        """The milestones of the environment, if they are the same for every task."""
        return self.run.file.milestones or known_milestones(self.run.config)

    @property
    def without_costs(self) -> int:
        """The number of episodes of which only the ending was exported, so that their costs are unknown."""
        return sum(row.spent.actions < row.ending.actions for row in self.counted_rows)

    def contradictions(self) -> list[str]:
        """Describe errors in the run's record: endings that contradict their verdict, or belong to no listed task."""
        mismatches = [
            f"{row.name}: the outcome is {row.outcome.value}, but the verdict says "
            f"{'solved' if row.ending.verdict.solved else 'not solved'}"
            for row in self.episodes.values()
            if row.outcome is not Outcome.NOT_RUN and row.solved != row.ending.verdict.solved
        ]
        strays = sorted(self._strays)
        return [*mismatches, *(f"task/{index}: an outcome of a task that the run does not list" for index in strays)]

    @property
    def seconds(self) -> float | None:
        """The number of seconds for which the run was played, without pauses, or None if it was imported."""
        return None if self.run.imported else self._time.seconds

    @property
    def cost(self) -> Spending:
        """The costs of the run, without the costs that other runs paid for copied episodes."""
        return sum((row.cost for row in self.episodes.values()), self.outside_cost)

    @cached_property
    def earlier_learning(self) -> Mapping[Path, Spending] | None:
        """The spending of earlier runs of `planbook build` on the knowledge with which this run began.

        The dict maps the folder of each earlier run to its spending, and includes the runs whose knowledge the earlier
        runs used. It is empty if this run uses the shipped library, or found no knowledge in its library. It is None if
        the cost is unknown: if the library is a folder of files, if an earlier run cannot be read or was replaced, or
        if this run was imported (unless all its episodes are from runs that used the shipped library and learned
        nothing).
        """
        config, inputs = self.run.config, self.run.initial_inputs
        if self.run.imported:
            origins = self.run.imported.configs
            is_known = origins and all(origin.get("library") == SHIPPED_LIBRARY for origin in origins)
            return {} if is_known and not self.is_building_run else None
        names = ["a library"] if inputs is None else inputs.knowledge  # old versions of planbook did not record inputs
        if config.library == SHIPPED_LIBRARY or all(name.startswith(("start", "demonstration ")) for name in names):
            return {}
        library = self.run.file.library_run
        try:
            with closing(Run.open(config.library_folder)) as run:
                if library is None or run.begun != library.begun:
                    return None
                built = read_run(run, price=self.price, events=library.events)
        except (BadRun, MissingRequirement):
            return None
        if built.earlier_learning is None:
            return None
        spent = built.cost
        if config.after is not None:
            state = state_after(built.building_states, config.after)
            spent = Spending(calls=state.calls, prompt=state.tokens)
        return {**built.earlier_learning, run.folder.resolve(): spent}

    def summary(self, seconds: float | None = None) -> Summary:
        """Return the summary of the run. If given, ``seconds`` replaces the time for which the run was played."""
        if self._summary is None or seconds is not None:
            self._summary = summarise(
                list(self.episodes.values()),
                self.seconds if seconds is None else seconds,
                str(self.run.folder),
                self.cost,
                self.all_milestones,
                self.run.unjudgeable,
                figures_of(self.run.config.planner),
                payoff_of([self]),
            )
        return self._summary

    def events(self, row: EpisodeResult) -> Iterator[Event]:
        """Yield the events of an episode, except those that were recorded after the table was made."""
        return islice(self.run.store.events(row.entry.path), row.events)


def payoff_of(runs: Sequence[RunResults], rows: Sequence[EpisodeResult] | None = None) -> LearningPayoff | None:
    """Return the cost per solved task, without and with learning, over ``rows`` (by default, all rows of the runs).

    Spending outside episodes counts as learning. If several runs use the knowledge of the same run of `planbook build`,
    the cost of learning in that run counts only once: the highest one, if they use its knowledge after different
    numbers of tasks. If a run of `planbook build` is itself among ``runs``, its episodes do not count as learning.

    Return None if one of the runs is a fork, or if the cost of earlier learning is unknown.
    """
    earlier = [run.earlier_learning for run in runs if not run.run.forked]
    known_costs = [costs for costs in earlier if costs is not None]
    if len(known_costs) < len(runs):
        return None
    learning_by_run = dict(
        sorted((pair for costs in known_costs for pair in costs.items()), key=lambda pair: pair[1].tokens)
    )
    learning_by_run |= {run.run.folder.resolve(): run.outside_cost for run in runs}
    rows = [row for run in runs for row in run.episodes.values()] if rows is None else rows
    playing, learning = sum((row.cost for row in rows), NOTHING), sum(learning_by_run.values(), NOTHING)
    return LearningPayoff(
        solved=sum(row.solved for row in rows),
        calls=playing.calls,
        tokens=playing.tokens,
        learning_calls=learning.calls,
        learning_tokens=learning.tokens,
    )


def read_run(run: Run, name: str = "", price: Pricing | None = None, *, events: int | None = None) -> RunResults:
    """Read the results of a run, which may be unfinished or still being played.

    By default, ``price`` is from the run's own price table. If ``events`` is given, only that many events are read.
    """
    results = RunResults.empty(run, name or str(run.folder), price)
    for event in islice(run.store.events(), events):
        results.take(event)
    return results


def read_folder(folder: Path, price: Pricing | None = None) -> RunResults:
    """Read the results of the run in a folder, and close the run. ``outside_events`` is emptied, to save memory.

    Raises BadRun if the run cannot be read.
    """
    with closing(Run.open(folder)) as run:
        results = read_run(run, str(folder), price)
    results.outside_events.clear()
    return results
