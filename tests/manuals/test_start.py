"""The knowledge that a run starts with: its examples and its rules solve the tasks that they name."""

import ast
import json
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from planbook.envs import Selection, load_environment
from planbook.envs.miniwob import Miniwob
from planbook.manuals.errors import BadStart
from planbook.manuals.procedures import SHIPPED
from planbook.manuals.start import Start, default_starts, read_start, starts, types_to_learn_from
from planbook.planner import (
    Ending,
    Episode,
    FeedbackKind,
    Options,
    Outcome,
    play,
)
from planbook.rules import RuleType
from planbook.sandbox import Sandbox, defined_names, read_reply
from tests.browser import need_browser
from tests.manuals.demonstration_examples import is_shortened
from tests.planner.episode_kit import episode

ENVIRONMENTS = ("alfworld", "miniwob", "toy")
STARTS = [
    pytest.param(
        environment,
        name,
        helpers,
        id=f"{environment}-{name}{'' if helpers else '-without-helpers'}",
        marks=[pytest.mark.browser] if environment == "miniwob" else [],
    )
    for environment in ENVIRONMENTS
    for name in starts(environment)
    for helpers in (True, False)
]
SEGMENTS = ["Understanding", "Rules", "Plan", "Code"]
LATER_SEGMENTS = ["Understanding", "Mistakes", "Rules", "Plan", "Code"]
HELPER, SUCCESS = RuleType.USEFUL_HELPER_METHOD, RuleType.SUCCESS_PROCESS


def parts(example: str) -> list[tuple[str, str]]:
    """Return the headings and texts of an example."""
    found = re.split(r"^## (Task|Reply|Feedback)\n", example, flags=re.MULTILINE)
    return [(heading, text.strip("\n")) for heading, text in zip(found[1::2], found[2::2], strict=True)]


def texts(example: str, wanted: str) -> list[str]:
    return [text for heading, text in parts(example) if heading == wanted]


def codes(example: str) -> list[str]:
    replies = [read_reply(text) for text in texts(example, "Reply")]
    assert [reply.problem for reply in replies] == [None] * len(replies)
    assert [reply.after for reply in replies] == [""] * len(replies)
    return [reply.code for reply in replies]


def played(sandbox: Sandbox, environment_name: str, task_id: str, cells: Sequence[str]) -> tuple[Episode, Ending]:
    """Play a task by running cells until the episode ends."""
    if environment_name == "miniwob":
        need_browser()
    environment_class = load_environment(environment_name)
    [task] = environment_class.select(Selection(ids=(task_id,)))

    def strategy(playing: Episode, options: object) -> None:
        for code in cells:
            playing.run(code)

    with closing(environment_class()) as environment:
        playing = episode(sandbox, environment=environment, task=task, actions=environment_class.action_limit)
        return playing, play(playing, strategy, Options())


