"""The optional members of an environment, grouped by purpose, and the goals that the planning method DEPS uses.

``Environment`` derives from ``OptionalMembers``. A subclass overrides only the members that it needs.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pydantic import BaseModel, JsonValue

from planbook.envs.types import Action, ActionSpec, Observation, Requirement, Selection, Task

if TYPE_CHECKING:
    from planbook.envs.base import Environment
    from planbook.envs.preconditions import Preconditions


class OptionalMembers:
    """The optional members of an environment."""

    # The names that plans may use, and the texts of prompts and feedback.

    about: str = ""
    """A paragraph for prompts: the environment, the agent in it, and how to read its observations.

    By default the docstring of the class.
    """
    attributes: ClassVar[Mapping[str, str]] = {}
    """Maps the name of each read-only attribute of the plan's ``agent`` to its description."""
    helpers: ClassVar[str] = ""
    """Source code of functions that every plan may call."""
    modules: ClassVar[tuple[str, ...]] = ()
    """Packages that plans may import in addition to the standard library. Once imported, they must not read files."""

    def attribute_values(self) -> Mapping[str, JsonValue]:
        """Return the current values of ``attributes``."""
        return {}

    def state(self) -> str:
        """Return the current state in one line, for prompts."""
        return ""

    def brief(self, observation: Observation, before: Observation) -> str:
        """Return the short form of an observation, for the feedback that lists all actions of a plan.

        ``before`` is the previous observation. If the last observation is shortened, feedback also gives it in full.
        """
        return observation.text

    @classmethod
    def public_params(cls, task: Task) -> Mapping[str, JsonValue]:
        """Return the params that a prompt may show, since they reveal no more than the goal does. By default all."""
        return task.params

    @classmethod
    def preconditions(cls, task: Task, options: BaseModel | None = None) -> "Preconditions | None":
        """Return the preconditions of this task's actions, or None if the environment declares none.

        They contain only what an agent may know. ``planbook check --task`` checks plans against them in advance.
        Raises MissingRequirement if the data of the task is not installed.
        """
        return None

    def possible_actions(self) -> list[Action] | None:
        """Return all actions that are possible now, or None if that is unknown. Plans never see them."""
        return None

    # Tasks, and how the command line selects them.

    types: ClassVar[tuple[str, ...]] = ()
    """The task types."""
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Maps the name of each combined split to the names of the splits that it combines."""
    seeded: ClassVar[bool] = False
    """True if tasks are made from seeds. False if they are a fixed set."""

    @classmethod
    def task_types(cls, options: BaseModel | None = None) -> tuple[str, ...]:
        """Return the task types that exist with these options. By default ``types``."""
        return cls.types

    @classmethod
    def takes_seeds(cls, split: str, options: BaseModel | None = None) -> bool:
        """Return whether seeds can be selected in a split."""
        return cls.seeded

    @classmethod
    def seeds_of(cls, split: str, seeds: Sequence[int]) -> Collection[int]:
        """Return the values of ``Task.seed`` in a split for these selected seeds. By default the same seeds."""
        return seeds

    @classmethod
    def unjudgeable(cls, selection: Selection, options: BaseModel | None = None) -> Mapping[str, int]:
        """Return how many selected tasks are left out by ``tasks`` because this installation has no way to judge them.

        The result maps each reason to the number of tasks that it applies to. A run reports it.
        """
        return {}

    # Records of an episode in addition to its verdict. Plans never see them.

    all_milestones: ClassVar[tuple[str, ...]] = ()
    """All milestones of the environment, provided that they are the same for every task."""
    sandbox: Any = None
    """The sandbox in which the episode's plans run. Judges that are plan code run in it too. Set by the episode."""

    def milestones(self) -> Sequence[str]:
        """Return the milestones on the way to the goal that have been reached, in order."""
        return ()

    def measures(self) -> Mapping[str, float]:
        """Return other measures of the episode so far, such as a game's reward, as a dict that maps names to values."""
        return {}

    def unjudged(self) -> str:
        """Return a description of the result, such as an answer, if the task has no judge. If it has one, return "".

        Tasks that users write may have no judge. ``verdict`` never counts them as solved.
        """
        return ""

    # Snapshots. An environment without ``_save`` is restored by resetting the task and repeating its actions.

    restores: ClassVar[str] = ""
    """A sentence about what ``restore`` restores and what it does not. Empty if it restores everything."""
    object_ids: ClassVar[str] = ""
    """A regular expression without groups that matches the names of objects, such as ``[a-z]+_[0-9]+``.

    A replay that differs only in such names is reported as renamed. If the pattern is empty, every difference counts.
    """

    def _save(self) -> object:
        """Return a cheap copy of the current state, or None if there is no cheap way to copy it."""
        return None

    def _load(self, native: object) -> Observation | None:
        """Restore a copy that ``_save`` made in the same episode.

        Return the new observation if the restored state looks different from before. Otherwise return None.
        """
        return None

    # Requirements, and what a run records about the environment.

    @classmethod
    def requirements(cls) -> Sequence[Requirement]:
        """Return what the environment needs in addition to planbook's core packages, even if it is not installed."""
        return ()

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return a dict that maps a description of each data set that these tasks use to its SHA-256.

        ``planbook.envs.resources`` computes digests. Data that the environment's code generates needs none. Raises
        MissingRequirement if data is not installed, or BadSelection if a task does not exist.
        """
        return {}

    def versions(self) -> Mapping[str, str]:
        """Return a dict that maps names to versions, for example of an engine, a browser or data. A run records it."""
        return {}

    # Support for individual planning methods, which are named after their papers.

    pauses: ClassVar[bool] = False
    """For AutoManual: True if plans should pause to observe, for example if a page changes after every action."""
    handoff: ClassVar[Literal["last action", "state", "note"]] = "last action"
    """For ADaPT: what one subtask passes on to the next (appendix A of the paper).

    This is the last action and its observation, or the state, or the state and the final note of the subtask. With
    "note", the planner also learns which subtasks failed.
    """
    naive: ClassVar[str] = ""
    """For ADaPT: plan code for the method ``naive``, the baseline of its paper that plays any task without a model."""
    answering: ClassVar[str] = ""
    """For Devil's Advocate: the name of the action that ends an episode with an answer, such as ``stop``, or ""."""

    @property
    def goals(self) -> "Goals":
        """For DEPS: the goals that plans may name, and the facts about them that a selector may ask for."""
        return Goals(cast("Environment", self))


