"""What is learned from episodes, and what a memory recalls of it for a task, in which order."""

from collections.abc import Collection
from textwrap import indent

import pytest

from planbook.envs import Selection, Task
from planbook.envs.toy import Toy
from planbook.manuals import read_start
from planbook.planner import Conclusion, Ending, Outcome, Round, Trajectory, parse_procedure
from planbook.planner.models.types import estimate_tokens
from planbook.planner.prompts import fence_around
from planbook.rules import (
    Knowledge,
    LearnedMemory,
    Reflection,
    Rule,
    RuleType,
    Skill,
    with_conclusion,
    with_procedure,
)
from planbook.rules.learned_memory import precedent_for
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import OneModel, Replies, played

FETCH, FETCH_TWO, OTHER = Toy.select(Selection(ids=("fetch/0", "fetch_two/0", "fetch/1")))
LOG = "NEVER SHOWN"
FIND = """import re

LAST = 8


def find_box(agent, thing):
    for number in range(1, LAST + 1):
        if re.search(thing, agent.open(f"box_{number}")):
            return f"box_{number}"
"""
PROCESS = Rule(
    id="rule_10", type=RuleType.SUCCESS_PROCESS, content="Find, take, put.", example="agent.put('key')", log=(LOG,)
)
HELPER = Rule(id="rule_2", type=RuleType.USEFUL_HELPER_METHOD, content="find_box looks.", example=FIND, log=(LOG,))
SKILL = Skill(
    task=OTHER,
    scene="You see box_1, box_2.",
    code="def fetch_from(agent, thing, box):\n    agent.take(thing, box)\n    agent.put(thing)\n\n\n"
    "fetch_from(agent, 'pen', 'box_2')",
)
REFLECTION = Reflection(task=FETCH_TWO, scene="You see box_1.", text="### Reason\nIt took both at once.")
PROCEDURE = parse_procedure(
    '"""F.\n\nworld: toy\ntype: fetch\nsource: me\n"""\n\n\ndef solve(agent, task):\n    agent.put("key")\n', "fetch.py"
)
KNOWN = Knowledge(
    environment="toy",
    rules=(PROCESS, HELPER),
    skills={"fetch": SKILL},
    reflections={"fetch_two": REFLECTION},
    procedures={"fetch": PROCEDURE},
    example="An example.",
)
MANUAL = KNOWN.model_copy(update={"manual": "# The manual of boxes\n\nrule_2, rule_10"})


def memory(
    knowledge: Knowledge = KNOWN, ablations: Collection[str] = (), rule_tokens: int | None = None
) -> LearnedMemory:
    return LearnedMemory(knowledge, Toy, ablations=ablations, rule_tokens=rule_tokens)


def assert_in_order(text: str, *parts: str) -> None:
    positions = [text.index(part) for part in parts]
    assert positions == sorted(positions)


def test_rules_come_before_the_skill_in_the_order_of_their_numbers() -> None:
    recall = memory().recall(FETCH)
    rules = (
        "These rules were learned",
        "rule_2 (Useful Helper Method)",
        HELPER.content,
        FIND,
        "rule_10 (Success Process)",
    )
    assert_in_order(recall.text, *rules, "another scene", OTHER.goal, SKILL.scene, SKILL.code)
    assert "the same type" in recall.text
    assert recall.rule_ids == ("rule_2", "rule_10")
    assert (recall.example, recall.procedure) == ("An example.", PROCEDURE)


def test_a_type_without_a_skill_gets_its_reflection_after_the_rules() -> None:
    text = memory().recall(FETCH_TWO).text
    assert_in_order(text, "rule_10", "may be wrong", "it disagrees with the rules", FETCH_TWO.goal, REFLECTION.text)
    assert SKILL.code not in text


def test_a_skill_of_another_type_is_marked() -> None:
    text = memory(KNOWN.model_copy(update={"reflections": {}})).recall(FETCH_TWO).text
    assert f"of type {OTHER.type}" in text
    assert "the same type" not in text


def test_the_manual_replaces_the_list_of_rules() -> None:
    recall = memory(MANUAL).recall(FETCH)
    assert_in_order(recall.text, "These rules were learned", MANUAL.manual, SKILL.code)
    assert PROCESS.content not in recall.text
    assert recall.rule_ids == ("rule_2", "rule_10")
    assert memory(MANUAL, {"formulation"}).recall(FETCH).text == memory().recall(FETCH).text


