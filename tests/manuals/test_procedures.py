"""The shipped procedures: each passes the check, and solves its tasks in the real sandbox."""

from contextlib import closing
from pathlib import Path

import pytest

from planbook.config import Config
from planbook.envs import MissingRequirement, Selection, load_world
from planbook.envs.registry import SHIPPED
from planbook.manuals import ProcedureLibrary
from planbook.planner import read_procedure
from planbook.run import Run, recorded_endings
from planbook.workers import Hosting, play_episodes
from tests.browser import need_browser

WORLDS = sorted(SHIPPED)


def unsolved(env: str, selection: Selection, folder: Path) -> list[str]:
    """Play the selected tasks with the shipped procedures; the tasks that were not solved, and why."""
    world = load_world(env)
    config = Config(planner="procedures", env=env, selection=selection, actions=world.action_limit)
    with closing(Run.create(folder / "run", config, world.tasks(selection))) as run:
        assert play_episodes(run, ProcedureLibrary(world), lambda entry, ending: None, hosting=Hosting(jobs=2))
        entries, endings = {entry.index: entry for entry in run.entries()}, recorded_endings(run)
    assert len(endings) == len(entries) > 0
    return [f"{entries[index].task.id}: {e.cause} {e.message}" for index, e in endings.items() if not e.outcome.solved]


@pytest.mark.parametrize("env", WORLDS)
def test_every_task_type_has_a_procedure_in_its_own_file(env: str) -> None:
    world = load_world(env)
    files = ProcedureLibrary(world).files
    assert set(files) == set(world.types)
    for kind, path in files.items():
        assert path.stem == kind.replace("-", "_")
        assert read_procedure(path).world == env


@pytest.mark.parametrize("env", WORLDS)
def test_every_procedure_passes_the_check(env: str) -> None:
    library = ProcedureLibrary(load_world(env))
    for kind in library.files:
        assert library.procedure(kind) is not None


def test_the_toy_is_solved(tmp_path: Path) -> None:
    assert unsolved("toy", Selection(seeds=tuple(range(25))), tmp_path) == []


def test_generated_games_are_solved(tmp_path: Path) -> None:
    assert unsolved("alfworld", Selection(split="generated", limit=120), tmp_path) == []


@pytest.mark.deep
def test_the_seen_games_are_solved(tmp_path: Path) -> None:
    try:
        left = unsolved("alfworld", Selection(split="valid_seen"), tmp_path)
    except MissingRequirement as missing:
        pytest.skip(str(missing))
    assert left == []


@pytest.mark.browser
@pytest.mark.deep
def test_pages_of_every_type_are_solved(tmp_path: Path) -> None:
    """Perfect play loses some instances of tic-tac-toe, so that one is not counted."""
    need_browser()
    left = unsolved("miniwob", Selection(seeds=(11, 12)), tmp_path)
    assert [each for each in left if not each.startswith("tic-tac-toe/")] == []
