"""``--paper``: a run uses and records the settings of its paper, but options on the command line take precedence."""

import json
from pathlib import Path
from typing import Any

import pytest

import planbook
from planbook.envs import load_environment
from planbook.errors import BadArgument
from planbook.papers import publications
from planbook.papers.settings import paper_settings, settings_of_papers
from planbook.planner import METHODS
from planbook.planner.roles import DEFAULT_ROLE
from planbook.settings import Settings
from tests.flows import asks, events, prompt, scripted, succeed

OWN = """
from pydantic import BaseModel
from planbook.envs.toy import Toy

class Own(Toy):
    name = "miniwob"

    class Options(BaseModel):
        paper_actions: bool = False
"""
"""An environment that has the name and the options of one in a paper, but needs no browser."""
SETTINGS = [(planner, *place) for planner in METHODS for place in settings_of_papers(planner)]
BUILDING_SETTINGS = [
    (planner, each.env, each.split)
    for paper in publications()
    for each in paper.settings
    if each.build
    for planner in [each.build.planner]
]


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(OWN)
    return f"{tmp_path}/own.py:Own"


@pytest.mark.parametrize(("planner", "env", "split"), SETTINGS)
def test_a_run_records_what_its_paper_sets(planner: str, env: str, split: str) -> None:
    theirs = settings_of_papers(planner)[env, split]
    config = Settings.of(env=env, split=split, paper=True).config(planner)
    assert config.paper == theirs.paper
    assert theirs.options.items() <= config.planner_options.items()
    assert theirs.env_options.items() <= config.env_options.items()
    sampling = config.sampling[DEFAULT_ROLE].model_dump() if config.sampling else {}
    assert theirs.sampling.items() <= sampling.items()
    assert theirs.actions in (config.actions, None)
    assert config.selection.limit == theirs.tasks
    assert set(theirs.without) <= set(config.without)


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({}, 3),
        ({"split": "open:7"}, 7),
        ({"seeds": "0-4"}, None),
        ({"tasks": "survive/1"}, None),
        ({"paper": False}, None),
    ],
)
def test_as_many_tasks_as_in_the_paper_are_played_unless_tasks_are_selected(
    given: dict[str, object], limit: int | None
) -> None:
    assert Settings.of(**{"env": "crafter", "paper": True, **given}).config("agentkit").selection.limit == limit


def test_a_graph_gets_the_options_of_its_row() -> None:
    for graph, limit in (("crafter", None), ("spring", 1), ("chain-of-thought", 1)):
        config = Settings.of(env="crafter", paper=True, planner_options={"graph": graph}).config("agentkit")
        assert (config.planner_options["graph"], config.planner_options["actions_per_step"]) == (graph, limit)


def test_every_setting_of_a_paper_is_one_of_our_options() -> None:
    options = {name for method in METHODS.values() for name in method.options.model_fields}
    for setting in (each for paper in publications() for each in paper.settings):
        assert set(setting.environment_options) <= set(load_environment(setting.env).Options.model_fields)
        assert set(setting.options) <= options


@pytest.mark.parametrize(("planner", "env", "split"), BUILDING_SETTINGS)
def test_building_has_its_own_paper_settings(planner: str, env: str, split: str) -> None:
    theirs = paper_settings(planner, env, split, for_build=True)
    assert theirs.learning is not None
    assert theirs.learning.start


def test_options_on_the_command_line_take_precedence_over_the_papers(tmp_path: Path) -> None:
    run = "run --planner dep --env tabletop --split test:1 --model recorded:deps-tabletop".split()
    options = "--paper --planner-option rounds=2 --actions 9 --sampling temperature=0 --json".split()
    done = succeed(*run, *options, "--out", tmp_path / "run")
    assert "temperature" in paper_settings("dep", "tabletop", "test").sampling
    assert "Settings of DEPS taken from its paper: none\n" in done.stderr
    assert "actions allowed in an episode: 9; theirs: 15" in done.stderr
    recorded = json.loads((tmp_path / "run" / "run.json").read_text())["config"]
    assert (recorded["paper"], recorded["actions"], recorded["planner_options"]["rounds"]) == ("DEPS", 9, 2)
    assert done.result["table"][0]["paper"] == "DEPS"