@pytest.mark.parametrize("knowledge", [KNOWN, MANUAL], ids=["rules", "manual"])
@pytest.mark.parametrize("rule_tokens", [None, 40])
def test_a_validation_log_is_never_shown(knowledge: Knowledge, rule_tokens: int | None) -> None:
    for ablation in ("", "rules", "libraries", "examples", "types", "helpers", "formulation"):
        recalls = map(memory(knowledge, {ablation}, rule_tokens).recall, (FETCH, FETCH_TWO, OTHER))
        assert all(LOG not in recall.model_dump_json() for recall in recalls)


def test_helper_methods_of_rules_and_skill_are_defined() -> None:
    helpers = memory().recall(FETCH).helpers
    assert_in_order(helpers, "import re", "LAST = 8", "def find_box", "def fetch_from")
    assert "'box_2'" not in helpers
    assert "def fetch_from" not in memory().recall(FETCH_TWO).helpers


@pytest.mark.parametrize(
    ("ablation", "absent"),
    [
        ("rules", {"process", "example", "type", "rule helper"}),
        ("libraries", {"skill", "skill helper"}),
        ("examples", {"example", "rule helper"}),
        ("types", {"type"}),
        ("helpers", {"rule helper", "skill helper"}),
    ],
)
def test_an_ablation_removes_its_part_and_no_other(ablation: str, absent: set[str]) -> None:
    recall = memory(ablations={ablation}).recall(FETCH)
    shown = {
        "process": PROCESS.content in recall.text,
        "example": FIND in recall.text,
        "type": "Success Process" in recall.text,
        "skill": SKILL.code in recall.text,
        "rule helper": "def find_box" in recall.helpers,
        "skill helper": "def fetch_from" in recall.helpers,
    }
    assert {name for name, is_shown in shown.items() if not is_shown} == absent
    assert recall.rule_ids == (() if ablation == "rules" else ("rule_2", "rule_10"))


def test_without_rules_and_libraries_nothing_is_shown() -> None:
    assert memory(ablations={"rules", "libraries"}).recall(FETCH).text == ""


@pytest.mark.parametrize("name", ["types", "examples"])
def test_a_manual_that_may_hold_what_is_left_out_is_not_shown(name: str) -> None:
    assert memory(MANUAL, {name}).recall(FETCH).text == memory(KNOWN, {name}).recall(FETCH).text
    reduced = tuple(rule.model_copy(update={"type": None, "example": ""}) for rule in KNOWN.rules)
    assert MANUAL.manual in memory(MANUAL.model_copy(update={"rules": reduced}), {name}).recall(FETCH).text


def test_a_token_budget_limits_the_rules_that_are_shown() -> None:
    many = tuple(
        Rule(id=f"rule_{n}", type=RuleType.SPECIAL_PHENOMENON, content=(f"{word} " * 200)[:900])
        for n, word in enumerate(("weather", "music", FETCH.goal, "numbers"))
    )
    recall = memory(MANUAL.model_copy(update={"rules": many}), rule_tokens=300).recall(FETCH)
    assert recall.rule_ids == ("rule_2",)
    assert "rule_0" not in recall.text
    assert MANUAL.manual not in recall.text


HOSTILE = (
    "def broken(:\n    return 1",
    "```\n'''\n\"\"\"",
    "x = (" * 500,
    "import os\n\n\ndef leave():\n    os._exit(1)",
    "WORST = 1 / 0\n\n\ndef worst():\n    return WORST",
    "agent = None\n\n\ndef agent():\n    return {{ agent }}",
    "{% raise %} {{ nothing }} {# #}",
    "\x00\udcff def",
)


@pytest.mark.parametrize("code", HOSTILE)
def test_hostile_code_is_shown_and_breaks_nothing(sandbox: Sandbox, code: str) -> None:
    rule = HELPER.model_copy(update={"id": "rule_3", "example": code})
    skill = SKILL.model_copy(update={"code": code, "scene": code})
    knowledge = KNOWN.model_copy(update={"rules": (*KNOWN.rules, rule), "skills": {"fetch": skill}})
    recall = memory(knowledge).recall(FETCH)
    assert recall.text.count(code.strip()) == 3
    assert "def find_box" in recall.helpers
    solved = "for thing in task.params['things']:\n    agent.take(thing, find_box(agent, thing))\n    agent.put(thing)"
    model = Replies(f"### Code\n```python\n{solved}\n```")
    ending, _ = played(sandbox, OneModel(model), "automanual", memory=memory(knowledge))
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert "find_box" in model.asked[0][-1].content


