"""Every part of a method can be disabled with `--without`, as the prompts of the runs show."""

import json
from pathlib import Path

import pytest

from planbook.rules.types import RuleType
from tests.flows import BUILD, asks, events, invoke, prompt, refusal, scripted, succeed

THOUGHTS = ("The boxes are box_", "It is in another box.", "I looked into one box only.")
"""Text that the scripted planner writes around its code."""
TYPES = [kind.value for kind in RuleType]
EARLIER_CODE, KNOWN, CITED = (
    "# Code of an earlier task",
    "# What is known about this environment",
    "The rules that matter now, one per line",
)


class AblatedRuns:
    """A build without some parts of the method, and a test run with its manual and without the same parts."""

    def __init__(self, folder: Path, *parts: str) -> None:
        self.build, self.test = folder / "build", folder / "test"
        without_options = [word for name in parts for word in ("--without", name)]
        command = (*BUILD, "--tasks-per-type", 3, "--no-procedures", *without_options, "--json")
        self.finished = invoke(*command, "--out", self.build)
        assert self.finished.returncode == 0, self.finished.printed
        if "rules" not in parts:
            succeed("formulate", self.build)
        command = ("test", "--env", "toy", "--library", self.build, "--model", scripted(), *without_options)
        succeed(*command, "--seeds", "1000-1001", "--out", self.test)

    def prompts(self, role: str = "", template: str = "") -> list[str]:
        return [prompt(each) for folder in (self.build, self.test) for each in asks(folder, role, template)]

    def first_plans(self) -> list[str]:
        return self.prompts("planner", "automanual/task")

    def rules(self) -> list[dict[str, object]]:
        rules: list[dict[str, object]] = invoke("rules", self.build, "--json").result["rules"]
        return rules


def assert_absent(prompts: list[str], *words: str) -> None:
    assert prompts
    for each in prompts:
        assert [word for word in words if word in each] == []


@pytest.fixture(scope="module")
def complete_runs(tmp_path_factory: pytest.TempPathFactory) -> AblatedRuns:
    return AblatedRuns(tmp_path_factory.mktemp("whole"))


def test_without_ablations_every_part_is_in_the_prompts(complete_runs: AblatedRuns) -> None:
    plans, builder = "\n".join(complete_runs.first_plans()), "\n".join(complete_runs.prompts("builder"))
    for word in ("## rule_1 (Useful Helper Method)", "## rule_3", EARLIER_CODE, "### Rules", "# Manual of"):
        assert word in plans
    assert "def find_box" in plans
    assert "Write code that could be useful in other tasks as functions" in plans
    for word in (*THOUGHTS, "Verdict: Imperfect Rules", "Given at the start.", "write_rule(content", "Log:"):
        assert word in builder
    assert complete_runs.prompts("builder", "builder/classify")
    assert all(CITED in each for each in complete_runs.first_plans())
    assert_absent(complete_runs.prompts("builder"), "Decide from the whole episode which rules")


def test_without_rules_no_builder_is_asked_and_no_prompt_has_rules(tmp_path: Path) -> None:
    run = AblatedRuns(tmp_path, "rules")
    assert {each["role"] for each in asks(run.build)} == {"planner"}
    assert_absent(run.first_plans(), KNOWN, "## rule_", "### Rules")
    assert [each for each in run.first_plans() if EARLIER_CODE in each], "libraries stay"
    assert run.rules() == []


def test_without_online_learning_rules_are_written_after_the_last_episode(tmp_path: Path) -> None:
    run = AblatedRuns(tmp_path, "online")
    scopes = [event.scope for event in events(run.build, "ask") if event.body["role"] == "builder"]
    assert {scope.rpartition("/offline/")[0] for scope in scopes} == {"learn/5"}
    assert {scope.split("/")[3] for scope in scopes} == {*"012345"}, "the Builder sees every episode after the last"
    plans = [prompt(each) for each in asks(run.build, "planner", "automanual/task")]
    assert len(plans) == run.finished.result["tasks"] == 6
    assert_absent(plans, "## rule_3")
    assert EARLIER_CODE in plans[-1], "skills are learned after each episode"
    assert len(run.rules()) > 3