Features = Mapping[str, float | str]
"""Maps the names of features to numbers or categories. A feature is an observable property of a goal and the state.

A selector learns from them. All goals of an environment have the same features."""


class Goals:
    """The goals of an environment: the steps of a DEPS plan, before their order is decided (section 3.3 of the paper).

    A selector decides which goal comes next, for example the one with the smallest horizon: the number of time steps
    that it takes. By default every goal is one action that is possible at any time. Environments in which the order
    matters override the members below.
    """

    direct = True
    """True if a goal is one action. False if it takes several, which a controller chooses."""

    def __init__(self, environment: "Environment") -> None:
        self.environment = environment

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """Maps the name of each goal that plans may use to its specification."""
        return self.environment.offer.actions

    def refusal(self, goal: Action) -> str:
        """Return the reason why the goal cannot be reached from the current state, or "" if it can."""
        return ""

    def is_open(self, goal: Action) -> bool:
        """Return whether everything that the goal requires, as written in the plan, is available.

        Requirements that only the environment knows are ignored.
        """
        return True

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return a dict that maps each material to the number that the goal, as written in the plan, uses up."""
        return {}

    def routes(self, goal: Action) -> Sequence[Action]:
        """Return this goal, followed by equivalent goals, such as felling another kind of tree for wood."""
        return (goal,)

    def features(self, goal: Action) -> Features:
        """Return the features from which a selector may predict the goal's horizon."""
        return {}

    def horizon(self, goal: Action) -> float:
        """Return the actual number of time steps from the current state to the goal. Plans never see it."""
        return 0.0

    def known(self) -> Sequence[Action]:
        """Return the goals that are searched for a substitute for an invalid line of a plan. By default none."""
        return ()

    def names(self, goal: Action) -> Sequence[str]:
        """Return other names for the object of a known goal, such as "sheep" for wool."""
        return ()

    def times(self, goal: Action, count: int) -> Action:
        """Return a known goal with its count replaced by ``count``, or the goal itself if it has no count."""
        return goal

    def recorded(self) -> Path | None:
        """Return the path of a CSV table of recorded goals, or None.

        Each row contains the features of a goal and, in the last column, its horizon.

        The selector ``horizon`` uses regression trees in the same folder. ``python -m tools.horizons TABLE`` trains
        them on the table.
        """
        return None
