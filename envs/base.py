"""The class that every world derives from.

A world is one class. Its actions are methods marked ``@action``: signature, docstring and example of the method are the
single source of the prompt text, the static check, the wire schema and the documentation.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Concatenate, Literal, ParamSpec, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook.envs.errors import BadSelection, Diverged, EnvsError, EpisodeEnded, UnknownAction, WorldBroken, raised_at
from planbook.envs.goals import Goals
from planbook.envs.preconditions import Preconditions
from planbook.envs.selection import chosen_split, chosen_types, find_task, why_none
from planbook.envs.types import (
    Action,
    ActionSpec,
    Observation,
    Offered,
    Requirement,
    Selection,
    Snapshot,
    Task,
    Verdict,
)

P = ParamSpec("P")
W = TypeVar("W")
R = TypeVar("R")
Seen = TypeVar("Seen", bound=Observation | str)
_MARK = "_planbook_spec"


def action(
    example: str = "", name: str = ""
) -> Callable[[Callable[Concatenate[W, P], Seen]], Callable[Concatenate[W, P], Seen]]:
    """Mark a method as an action. ``example`` is one line: a call and what it returned.

    The method returns an Observation; a plain text is taken for one. ``name`` is needed only where the method cannot
    bear the action's name (``close`` is the world's own).
    """
    if not isinstance(example, str):
        raise TypeError(f"{example.__qualname__} is marked with @action without brackets; write @action()")

    def mark(function: Callable[Concatenate[W, P], Seen]) -> Callable[Concatenate[W, P], Seen]:
        setattr(function, _MARK, ("action", example, name))
        return function

    return mark


def query(
    example: str = "",
) -> Callable[[Callable[Concatenate[W, P], R]], Callable[Concatenate[W, P], R]]:
    """Mark a read-only method: it tells the plan something that JSON can hold, is no action, and leaves no step."""

    def mark(function: Callable[Concatenate[W, P], R]) -> Callable[Concatenate[W, P], R]:
        setattr(function, _MARK, ("query", example, ""))
        return function

    return mark


def _checked(world: type, spec: ActionSpec) -> ActionSpec:
    """The spec, if calls of it can be written down by position. Raises TypeError."""
    if inspect.iscoroutinefunction(spec.function):
        raise TypeError(f"{world.__name__}.{spec.name} is a coroutine; write `def` instead of `async def`")
    for parameter in list(inspect.signature(spec.function).parameters.values())[1:]:
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(
                f"{world.__name__}.{spec.name}: parameter {parameter} cannot be used in an action; "
                "give it a plain name, and pass several values as a list"
            )
    return spec


def _observed(answer: object, what: str, function: Callable[..., Any]) -> Observation:
    """Return an answer as an observation; a text is one. Raises WorldBroken for anything else."""
    if isinstance(answer, Observation):
        return answer
    if isinstance(answer, str):
        return Observation(answer)
    code = inspect.unwrap(function).__code__
    place = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
    raise WorldBroken(f"{what} ({place}) must return an Observation or a str, and returned {type(answer).__name__}")


class NoOptions(BaseModel):
    """The options of a world that has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Environment(ABC):
    """A world. Subclasses name it, mark actions, and implement ``tasks``, ``begin`` and ``verdict``.

    One instance plays one episode at a time and belongs to one thread.
    """

    name: ClassVar[str]
    about: str = ""
    """A paragraph for prompts: what the environment is, what the agent is in it, how its observations are read.

    Where it is not given, the docstring of the class says it.
    """
    actions: ClassVar[Mapping[str, ActionSpec]] = {}
    queries: ClassVar[Mapping[str, ActionSpec]] = {}
    attributes: ClassVar[Mapping[str, str]] = {}
    """Read-only attributes of the plan's ``agent``: name to description."""
    helpers: ClassVar[str] = ""
    modules: ClassVar[tuple[str, ...]] = ()
    """Packages that plans may import beyond the standard library; once imported they must need no file, as numpy."""
    """Plan code that defines the world's bare functions."""
    types: ClassVar[tuple[str, ...]] = ()
    splits: ClassVar[tuple[str, ...]] = ()
    """The first is the default."""
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Splits that are made of tasks of other splits, and of which."""
    seeded: ClassVar[bool] = False
    """Whether tasks are made from seeds, any number of them; else the tasks are a fixed set."""
    action_limit: ClassVar[int] = 50
    """How many actions a replay allows unless the run says otherwise."""
    pauses: ClassVar[bool] = False
    """Whether plans do well to stop in between and look (a page that shows its results only after an action)."""
    hands_on: ClassVar[Literal["last action", "state", "note"]] = "last action"
    """What the executor of a sub-task is told of those done before it (ADaPT, appendix A).

    With "note" that is the state, and what the last of them said at its end; their planner is told which failed.
    """
    naive: ClassVar[str] = ""
    """Plan code that plays any task without thinking, where that earns something: what a score is held against."""
    answering: ClassVar[str] = ""
    """The action that ends an episode with an answer (``stop``); empty where nothing has to be answered."""
    restores: ClassVar[str] = ""
    """What ``restore`` brings back and what it does not, in a sentence; empty where it brings back everything."""
    all_milestones: ClassVar[tuple[str, ...]] = ()
    """Everything that ``milestones`` can tell, where that is the same for every task."""
    object_ids: ClassVar[str] = ""
    """A pattern (without groups) of the names that objects bear, as ``[a-z]+_[0-9]+``.

    Where only such names differ, a replay says that they were renamed; without a pattern every difference counts.
    """
    parallel: ClassVar[bool] = True
    """Whether instances may work side by side in threads."""
    Options: ClassVar[type[BaseModel]] = NoOptions

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.about and cls.__doc__:
            cls.about = inspect.cleandoc(cls.__doc__)
        specs: dict[str, dict[str, ActionSpec]] = {"action": dict(cls.actions), "query": dict(cls.queries)}
        for attribute, member in vars(cls).items():
            if mark := getattr(member, _MARK, None):
                kind, example, named = mark
                name = named or attribute
                specs[kind][name] = _checked(cls, ActionSpec(name, member, inspect.getdoc(member) or "", example))
        cls.actions, cls.queries = specs["action"], specs["query"]

    def __init__(self, options: BaseModel | None = None) -> None:
        self.options: BaseModel = options if options is not None else self.Options()
        self.offer = self.offered(self.options)
        self.history: list[tuple[Action, Observation]] = []
        self.task: Task | None = None
        self._first = self._last = Observation("")

    @classmethod
    @abstractmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """The chosen tasks, in a fixed order. Raises BadSelection or MissingRequirement."""

    @classmethod
    def select(cls, selection: Selection, options: BaseModel | None = None) -> list[Task]:
        """Return the tasks that ``tasks`` lists and that fit the selection, whatever part of it ``tasks`` looked at.

        Raises BadSelection for a split, a type or an id that does not exist, and where nothing is left.
        """
        split = chosen_split(selection, cls.splits, cls.name)
        if not selection.ids and cls.types:
            chosen_types(selection, cls.types, cls.name)
        listed = cls._listed(selection, options)
        if selection.ids:
            return [find_task(listed, task_id, cls.name) for task_id in selection.ids]
        fitting = cls._fitting(listed, selection, split)
        if len(fitting) < len(listed) and selection.limit is not None:  # it may have counted those that do not fit
            fitting = cls._fitting(cls._listed(selection.model_copy(update={"limit": None}), options), selection, split)
        if not fitting:
            left_out = cls.unjudgeable(selection, options).items()
            why = why_none(listed, selection, split) + "".join(f"; {n} left out: {reason}" for reason, n in left_out)
            raise BadSelection(f"{cls.name} has no task that fits the selection{why}")
        return fitting[: selection.limit]

    @classmethod
    def unjudgeable(cls, selection: Selection, options: BaseModel | None = None) -> Mapping[str, int]:
        """Return how many tasks of the selection ``tasks`` leaves out, as nothing here can judge them, by reason.

        A run does not play them, and counts them beside its results.
        """
        return {}

    @classmethod
    def _listed(cls, selection: Selection, options: BaseModel | None) -> list[Task]:
        """Return what ``tasks`` lists. Raises WorldBroken where it fails, lists anything else, or an id twice."""
        try:
            tasks = list(cls.tasks(selection, options))
        except EnvsError:
            raise
        except Exception as error:
            place, told = raised_at(error)[0], " ".join(str(error).split())
            raise WorldBroken(f"{cls.name}: tasks() raised {type(error).__name__} ({place}): {told}") from error
        seen: set[str] = set()
        for task in tasks:
            if not isinstance(task, Task):
                raise WorldBroken(f"{cls.name}: tasks() must list Task objects, and lists a {type(task).__name__}")
            if task.id in seen and not selection.ids:
                raise WorldBroken(f"{cls.name} lists the task id {task.id!r} twice; give every task an id of its own")
            seen.add(task.id)
        return tasks

    @classmethod
    def _fitting(cls, tasks: Iterable[Task], selection: Selection, split: str) -> list[Task]:
        """Return the tasks of the chosen split, seeds and types."""
        splits, seeds = cls.parts.get(split, (split,)), cls.seeds_of(split, selection.seeds)
        return [
            task
            for task in tasks
            if (not split or task.split in splits)
            and (not seeds or task.seed in seeds)
            and (not selection.types or task.type in selection.types)
        ]

    @classmethod
    def seeds_of(cls, split: str, seeds: Sequence[int]) -> Collection[int]:
        """Return the seeds that tasks of a split bear which were made from these."""
        return seeds

    @classmethod
    def takes_seeds(cls, split: str) -> bool:
        """Return whether the tasks of a split are made from seeds, which a selection may name."""
        return cls.seeded

    @classmethod
    def offered(cls, options: BaseModel | None = None) -> Offered:
        """The actions and queries under these options; unless a world says otherwise, all it has."""
        return Offered(cls.actions, cls.queries)

    @classmethod
    def told_params(cls, task: Task) -> Mapping[str, JsonValue]:
        """The task's params that a prompt may tell; a world leaves out what the goal does not say as plainly."""
        return task.params

    @classmethod
    def requirements(cls) -> Sequence[Requirement]:
        """What the world needs beyond its Python packages, found or not."""
        return ()

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """The SHA-256 of the data that these tasks are played on, by what the data are; see
        ``planbook.envs.resources``.

        What follows from the code of the world alone has none. Raises MissingRequirement, BadSelection.
        """
        return {}

    @classmethod
    def preconditions(cls, task: Task, options: BaseModel | None = None) -> Preconditions | None:
        """What must hold before the actions of this task, as far as an agent may know it; None: nothing is declared.

        For checking plans before they run (``planbook check --task``). Raises MissingRequirement.
        """
        return None

    @abstractmethod
    def begin(self, task: Task) -> Observation:
        """Set the task up from scratch and return the first observation.

        A world that learns goal and params only now (a page shows them) sets ``self.task`` to a copy that has them.
        """

    @abstractmethod
    def verdict(self) -> Verdict:
        """The world's judgement of the current state; the plan never sees it."""

    def unjudged(self) -> str:
        """Where nothing says whether the task was done (one of the user's own), what it came to; else empty.

        Its verdict is that it was not solved; for the host only.
        """
        return ""

    def state(self) -> str:
        """One line for prompts: where things stand now."""
        return ""

    def scene(self) -> str:
        """What is to be seen, without the goal: for whoever works on a part of the task.

        That is what stays true of the first observation, beside ``state``; by default all of it.
        """
        return self._first.text

    @property
    def goals(self) -> Goals:
        """What a selector may ask about goals."""
        return Goals(self)

    def possible_actions(self) -> list[Action] | None:
        """The actions that can be taken now, where the world can list them; for the host only."""
        return None

    def milestones(self) -> Sequence[str]:
        """What of the way to the goal has been reached, in order; for the host only."""
        return ()

    def measures(self) -> Mapping[str, float]:
        """Further figures of the episode as it stands, by name (a game's reward); for the host only."""
        return {}

    def brief(self, observation: Observation, before: Observation) -> str:
        """An observation as feedback lists it, after the one before; the last is told in full where this is less."""
        return observation.text

    def attribute_values(self) -> Mapping[str, JsonValue]:
        """The current values of ``attributes``."""
        return {}

    def counts(self, action: Action) -> bool:
        """Whether the action counts towards the action limit."""
        return True

    def versions(self) -> Mapping[str, str]:
        """What a run records beside its figures: engine, grammar, browser, data."""
        return {}

    def close(self) -> None:
        """Give back what the world holds; closing twice is harmless."""

    def _save(self) -> object:
        """A cheap copy of the current state, or None where the world has none."""
        return None

    def _load(self, native: object) -> Observation | None:
        """Return to a copy made by ``_save`` in the same episode.

        Where things look otherwise now than they did then, what is to be seen; else None.
        """
        return None

    def reset(self, task: Task) -> Observation:
        """Begin the task from scratch; the history starts anew."""
        self.history, self.task = [], task
        self._first = self._last = _observed(self.begin(task), f"{type(self).__name__}.begin", type(self).begin)
        return self._last

    @property
    def ended(self) -> bool:
        """Whether the world's episode is over."""
        return self._last.terminated or self._last.truncated

    def act(self, action: Action) -> Observation:
        """Take one action. Raises EpisodeEnded after the end, UnknownAction for a name the world does not have."""
        if self.task is None:
            raise EpisodeEnded(f"{self.name}: no episode has begun; call reset(task) first")
        if self.ended:
            raise EpisodeEnded(f"{self.name}: the episode of {self.task.id} is over; {action} was not taken")
        if action.name not in self.offer.actions:
            known = ", ".join(sorted(self.offer.actions))
            raise UnknownAction(f"{self.name} has no action {action.name!r}; it has {known}")
        function = self.actions[action.name].function
        self._last = _observed(function(self, *action.args), f"{type(self).__name__}.{function.__name__}", function)
        self.history.append((action, self._last))
        return self._last

    def snapshot(self) -> Snapshot:
        """The current state, to come back to with ``restore``."""
        if self.task is None:
            raise EpisodeEnded(f"{self.name}: no episode has begun; call reset(task) first")
        return Snapshot(self.task, tuple(self.history), self._last, self._save())

    def restore(self, snapshot: Snapshot) -> Observation:
        """Go back to a snapshot and return its observation, or what is to be seen there now (see ``restores``).

        Without a native copy the task is reset and its actions are walked again; raises Diverged if one of them is
        answered differently.
        """
        if snapshot.native is not None and self.task is not None and snapshot.task.id == self.task.id:
            changed = self._load(snapshot.native)
            self.history, self._last = list(snapshot.history), changed or snapshot.last
            return self._last
        self.reset(snapshot.task)
        for number, (past, expected) in enumerate(snapshot.history, start=1):
            if (actual := self.act(past)) != expected:
                raise Diverged(number, past, expected, actual)
        return self._last
