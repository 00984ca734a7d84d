"""The shipped procedures: each passes the check, and solves its tasks in the real sandbox."""

from contextlib import closing
from pathlib import Path

import pytest

from planbook.config import Config
from planbook.envs import MissingRequirement, Selection, load_environment
from planbook.envs.registry import SHIPPED
from planbook.manuals import ProcedureLibrary
from planbook.planner import BadProcedure
from planbook.runs import Run, recorded_endings
from planbook.workers import Hosting, play_episodes
from tests.browser import need_browser

ENVIRONMENTS = sorted(SHIPPED)


def unsolved(env: str, selection: Selection, folder: Path, **options: bool) -> list[str]:
    """Play the selected tasks with the shipped procedures; the tasks that were not solved, and why."""
    environment = load_environment(env)
    config = Config(
        planner="procedures", env=env, selection=selection, actions=environment.action_limit, env_options=dict(options)
    )
    library = ProcedureLibrary(environment, options=environment.Options(**options))
    with closing(Run.create(folder / "run", config, environment.tasks(selection))) as run:
        assert play_episodes(run, library, lambda entry, ending: None, hosting=Hosting(jobs=2))
        entries, endings = {entry.index: entry for entry in run.entries()}, recorded_endings(run)
    assert len(endings) == len(entries) > 0
    return [f"{entries[index].task.id}: {e.cause} {e.message}" for index, e in endings.items() if not e.outcome.solved]


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_every_task_type_has_a_procedure(env: str) -> None:
    environment = load_environment(env)
    library = ProcedureLibrary(environment)
    assert set(library.files) == set(environment.types)
    for kind in library.files:
        found = library.checked(kind)
        assert (found.environment, found.type, found.name) == (env, kind, f"{kind.replace('-', '_')}.py")


MODULE = '''"""Things for the table.

world: toy
source: somebody
uses: boxes
"""

import re
import string

WORDS = re.compile("[a-z]+")  # of a goal


def fetch_any(agent, task):
    """Fetch it.

    type: fetch
    type: fetch_two - Fetch both.
    """
    for thing in wanted(task):
        agent.put(thing)


def wanted(task):
    return WORDS.findall(task.goal)


def unused(agent, task):
    """Neither of them needs it."""
'''
ALONE = '''"""{summary}

world: toy
type: {kind}
source: somebody
uses: boxes
"""

import re

WORDS = re.compile("[a-z]+")  # of a goal


def solve(agent, task):
    for thing in wanted(task):
        agent.put(thing)


def wanted(task):
    return WORDS.findall(task.goal)
'''


def test_a_procedure_of_a_module_is_read_as_if_it_stood_alone(tmp_path: Path) -> None:
    home = tmp_path / "toy"
    for folder, name, text in (("procedures", "all.py", MODULE), ("helpers", "boxes.py", "BOXES = 3\n")):
        (home / folder).mkdir(parents=True)
        (home / folder / name).write_text(text)
    library = ProcedureLibrary(load_environment("toy"), tmp_path)
    assert library.files == dict.fromkeys(("fetch", "fetch_two"), home / "procedures" / "all.py")
    for kind, summary in (("fetch", "Fetch it."), ("fetch_two", "Fetch both.")):
        found = library.checked(kind)
        assert found.code == ALONE.format(kind=kind, summary=summary)
        assert (found.name, found.summary, found.source) == (f"{kind}.py", summary, "somebody")
        assert found.helpers == "BOXES = 3\n"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("source: somebody\n", "", "all.py|fetch.py: the header lacks source"),
        ("uses: boxes", "uses: drawers", "there is no helper file"),
        ("agent.put(thing)", "agent.fly(thing)", "does not pass the check"),
        ("world: toy", "world: crafter", "written for the environment"),
    ],
)
def test_what_is_wrong_in_a_module_is_told(old: str, new: str, why: str, tmp_path: Path) -> None:
    home = tmp_path / "toy"
    (home / "procedures").mkdir(parents=True)
    (home / "helpers").mkdir()
    (home / "helpers" / "boxes.py").write_text("")
    (home / "procedures" / "all.py").write_text(MODULE.replace(old, new))
    with pytest.raises(BadProcedure, match=why):
        ProcedureLibrary(load_environment("toy"), tmp_path).procedure("fetch")


@pytest.mark.parametrize(
    ("env", "selection"),
    [
        ("toy", Selection(seeds=tuple(range(25)))),
        ("tabletop", Selection(seeds=(0, 1))),
        pytest.param("textcraft", Selection(split="test", limit=40), marks=pytest.mark.deep),
        ("shopping", Selection(split="dev")),
        ("shopping", Selection(split="example")),
        ("minecraft", Selection(split="full")),
        ("minecraft", Selection(split="parallel", seeds=tuple(range(8)))),
        pytest.param("minecraft", Selection(split="full", seeds=(0, 1, 2)), marks=pytest.mark.deep),
        pytest.param("tabletop", Selection(seeds=tuple(range(100))), marks=pytest.mark.deep),
        pytest.param("textcraft", Selection(split="test"), marks=pytest.mark.deep),
        pytest.param("textcraft", Selection(split="dev"), marks=pytest.mark.deep),
        pytest.param("shopping", Selection(split="full"), marks=pytest.mark.deep),
    ],
)
def test_all_tasks_are_solved(env: str, selection: Selection, tmp_path: Path) -> None:
    assert unsolved(env, selection, tmp_path) == []


@pytest.mark.parametrize(("limit", "paper_actions"), [(60, False), (24, True)])
def test_generated_games_are_solved(limit: int, paper_actions: bool, tmp_path: Path) -> None:
    selection = Selection(split="generated", limit=limit)
    assert unsolved("alfworld", selection, tmp_path, paper_actions=paper_actions) == []


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
