"""``Environment``, the base class of all environments: the members that an author writes, and the methods that run
episodes.

The actions of an environment are methods marked with ``@action``. Prompts, the static check of plans, JSON schemas and
the documentation all use the signature, the docstring and the example of each of these methods.
"""

import inspect
import keyword
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from pydantic import BaseModel, PositiveInt

from planbook.envs.errors import Diverged, EnvironmentBroken, EpisodeEnded, UnknownAction
from planbook.envs.optional_members import OLD_NAMES, OptionalMembers, refuse_old_names
from planbook.envs.selection import select
from planbook.envs.types import Action, ActionSpec, NoOptions, Observation, Offer, Selection, Snapshot, Task, Verdict

P = ParamSpec("P")
E = TypeVar("E")
R = TypeVar("R")
Result = TypeVar("Result", bound=Observation | str)
Member = TypeVar("Member", bound=Callable[..., Any])
_MARK = "_planbook_spec"
_OBSERVATION_FIELDS = tuple(field.name for field in fields(Observation))
SCORE_TOLERANCE = 1e-9
"""Maximum amount by which rounding errors may put a score below 0 or above 1."""
LARGEST_MEASURE = 1e300
"""Largest absolute value of a measure, so that means and standard deviations stay finite."""


def action(
    example: str = "", name: str = ""
) -> Callable[[Callable[Concatenate[E, P], Result]], Callable[Concatenate[E, P], Result]]:
    """Mark a method as an action. Plans call the method; models read its signature and docstring.

    ``example`` is one line with a call and its result. The parameters of the method must have JSON types; ``Literal``
    lists the allowed values of a parameter:

        @action("agent.walk('east') -> 'You are in room 1.'")
        def walk(self, direction: Literal["east", "west"]) -> Observation:
            \"\"\"Go to the next room.\"\"\"

    The method returns an Observation, or a string that is turned into one. Pass ``name`` if the method cannot have the
    same name as the action. For example, the action ``close`` needs a method with a different name, since every
    environment already has a method ``close``.
    """
    return _marker("action", example, name)


def query(
    example: str = "",
) -> Callable[[Callable[Concatenate[E, P], R]], Callable[Concatenate[E, P], R]]:
    """Mark a read-only method that plans may call. It must return a JSON value. Calls do not count as actions."""
    return _marker("query", example)


def _marker(kind: str, example: str, name: str = "") -> Callable[[Member], Member]:
    """Return a decorator that marks a method. Raises TypeError if the decorator is used without parentheses."""
    if not isinstance(example, str):
        raise TypeError(f"{example.__qualname__} is marked with @{kind} without parentheses; write @{kind}()")

    def mark(function: Member) -> Member:
        setattr(function, _MARK, (kind, example, name))
        return function

    return mark


