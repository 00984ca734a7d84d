"""Every part that can be left out is left out: read off the prompts that were sent."""

import json
from pathlib import Path

import pytest

from planbook.knowledge import ABLATIONS
from planbook.rules.types import RuleType
from tests.flows import BUILD, Finished, asks, events, here, prompt, scripted

THOUGHTS = ("The boxes are box_", "It is in another box.", "I looked into one box only.")
"""What the scripted planner says beside its code."""


class Ablated:
    """A building run without something, its manual and a test run with it under the same ablation."""

    def __init__(self, folder: Path, *without: str, tasks: int = 3) -> None:
        self.folder, self.test = folder / "build", folder / "test"
        left_out = [word for name in without for word in ("--without", name)]
        command = (*BUILD, "--tasks-per-type", tasks, "--no-procedures", *left_out, "--json")
        self.finished = here(*command, "--out", self.folder)
        assert self.finished.returncode == 0, self.finished.printed
        if "rules" not in without:
            assert here("formulate", self.folder).returncode == 0
        command = ("test", "--env", "toy", "--library", self.folder, "--model", scripted(), *left_out)
        self.tested = here(*command, "--seeds", "1000-1001", "--out", self.test)
        assert self.tested.returncode == 0, self.tested.printed

    def prompts(self, role: str = "", template: str = "") -> list[str]:
        """What was asked in building and in testing."""
        return [prompt(each) for folder in (self.folder, self.test) for each in asks(folder, role, template)]

    def first_plans(self) -> list[str]:
        return self.prompts("planner", "automanual/task")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ablated:
    return Ablated(tmp_path_factory.mktemp("whole"))


def test_nothing_is_missing_where_nothing_is_left_out(whole: Ablated) -> None:
    """What the tests below look for in vain is there otherwise."""
    plans = "\n".join(whole.first_plans())
    for mark in (
        "## rule_1 (Useful Helper Method)",
        "# Code of an earlier task",
        "### Rules",
        "def find_box",
        "# Manual of",
    ):
        assert mark in plans
    assert "Write what could be of use in other tasks as functions" in plans
    builder = "\n".join(whole.prompts("builder"))
    for mark in (*THOUGHTS, "Verdict: Imperfect Rules", "Given at the start.", "write_rule(content", "Log:"):
        assert mark in builder
    assert not [each for each in whole.prompts("builder") if "Decide from the whole episode which rules" in each]


def test_without_rules_no_builder_is_asked_and_no_rule_told(tmp_path: Path) -> None:
    run = Ablated(tmp_path, "rules")
    assert {each["role"] for each in asks(run.folder)} == {"planner"}
    assert not [
        each for each in run.first_plans() if "# What is known of this environment" in each or "## rule_" in each
    ]
    assert [each for each in run.first_plans() if "# Code of an earlier task" in each], "libraries stay"
    assert here("rules", run.folder, "--json").result["rules"] == []
    assert not [each for each in run.first_plans() if "### Rules" in each], "nor is the planner asked for any"


def test_without_rules_and_libraries_the_planner_has_its_example_only(tmp_path: Path) -> None:
    run = Ablated(tmp_path, "rules", "libraries")
    for each in asks(run.folder, "planner", "automanual/task") + asks(run.test, "planner", "automanual/task"):
        assert each["messages"][-1]["content"].lstrip().startswith("# The task")
        assert "# An example" in each["messages"][0]["content"]


def test_offline_nothing_is_built_before_the_last_episode(tmp_path: Path, whole: Ablated) -> None:
    run = Ablated(tmp_path, "online")
    order = [event.scope.split("/")[0] for event in events(run.folder) if event.kind in ("ask", "outcome")]
    in_building = order[: len(order) - order[::-1].index("learn")]
    assert "task" not in in_building[in_building.index("learn") :]
    first = [prompt(each) for each in asks(run.folder, "planner", "automanual/task")]
    assert len(first) == run.finished.result["tasks"] == 6
    assert not [each for each in first if "# Code of an earlier task" in each or "## rule_3" in each]
    assert [each for each in whole.prompts("planner", "automanual/task") if "## rule_3" in each]
    assert asks(run.folder, "builder")


def test_without_cases_every_episode_has_the_same_instructions(tmp_path: Path) -> None:
    run = Ablated(tmp_path, "cases")
    managed = run.prompts("builder")
    assert managed
    assert all("Decide from the whole episode which rules to write and which to update." in each for each in managed)
    assert not run.prompts("builder", "builder/classify")


