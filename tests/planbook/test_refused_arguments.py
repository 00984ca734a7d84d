"""Messages for wrong arguments: what was wrong, and what to write instead."""

from pathlib import Path

import pytest

from planbook.envs import MissingRequirement, chromium
from planbook.errors import BadArgument
from planbook.settings import Settings
from tests.command import planbook
from tests.flows import invoke

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
    refused = invoke("run", "--env", "toy", "--planner", "react", "--model", "scripted:foo.py")
    assert refused.returncode == 2
    assert "scripted:foo.py does not name a function in a file" in refused.printed


def test_a_task_file_must_be_json(tmp_path: Path) -> None:
    (tmp_path / "w.py").write_text("import os\n")
    finished = invoke("run", "--env", "web", "-o", f"tasks={tmp_path / 'w.py'}")
    assert finished.returncode == 2
    assert "is not JSON (line 1: Expecting value); it must contain a list of tasks" in finished.printed


def test_a_variable_that_names_the_browser_is_preferred(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PLANBOOK_CHROMEDRIVER", str(tmp_path / "nothing"))
    monkeypatch.setenv("PLANBOOK_CHROMIUM", str(program))
    assert {each.name: each.found for each in chromium.requirements()}["chromium"] == str(program)
    with pytest.raises(MissingRequirement, match="missing: chromedriver: PLANBOOK_CHROMEDRIVER names"):
        chromium.program_paths()