def test_the_same_task_gets_the_same_recall() -> None:
    first = memory()
    assert first.recall(FETCH) is first.recall(FETCH)
    reversed_order = {"rules": KNOWN.rules[::-1], "skills": dict(reversed(KNOWN.skills.items()))}
    assert memory(KNOWN.model_copy(update=reversed_order)).recall(FETCH) == first.recall(FETCH)


def test_knowledge_of_another_environment_is_refused() -> None:
    with pytest.raises(ValueError, match="learned in 'alfworld' cannot be used in 'toy'"):
        memory(Knowledge(environment="alfworld"))


def test_a_fence_is_longer_than_any_in_its_texts() -> None:
    assert fence_around("a", "``b``") == "```"
    assert fence_around("```\nx\n```", "`````") == "``````"


@pytest.mark.parametrize("left_out", ["rules", "cooperation"])
def test_the_example_names_no_rules_if_they_are_left_out(left_out: str) -> None:
    example = read_start("toy", ["fetch"]).example
    shown = memory(KNOWN.model_copy(update={"example": example}), {left_out}).recall(FETCH).example
    assert "### Rules" in example
    assert "### Rules" not in shown
    assert "rule_" not in shown
    assert shown.count("### ") == example.count("### ") - example.count("### Rules")


FETCH_PROCESS = PROCESS.model_copy(update={"content": "To fetch a thing: find_box (rule_2), take it, put it."})
CAN_FIND = HELPER.model_copy(
    update={
        "example": """def find_box(agent, thing):
    for number in range(1, 9):
        if thing in agent.open(f"box_{number}"):
            return f"box_{number}"
"""
    }
)
USES_BOTH = SKILL.model_copy(
    update={"code": f"{CAN_FIND.example}\n\nbox = find_box(agent, 'pen')\nagent.take('pen', box)"}
)
SHORT = KNOWN.model_copy(update={"rules": (FETCH_PROCESS, CAN_FIND), "skills": {"fetch": USES_BOTH}})


def memory_for(knowledge: Knowledge = SHORT, rule_tokens: int | None = None) -> LearnedMemory:
    return LearnedMemory(knowledge, Toy, by_task=True, rule_tokens=rule_tokens)


@pytest.mark.parametrize("code", ["Call find_box(agent, name) first.", "def broken(:\n    return 1", "x = (" * 500])
def test_code_that_cannot_be_read_is_shown_as_it_is(code: str) -> None:
    rules = (FETCH_PROCESS, CAN_FIND, CAN_FIND.model_copy(update={"id": "rule_3", "example": code}))
    skills = {"fetch": USES_BOTH.model_copy(update={"code": code})}
    text = memory_for(SHORT.model_copy(update={"rules": rules, "skills": skills})).recall(FETCH).text
    assert text.count(code) == 1, "in the skill; its process does not name rule_3"
    every = memory_for(SHORT.model_copy(update={"rules": rules[1:], "skills": {}})).recall(FETCH).text
    assert code in every


def test_an_indented_helper_is_shown_in_brief() -> None:
    indented = CAN_FIND.model_copy(update={"example": indent(CAN_FIND.example, "    ")})
    text = memory_for(SHORT.model_copy(update={"rules": (FETCH_PROCESS, indented), "skills": {}})).recall(FETCH).text
    assert "def find_box(agent, thing):\n    ..." in text


def test_without_a_skill_of_the_type_examples_are_shown() -> None:
    recall = memory_for(SHORT.model_copy(update={"skills": {}})).recall(FETCH)
    assert PROCESS.example in recall.text
    assert recall.example == "An example."


@pytest.mark.parametrize("tokens", [100, 300, 2_000])
def test_rules_for_a_task_keep_to_their_token_budget(tokens: int) -> None:
    more = [PROCESS.model_copy(update={"id": f"rule_{n}", "content": "word " * 40}) for n in range(20, 40)]
    recall = memory_for(SHORT.model_copy(update={"rules": (*SHORT.rules, *more)}), tokens).recall(FETCH)
    assert "To fetch a thing" in recall.text
    assert estimate_tokens(recall.text.partition("# Code of")[0]) <= tokens + 60, "in addition to the heading"


# Episodes become skills and reflections.

EMPTY = Knowledge(environment="toy")


def ended(outcome: Outcome, task: Task = FETCH) -> Trajectory:
    rounds = (Round(number=0, observation="the first scene"), Round(number=1, observation="the same again"))
    return Trajectory(path="task/0", task=task, rounds=rounds, ending=Ending(outcome=outcome))


