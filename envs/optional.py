"""Optional members of an environment, by purpose, and the goals of DEPS.

``Environment`` derives from ``OptionalMembers``, so an environment overrides only what it needs.
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
    """Read-only attributes of the plan's ``agent``: name to description."""
    helpers: ClassVar[str] = ""
    """Plan code that defines functions which every plan may call."""
    modules: ClassVar[tuple[str, ...]] = ()
    """Packages that plans may import besides the standard library. Once imported, they must not read files."""

    def attribute_values(self) -> Mapping[str, JsonValue]:
        """Return the current values of ``attributes``."""
        return {}

    def state(self) -> str:
        """Return the current state in one line, for prompts."""
        return ""

    def brief(self, observation: Observation, before: Observation) -> str:
        """Return the form in which feedback lists an observation; ``before`` is the previous observation.

        If this is not the whole text, feedback also gives the last observation in full.
        """
        return observation.text

    @classmethod
    def told_params(cls, task: Task) -> Mapping[str, JsonValue]:
        """Return the params that a prompt may show: those that say no more than the goal does. By default all."""
        return task.params

    @classmethod
    def preconditions(cls, task: Task, options: BaseModel | None = None) -> "Preconditions | None":
        """Return the preconditions of this task's actions, as far as an agent may know them; None if undeclared.

        ``planbook check --task`` checks plans against them before they run. Raises MissingRequirement.
        """
        return None

    def possible_actions(self) -> list[Action] | None:
        """Return the actions possible now, or None if the environment cannot list them. Plans never see them."""
        return None

    # The tasks of a selection on the command line.

    types: ClassVar[tuple[str, ...]] = ()
    """The task types."""
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Maps the name of each split that combines other splits to the names of those."""
    seeded: ClassVar[bool] = False
    """True if a task can be made from any seed; otherwise the tasks are a fixed set."""

    @classmethod
    def task_types(cls, options: BaseModel | None = None) -> tuple[str, ...]:
        """Return the task types under these options; by default ``types``."""
        return cls.types

    @classmethod
    def takes_seeds(cls, split: str, options: BaseModel | None = None) -> bool:
        """Return whether a selection may name seeds for a split's tasks."""
        return cls.seeded

    @classmethod
    def seeds_of(cls, split: str, seeds: Sequence[int]) -> Collection[int]:
        """Return the ``Task.seed`` of each task that the split makes from these selected seeds."""
        return seeds

    @classmethod
    def unjudgeable(cls, selection: Selection, options: BaseModel | None = None) -> Mapping[str, int]:
        """Return the number of selected tasks that ``tasks`` leaves out because nothing can judge them, by reason.

        A run does not play them, and reports their number with its results.
        """
        return {}

    # The host's record of an episode in addition to its verdict. Plans never see it.

    all_milestones: ClassVar[tuple[str, ...]] = ()
    """All values that ``milestones`` can return, if they are the same for every task."""
    sandbox: Any = None
    """The sandbox of the episode's plans, for judges that are plan code. The episode sets it."""

    def milestones(self) -> Sequence[str]:
        """Return the milestones reached on the way to the goal, in order."""
        return ()

    def measures(self) -> Mapping[str, float]:
        """Return further figures of the episode so far, by name, such as a game's reward."""
        return {}

    def unjudged(self) -> str:
        """Return the result of a task without a judge (a user's task), such as its answer; else "".

        ``verdict`` never counts such a task as solved.
        """
        return ""

    # Restoring a snapshot. Without ``_save``, the task is reset and its actions are repeated.

    restores: ClassVar[str] = ""
    """A sentence about what ``restore`` does and does not bring back; empty if it restores everything."""
    object_ids: ClassVar[str] = ""
    """A pattern (without groups) for the names of objects, such as ``[a-z]+_[0-9]+``.

    A replay that differs only in such names is reported as renamed. Without a pattern every difference counts.
    """

    def _save(self) -> object:
        """Return a cheap copy of the current state, or None if there is no cheap way to copy it."""
        return None

    def _load(self, native: object) -> Observation | None:
        """Restore a copy that ``_save`` made in the same episode.

        Return the new observation if the restored state no longer looks the same; else None.
        """
        return None

    # The environment's requirements, and a run's records about it.

    @classmethod
    def requirements(cls) -> Sequence[Requirement]:
        """Return what the environment needs besides planbook's core packages, whether found or not."""
        return ()

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return the SHA-256 of the data that these tasks use, by description; see ``planbook.envs.resources``.

        Data that the environment's code itself produces needs none. Raises MissingRequirement, BadSelection.
        """
        return {}

    def versions(self) -> Mapping[str, str]:
        """Return the versions that a run records with its figures, such as those of the engine, browser or data."""
        return {}

    # Planning methods.

    pauses: ClassVar[bool] = False
    """For AutoManual: True if plans should pause to look, as on a page that shows its results only after an action."""
    hands_on: ClassVar[Literal["last action", "state", "note"]] = "last action"
    """For ADaPT: what the executor of a subtask learns about the subtasks before it (appendix A).

    "note" is the state and the final note of the last subtask; the planner then also gets the failed subtasks.
    """
    naive: ClassVar[str] = ""
    """For ADaPT's paper: plan code for the method ``naive``, a baseline that plays any task without a model."""
    answering: ClassVar[str] = ""
    """For Devil's Advocate: the action that ends an episode with an answer, such as ``stop``; else empty."""

    @property
    def goals(self) -> "Goals":
        """For DEPS: the goals that plans may name, with the questions that a selector may ask about them."""
        return Goals(cast("Environment", self))


Features = Mapping[str, float | str]
"""Observable features of a goal and the current state, from which a selector learns: numbers and categories.

All goals have the same names, with the same types."""


class Goals:
    """The goals of an environment (DEPS, section 3.3): the steps of a plan before their order is decided.

    By default every goal is one action, possible at any time. Environments in which order matters override the
    members below.
    """

    direct = True
    """True if a goal is one action. Otherwise a controller reaches it, action by action."""

    def __init__(self, environment: "Environment") -> None:
        self.environment = environment

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """The goals that plans may name, by name."""
        return self.environment.offer.actions

    def refusal(self, goal: Action) -> str:
        """Return the reason why the goal cannot be reached from the current state; empty if it can."""
        return ""

    def is_open(self, goal: Action) -> bool:
        """Return whether everything that the goal itself says it needs is available.

        Needs that only the environment knows are ignored.
        """
        return True

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return how many of each material the goal itself says it uses up."""
        return {}

    def routes(self, goal: Action) -> Sequence[Action]:
        """Return this goal, then equivalent ones, such as felling another kind of tree for wood."""
        return (goal,)

    def features(self, goal: Action) -> Features:
        """Return the features from which the goal's horizon may be predicted."""
        return {}

    def horizon(self, goal: Action) -> float:
        """Return the number of time steps that reaching the goal takes from here. Plans never see it."""
        return 0.0

    def known(self) -> Sequence[Action]:
        """Return the goals that an invalid line of a plan may be matched to; none by default."""
        return ()

    def names(self, goal: Action) -> Sequence[str]:
        """Return other names for the object of a known goal, such as the animal that wool comes from."""
        return ()

    def times(self, goal: Action, count: int) -> Action:
        """Return a known goal with the count replaced by ``count``; unchanged if it has no count."""
        return goal

    def recorded(self) -> Path | None:
        """Return the path of a CSV table of recorded goals, a row for each: its features, then its horizon.

        The selector ``horizon`` needs the regression trees stored beside it, which ``python -m tools.horizons TABLE``
        trains.
        """
        return None
