"""The shipped MiniWoB++ procedures: their files, and what they solve in a real Chromium."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from envs.base import Action, Observation, Selection
from envs.miniwob import Miniwob
from tests.envs.miniwob_browser import need_browser
from tests.manuals.try_procedure import FOLDER, play, procedure_file, source_of, written

MODULES = {"re", "json", "math", "collections", "itertools", "functools", "random", "string", "datetime"}
NEEDS_LUCK = {"tic-tac-toe"}
"""The best play wins about 85 of 100: a draw counts as lost."""
SEEDS = (1001, 1002)
FILES = sorted(FOLDER.glob("*/*.py"))


@pytest.fixture(scope="module")
def world() -> Iterator[Miniwob]:
    need_browser()
    world = Miniwob()
    yield world
    world.close()


def header(code: str) -> dict[str, str]:
    """The lines of the docstring that say what a procedure is for, after its summary."""
    summary, blank, *rest = (ast.get_docstring(ast.parse(code)) or "").splitlines()
    assert summary
    assert not blank
    return dict(line.split(": ", 1) for line in rest)


def test_every_type_has_a_procedure() -> None:
    assert [name for name in Miniwob.types if name not in written()] == []


@pytest.mark.parametrize("type_name", written())
def test_the_header_says_what_the_file_is_for(type_name: str) -> None:
    facts = header(procedure_file(type_name).read_text(encoding="utf-8"))
    assert facts["world"] == "miniwob"
    assert facts["type"] == type_name
    assert facts["source"]
    assert "def solve(agent, task):" in source_of(type_name)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_procedure_reads_only_what_a_plan_may(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= MODULES
        elif isinstance(node, ast.ImportFrom):
            assert node.module in MODULES
        elif isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "agent":
                assert node.func.attr in {*Miniwob.actions, *Miniwob.queries}


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("type_name", written())
def test_a_procedure_solves_seeds_it_was_not_written_with(world: Miniwob, type_name: str) -> None:
    refused: list[str] = []

    def note(action: Action, observation: Observation) -> None:
        if not observation.accepted:
            refused.append(f"{action}: {observation.text.splitlines()[0]}")

    tasks = Miniwob.tasks(Selection(types=(type_name,), seeds=SEEDS))
    reasons = {task.id: reason for task in tasks if (reason := play(world, task, note))}
    if type_name in NEEDS_LUCK:
        assert all(re.fullmatch(r"score 0\.0", reason) for reason in reasons.values())
    else:
        assert reasons == {}, refused
