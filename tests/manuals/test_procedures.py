"""The shipped procedures pass the check, and solve their tasks in the sandbox."""

import ast
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config
from planbook.envs import MissingRequirement, Selection, load_environment
from planbook.envs.crafter.environment import make_task
from planbook.envs.minecraft.game_data import DATA, best_recipe, milestones, source_of
from planbook.envs.registry import SHIPPED as ENVIRONMENTS
from planbook.envs.web.tasks import load_tasks, types_of
from planbook.manuals import ProcedureLibrary
from planbook.manuals.procedures import SHIPPED, module_procedures
from planbook.planner import BadProcedure, Ending
from planbook.runs import Run, recorded_endings
from planbook.sandbox import Limits, Sandbox
from planbook.workers import Execution, play_episodes
from tests.browser import need_browser
from tests.planner.episode_kit import played
from tests.trac import need_trac


def unsolved(env: str, selection: Selection, folder: Path, **options: bool) -> list[str]:
    """Play tasks with the shipped procedures, and return the unsolved ones with the reasons."""
    environment = load_environment(env)
    config = Config(
        planner="procedures", env=env, selection=selection, actions=environment.action_limit, env_options=dict(options)
    )
    library = ProcedureLibrary(environment, options=environment.Options(**options))
    with closing(Run.create(folder / "run", config, environment.tasks(selection))) as run:
        assert play_episodes(run, library, lambda entry, ending: None, execution=Execution(jobs=2))
        entries, endings = {entry.index: entry for entry in run.entries()}, recorded_endings(run)
    assert len(endings) == len(entries) > 0
    return [f"{entries[index].task.id}: {e.cause} {e.message}" for index, e in endings.items() if not e.outcome.solved]


@pytest.mark.parametrize("env", sorted(ENVIRONMENTS))
def test_every_task_type_has_a_procedure(env: str) -> None:
    environment = load_environment(env)
    library = ProcedureLibrary(environment)
    assert set(library.files) == set(environment.types)
    for kind in library.files:
        found = library.existing_procedure(kind)
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
CLASS = '''class Goal:
    """A goal."""

    words = WORDS


def wanted(task):
    assert Goal.words'''
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


def test_a_procedure_of_a_module_is_read_with_only_what_it_uses(tmp_path: Path) -> None:
    home = tmp_path / "toy"
    for folder, name, text in (("procedures", "all.py", MODULE), ("helpers", "boxes.py", "BOXES = 3\n")):
        (home / folder).mkdir(parents=True)
        (home / folder / name).write_text(text)
    library = ProcedureLibrary(load_environment("toy"), tmp_path)
    assert library.files == dict.fromkeys(("fetch", "fetch_two"), home / "procedures" / "all.py")
    for kind, summary in (("fetch", "Fetch it."), ("fetch_two", "Fetch both.")):
        found = library.existing_procedure(kind)
        assert found.code == ALONE.format(kind=kind, summary=summary)
        assert (found.name, found.summary, found.source) == (f"{kind}.py", summary, "somebody")
        assert found.helpers == "BOXES = 3\n"


def test_a_procedure_of_a_module_is_read_with_the_classes_that_it_uses(tmp_path: Path) -> None:
    (tmp_path / "all.py").write_text(MODULE.replace("def wanted(task):", CLASS).replace("uses: boxes\n", ""))
    fetch, _ = module_procedures(tmp_path / "all.py")
    assert fetch.code.endswith(CLASS + "\n    return WORDS.findall(task.goal)\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("source: somebody\n", "", "all.py|fetch.py: the header lacks source"),
        ("uses: boxes", "uses: drawers", "there is no helper file"),
        ("agent.put(thing)", "agent.fly(thing)", "does not pass the check"),
        ("world: toy", "world: crafter", "written for the environment"),
    ],
)
def test_a_faulty_module_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    home = tmp_path / "toy"
    (home / "procedures").mkdir(parents=True)
    (home / "helpers").mkdir()
    (home / "helpers" / "boxes.py").write_text("")
    (home / "procedures" / "all.py").write_text(MODULE.replace(old, new))
    with pytest.raises(BadProcedure, match=message):
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
def test_tasks_are_solved(env: str, selection: Selection, tmp_path: Path) -> None:
    assert unsolved(env, selection, tmp_path) == []