@pytest.mark.parametrize(
    ("env", "planner", "message"),
    [
        ("toy", "deps", "no paper tested deps in toy; papers tested it in minecraft$"),
        ("toy", "code", "no paper tested code in toy; no paper has this method$"),
        ("textcraft", "lats", r"in textcraft; papers tested it in shopping, web; .* they tested adapt,"),
        ("alfworld", "deps", r"in alfworld; papers tested it in minecraft; .* they tested .*, dep,"),
    ],
)
def test_a_method_that_no_paper_tested_in_the_environment_is_refused(env: str, planner: str, message: str) -> None:
    """The ADaPT paper has TextCraft, and LATS, but LATS only in the web shop."""
    with pytest.raises(BadArgument, match=message):
        Settings.of(env=env, paper=True).config(planner)


def test_textcraft_has_a_development_set_of_its_own() -> None:
    """Figure 4 shows success on it for each depth up to 3."""
    assert paper_settings("adapt", "textcraft", "dev").options["d_max"] == 3
    assert paper_settings("adapt", "textcraft", "dev", ("depth_2",)).options["d_max"] == 3
    assert paper_settings("adapt", "textcraft", "test").options["d_max"] == 4


@pytest.mark.parametrize(("env", "shown"), [("alfworld", "hybrid"), ("shopping", "atomic")])
def test_adapts_executors_see_whole_tasks_only_where_the_papers_do(env: str, shown: str) -> None:
    options = paper_settings("adapt", env).options
    assert (options["demonstrations"], options["restore_failed"]) == (shown, True)


def test_a_build_takes_the_papers_learning_settings(own: str, tmp_path: Path) -> None:
    options = ("--env", own, "--split", "all:1", "--max-rules", 5, "--paper")
    done = succeed("build", *options, "--model", scripted(), "--out", tmp_path / "run")
    learning = json.loads((tmp_path / "run" / "run.json").read_text())["config"]["learning"]
    assert (learning["max_rules"], learning["start"][0], learning["libraries_only"]) == (5, "search-engine", True)

    assert (learning["conclusions"], learning["procedures"], learning["solved_after"]) == ("always", False, 99)
    assert 'learning: start=["search-engine", ' in done.printed
    assert "build rules first, and name that run with --library" in done.printed
    assert "merged no other rules" not in done.printed


def test_a_build_from_episodes_takes_the_papers_learning_settings(own: str, tmp_path: Path) -> None:
    environment = ("--env", own, "--option", "paper_actions=false")
    succeed("build", *environment, "--split", "all:1", "--model", scripted(), "--out", tmp_path / "run")
    succeed(
        "build", *environment, "--paper", "--from", tmp_path / "run", "--model", scripted(), "--out", tmp_path / "built"
    )
    learning = json.loads((tmp_path / "built" / "run.json").read_text())["config"]["learning"]
    assert (learning["conclusions"], learning["procedures"], learning["solved_after"]) == ("always", False, 99)


def test_the_splits_that_a_paper_learned_from_have_its_learning_settings() -> None:
    for split, libraries_only in (("feedback", False), ("no-feedback", True), ("all", True)):
        learning = paper_settings("automanual", "miniwob", split, for_build=True).learning
        assert learning is not None
        assert learning.libraries_only == libraries_only


def test_functions_of_skills_are_defined_for_plans_except_in_the_paper(own: str, tmp_path: Path) -> None:
    settings: Any = {"env": own, "split": "all:2", "model": scripted(), "without": ["rules"]}
    settings |= {"start": "search-engine", "env_options": {"paper_actions": False}}
    for paper in (False, True):
        planbook.build(**settings, paper=paper, out=tmp_path / str(paper))
        recalls: list[Any] = [event.body for event in events(tmp_path / str(paper), "recall")]
        assert "def find(" in recalls[-1]["text"]
        assert ("def find(" in recalls[-1]["helpers"]) != paper


def test_the_consolidator_of_the_paper_does_not_see_how_often_rules_were_cited(own: str, tmp_path: Path) -> None:
    settings: Any = {"env": own, "split": "all:3", "model": scripted()}
    for paper, shown in ((False, True), (True, False)):
        planbook.build(
            **settings, start="search-engine", libraries_only=False, max_rules=1, paper=paper, out=tmp_path / str(paper)
        )
        consolidator = [prompt(each) for each in asks(tmp_path / str(paper), "consolidator")]
        assert consolidator
        assert any("Prefer to delete rules that were never named" in each for each in consolidator) == shown
