"""The shipped procedures of the tabletop: each passes the check, and all scenes are solved without a model."""

from contextlib import closing
from pathlib import Path

import pytest

from planbook.config import Config
from planbook.envs import Selection, load_environment
from planbook.manuals import ProcedureLibrary
from planbook.runs import Run, recorded_endings
from planbook.workers import Hosting, play_episodes

ENVIRONMENT = load_environment("tabletop")


@pytest.mark.deep
def test_all_scenes_are_solved_within_the_action_limit(tmp_path: Path) -> None:
    selection = Selection(seeds=tuple(range(100)))
    config = Config(planner="procedures", env="tabletop", selection=selection, actions=ENVIRONMENT.action_limit)
    with closing(Run.create(tmp_path / "run", config, ENVIRONMENT.tasks(selection))) as run:
        assert play_episodes(run, ProcedureLibrary(ENVIRONMENT), lambda entry, ending: None, hosting=Hosting(jobs=2))
        entries, endings = {entry.index: entry for entry in run.entries()}, recorded_endings(run)
    assert len(endings) == len(entries) == 500
    left = [f"{entries[n].task.id}: {e.cause} {e.message}" for n, e in endings.items() if not e.outcome.solved]
    assert left == []
