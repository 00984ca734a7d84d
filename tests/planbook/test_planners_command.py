"""`planbook planners` and `planbook envs` list all options, with their values and meanings."""

import pytest
from pydantic import BaseModel

from planbook.envs import known_environments, load_environment
from planbook.options import option_facts
from planbook.planner import METHODS
from tests.command import planbook, result
from tests.flows import invoke


def test_all_methods_are_listed() -> None:
    finished = planbook("planners", "--json")
    assert finished.returncode == 0, finished.stderr
    listed = {name: (found["summary"], found["roles"]) for name, found in result(finished)["planners"].items()}
    assert listed == {name: (strategy.summary, list(strategy.roles)) for name, strategy in METHODS.items()}
    assert all(any(f"│ {name} " in line for line in finished.stderr.splitlines()) for name in METHODS)
    assert "`planbook planners NAME`" in finished.stderr


def test_an_empty_name_lists_all_methods() -> None:
    assert invoke("planners", "").printed == invoke("planners").printed


def test_a_method_is_listed_with_its_options() -> None:
    finished = planbook("planners", "react", "--json")
    assert list(result(finished)["planners"]) == ["react"]
    found = result(finished)["planners"]["react"]
    assert (found["summary"], found["roles"]) == (METHODS["react"].summary, ["executor"])
    assert list(found["options"]) == ["iterations", "actions_per_reply", "demonstrations", "d_max"]
    d_max, demonstrations = (found["options"][name] for name in ("d_max", "demonstrations"))
    assert (d_max["values"], d_max["default"]) == ("integer from 1 to 20 or null", None)
    assert (demonstrations["values"], demonstrations["default"]) == ("task, hybrid, atomic", "hybrid")


def test_roles_that_are_asked_only_sometimes_are_marked() -> None:
    found = result(planbook("planners", "--json"))["planners"]
    assert found["deps"]["asked_sometimes"] == ["controller", "explainer"]
    assert found["adapt"]["asked_sometimes"] == ["planner"]
    assert "executor, planner (sometimes)" in planbook("planners", "adapt").stdout


@pytest.mark.parametrize(
    "options",
    [
        *(method.options for method in METHODS.values()),
        *(load_environment(name).Options for name in known_environments()),
    ],
)
def test_every_option_has_values_and_a_description(options: type[BaseModel]) -> None:
    for name, facts in option_facts(options).items():
        assert facts["description"], name
        assert facts["values"], name


def test_an_environment_is_listed_with_the_values_of_its_options() -> None:
    finished = planbook("envs", "--env", "web", "--json")
    assert "PydanticUndefined" not in finished.stderr
    sites = next(line for line in finished.stderr.splitlines() if "│ sites " in line)
    assert [cell.strip() for cell in sites.strip("│").split("│")][:3] == ["sites", '{"NAME": value, ...}', "{}"]
    found = result(finished)["worlds"]["web"]["options"]
    assert found["allowed"]["values"] == "[string, ...]"
    assert "│ [string, ...] " in finished.stderr
    assert found["patience"]["values"] == "number above 0 to 120"
    assert found["tasks"] == {"values": "path or null", "default": None, "description": found["tasks"]["description"]}


@pytest.mark.parametrize("arguments", [("envs", "--env", "web"), ("planners", "adapt")])
def test_nothing_is_cut_off_in_a_narrow_terminal(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planbook.console.PLAIN_WIDTH", 60)
    assert "\N{HORIZONTAL ELLIPSIS}" not in invoke(*arguments).printed