@pytest.mark.parametrize(("environment", "name", "helpers"), STARTS)
def test_the_example_has_the_form_of_a_reply(environment: str, name: str, helpers: bool) -> None:
    start = read_start(environment, [name], helpers=helpers)
    first, *later = texts(start.example, "Reply")
    assert [heading for heading, _ in parts(start.example)] == ["Task"] + ["Reply", "Feedback"] * (len(later) + 1)
    assert re.findall(r"^### (.+)$", first, re.MULTILINE) == SEGMENTS
    assert all(re.findall(r"^### (.+)$", reply, re.MULTILINE) == LATER_SEGMENTS for reply in later)
    assert set(re.findall(r"rule_\d+", start.example)) == {rule.id for rule in start.rules}
    code = "\n".join(codes(start.example))
    _, *steps = re.split(r"^# \[Step (\d+)\]", code, flags=re.MULTILINE)
    assert steps[::2] == [str(number) for number in range(1, len(steps) // 2 + 1)]
    for number, text in zip(steps[::2], steps[1::2], strict=True):
        assert any(line.startswith("assert ") and f"Step {number}:" in line for line in text.split("\n"))
    sources = [
        ast.get_source_segment(code, node) or "" for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)
    ]
    assert all("..." not in source and '"""' in source for source in sources)


@pytest.mark.parametrize(("environment", "name", "helpers"), STARTS)
def test_the_example_solves_its_task_and_quotes_real_feedback(
    sandbox: Sandbox, environment: str, name: str, helpers: bool
) -> None:
    start = read_start(environment, [name], helpers=helpers)
    [task_id] = start.tasks
    playing, ending = played(sandbox, environment, task_id, codes(start.example))
    assert ending.outcome is Outcome.DIRECT_SUCCESS, ending
    kinds = [feedback.kind for feedback in playing.feedbacks]
    assert kinds == [FeedbackKind.UNFINISHED] * (len(kinds) - 1) + [FeedbackKind.DONE]
    for quoted, real in zip(texts(start.example, "Feedback"), playing.feedbacks, strict=True):
        assert is_shortened(quoted, real.text), real.text
    goal = "" if "Your task is to: " in playing.observation.text else f"Your task is to: {playing.task.goal}\n"
    [shown] = texts(start.example, "Task")
    assert is_shortened(shown, goal + playing.observation.text), playing.observation.text


@pytest.mark.parametrize(("environment", "name", "helpers"), STARTS)
def test_the_rules_alone_solve_the_task(sandbox: Sandbox, environment: str, name: str, helpers: bool) -> None:
    start = read_start(environment, [name], helpers=helpers)
    defined = "\n".join(rule.example for rule in start.rules if rule.type is HELPER)
    [process] = [rule.example for rule in start.rules if rule.type is SUCCESS]
    _, ending = played(sandbox, environment, start.tasks[0], [f"{defined}\n{process}"])
    assert ending.outcome is Outcome.DIRECT_SUCCESS, ending


@pytest.mark.parametrize(("environment", "name", "helpers"), STARTS)
def test_the_rules_are_few_and_have_the_helpers_of_the_example(environment: str, name: str, helpers: bool) -> None:
    start = read_start(environment, [name], helpers=helpers)
    assert 2 <= len(start.rules) <= 4
    assert all(rule.content and rule.example and rule.log == ("Given at the start.",) for rule in start.rules)
    assert all(re.match(r"(In|On|When) ", rule.content) for rule in start.rules), "a rule begins with its scope"
    for rule in start.rules:
        assert set(re.findall(r"rule_\d+", rule.content)) <= set(rule.builds_on)
        if rule.type is HELPER:
            assert defined_names(rule.example)
            assert rule.example in start.example
    assert helpers or (HELPER not in {rule.type for rule in start.rules} and "def " not in start.example)


@pytest.mark.deep
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_examples_are_not_default_tasks(environment: str) -> None:
    environment_class = load_environment(environment)
    selection = Selection(split="generated") if environment == "alfworld" else Selection()
    usual = {task.id for task in environment_class.tasks(selection)}
    assert usual.isdisjoint(read_start(environment, starts(environment)).tasks)


def test_the_usual_starts_define_each_helper_once() -> None:
    for environment in ENVIRONMENTS:
        for split in ("", "feedback"):
            start = read_start(environment, default_starts(environment, split))
            named = [name for rule in start.rules if rule.type is HELPER for name in defined_names(rule.example)]
            assert len(named) == len(set(named)) > 0
    assert default_starts("miniwob", "feedback") == ("search-engine",)
    assert len(default_starts("miniwob", "all")) == len(default_starts("miniwob", "no-feedback")) == 4
    assert default_starts("shelf") == ()


def test_building_uses_the_types_without_a_start_example() -> None:
    feedback = [task.type for task in Miniwob.tasks(Selection(split="feedback", seeds=(0,)))]
    assert len(feedback) == 9
    assert len(types_to_learn_from("miniwob", feedback)) == 7
    assert len(types_to_learn_from("miniwob", Miniwob.types)) == 7 + 44
    assert types_to_learn_from("alfworld", ("look_at_obj",)) == ("look_at_obj",)


def write_start(folder: Path, example: str, rules: object) -> str:
    folder.mkdir()
    (folder / "example.md").write_text(example)
    (folder / "rules.json").write_text(rules if isinstance(rules, str) else json.dumps(rules))
    return str(folder)


def rule(number: int, content: str = "In every task.", **fields: object) -> dict[str, object]:
    return {"id": f"rule_{number}", "type": "Special Mechanism", "content": content, **fields}


def test_the_rules_of_several_starts_are_renumbered_everywhere(tmp_path: Path) -> None:
    text = "rule_0, rule_1. rule_10 and my_rule_1 and rule_1_old are not among them.\n"
    renumbered = "rule_1, rule_2. rule_10 and my_rule_1 and rule_1_old are not among them.\n"
    first = write_start(tmp_path / "first", "<!-- task: look/0 -->\nrule_0\n", [rule(0)])
    extra = {"example": text, "builds_on": ["rule_0"], "log": ["From rule_0."], "check": "# rule_0"}
    second = write_start(tmp_path / "second", f"<!-- task: look/1 -->\n{text}", [rule(0), rule(1, text, **extra)])
    start = read_start("shelf", [first, second])
    assert start.example == f"rule_0\n\n{renumbered}"
    assert start.tasks == ("look/0", "look/1")
    assert [each.id for each in start.rules] == ["rule_0", "rule_1", "rule_2"]
    last = start.rules[-1]
    assert (last.content, last.example, last.builds_on) == (renumbered, renumbered, ("rule_1",))
    assert (last.log, last.check) == (("From rule_1.",), "# rule_1")


def test_no_names_give_no_knowledge() -> None:
    assert read_start("alfworld", []) == Start()
    assert starts("shelf") == ()


@pytest.mark.parametrize(
    ("environment", "names", "message"),
    [
        ("toy", ["fetsh"], "no start 'fetsh': toy has fetch; or give a folder"),
        ("shelf", ["fetch"], "shelf has no shipped starts"),
        ("toy", ["fetch", "fetch"], "'fetch' is named more than once"),
        ("toy", [str(SHIPPED)], r"cannot be read.*needs example\.md and rules\.json"),
    ],
)
def test_an_unknown_or_repeated_start_is_refused(environment: str, names: list[str], message: str) -> None:
    with pytest.raises(BadStart, match=message):
        read_start(environment, names)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("[", "not a list of rules"),
        ([{"id": "rule_0"}], "not a list of rules"),
        ([rule(0), rule(2)], "rule 1 has the id 'rule_2'; ids are rule_0, rule_1"),
        ([rule(0, builds_on=["rule_1"]), rule(1)], "rule_0 builds on rule_1, which is not an earlier rule"),
    ],
)
def test_invalid_rules_are_refused(tmp_path: Path, rules: object, message: str) -> None:
    own = write_start(tmp_path / "own", "## Task\n", rules)
    with pytest.raises(BadStart, match=re.escape(message)):
        read_start("toy", [own])
