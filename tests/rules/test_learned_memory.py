"""What a planner is told: in which order, what comes first, and what is never told."""

from collections.abc import Collection

import pytest

from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.manuals import read_start
from planbook.planner import METHODS, Episode, EpisodeSettings, MemoryJournal, Outcome, parse_procedure, play
from planbook.planner.models.tokens import estimate_tokens
from planbook.planner.prompts import fence_around
from planbook.planner.roles import Roles
from planbook.planner.strategies.automanual import AutoManualOptions
from planbook.rules import Knowledge, LearnedMemory, Reflection, Rule, RuleType, Skill
from planbook.sandbox import Sandbox
from tests.rules.replies import Replies

FETCH, FETCH_TWO, OTHER = Toy.select(Selection(ids=("fetch/0", "fetch_two/0", "fetch/1")))
LOG = "NEVER TOLD"
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
    knowledge: Knowledge = KNOWN, without: Collection[str] = (), rule_tokens: int | None = None
) -> LearnedMemory:
    return LearnedMemory(knowledge, Toy, without=without, rule_tokens=rule_tokens)


def positions(text: str, *parts: str) -> list[int]:
    return [text.index(part) for part in parts]


def test_rules_come_first_in_the_order_of_their_numbers_and_take_precedence() -> None:
    recall = memory().recall(FETCH)
    rules = (
        "These rules were learned",
        "rule_2 (Useful Helper Method)",
        "find_box looks.",
        FIND,
        "rule_10 (Success Process)",
    )
    skill = ("another scene", OTHER.goal, SKILL.scene, SKILL.code)
    found = positions(recall.text, *rules, *skill)
    assert found == sorted(found)
    assert recall.rule_ids == ("rule_2", "rule_10")
    assert (recall.example, recall.procedure) == ("An example.", PROCEDURE)


def test_a_type_without_a_skill_is_told_its_failure_after_the_rules() -> None:
    text = memory().recall(FETCH_TWO).text
    found = positions(text, "rule_10", "may be wrong", "it disagrees with the rules", FETCH_TWO.goal, REFLECTION.text)
    assert found == sorted(found)
    assert SKILL.code not in text


def test_a_skill_of_another_type_is_named_as_such() -> None:
    text = memory(KNOWN.model_copy(update={"reflections": {}})).recall(FETCH_TWO).text
    assert f"of type {OTHER.type}" in text
    assert "the same type" not in text
    assert "the same type" in memory().recall(FETCH).text


def test_the_manual_stands_in_the_place_of_the_list() -> None:
    recall = memory(MANUAL).recall(FETCH)
    found = positions(recall.text, "These rules were learned", MANUAL.manual, SKILL.code)
    assert found == sorted(found)
    assert PROCESS.content not in recall.text
    assert recall.rule_ids == ("rule_2", "rule_10")


@pytest.mark.parametrize("knowledge", [KNOWN, MANUAL])
@pytest.mark.parametrize("without", ["", "rules", "libraries", "examples", "types", "helpers", "formulation"])
@pytest.mark.parametrize("rule_tokens", [None, 40])
def test_a_validation_log_is_never_told(knowledge: Knowledge, without: str, rule_tokens: int | None) -> None:
    asked = memory(knowledge, {without}, rule_tokens)
    assert all(LOG not in asked.recall(task).model_dump_json() for task in (FETCH, FETCH_TWO, OTHER))


def test_helper_methods_of_rules_and_skill_are_defined_with_all_they_need() -> None:
    helpers = memory().recall(FETCH).helpers
    found = positions(helpers, "import re", "LAST = 8", "def find_box", "def fetch_from")
    assert found == sorted(found)
    assert "'box_2'" not in helpers
    assert "def fetch_from" not in memory().recall(FETCH_TWO).helpers


def test_of_two_helpers_of_one_name_the_rules_one_is_defined() -> None:
    rival = SKILL.model_copy(
        update={"code": "def find_box(agent, thing):\n    return 'box_1'\n\n\nfind_box(agent, 'x')"}
    )
    helpers = memory(KNOWN.model_copy(update={"skills": {"fetch": rival}})).recall(FETCH).helpers
    assert "re.search" in helpers
    assert "return 'box_1'" not in helpers


def test_each_ablation_takes_its_part_and_no_other() -> None:
    whole = memory().recall(FETCH)
    told = {
        name: memory(without={name}).recall(FETCH) for name in ("rules", "libraries", "examples", "types", "helpers")
    }
    assert told["rules"].rule_ids == ()
    assert "rule" not in told["rules"].text
    assert SKILL.code in told["rules"].text
    assert "find_box" not in told["rules"].helpers
    assert "fetch_from" in told["rules"].helpers
    assert SKILL.code not in told["libraries"].text
    assert PROCESS.content in told["libraries"].text
    assert "find_box" in told["libraries"].helpers
    assert "fetch_from" not in told["libraries"].helpers
    assert FIND not in told["examples"].text
    assert PROCESS.content in told["examples"].text
    assert "Success Process" not in told["types"].text
    assert FIND in told["types"].text
    assert told["helpers"] == whole.model_copy(update={"helpers": ""})
    assert memory(without={"rules", "libraries"}).recall(FETCH).text == ""


def test_without_formulation_the_rules_are_listed_although_there_is_a_manual() -> None:
    assert memory(MANUAL, {"formulation"}).recall(FETCH).text == memory().recall(FETCH).text


