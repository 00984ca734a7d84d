"""Checks before a run begins: every role that is asked needs a model, and missing demonstrations are reported."""

from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config
from planbook.errors import BadArgument
from planbook.preflight import missing_demonstrations_warning
from planbook.workers import check_roles
from tests.flows import invoke

MODEL = "recorded:deps-tabletop"
ENVIRONMENT = """
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
        config("agentkit", "crafter", "graph", graph="spring"),
    ],
)
def test_roles_that_are_never_asked_need_no_model(played: Config) -> None:
    check_roles(played)


@pytest.mark.parametrize(
    ("played", "missing"),
    [
        (config("deps", "alfworld", "planner", "explainer"), "(controller)"),
        (config("deps", "minecraft", "planner"), "(explainer)"),
        (config("zero-shot", "alfworld"), "(controller, planner)"),
        (config("adapt", "toy", "executor"), "(planner)"),
        (config("reflexion", "toy", "executor"), "(reflector)"),
        (config("agentkit", "crafter", "graph"), "(large, small)"),
        (config("agentkit", "crafter"), "(large, small)"),
    ],
)
def test_a_role_that_is_asked_needs_a_model(played: Config, missing: str) -> None:
    with pytest.raises(BadArgument) as refused:
        check_roles(played)
    assert missing in str(refused.value)


def test_a_role_that_learns_needs_a_model_even_if_the_method_does_not_ask_it() -> None:
    with pytest.raises(BadArgument, match=r"\(planner\)"):
        check_roles(config("adapt", "toy", "executor", d_max=1), ("planner",))


@pytest.mark.parametrize(
    ("planner", "env", "options", "message"),
    [
        ("react", "minecraft", {}, "minecraft has no demonstration 'common' for react, so its prompts have none;"),
        ("react", "minecraft", {"demonstrations": "atomic"}, ""),
        ("react", "textcraft", {"demonstrations": "task"}, "textcraft has no demonstration 'task' for react,"),
        ("plan-and-execute", "tabletop", {}, "tabletop has no demonstrations 'common', 'planning_detailed' for"),
        ("deps", "textcraft", {}, "textcraft has no demonstrations for deps, so its prompts have none; to add one,"),
        ("automanual", "miniwob", {}, ""),
    ],
)
def test_missing_demonstrations_are_reported(planner: str, env: str, options: dict[str, Any], message: str) -> None:
    found = missing_demonstrations_warning(config(planner, env, **options))
    assert found.startswith(message)
    assert bool(found) == bool(message)


def test_a_demonstration_may_come_from_the_runs_library(tmp_path: Path) -> None:
    folder = tmp_path / "minecraft" / "demonstrations" / "common"
    folder.mkdir(parents=True)
    played = config("react", "minecraft").model_copy(update={"library": str(tmp_path)})
    assert missing_demonstrations_warning(played)
    (folder / "MT1_basic.md").write_text("How it is done.")
    assert not missing_demonstrations_warning(played)


def test_a_run_reports_missing_demonstrations_once(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ENVIRONMENT)
    options = ("--model", "recorded:react-textcraft", "--split", "all:2", "--json", "--out", tmp_path / "run")
    finished = invoke("run", "--planner", "react", "--env", f"{tmp_path / 'mine.py'}:Mine", *options)
    assert finished.printed.count("write DIR/mine/demonstrations/atomic.md and give --library DIR") == 1


def test_random_is_refused_where_no_action_can_be_drawn() -> None:
    refused = invoke("run", "--env", "toy", "--planner", "random", "--seeds", "0")
    assert refused.returncode == 2
    assert "random cannot play toy" in refused.printed
    assert "define possible_actions()" in refused.printed


@pytest.mark.parametrize("arguments", [("--procedures-first",), ("--planner-option", "replans=0")])
def test_options_of_a_planner_without_a_model_are_refused(arguments: tuple[str, ...]) -> None:
    refused = invoke("test", "--env", "toy", "--seeds", "0", "--model", "none", *arguments)
    assert refused.returncode == 2
    assert "there is no such option. Options: none" in refused.printed


def test_a_rule_that_the_library_of_procedures_does_not_have_is_refused(tmp_path: Path) -> None:
    refused = invoke("run", "--env", "toy", "--seeds", "0", "--without", "rule_99", "--library", tmp_path)
    assert refused.returncode == 2
    assert "--without rule_99: there is no such rule or skill; known: none" in refused.printed
