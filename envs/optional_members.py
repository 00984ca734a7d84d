"""The optional members of an environment, grouped by purpose, and the goals from which the method DEPS selects.

``Environment`` derives from ``OptionalMembers``. A subclass of ``Environment`` overrides only the members it needs.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pydantic import BaseModel, JsonValue

from planbook.envs.types import Action, ActionSpec, Observation, Requirement, Selection, Task

if TYPE_CHECKING:
    from planbook.envs.base import Environment
    from planbook.envs.preconditions import Preconditions

Features = Mapping[str, float | str]
"""Maps the name of each feature to its value. A feature is an observable property of a goal and the current state.

A value is a number or the name of a category. Selectors learn from features. All goals of an environment have the same
features."""


OLD_NAMES = {
    "answering": "answer_action",
    "hands_on": "handoff",
    "parts": "combined_splits",
    "restores": "restore_caveat",
    "told_params": "public_params",
    "unjudged": "unjudged_result",
}
"""Maps the former names of members of ``Environment`` to their current names."""
OLD_GOAL_NAMES = {
    "known": "list_goals",
    "names": "aliases",
    "recorded": "horizon_table",
    "times": "with_count",
}
"""Maps the former names of members of ``Goals`` to their current names."""


def refuse_old_names(cls: type, old_names: Mapping[str, str]) -> None:
    """Raise TypeError if a class defines a member under its former name."""
    for name in old_names.keys() & vars(cls).keys():
        raise TypeError(f"{cls.__name__}.{name} is now called {old_names[name]}; rename it")


class Goals:
    """The goals of an environment. A DEPS plan is a set of goals whose order is not yet decided.

    A selector decides which goal is pursued next (section 3.3 of the paper). For example, it chooses the goal with the
    smallest *horizon*, the number of time steps that a goal takes. By default, every goal is one action that is
    possible at any time. Environments in which the order of goals matters override the members below.
    """

    direct = True
    """True if each goal is one action. False if a goal takes several actions, which a controller chooses."""

    def __init__(self, environment: "Environment") -> None:
        self.environment = environment

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        refuse_old_names(cls, OLD_GOAL_NAMES)

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """Maps the name of each goal that plans may use to its specification."""
        return self.environment.offer.actions

    def is_open(self, goal: Action) -> bool:
        """Return True if all requirements that the plan states for the goal are met. Other requirements are ignored."""
        return True

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return a dict from materials to the amounts that the goal uses up, according to the plan."""
        return {}

    def routes(self, goal: Action) -> Sequence[Action]:
        """Return this goal, followed by equivalent goals. For example, wood can come from several kinds of trees."""
        return (goal,)

    def features(self, goal: Action) -> Features:
        """Return the features from which a selector may predict the goal's horizon."""
        return {}

    def horizon(self, goal: Action) -> float:
        """Return the actual number of time steps from the current state to the goal. Plans never see it."""
        return 0.0

    def expected_steps(self, goal: Action, steps: float) -> float:
        """Return the expected number of time steps to a goal: ``steps``, plus the steps lost to random failures."""
        return steps

    def list_goals(self) -> Sequence[Action]:
        """Return the goals that may replace an invalid line of a plan. The most similar one is used."""
        return ()

    def aliases(self, goal: Action) -> Sequence[str]:
        """Return other names for the object of a listed goal. For example, "sheep" is another name for wool."""
        return ()

    def with_count(self, goal: Action, count: int) -> Action:
        """Return a listed goal with this count. A goal that has no count is returned unchanged."""
        return goal

    def horizon_table(self) -> Path | None:
        """Return the path of a CSV table of recorded goals, or None.

        Each row contains the features of a goal and, in the last column, its horizon. The command ``python -m
        tools.horizons TABLE`` trains regression trees on the table and saves them in the same folder. The selector
        called ``horizon`` uses these trees.
        """
        return None