@pytest.mark.parametrize("name", ["types", "examples"])
def test_a_manual_that_would_tell_what_is_taken_away_is_not_told(name: str) -> None:
    assert memory(MANUAL, {name}).recall(FETCH).text == memory(KNOWN, {name}).recall(FETCH).text
    bare = tuple(rule.model_copy(update={"type": None, "example": ""}) for rule in KNOWN.rules)
    assert MANUAL.manual in memory(MANUAL.model_copy(update={"rules": bare}), {name}).recall(FETCH).text


def test_with_a_token_budget_only_the_rules_that_fit_are_told_and_cited() -> None:
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
def test_hostile_skills_and_rules_are_told_and_break_nothing(sandbox: Sandbox, code: str) -> None:
    rule = HELPER.model_copy(update={"id": "rule_3", "example": code})
    skill = SKILL.model_copy(update={"code": code, "scene": code})
    knowledge = KNOWN.model_copy(update={"rules": (*KNOWN.rules, rule), "skills": {"fetch": skill}})
    recall = memory(knowledge).recall(FETCH)
    assert recall.text.count(code.strip()) == 3
    assert "def find_box" in recall.helpers
    solved = "for thing in task.params['things']:\n    agent.take(thing, find_box(agent, thing))\n    agent.put(thing)"
    model = Replies([f"### Code\n```python\n{solved}\n```"])
    terms, roles = EpisodeSettings(actions=30), Roles(lambda role: model, {})
    episode = Episode(FETCH, Toy(), sandbox, MemoryJournal(), settings=terms, memory=memory(knowledge), roles=roles)
    assert play(episode, METHODS["automanual"].play, AutoManualOptions()).outcome is Outcome.DIRECT_SUCCESS
    assert "find_box" in model.asked[0][-1].content


def test_the_same_is_told_again_and_to_another() -> None:
    asked = memory()
    assert asked.recall(FETCH) is asked.recall(FETCH)
    turned = KNOWN.model_copy(update={"rules": KNOWN.rules[::-1], "skills": dict(reversed(KNOWN.skills.items()))})
    assert memory(turned).recall(FETCH) == asked.recall(FETCH)


def test_what_was_learnt_in_another_environment_is_refused() -> None:
    with pytest.raises(ValueError, match="learned in 'alfworld' cannot be used in 'toy'"):
        memory(Knowledge(environment="alfworld"))


def test_a_fence_closes_no_text_early() -> None:
    assert fence_around("a", "``b``") == "```"
    assert fence_around("```\nx\n```", "`````") == "``````"


@pytest.mark.parametrize("left_out", ["rules", "cooperation"])
def test_without_rules_to_name_the_example_names_none(left_out: str) -> None:
    start = read_start("toy", ["fetch"])
    knowledge = KNOWN.model_copy(update={"example": start.example})
    told = LearnedMemory(knowledge, Toy, without={left_out}).recall(FETCH).example
    assert "### Rules" in start.example
    assert "### Rules" not in told
    assert "rule_" not in told
    assert told.count("### ") == start.example.count("### ") - start.example.count("### Rules")


FETCH_PROCESS = PROCESS.model_copy(update={"content": "To fetch a thing: find_box (rule_2), take it, put it."})
FINDS = """def find_box(agent, thing):
    '''Return the box that holds a thing.'''
    for number in range(1, 9):
        if thing in agent.open(f"box_{number}"):
            return f"box_{number}"
"""
CAN_FIND = HELPER.model_copy(update={"example": FINDS})
USES_BOTH = SKILL.model_copy(
    update={"code": f"{CAN_FIND.example}\n\nbox = find_box(agent, 'pen')\nagent.take('pen', box)"}
)
SHORT = KNOWN.model_copy(update={"rules": (FETCH_PROCESS, CAN_FIND), "skills": {"fetch": USES_BOTH}})


def by_task(knowledge: Knowledge = SHORT, rule_tokens: int | None = None) -> LearnedMemory:
    return LearnedMemory(knowledge, Toy, by_task=True, rule_tokens=rule_tokens)


def test_no_code_is_told_twice() -> None:
    recall = by_task().recall(FETCH)
    assert "def find_box" in recall.helpers
    assert recall.text.count("def find_box") == 1, "the head of the helper, in its rule"
    assert "for number in range" not in recall.text
    assert "box = find_box(agent, 'pen')" in recall.text
    assert PROCESS.example not in recall.text, "the skill shows how it is done"
    assert recall.example == "", "the skill shows the form, too"


def test_without_a_skill_of_the_type_the_example_of_the_process_stays() -> None:
    recall = by_task(SHORT.model_copy(update={"skills": {}})).recall(FETCH)
    assert PROCESS.example in recall.text
    assert recall.example == "An example."


@pytest.mark.parametrize("tokens", [100, 300, 2_000])
def test_rules_keep_to_the_tokens_that_they_may_have(tokens: int) -> None:
    many = (
        *SHORT.rules,
        *(PROCESS.model_copy(update={"id": f"rule_{n}", "content": "word " * 40}) for n in range(20, 40)),
    )
    recall = by_task(SHORT.model_copy(update={"rules": many}), tokens).recall(FETCH)
    assert "To fetch a thing" in recall.text
    assert estimate_tokens(recall.text.partition("# Code of")[0]) <= tokens + 60, "beside the heading"
