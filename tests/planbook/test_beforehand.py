"""What is told of a run before it begins: models that nobody named, demonstrations that the environment has not."""

from pathlib import Path
from typing import Any

import pytest

from planbook.commands.beforehand import missing_demonstrations
from planbook.config import Config
from planbook.errors import BadArgument
from planbook.workers import check_roles
from tests.command import planbook

MODEL = "recorded:deps-tabletop"
OWN = """
from planbook.envs.toy import Toy


class Mine(Toy):
    name = "mine"
"""


def config(planner: str, env: str, *roles: str, **options: Any) -> Config:
    return Config(planner=planner, env=env, actions=1, planner_options=options, models=dict.fromkeys(roles, MODEL))


@pytest.mark.parametrize(
    "played",
    [
        config("deps", "minecraft", "planner", "explainer"),
        config("dep", "tabletop", "planner", rounds=0),
        config("zero-shot", "textcraft", "planner"),
        config("deps", "alfworld", "planner", "explainer", "controller"),
        config("adapt", "toy", "executor", d_max=1),
        config("reflexion", "textcraft", "executor", d_max=1),
        config("adapt", "toy", "default"),
        config("agentkit", "crafter", "small", "large"),
        config("agentkit", "toy", "small", "graph"),
        config("agentkit", "crafter", "graph", graph="spring"),
    ],
)
def test_only_roles_that_will_be_asked_need_a_model(played: Config) -> None:
    check_roles(played)


@pytest.mark.parametrize(
    ("played", "missing"),
    [
        (config("deps", "alfworld", "planner", "explainer"), "(controller)"),
        (config("deps", "minecraft", "planner"), "(explainer)"),
        (config("zero-shot", "alfworld"), "(controller, planner)"),
        (config("adapt", "toy", "executor"), "(planner)"),
        (config("plan-and-execute", "toy", "executor"), "(planner)"),
        (config("reflexion", "toy", "executor"), "(reflector)"),
        (config("agentkit", "toy", "graph"), "(small)"),
        (config("agentkit", "crafter", "graph"), "(large, small)"),
    ],
)
def test_a_role_that_will_be_asked_needs_a_model(played: Config, missing: str) -> None:
    with pytest.raises(BadArgument) as refused:
        check_roles(played)
    assert missing in str(refused.value)


def test_a_role_that_learns_needs_a_model_whatever_the_method_asks() -> None:
    with pytest.raises(BadArgument, match=r"\(planner\)"):
        check_roles(config("adapt", "toy", "executor", d_max=1), ("planner",))


@pytest.mark.parametrize(
    ("planner", "env", "options", "message"),
    [
        ("react", "minecraft", {}, "minecraft has no demonstration 'common' for react; only the others are shown"),
        ("react", "minecraft", {"demonstrations": "atomic"}, ""),
        ("react", "textcraft", {}, ""),
        ("react", "textcraft", {"demonstrations": "task"}, "textcraft has no demonstration 'task' for react"),
        ("adapt", "textcraft", {}, ""),
        ("plan-and-execute", "tabletop", {}, "tabletop has no demonstrations 'common', 'planning_detailed' for"),
        ("deps", "textcraft", {}, "textcraft has no demonstrations for deps; none are shown"),
        ("automanual", "miniwob", {}, ""),
    ],
)
def test_what_the_environment_lacks_of_the_demonstrations(
    planner: str, env: str, options: dict[str, Any], message: str
) -> None:
    found = missing_demonstrations(config(planner, env, **options))
    assert found.startswith(message)
    assert bool(found) == bool(message)


def test_a_demonstration_of_the_runs_own_library_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "minecraft" / "demonstrations" / "common"
    folder.mkdir(parents=True)
    played = config("react", "minecraft").model_copy(update={"library": str(tmp_path)})
    assert missing_demonstrations(played)
    (folder / "MT1_basic.md").write_text("How it is done.")
    assert not missing_demonstrations(played)


def test_a_run_says_it_once_as_it_begins(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    given = ("--model", "recorded:react-textcraft", "--split", "all:2", "--json", "--out", tmp_path / "run")
    finished = planbook("run", "--planner", "react", "--env", f"{tmp_path / 'mine.py'}:Mine", *given)
    assert finished.stderr.count("mine has no demonstrations for react; none are shown") == 1