class Environment(OptionalMembers, ABC):
    """The base class of environments, in which agents act. Subclass it, and write at least these members:

    - ``name``, ``types`` and ``splits``: the name of the environment, its task types, and its splits (named sets of
      tasks, such as ``train`` and ``test``).
    - ``tasks``: list the tasks. The method may ignore the selection that it receives, because the caller filters the
      list afterwards. If ``seeded = True``, it must make tasks for ``selection.seeds``.
    - ``begin``: set up a task from scratch, and return the first observation.
    - at least one method marked ``@action()``, with annotated parameters and a docstring. It returns an Observation or
      a string. To end the episode, return ``Observation(text, terminated=True)``.
    - ``verdict``: judge the current state. Plans never see the verdict.

    The class docstring is shown to models unless ``about`` is set. Random choices must depend only on the task's seed,
    so that the same actions always have the same results. ``planbook check-env FILE.py`` finds common mistakes. All
    other members are optional; ``planbook.envs.optional_members`` documents them.

    One instance plays one episode at a time and belongs to one thread. ``self.task`` is the current task.
    """

    name: ClassVar[str]
    splits: ClassVar[tuple[str, ...]] = ()
    """The splits; the first is the default."""

    @classmethod
    @abstractmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return the selected tasks, in a fixed order.

        Raises BadSelection if a selected task does not exist, or MissingRequirement if its data is not installed.
        """

    @abstractmethod
    def begin(self, task: Task) -> Observation:
        """Set up the task from scratch, and return the first observation.

        If the goal and the params become known only now, for example from a page, set ``self.task`` to a copy of the
        task that contains them.
        """

    @abstractmethod
    def verdict(self) -> Verdict:
        """Return the verdict on the current state. Plans never see it."""

    Options: ClassVar[type[BaseModel]] = NoOptions
    """The pydantic model of the environment's options. ``__init__`` and the class methods receive an instance of it."""
    action_limit: ClassVar[PositiveInt] = 50
    """Maximum number of actions in an episode, unless the run or the method sets another limit."""
    parallel: ClassVar[bool] = True
    """True if several instances may run at the same time, each in its own thread."""
    paper_actions: ClassVar[tuple[str, ...]] = ()
    """The actions that the paper gives its agents, if the environment reproduces a paper.

    An environment may have an option that is also called ``paper_actions``. If a user sets this option, plans may call
    only these actions, and no queries.
    """
    actions: ClassVar[Mapping[str, ActionSpec]] = {}
    """Maps the name of each action to its specification. ``__init_subclass__`` fills it."""
    queries: ClassVar[Mapping[str, ActionSpec]] = {}
    """Maps the name of each query to its specification. ``__init_subclass__`` fills it."""

    def __init__(self, options: BaseModel | None = None) -> None:
        self.options: BaseModel = options if options is not None else self.Options()
        self.offer = self.offered(self.options)
        self.history: list[tuple[Action, Observation]] = []
        self.task: Task | None = None
        self._first_observation = self._last_observation = Observation("")

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        refuse_old_names(cls, OLD_NAMES)
        inherited = {inspect.getdoc(base) for base in cls.__mro__[1:]}
        if cls.__doc__ and (not cls.about or cls.about in inherited):
            cls.about = inspect.cleandoc(cls.__doc__)
        specs: dict[str, dict[str, ActionSpec]] = {"action": {}, "query": {}}
        for attribute, marked_method in _marked_methods(cls).items():
            kind, example, explicit_name = getattr(marked_method, _MARK)
            method, name = getattr(cls, attribute), explicit_name or attribute
            if any(attribute in vars(base) for base in Environment.__mro__):
                raise TypeError(
                    f"{cls.__name__}.{attribute} has the name of a member that every environment has; rename the method"
                )
            doc = inspect.getdoc(method) or inspect.getdoc(marked_method) or ""
            specs[kind][name] = _check_spec(cls, ActionSpec(name, method, doc, example))
        cls.actions, cls.queries = specs["action"], specs["query"]

    @classmethod
    def select(cls, selection: Selection, options: BaseModel | None = None) -> list[Task]:
        """Return the tasks that match the selection, even if the method ``tasks`` ignores parts of the selection.

        Raises BadSelection if a split, a type or an id does not exist, or if no task matches.
        """
        return select(cls, selection, options)

    @classmethod
    def task_splits(cls, options: BaseModel | None = None) -> tuple[str, ...]:
        """Return the splits that exist with these options. By default ``splits``."""
        return cls.splits

    @classmethod
    def offered(cls, options: BaseModel | None = None) -> Offer:
        """Return the actions and queries that plans may call with these options: by default, all of them."""
        if getattr(options, "paper_actions", False):
            return Offer({name: spec for name, spec in cls.actions.items() if name in cls.paper_actions}, {})
        return Offer(cls.actions, cls.queries)

    @classmethod
    def listed(cls, options: BaseModel | None = None, goal: str = "") -> Offer:
        """Return the offered actions and queries that prompts list: by default, all of them."""
        return cls.offered(options)

    def close(self) -> None:
        """Release the environment's resources. Closing twice is harmless."""

    def reset(self, task: Task) -> Observation:
        """Begin a task from scratch, with an empty history, and return the first observation."""
        self.history, self.task = [], task
        self._first_observation = self._last_observation = _observation(self.begin(task), self, type(self).begin)
        return self._last_observation

    @property
    def ended(self) -> bool:
        """True if the environment has ended the episode."""
        return self._last_observation.terminated or self._last_observation.truncated

    @property
    def answered(self) -> bool:
        """True if an answer (see ``answer_action``) ended the episode."""
        return self.ended and bool(self.history) and self.history[-1][0].name == self.answer_action

    def act(self, action: Action) -> Observation:
        """Take an action and return its observation. The method gets copies of the arguments, which it may change.

        Raises EpisodeEnded if no episode is running, or UnknownAction if the action is not offered.
        """
        if self.task is None:
            raise EpisodeEnded(f"{self.name}: no episode has begun; call reset(task) first")
        if self.ended:
            raise EpisodeEnded(f"{self.name}: the episode of {self.task.id} is over; {action} was not taken")
        if action.name not in self.offer.actions:
            known = ", ".join(sorted(self.offer.actions))
            raise UnknownAction(f"{self.name} has no action {action.name!r}; it has {known}")
        function = self.actions[action.name].function
        self._last_observation = _observation(function(self, *deepcopy(action.args)), self, function)
        self.history.append((action, self._last_observation))
        return self._last_observation

    def snapshot(self) -> Snapshot:
        """Return a snapshot of the current state, for ``restore``. Raises EpisodeEnded if no episode has begun."""
        if self.task is None:
            raise EpisodeEnded(f"{self.name}: no episode has begun; call reset(task) first")
        return Snapshot(self.task, tuple(self.history), self._last_observation, self._save())

    def restore(self, snapshot: Snapshot) -> Observation:
        """Restore a snapshot, and return the observation of the restored state.

        This observation is the last one before the snapshot, unless ``_load`` returns a different one. If the snapshot
        has no copy of the state (see ``_save``), or if its task is not the current one, its task is reset and its
        actions are repeated. Raises Diverged if a repeated action gives a different result.
        """
        if snapshot.saved_state is not None and self.task is not None and snapshot.task.id == self.task.id:
            new_observation = self._load(snapshot.saved_state)
            self.history, self._last_observation = list(snapshot.history), new_observation or snapshot.last
            return self._last_observation
        self.reset(snapshot.task)
        for number, (past_action, expected) in enumerate(snapshot.history, start=1):
            if (actual := self.act(past_action)) != expected:
                raise Diverged(number, past_action, expected, actual)
        return self._last_observation

    def valid_verdict(self) -> Verdict:
        """Return the verdict. Raises EnvironmentBroken if it is not a Verdict with a bool and a score from 0 to 1."""
        verdict, problem = self.verdict(), ""
        if not isinstance(verdict, Verdict):
            problem = f"must return a Verdict, but returned {type(verdict).__name__}"
        elif not isinstance(verdict.solved, bool):
            problem = f"must return a Verdict whose solved is a bool, not {type(verdict.solved).__name__}"
        elif not (isinstance(verdict.score, Real) and -SCORE_TOLERANCE <= verdict.score <= 1 + SCORE_TOLERANCE):
            problem = f"must return a score from 0 to 1, not {verdict.score!r:.80}"
        if problem:
            raise EnvironmentBroken(f"{_location(self, type(self).verdict)} {problem}")
        return verdict

    def finite_measures(self) -> dict[str, float]:
        """Return the result of ``measures``. Reports show averages of these values.

        Raises EnvironmentBroken if a value is not a finite number, or if its absolute value exceeds LARGEST_MEASURE.
        """
        measures = dict(self.measures())
        for name, value in measures.items():
            has_valid_types = isinstance(name, str) and isinstance(value, int | float)
            if not (has_valid_types and abs(value) <= LARGEST_MEASURE):
                fault = f"must return finite numbers, but {name!r} is {value}"
                raise EnvironmentBroken(f"{_location(self, type(self).measures)} {fault}")
        return measures

    def scene(self) -> str:
        """Return a description of what the agent can see, without the goal, for prompts about one part of the task.

        By default, this is the first observation. Override the method if the first observation contains facts that may
        change, or facts that ``state`` also returns.
        """
        return self._first_observation.text


