"""Messages for wrong arguments: what was wrong, and what to write instead. Checks before a run begins."""

from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config
from planbook.envs import MissingRequirement, chromium
from planbook.errors import BadArgument
from planbook.preflight import missing_demonstrations_warning
from planbook.settings import Settings
from planbook.workers import check_roles
from tests.command import planbook
from tests.flows import invoke, refusal

BETWEEN = """
from pydantic import BaseModel, model_validator
from planbook.envs.toy import Toy


class BetweenOptions(BaseModel):
    low: int = 0
    high: int = 3

    @model_validator(mode="after")
    def _check(self):
        if self.low == 2:
            raise ValueError("low must not be 2")
        assert self.low < self.high, "low must be below high"
        return self


class Between(Toy):
    Options = BetweenOptions
"""


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("goal=look", "--option: a goal needs an address to start from: --option start=http://"),
        ("allowed=host", '--option: allowed: "host" must be a valid tuple; write it in JSON'),
        ("sites=host", 'sites: "host" must be a valid dictionary; write it in JSON'),
        ('sites={"shop": "{x}"}', "sites.shop: '{x}' is not the address of a site: it must not contain braces"),
        ("start=host", "start: 'host' is not an address: begin with http://HOST"),
        ("patience=long", 'patience: "long" must be a valid number, unable to parse string as a number'),
        ("patience=0", "patience: 0 must be greater than 0"),
        ("nothing=1", "nothing: there is no such option"),
        ("char=1", "char: there is no such option; did you mean characters? Options: tasks, sites"),
    ],
)
def test_a_wrong_option_is_reported_with_a_correct_one(option: str, message: str) -> None:
    with pytest.raises(BadArgument) as refused:
        Settings.of(env="web", env_options=(option,)).environment_options()
    assert message in str(refused.value)
    assert "Input should" not in str(refused.value)


def test_the_error_of_a_users_own_options_model_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "between.py").write_text(BETWEEN)
    for option, message in {
        "low=5": "--option: Assertion failed, low must be below high. Options: ",
        "low=2": "--option: low must not be 2. Options: ",
    }.items():
        with pytest.raises(BadArgument) as refused:
            Settings.of(env=f"{tmp_path}/between.py", env_options=(option,)).environment_options()
        assert str(refused.value).startswith(message)


def test_an_unknown_option_gets_a_suggestion_only_if_a_similar_one_exists() -> None:
    assert planbook("exec", "plan.py", "--budget", "calls=3").stderr.endswith("No such option '--budget'.\n")
    assert "No such option '--bugdet'. Did you mean '--budget'?" in planbook("run", "--bugdet", "calls=3").stderr


def test_a_script_without_a_function_is_named_as_the_user_wrote_it() -> None:
    assert "scripted:foo.py does not name a function in a file" in refusal(
        "run", "--env", "toy", "--planner", "react", "--model", "scripted:foo.py"
    )


def test_a_task_file_must_be_json(tmp_path: Path) -> None:
    (tmp_path / "w.py").write_text("import os\n")
    assert "is not JSON (line 1: Expecting value); it must contain a list of tasks" in refusal(
        "run", "--env", "web", "-o", f"tasks={tmp_path / 'w.py'}"
    )


def test_a_variable_that_names_the_browser_is_preferred(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PLANBOOK_CHROMEDRIVER", str(tmp_path / "nothing"))
    monkeypatch.setenv("PLANBOOK_CHROMIUM", str(program))
    assert {each.name: each.found for each in chromium.requirements()}["chromium"] == str(program)
    with pytest.raises(MissingRequirement, match="missing: chromedriver: PLANBOOK_CHROMEDRIVER names"):
        chromium.program_paths()


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
    assert "define possible_actions()" in refusal("run", "--env", "toy", "--planner", "random", "--seeds", "0")


@pytest.mark.parametrize("arguments", [("--procedures-first",), ("--planner-option", "replans=0")])
def test_options_of_a_planner_without_a_model_are_refused(arguments: tuple[str, ...]) -> None:
    assert "there is no such option. Options: none" in refusal(
        "test", "--env", "toy", "--seeds", "0", "--model", "none", *arguments
    )


def test_a_rule_that_the_library_of_procedures_does_not_have_is_refused(tmp_path: Path) -> None:
    assert "--without rule_99: there is no such rule or skill; known: none" in refusal(
        "run", "--env", "toy", "--seeds", "0", "--without", "rule_99", "--library", tmp_path
    )
