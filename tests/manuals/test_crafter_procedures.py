"""Crafter's procedures play from nothing but what a player is told, within the limits of one cell."""

import pytest

from planbook.envs import Task, load_environment
from planbook.envs.crafter.environment import task_of
from planbook.manuals import ProcedureLibrary
from planbook.planner import Ending, Episode, EpisodeSettings, MemoryJournal, method, play
from planbook.sandbox import Limits, Sandbox

QUICK = ("collect_wood", "place_table", "make_wood_pickaxe")

PATIENT = Limits(wall_seconds=120)
"""The usual limits, but for the clock on the wall: other tests may have the processor meanwhile."""


def played(sandbox: Sandbox, task: Task) -> Ending:
    """How the shipped procedure's episode ended."""
    environment, procedures = load_environment("crafter"), method("procedures")
    terms = EpisodeSettings(actions=environment.action_limit, limits=PATIENT)
    episode = Episode(
        task, environment(), sandbox, MemoryJournal(), settings=terms, memory=ProcedureLibrary(environment)
    )
    return play(episode, procedures.play, procedures.options())


def achievements(sandbox: Sandbox, seeds: range) -> list[int]:
    """How many each game unlocks; no game may end by a limit of the cell or an error."""
    endings = [played(sandbox, task_of("survive", seed)) for seed in seeds]
    assert [ending.message for ending in endings if ending.error_steps] == []
    return [len(ending.milestones) for ending in endings]


def test_simple_achievements_are_unlocked() -> None:
    with Sandbox() as sandbox:
        left = [name for name in QUICK if not played(sandbox, task_of(name, 0)).outcome.solved]
    assert left == []


def test_a_whole_game_passes_the_limits_of_a_cell() -> None:
    with Sandbox() as sandbox:
        assert min(achievements(sandbox, range(1))) >= 12


@pytest.mark.deep
def test_twelve_achievements_on_average_over_twenty_seeds() -> None:
    with Sandbox() as sandbox:
        unlocked = achievements(sandbox, range(20))
    assert sum(unlocked) / len(unlocked) >= 12