def _marked_methods(environment: type) -> dict[str, Any]:
    """Return a dict that maps attribute names to the methods that are marked as actions or queries.

    A method that overrides a marked method is included, even if it has no mark itself.
    """
    return {
        attribute: member
        for base in reversed(environment.__mro__)
        for attribute, member in vars(base).items()
        if hasattr(member, _MARK)
    }


def _check_spec(environment: type, spec: ActionSpec) -> ActionSpec:
    """Return the specification unchanged.

    Raises TypeError if plans cannot call the method by the action's name, or cannot pass every argument by position.
    """
    if not callable(spec.function):
        raise TypeError(f"{environment.__name__} overrides the action {spec.name}, but not with a method")
    if inspect.iscoroutinefunction(spec.function):
        raise TypeError(f"{environment.__name__}.{spec.name} is a coroutine; write `def` instead of `async def`")
    if not spec.name.isidentifier() or keyword.iskeyword(spec.name) or spec.name.startswith("_"):
        raise TypeError(
            f"{environment.__name__}: plans cannot call {spec.name!r}; give it a name that is not a keyword and does "
            "not begin with an underscore"
        )
    for parameter in list(inspect.signature(spec.function).parameters.values())[1:]:
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(
                f"{environment.__name__}.{spec.name}: parameter {parameter} cannot be used in an action; "
                "give it a plain name, and pass several values as a list"
            )
    return spec


def _observation(result: object, environment: Environment, function: Callable[..., Any]) -> Observation:
    """Return the result of an author's method as an observation.

    Raises EnvironmentBroken if the result is neither an Observation with fields of the right types nor a string.
    """
    observation = Observation(result) if isinstance(result, str) else result
    if not isinstance(observation, Observation):
        fault = f"must return an Observation or a str, but returned {type(result).__name__}"
        raise EnvironmentBroken(f"{_location(environment, function)} {fault}")
    for name in _OBSERVATION_FIELDS:
        value, expected = getattr(observation, name), str if name == "text" else bool
        if not isinstance(value, expected):
            fault = f"must return an Observation whose {name} is a {expected.__name__}, not {type(value).__name__}"
            raise EnvironmentBroken(f"{_location(environment, function)} {fault}")
    return observation


def _location(environment: Environment, function: Callable[..., Any]) -> str:
    """Return the class and name of a method with its file and line, such as ``Lamps.begin (lamps.py:12)``."""
    code = inspect.unwrap(function).__code__
    place = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
    return f"{type(environment).__name__}.{function.__name__} ({place})"
