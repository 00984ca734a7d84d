"""The code in shipped demonstrations passes the check, and their plans and quotations are correct."""

import re
from functools import cache
from pathlib import Path

import pytest

from planbook.envs import Selection, Task, load_environment
from planbook.manuals.procedures import DEMONSTRATIONS_FOLDER, SHIPPED, DemonstratingMemory
from planbook.manuals.start import starts
from planbook.planner import NoMemory, Outcome
from planbook.planner.models.types import estimate_tokens
from planbook.planner.strategies.adapt import PLANNING, PLANNING_DETAILED
from planbook.planner.strategies.adapt.executor import DEMONSTRATIONS, STEPWISE
from planbook.planner.strategies.adapt.order import read_decomposition
from planbook.sandbox import Sandbox
from tests.manuals.demonstration_examples import Example, examples, is_shortened, played

FOR_GOALS = ("deps", "explained", "goals", "thoughts", "dialogue", "assertions", "policies")
"""Demonstrations for DEPS and its baselines, which test_goal_demonstrations.py plays."""
FILES = [path for path in sorted(SHIPPED.glob(f"*/{DEMONSTRATIONS_FOLDER}/**/*.md")) if path.stem not in FOR_GOALS]
MOST_TOKENS = {
    "atomic": 1600,
    "common": 1200,
    "task": 900,
    "stepwise": 2400,
    "stepwise_common": 1500,
    "stepwise_task": 1900,
    PLANNING: 1200,
    PLANNING_DETAILED: 900,
}
WHOLE_TASKS = ("common", "stepwise_common", "stepwise_task", "task")
"""The demonstrations that show whole tasks."""


def environment_of(path: Path) -> str:
    return path.relative_to(SHIPPED).parts[0]


def name_of(path: Path) -> str:
    """Return the name by which methods request the file, such as ``task`` for task/TYPE.md."""
    return path.relative_to(SHIPPED).parts[2].removesuffix(".md")


def label(path: Path) -> str:
    return "-".join(path.relative_to(SHIPPED).with_suffix("").parts[0::2] + path.parts[-1:])


@cache
def shown(path: Path) -> str:
    """Return a file as prompts show it."""
    environment_name, name = environment_of(path), name_of(path)
    task = Task(id="any", env=environment_name, split="any", type=path.stem, goal="any")
    return DemonstratingMemory(NoMemory(), (name,)).recall(task).demonstrations[name]


executors = pytest.mark.parametrize("path", [path for path in FILES if name_of(path) in DEMONSTRATIONS], ids=label)
planners = pytest.mark.parametrize("path", [path for path in FILES if name_of(path) not in DEMONSTRATIONS], ids=label)


def without_state(feedback: str) -> str:
    return re.sub(r"\nCurrent state: .*", "", feedback)