@pytest.mark.parametrize(("limit", "paper_actions"), [(60, False), (24, True)])
def test_generated_games_are_solved(limit: int, paper_actions: bool, tmp_path: Path) -> None:
    selection = Selection(split="generated", limit=limit)
    assert unsolved("alfworld", selection, tmp_path, paper_actions=paper_actions) == []


@pytest.mark.deep
def test_the_seen_games_are_solved(tmp_path: Path) -> None:
    try:
        failed = unsolved("alfworld", Selection(split="valid_seen"), tmp_path)
    except MissingRequirement as missing:
        pytest.skip(str(missing))
    assert failed == []


@pytest.mark.browser
@pytest.mark.deep
def test_pages_of_every_type_are_solved(tmp_path: Path) -> None:
    """Tic-tac-toe is not counted, since some instances cannot be won."""
    need_browser()
    failed = unsolved("miniwob", Selection(seeds=(11, 12)), tmp_path)
    assert [each for each in failed if not each.startswith("tic-tac-toe/")] == []


FIRST = tuple(f"{kind}/1" for kind in types_of(load_tasks()))
"""One task of each type."""
OTHERS = tuple(task.id for task in load_tasks() if task.id not in FIRST)


def test_no_procedure_contains_an_answer_on_trac() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (SHIPPED / "web").rglob("*.py"))
    answers = [check.values for task in load_tasks() for check in task.checks if check.kind == "answer"]
    words = {value for values in answers for value in values if not value.isdecimal() or len(value) > 2}
    assert [word for word in sorted(words) if word in code] == []


@pytest.mark.browser
@pytest.mark.deep
@pytest.mark.parametrize("ids", [FIRST, OTHERS], ids=["first", "others"])
def test_tasks_on_trac_are_solved(ids: tuple[str, ...], tmp_path: Path) -> None:
    need_browser()
    need_trac()
    assert unsolved("web", Selection(ids=ids), tmp_path) == []


def played_in_crafter(sandbox: Sandbox, kind: str, seed: int) -> Ending:
    """Play a task with its procedure. It gets more time than usual, because other tests may be using the processor."""
    environment, limits = load_environment("crafter"), Limits(wall_seconds=120)
    arguments: dict[str, Any] = {"task": make_task(kind, seed), "actions": environment.action_limit, "limits": limits}
    return played(
        sandbox, None, "procedures", environment=environment(), memory=ProcedureLibrary(environment), **arguments
    )[0]


@pytest.mark.parametrize("kind", ["collect_wood", "place_table", "make_wood_pickaxe"])
def test_a_simple_achievement_is_unlocked(sandbox: Sandbox, kind: str) -> None:
    assert played_in_crafter(sandbox, kind, 0).outcome.solved


@pytest.mark.parametrize("seeds", [1, pytest.param(20, marks=pytest.mark.deep)])
def test_games_of_crafter_unlock_twelve_achievements_on_average(sandbox: Sandbox, seeds: int) -> None:
    endings = [played_in_crafter(sandbox, "survive", seed) for seed in range(seeds)]
    assert [ending.message for ending in endings if ending.error_steps] == []
    assert sum(len(ending.milestones) for ending in endings) >= 12 * seeds


def constant_in_minecraft(name: str) -> object:
    """Return the value of a constant of the Minecraft procedures."""
    path = SHIPPED / "minecraft" / "procedures" / "obtaining.py"
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"there is no {name}")


def test_recipes_in_the_procedures_are_those_of_minecraft() -> None:
    needed = {each for group in DATA.groups.values() for item in group.objects for each in milestones(item)}
    recipes = {item: best_recipe(item) for item in needed if source_of(item) is None}
    assert constant_in_minecraft("RECIPES") == {
        item: (recipe.verb, recipe.makes, dict(recipe.ingredients), recipe.station)
        for item, recipe in recipes.items()
        if recipe is not None
    }


def test_tools_in_the_procedures_are_those_of_minecraft() -> None:
    mined = constant_in_minecraft("MINED")
    assert isinstance(mined, dict)
    for item, tool in mined.items():
        source = source_of(item)
        assert source is not None
        assert (source.verb, source.lowest_tool or None) == ("mine", tool)
    needed = {each for group in DATA.groups.values() for item in group.objects for each in milestones(item)} | {
        *DATA.parallel_items
    }
    found = {item for item in needed if (source := source_of(item)) and source.verb == "mine"}
    assert found <= set(mined)
