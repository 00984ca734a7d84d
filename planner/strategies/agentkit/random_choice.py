"""The baseline without a model: actions by chance (AgentKit, table 1, row Random)."""

import inspect
import random
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, Field

from planbook.envs import Action, ActionSpec, Environment
from planbook.planner.action_docs import call_of
from planbook.planner.episode import Episode
from planbook.planner.strategies.base import Options

SOURCE = "random"
PATIENCE = 3
"""Cells for each action of the episode at most: a world may have actions that do not count."""


class RandomOptions(Options):
    """How long to go on."""

    steps: int | None = Field(
        default=None, ge=1, description="Cells, of one action each; null is as many as the episode has actions."
    )


def random_choice(episode: Episode, options: BaseModel) -> None:
    """One action after another, each drawn from those that there are, by the seed of the run and the task."""
    steps = RandomOptions.model_validate(options).steps or PATIENCE * episode.settings.actions
    dice = random.Random(f"{episode.settings.seed}/{episode.task.id}")
    with episode.frame("plan"):
        for _ in range(steps):
            choices = choices_in(episode.world)
            if not choices:
                raise episode.no_plan(SOURCE, f"{SOURCE} cannot play {episode.world.name}: {NOTHING_LISTED}")
            episode.run(call_of(dice.choice(choices)), source=SOURCE)


NOTHING_LISTED = (
    "it lists neither possible actions nor goals, and every action takes an argument that could be anything"
)


def choices_in(world: Environment) -> Sequence[Action]:
    """Every action there is, where all their arguments have few values; else what the world lists as possible now.

    Else the goals that it knows, where each is an action; else those of its actions that have no free argument.
    """
    every = [list(_ways(spec)) for spec in world.offer.actions.values()]
    fixed = [action for ways in every for action in ways]
    if all(every):
        return fixed
    listed = world.possible_actions()
    if listed is None and world.goals.direct:
        listed = list(world.goals.known())
    return listed or fixed


def _ways(spec: ActionSpec) -> Iterator[Action]:
    """The action with each choice of its arguments; none if one of them is free."""
    values = [_values(parameter) for parameter in spec.signature.parameters.values()]
    return (Action(spec.name, chosen) for chosen in product(*values))


def _values(parameter: inspect.Parameter) -> Sequence[Any]:
    """The values of an argument that has few: those of a Literal, both of a bool, else the default if there is one."""
    if get_origin(parameter.annotation) is Literal:
        return get_args(parameter.annotation)
    if parameter.annotation is bool:
        return (True, False)
    return () if parameter.default is inspect.Parameter.empty else (parameter.default,)
