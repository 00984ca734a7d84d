"""Rules and earlier tasks are chosen by the words of the current task."""

import pytest
from hypothesis import given, strategies as st

from planbook.envs import Task
from planbook.planner.models.types import estimate_tokens
from planbook.rules import Rule, RuleBook, RuleType, Skill
from planbook.rules.goal_words import scores, words
from planbook.rules.learned_memory import other_helpers, rules_for, select_rules
from planbook.rules.rendering import render_calls


def rule(
    number: int,
    content: str,
    example: str = "",
    builds_on: tuple[str, ...] = (),
    type: RuleType = RuleType.SPECIAL_MECHANISM,
) -> Rule:
    return Rule(id=f"rule_{number}", type=type, content=content, example=example, builds_on=builds_on, log=("x" * 99,))


def task(type: str, goal: str, id: str = "t") -> Task:
    return Task(id=id, env="toy", split="all", type=type, goal=goal)


HEAT = task("pick_heat_then_place", "put a hot mug in the cabinet")
BOOK = RuleBook.from_rules(
    (
        rule(0, "A receptacle must be visited before what is in it can be seen."),
        rule(1, "To search the receptacles one after the other, use find_object."),
        rule(2, "To heat a thing, take it to the microwave.", "heat(mug_1)", builds_on=("rule_1",)),
        rule(3, "To cool a thing, take it to the fridge.", "cool(apple_1)"),
        rule(4, "To look at a thing under a lamp, take it and switch on the desklamp."),
    )
)


def test_names_are_split_into_words() -> None:
    assert words("pick_heat_then_place: mug_12, a Fridge-1") == ["pick", "heat", "place", "mug", "fridge"]


def test_all_rules_are_kept_if_they_fit() -> None:
    assert select_rules(BOOK, HEAT, 10_000) == BOOK.active


@pytest.mark.parametrize(
    ("task_type", "goal", "tokens", "expected"),
    [
        (HEAT.type, HEAT.goal, 65, ["rule_1", "rule_2"]),
        ("pick_cool_then_place", "cool it", 30, ["rule_3"]),
        ("any", "do it", 28, ["rule_0"]),
        (HEAT.type, HEAT.goal, 0, []),
    ],
    ids=["with what they build on", "best match", "ties keep the order", "no budget"],
)
def test_a_budget_leaves_the_rules_that_fit_best(task_type: str, goal: str, tokens: int, expected: list[str]) -> None:
    assert [rule.id for rule in select_rules(BOOK, task(task_type, goal), tokens)] == expected


@given(st.integers(min_value=0, max_value=300), st.text(alphabet="heat col mug lamp_1", max_size=30))
def test_the_budget_is_kept_and_every_rule_has_those_it_builds_on(budget: int, goal: str) -> None:
    chosen = select_rules(BOOK, task("any", goal), budget)
    shown = ["\n".join(filter(None, (r.id, r.type, r.content, r.example))) for r in chosen]
    assert sum(map(estimate_tokens, shown)) <= budget
    ids = [rule.id for rule in chosen]
    assert ids == sorted(ids)
    assert all(set(rule.builds_on) <= set(ids) for rule in chosen)


def test_rules_that_build_on_each_other_are_chosen_together() -> None:
    ring = RuleBook.from_rules((rule(0, "mug", builds_on=("rule_1",)), rule(1, "see rule_0"), rule(2, "lamp " * 50)))
    assert [rule.id for rule in select_rules(ring, HEAT, 40)] == ["rule_0", "rule_1"]


def test_repeated_words_count_once() -> None:
    assert scores("mug mug lamp", ["mug", "lamp lamp"]) == scores("lamp mug", ["mug", "lamp lamp"])


@pytest.mark.parametrize(("query", "texts"), [("", ["mug"]), ("7", ["mug"]), ("mug", []), ("mug", ["1 2", ""])])
def test_texts_or_queries_without_words_have_no_score(query: str, texts: list[str]) -> None:
    assert scores(query, texts) == [0.0] * len(texts)


PROCESS = RuleType.SUCCESS_PROCESS
BY_TYPE = RuleBook.from_rules(
    (
        rule(0, "A receptacle must be visited before what is in it can be seen."),
        rule(1, "find_object searches the receptacles.", "def find_object(): ...", type=RuleType.USEFUL_HELPER_METHOD),
        rule(2, "To put a thing somewhere: find it, take it, put it.", "put(thing)", ("rule_0", "rule_1"), PROCESS),
        rule(3, "To heat a thing, hot from the microwave, go on as in rule_2.", "heat(mug_1)", ("rule_1",), PROCESS),
        rule(4, "To cool a thing, cold from the fridge: take it, cool it.", "cool(apple_1)", ("rule_2",), PROCESS),
        rule(5, "A hot thing is not put into the fridge.", type=RuleType.CORRECTED_ERROR),
    )
)


def ids(task: Task, skill: Skill | None = None) -> list[str]:
    return [rule.id for rule in rules_for(BY_TYPE, task, skill)]


def test_a_task_gets_its_process_the_rules_that_it_names_and_fitting_errors() -> None:
    assert ids(HEAT) == ["rule_0", "rule_1", "rule_2", "rule_3", "rule_5"]
    cool = task("pick_cool_then_place", "cool some lettuce")
    assert ids(cool) == ["rule_4"], "a process that another one merely builds on is not shown"


def test_a_task_without_a_clearly_best_process_gets_all_rules() -> None:
    assert ids(task("sing", "a song")) == list(BY_TYPE.ids)


def test_the_code_of_a_skill_shows_which_process_fits() -> None:
    sing = task("sing", "a song")
    assert ids(sing, Skill(task=sing, scene="", code="cool('apple_1')")) == ["rule_4"]


def test_other_helper_methods_are_listed_with_their_calls() -> None:
    chosen = RuleBook.from_rules((BY_TYPE.active[0],))
    others = other_helpers(BY_TYPE, chosen)
    assert [rule.id for rule in others] == ["rule_1"]
    assert render_calls("Rules.", others, {"find_object"}).split("\n")[-1] == "- rule_1: `find_object()`"
    assert render_calls("Rules.", others, set()) == "Rules."