def test_without_classification_and_formulation_nobody_asks_whose_fault_it_was_and_rules_are_a_list(
    tmp_path: Path, whole: Ablated
) -> None:
    run = Ablated(tmp_path, "classification", "formulation")
    assert whole.prompts("builder", "builder/classify")
    assert not run.prompts("builder", "builder/classify")
    assert run.prompts("builder", "builder/manage")
    assert not [each for each in run.prompts() if "Verdict" in each]
    assert (run.folder / "learnt" / "toy" / "manual.md").exists()
    plans = [prompt(each) for each in asks(run.test, "planner", "automanual/task")]
    assert not [each for each in plans if "# Manual of the toy world" in each]
    assert all("## rule_0 (Special Mechanism)" in each for each in plans)


def test_without_types_no_prompt_with_rules_says_a_type(tmp_path: Path) -> None:
    run = Ablated(tmp_path, "types")
    for each in run.prompts():
        assert not [kind.value for kind in RuleType if f"({kind.value})" in each or f'"{kind.value}"' in each]
        assert "- `type`: one of" not in each
        assert 'type="..."' not in each
    [formulated] = asks(run.folder, "formulator")
    assert not [kind.value for kind in RuleType if kind.value in prompt(formulated)]
    assert {rule["type"] for rule in here("rules", run.folder, "--json").result["rules"]} == {None}


def test_without_examples_and_logs_no_rule_has_them_and_no_prompt_asks_for_them(tmp_path: Path) -> None:
    run = Ablated(tmp_path, "examples", "logs")
    rules = here("rules", run.folder, "--json").result["rules"]
    assert {(rule["example"], bool(rule["log"])) for rule in rules} == {("", False)}
    for each in run.prompts("builder"):
        assert "Log:\n" not in each
        assert "- `log`:" not in each
        assert "- `example`:" not in each
        assert 'example="..."' not in each
        assert 'log="..."' not in each.split("# The episode")[0]
    assert not [each for each in run.first_plans() if "\nExample:\n" in each]


@pytest.mark.deep
def test_without_helpers_no_prompt_has_defines_or_encourages_any(tmp_path: Path) -> None:
    run = Ablated(tmp_path, "helpers")
    for each in run.prompts("planner", "automanual/task"):
        assert "Useful Helper Method" not in each
        assert "Functions that are defined already" not in each
        assert "Write what could be of use in other tasks as functions" not in each
        assert "find_box" not in each
    assert not [each for each in run.prompts("builder") if "Useful Helper Method" in each]
    types = {rule["type"] for rule in here("rules", run.folder, "--json").result["rules"]}
    assert types
    assert "Useful Helper Method" not in types


def test_a_manual_is_shown_without_its_helpers(tmp_path: Path, whole: Ablated) -> None:
    command = ("test", "--env", "toy", "--library", whole.folder, "--model", scripted(), "--without", "helpers")
    assert here(*command, "--seeds", "1000", "--out", tmp_path / "run").returncode == 0
    for each in asks(tmp_path / "run", "planner", "automanual/task"):
        assert "Useful Helper Method" not in prompt(each)
        assert "def find_box" not in each["messages"][-1]["content"].split("# Code of an earlier task")[0]


@pytest.mark.deep
def test_without_cooperation_and_libraries_thoughts_cited_rules_and_skills_are_left_out(
    tmp_path: Path, whole: Ablated
) -> None:
    run = Ablated(tmp_path, "cooperation", "libraries")
    for each in run.prompts("builder"):
        assert not [thought for thought in THOUGHTS if thought in each]
        assert "### Understanding" not in each
    asked = "The rules that matter now, one a line"
    assert not [each for each in run.first_plans() if asked in each]
    assert all(asked in each for each in whole.first_plans())
    for each in run.prompts("planner", "automanual/"):
        assert "# Code of an earlier task" not in each or "conclusion" in each
        assert "# A failure to learn from" not in each
    assert [each for each in run.first_plans() if "# What is known of this environment" in each]
    config = json.loads((run.folder / "run.json").read_text())["config"]
    assert config["without"] == ["cooperation", "libraries"]


@pytest.mark.parametrize("command", [BUILD, ("test", "--env", "toy"), ("run", "--env", "toy")])
def test_a_part_that_does_not_exist_is_refused_with_the_list(tmp_path: Path, command: tuple[str, ...]) -> None:
    refused: Finished = here(*command, "--without", "everything", "--out", tmp_path / "run")
    assert refused.returncode == 2
    assert "--without everything: there is no such part; there are" in refused.printed
    assert all(f"{name}: {meaning}" in refused.printed for name, meaning in ABLATIONS.items())
    assert not (tmp_path / "run").exists()
