"""TextCraft's procedures solve every task from nothing but the commands that a player sees."""

from pathlib import Path

import pytest

from planbook.envs import Selection, load_environment
from planbook.manuals import ProcedureLibrary
from planbook.planner import read_procedure
from tests.manuals.test_procedures import unsolved


def test_every_depth_has_a_procedure_that_passes_the_check() -> None:
    library = ProcedureLibrary(load_environment("textcraft"))
    assert {path.stem: read_procedure(path).world for path in library.files.values()} == {
        "depth_2": "textcraft",
        "depth_3": "textcraft",
        "depth_4": "textcraft",
    }
    assert all(library.procedure(kind) for kind in library.files)


@pytest.mark.parametrize("split", ["test", "dev"])
def test_all_tasks_are_solved(split: str, tmp_path: Path) -> None:
    assert unsolved("textcraft", Selection(split=split), tmp_path) == []