def test_without_cases_examples_and_logs_all_builder_prompts_have_the_same_instruction(tmp_path: Path) -> None:
    run = AblatedRuns(tmp_path, "cases", "examples", "logs")
    builder = run.prompts("builder")
    assert_absent(builder, "Log:\n", "- `log`:", "- `example`:", 'example="..."')
    assert_absent([each.split("# Episode")[0] for each in builder], 'log="..."')
    assert_absent(run.first_plans(), "\nExample:\n")
    instruction = "Decide from the whole episode which rules to write and which to update."
    assert all(instruction in each and "Check these in turn" in each for each in builder)
    assert not run.prompts("builder", "builder/classify")
    assert {(rule["example"], bool(rule["log"])) for rule in run.rules()} == {("", False)}


def test_without_classification_formulation_and_helpers_no_prompt_mentions_them(tmp_path: Path) -> None:
    run = AblatedRuns(tmp_path, "classification", "formulation", "helpers")
    assert run.prompts("builder", "builder/manage")
    assert not run.prompts("builder", "builder/classify")
    assert_absent(run.prompts(), "Verdict")
    others = [*run.prompts("builder"), *run.prompts("formulator"), *run.prompts("planner", "automanual/conclu")]
    assert_absent(others, "Useful Helper Method", "elper method", "elper function", "were defined before")
    asked, defined = "Write code that could be useful in other tasks as functions", "Functions that are already defined"
    assert_absent(run.first_plans(), "Useful Helper Method", "find_box", asked, defined)
    assert "Useful Helper Method" not in {rule["type"] for rule in run.rules()}
    assert (run.build / "learned" / "toy" / "manual.md").exists()
    plans = [prompt(each) for each in asks(run.test, "planner", "automanual/task")]
    assert_absent(plans, "# Manual of the toy world")
    assert all("## rule_0 (Special Mechanism)" in each for each in plans)


def test_without_types_no_prompt_names_a_type_of_rules(tmp_path: Path) -> None:
    run = AblatedRuns(tmp_path, "types")
    named = [word for kind in TYPES for word in (f"({kind})", f'"{kind}"')]
    assert_absent(run.prompts(), *named, "- `type`: one of", 'type="..."')
    assert_absent(run.prompts("formulator"), *TYPES)
    of_kinds = ("- Helper methods:", "The last error", "a rule on how a task is done")
    assert_absent(run.prompts("builder", "builder/"), *of_kinds)
    assert {rule["type"] for rule in run.rules()} == {None}


def test_without_helpers_a_manual_is_shown_without_its_helpers(tmp_path: Path, complete_runs: AblatedRuns) -> None:
    command = ("test", "--env", "toy", "--library", complete_runs.build, "--model", scripted(), "--without", "helpers")
    succeed(*command, "--seeds", "1000", "--out", tmp_path / "run")
    plans = asks(tmp_path / "run", "planner", "automanual/task")
    assert_absent([prompt(each) for each in plans], "Useful Helper Method")
    assert_absent([each["messages"][-1]["content"].split(EARLIER_CODE)[0] for each in plans], "def find_box")


def test_without_cooperation_and_libraries_no_prompt_has_thoughts_cited_rules_or_skills(tmp_path: Path) -> None:
    run = AblatedRuns(tmp_path, "cooperation", "libraries")
    assert_absent(run.prompts("builder"), *THOUGHTS, "### Understanding")
    assert_absent(run.first_plans(), CITED, EARLIER_CODE)
    assert_absent(run.prompts("planner", "automanual/"), "# A failure to learn from")
    assert [each for each in run.first_plans() if KNOWN in each]
    assert all("# An example" in each for each in run.first_plans())
    config = json.loads((run.build / "run.json").read_text())["config"]
    assert config["without"] == ["cooperation", "libraries"]


@pytest.mark.parametrize("cooperates", [True, False])
def test_the_consolidator_sees_thoughts_conclusions_and_citations(tmp_path: Path, cooperates: bool) -> None:
    without = () if cooperates else ("--without", "cooperation")
    consolidator = ("--model", f"consolidator={scripted('never_done')}", "--max-rules", 3)
    succeed(*BUILD, "--no-procedures", *consolidator, *without, "--out", tmp_path / "run")
    text = "\n".join(prompt(each) for each in asks(tmp_path / "run", "consolidator"))
    assert "# The episode task/0" in text
    for shown in (THOUGHTS[0], "## The agent's conclusion\n\n### Mistakes", "\ncited in ", "Prefer to delete rules"):
        assert (shown in text) == cooperates, shown


def test_several_parts_in_one_option_are_refused(tmp_path: Path) -> None:
    assert "repeat --without for each part" in refusal(
        *BUILD, "--without", "rules,libraries", "--out", tmp_path / "run"
    )
    assert not (tmp_path / "run").exists()