def codes(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def plans(text: str) -> list[str]:
    return re.split(r"^## To divide: .*\n", text, flags=re.MULTILINE)[1:]


def test_every_environment_has_demonstrations_for_executor_and_planner() -> None:
    have = {(environment_of(path), name_of(path)) for path in FILES}
    needed = {(environment_of(path), name) for path in FILES for name in ("atomic", PLANNING)}
    assert needed <= have
    assert {("alfworld", "common"), ("alfworld", "task"), ("textcraft", "common")} <= have
    for name in ("task", "stepwise_task"):
        types = {path.stem for path in FILES if name_of(path) == name and environment_of(path) == "alfworld"}
        assert types == set(load_environment("alfworld").types)


@pytest.mark.parametrize(("environment", "number"), [("alfworld", 6), ("shopping", 2), ("textcraft", 2)])
def test_planners_see_as_many_examples_as_in_the_paper(environment: str, number: int) -> None:
    assert len(plans(shown(SHIPPED / environment / DEMONSTRATIONS_FOLDER / f"{PLANNING}.md"))) == number


@pytest.mark.parametrize("path", FILES, ids=label)
def test_a_demonstration_is_short_and_shows_no_comments(path: Path) -> None:
    assert 0 < estimate_tokens(shown(path)) <= MOST_TOKENS[name_of(path)]
    assert "<!--" not in shown(path)
    assert "-->" not in shown(path)


@pytest.mark.parametrize("path", [path for path in FILES if name_of(path) in STEPWISE.values()], ids=label)
def test_a_reply_of_a_stepwise_example_takes_at_most_one_action(path: Path) -> None:
    actions = "|".join(load_environment(environment_of(path)).actions)
    for code in codes(shown(path)):
        assert len(re.findall(rf"\bagent\.(?:{actions})\(", code)) <= 1
        assert not re.search(r"^\s*(for|while) ", code, re.MULTILINE)


@pytest.mark.parametrize("name", ["atomic", "task"])
def test_stepwise_examples_show_the_actions_of_the_others(name: str) -> None:
    for path in (path for path in FILES if name_of(path) == name and environment_of(path) == "alfworld"):
        stepwise = shown(Path(str(path).replace(f"/{name}", f"/{STEPWISE[name]}")))
        assert _called(shown(path)) <= _called(stepwise)


def _called(text: str) -> set[str]:
    """Return the actions of an example except ``examine``, which only loops need."""
    return set(re.findall(r"\bagent\.(\w+)\(", "".join(codes(text)))) - {"examine"}


@executors
def test_quotations_are_the_feedback_of_the_environment(sandbox: Sandbox, path: Path) -> None:
    found = list(examples(path))
    assert sum(len(example.replies) for example in found) == len(codes(shown(path))) > 0
    for example in found:
        result = played(sandbox, environment_of(path), example)
        assert len(result.feedback) == len(example.replies), example.title
        assert is_shortened(example.handed, result.handed), result.handed
        assert is_shortened(example.scene or "...", _scene(result.scene)), result.scene
        for quoted, real in zip(example.quoted_feedback, result.feedback, strict=True):
            assert is_shortened(quoted, without_state(real)), f"{example.title}: {real}"
        if name_of(path) in WHOLE_TASKS:
            assert result.ending.outcome is Outcome.DIRECT_SUCCESS, example.title


def _scene(first: str) -> str:
    """Return a first observation without the task."""
    return re.split(r"\n+(?:Your task is to|Goal): ", first)[0]


@executors
def test_the_last_quotation_states_how_the_work_ended(path: Path) -> None:
    ends = [example.quoted_feedback[-1].split("\n")[-1] for example in examples(path)]
    if name_of(path) in WHOLE_TASKS:
        assert set(ends) == {"The environment's episode is over."}
    else:
        finished = {"finish(True) ...", "finish(False) ..."}
        assert finished <= set(ends) <= finished | {"The environment's episode is over."}


@pytest.mark.deep
@executors
def test_examples_are_not_default_tasks(path: Path) -> None:
    assert usual_tasks(environment_of(path)).isdisjoint(example.task for example in examples(path))


@cache
def usual_tasks(environment_name: str) -> set[str]:
    selections = {"alfworld": Selection(split="generated"), "textcraft": Selection(split="test")}
    return {task.id for task in load_environment(environment_name).tasks(selections.get(environment_name, Selection()))}


@planners
def test_every_plan_has_a_thought_and_numbered_steps(path: Path) -> None:
    found = plans(shown(path))
    assert len(found) == shown(path).count("Execution Order:") > 0
    for plan in found:
        read = read_decomposition(plan)
        assert "# Think: " in read.thought
        assert list(read.steps) == list(range(1, len(read.steps) + 1))


def test_plans_show_every_kind_of_order() -> None:
    for environment_name in ("alfworld", "toy"):
        expressions = [
            read_decomposition(plan).expression
            for path in FILES
            if environment_of(path) == environment_name and name_of(path) == PLANNING
            for plan in plans(shown(path))
        ]
        shapes = {(" and achieve" in text or "and (" in text, " or achieve" in text) for text in expressions}
        assert {(True, False), (True, True)} <= shapes


def test_detailed_plans_are_long_and_mix_operators() -> None:
    paths = [path for path in FILES if (environment_of(path), name_of(path)) == ("alfworld", PLANNING_DETAILED)]
    detailed = [read_decomposition(plan) for path in paths for plan in plans(shown(path))]
    assert detailed
    assert all(len(plan.steps) > 5 for plan in detailed)
    assert all(" and " in plan.expression and " or " in plan.expression for plan in detailed)


def textcraft_files() -> list[Path]:
    return [path for path in FILES if environment_of(path) == "textcraft"]


def test_textcraft_examples_craft_no_target_of_the_test_split() -> None:
    environment = load_environment("textcraft")
    wanted = {str(task.params["target"]) for task in environment.tasks(Selection(split="test"))}
    for path in textcraft_files():
        text = re.sub(r"^(craft \d+ .*|- .*)\n", "", shown(path), flags=re.MULTILINE)
        crafted = set(re.findall(r"(?:craft|fetch)[^\w\n]+(?:\d+ )?([a-z]+(?: [a-z]+)*)", text))
        assert not {item for item in wanted for name in crafted if re.match(rf"{item}\b", name)}


def test_textcraft_plans_craft_once_with_the_counts_of_the_command() -> None:
    [path] = [path for path in textcraft_files() if name_of(path) == PLANNING]
    commands = re.findall(r"^craft (\d+ .*) using (.*)$", shown(path), re.MULTILINE)
    assert commands
    for plan in plans(shown(path)):
        *fetches, last = read_decomposition(plan).steps.values()
        assert all(re.match(r"fetch \d+ [a-z ]+$", step) for step in fetches)
        assert re.match("craft ", last)
        [needs] = [needs for made, needs in commands if f"{made} using " in last]
        given = last.split(" using ")[1]
        assert re.findall(r"\d+", given) == re.findall(r"\d+", needs)


@pytest.mark.parametrize("environment_name", ["minecraft", "shopping", "textcraft"])
def test_shown_goals_are_not_goals_of_the_splits(environment_name: str) -> None:
    environment = load_environment(environment_name)
    splits = set(environment.splits) - {"example"}
    goals = {task.goal for split in splits for task in environment.tasks(Selection(split=split))}
    text = "".join(shown(path) for path in FILES if environment_of(path) == environment_name)
    shown_goals = set(re.findall(r"^(?:Subtask|## To divide): (.*)", text, re.MULTILINE))
    assert len(shown_goals) > 5
    assert goals.isdisjoint(shown_goals)


def example_tasks() -> list[tuple[str, Example]]:
    return [(environment_of(path), one) for path in FILES if name_of(path) in DEMONSTRATIONS for one in examples(path)]


def test_no_example_has_the_task_of_a_start() -> None:
    for environment_name, example in example_tasks():
        for name in starts(environment_name):
            start = (SHIPPED / environment_name / "start" / name / "example.md").read_text(encoding="utf-8")
            assert f"<!-- task: {example.task} -->" not in start