class OptionalMembers:
    """The optional members of an environment."""

    # The names that plans may use, and the texts that appear in prompts and feedback.

    about: str = ""
    """A paragraph for prompts: the environment, the agent in it, and how to read its observations.

    By default, this is the docstring of the class.
    """
    attributes: ClassVar[Mapping[str, str]] = {}
    """Maps the name of each read-only attribute of the plan's ``agent`` to its description."""
    helpers: ClassVar[str] = ""
    """Source code of functions that every plan may call."""
    modules: ClassVar[tuple[str, ...]] = ()
    """Packages that plans may import in addition to the standard library.

    A package may read files only while it is being imported.
    """

    def attribute_values(self) -> Mapping[str, JsonValue]:
        """Return the current values of ``attributes``."""
        return {}

    def state(self) -> str:
        """Return the current state in one line, for prompts."""
        return ""

    def brief(self, observation: Observation, before: Observation) -> str:
        """Return the short form of an observation. Feedback uses this form when it lists all actions of a plan.

        ``before`` is the previous observation. If the last observation of a plan is shortened, feedback also gives it
        in full.
        """
        return observation.text

    @classmethod
    def public_params(cls, task: Task) -> Mapping[str, JsonValue]:
        """Return the params that a prompt may show because they reveal no more than the goal does: by default, all."""
        return task.params

    @classmethod
    def preconditions(cls, task: Task, options: BaseModel | None = None) -> "Preconditions | None":
        """Return the preconditions of this task's actions, or None if the environment declares none.

        The preconditions contain only what an agent may know. ``planbook check --task`` checks a plan against them
        without running it. Raises MissingRequirement if the data of the task is not installed.
        """
        return None

    def possible_actions(self) -> list[Action] | None:
        """Return all actions that are possible now, or None if that is unknown. Plans never see them."""
        return None

    # Tasks, and how the command line selects them.

    types: ClassVar[tuple[str, ...]] = ()
    """The task types."""
    combined_splits: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Maps the name of each combined split to the names of the splits that it combines."""
    seeded: ClassVar[bool] = False
    """True if tasks are made from the seeds that the user selects. False if the tasks are a fixed set."""

    @classmethod
    def task_types(cls, options: BaseModel | None = None) -> tuple[str, ...]:
        """Return the task types that exist with these options. By default ``types``."""
        return cls.types

    @classmethod
    def takes_seeds(cls, split: str, options: BaseModel | None = None) -> bool:
        """Return whether users may select seeds in a split. By default ``seeded``."""
        return cls.seeded

    @classmethod
    def unjudgeable(cls, selection: Selection, options: BaseModel | None = None) -> Mapping[str, int]:
        """Return the number of selected tasks that cannot be judged here, for each reason.

        ``tasks`` leaves these tasks out. A run reports the result.
        """
        return {}

    # What an episode records in addition to its verdict. Plans never see it.

    all_milestones: ClassVar[tuple[str, ...]] = ()
    """All milestones of the environment, if every task has the same milestones. Otherwise empty."""
    sandbox: Any = None
    """The sandbox in which the episode's plans run. The episode sets it.

    If the judge of a task is written as plan code, it runs in this sandbox too.
    """

    def milestones(self) -> Sequence[str]:
        """Return the milestones that the episode has reached so far, in order."""
        return ()

    def measures(self) -> Mapping[str, float]:
        """Return a dict from the name of each measure, such as a game's reward, to its value so far."""
        return {}

    def unjudged_result(self) -> str:
        """Return the result of a task that has no judge, such as the agent's answer. Return "" if the task has a judge.

        Tasks that users write may have no judge. ``verdict`` never counts a task without a judge as solved.
        """
        return ""

    # Snapshots. An environment without ``_save`` is restored by resetting the task and repeating its actions.

    restore_caveat: ClassVar[str] = ""
    """A sentence about what ``restore`` restores and what it does not. Empty if it restores everything."""

    def _save(self) -> object:
        """Return a cheap copy of the current state, or None if there is no cheap way to copy it."""
        return None

    def _load(self, saved: object) -> Observation | None:
        """Restore a copy of the state that ``_save`` made for the same task.

        If the restored state looks different from the saved one, return its observation. Otherwise return None.
        """
        return None

    # Requirements, and what a run records about the environment.

    @classmethod
    def requirements(cls) -> Sequence[Requirement]:
        """Return what the environment needs in addition to planbook's core packages, installed or not."""
        return ()

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return the SHA-256 of each data set that these tasks use. The keys describe the data sets.

        ``planbook.envs.requirements`` computes digests. Data that the environment's code generates needs no digest.
        Raises MissingRequirement if data is not installed, or BadSelection if a task does not exist.
        """
        return {}

    @classmethod
    def code_files(cls, options: BaseModel | None = None) -> Mapping[str, Path]:
        """Return code files that the environment uses but does not import, such as the judges of its tasks.

        The keys describe the files. A run records the digests of these files, and of the modules that they import.
        """
        return {}

    def versions(self) -> Mapping[str, str]:
        """Return the versions that a run records, keyed by name, such as the name of a game engine."""
        return {}

    # Support for individual planning methods, which are named after their papers.

    pauses: ClassVar[bool] = False
    """For AutoManual: True if plans should stop early to look at observations.

    This helps, for example, if a page changes after every action.
    """
    handoff: ClassVar[Literal["last action", "state", "note"]] = "last action"
    """For ADaPT: what one subtask passes on to the next (appendix A of the paper).

    - "last action": the last action and its observation.
    - "state": the result of ``state()``.
    - "note": the state and the final note of the subtask. The planner is also told which subtasks failed.
    """
    submits: ClassVar[bool] = False
    """True if an episode ends only when the agent ends it, for example by a purchase or an answer.

    For ADaPT, this counts as the executor's claim of success. For AutoManual, a plan that does not end the episode does
    not count as an error.
    """
    naive: ClassVar[str] = ""
    """For ADaPT: plan code for the method ``naive``, the paper's baseline that plays every task without a model."""
    answer_action: ClassVar[str] = ""
    """For Devil's Advocate: the name of the action that ends an episode with an answer, such as ``stop``, or "".

    It is allowed even if no actions are left.
    """

    @property
    def goals(self) -> "Goals":
        """For DEPS: the goals that plans may name, and the facts about goals that selectors use."""
        return Goals(cast("Environment", self))