def skill(task: Task, code: str = "agent.put('key')") -> Skill:
    return Skill(task=task, scene="somewhere", code=code)


@pytest.mark.parametrize("outcome", [Outcome.DIRECT_SUCCESS, Outcome.INDIRECT_SUCCESS])
def test_the_last_success_becomes_the_skill_of_its_type(outcome: Outcome) -> None:
    first = with_conclusion(EMPTY, ended(outcome), Conclusion(text="a mistake", code="agent.open('box_1')"))
    assert first.skills == {"fetch": Skill(task=FETCH, scene="the first scene", code="agent.open('box_1')")}
    assert (first.reflections, EMPTY.skills) == ({}, {})
    before = first.model_copy(update={"skills": {**first.skills, "fetch_two": skill(FETCH_TWO)}})
    after = with_conclusion(before, ended(outcome, OTHER), Conclusion(text="", code="agent.open('box_9')"))
    assert (after.skills["fetch"].task, after.skills["fetch"].code) == (OTHER, "agent.open('box_9')")
    assert after.skills["fetch_two"] == before.skills["fetch_two"]


@pytest.mark.parametrize("outcome", [Outcome.FAILURE, Outcome.OUT_OF_BUDGET])
def test_the_last_failure_becomes_the_reflection_of_its_type(outcome: Outcome) -> None:
    before = EMPTY.model_copy(update={"skills": {"fetch": skill(FETCH)}})
    after_one = with_conclusion(before, ended(outcome), Conclusion(text="it guessed", code="agent.open('box_1')"))
    after_two = with_conclusion(after_one, ended(outcome, OTHER), Conclusion(text="it guessed again"))
    assert after_one.reflections == {"fetch": Reflection(task=FETCH, scene="the first scene", text="it guessed")}
    assert after_two.reflections["fetch"].text == "it guessed again"
    assert after_two.skills == before.skills


@pytest.mark.parametrize(
    ("outcome", "conclusion"),
    [
        *((outcome, Conclusion(text=" ", code="\n")) for outcome in Outcome),
        (Outcome.BROKEN, Conclusion(text="the world fell", code="agent.open('box_2')")),
        (Outcome.NOT_RUN, Conclusion(text="the world fell", code="agent.open('box_2')")),
    ],
)
def test_an_empty_conclusion_and_a_broken_episode_change_nothing(outcome: Outcome, conclusion: Conclusion) -> None:
    before = with_conclusion(EMPTY, ended(Outcome.DIRECT_SUCCESS), Conclusion(text="", code="agent.open('box_1')"))
    assert with_conclusion(before, ended(outcome), conclusion) == before


def test_a_type_is_shown_its_skill_before_its_reflection() -> None:
    reflection = Reflection(task=FETCH, scene="somewhere", text="it guessed")
    both = Knowledge(environment="toy", skills={"fetch": skill(OTHER)}, reflections={"fetch": reflection})
    assert precedent_for(both, FETCH) == skill(OTHER)
    assert precedent_for(both.model_copy(update={"skills": {"fetch_two": skill(FETCH_TWO)}}), FETCH) == reflection


def test_a_type_without_skill_and_reflection_is_shown_the_skill_of_the_most_similar_task() -> None:
    def cleaning(kind: str, goal: str) -> Task:
        return Task(id=kind, env="toy", split="all", type=kind, goal=goal)

    near, far = skill(cleaning("clean_mug", "clean the mug in the sink")), skill(cleaning("walk", "go home"))
    task = cleaning("clean_plate", "clean the plate in the sink")
    assert precedent_for(Knowledge(environment="toy", skills={"walk": far, "clean_mug": near}), task) == near
    assert precedent_for(Knowledge(environment="toy", skills={"walk": far}), task) is None
    assert precedent_for(Knowledge(environment="toy", skills={"walk": far}), task, allow_unrelated=True) == far
    assert precedent_for(EMPTY, task) is None


def test_a_procedure_replaces_the_older_one() -> None:
    text = '"""Fetch.\n\nworld: toy\ntype: fetch\nsource: %s\n"""\n\n\ndef solve(agent, task):\n    agent.put("key")\n'
    older, newer = (parse_procedure(text % source, "fetch.py") for source in ("one", "two"))
    known = with_procedure(with_procedure(EMPTY, older), newer)
    assert known.procedures == {"fetch": newer}
    assert with_procedure(known, None) == known
