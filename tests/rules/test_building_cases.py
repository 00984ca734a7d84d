"""The Builder's five cases, from the question to the changed rule book, and its descriptions of found types."""

from dataclasses import replace
from typing import Any

import pytest

from planbook.planner import Conclusion, Outcome
from planbook.rules import Blame, RuleType, build_rules, describe_type
from planbook.rules.builder import VALID_PART_APPLIED, BuildResult
from planbook.rules.found_types import SolvedTask
from planbook.rules.permissions import BUILDER_PERMISSIONS, Case
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import Replies
from tests.rules.builder_kit import CONCLUSION, SETTINGS, STOP, edits, episode, scripted_scope
from tests.rules.example_book import BOOK
from tests.rules.household import found_types

RULES, AGENT = "Nobody knew.\n\nVerdict: Imperfect Rules", "rule_2 says so.\n\nVerdict: Imperfect Agent"
DIRECT, INDIRECT, FAILURE = Outcome.DIRECT_SUCCESS, Outcome.INDIRECT_SUCCESS, Outcome.FAILURE
PROCESS_TYPE = RuleType.SUCCESS_PROCESS
HELPER = '''write_rule(content="To search, use find.", type="Useful Helper Method", log="task/3",
    example=r"""def find(agent, thing):
    return agent.open("box_1")
""")'''
PROCESS = 'write_rule(content="To fetch, search first.", type="Success Process")'
CORRECTED = 'write_rule(content="Look into every box.", type="Corrected Error", builds_on=["rule_0"])'
UNRESOLVED = 'write_rule(content="Box_2 did not open.", type="Unresolved Error")'
FOUND = 'write_rule(content="Boxes hold several things.", type="Special Phenomenon")'
THOUGHTS, CODE = ("It may be in box_1.", CONCLUSION.text), ("agent.open('box_1')", CONCLUSION.code)
LOGGED = 'update_rule("rule_0", log="seen in task/3")'
REWORDED = 'update_rule("rule_2", content="To put a thing on the table, **find it first** with rule_1.")'


def build(
    sandbox: Sandbox,
    outcome: Outcome,
    *texts: str,
    conclusion: Conclusion = CONCLUSION,
    elsewhere: str = "",
    **settings: Any,
) -> tuple[BuildResult, Replies]:
    scope, model = scripted_scope(*texts)
    changed = replace(SETTINGS, **settings)
    result = build_rules(scope, sandbox, BOOK, episode(outcome), conclusion, changed, elsewhere)
    assert len(model.asked) == len(texts), "every reply was asked for"
    return result, model


def written(result: BuildResult) -> list[tuple[str, RuleType | None]]:
    assert result.change is not None
    return [(id, result.book.rule(id).type) for id in result.change.assigned]


def test_case_1_asks_for_edits_without_a_verdict(sandbox: Sandbox) -> None:
    result, model = build(sandbox, DIRECT, edits(HELPER, PROCESS, LOGGED, STOP))
    assert (result.case, result.blame, result.note) == (Case.DIRECT_SUCCESS, None, "")
    assert written(result) == [("rule_4", RuleType.USEFUL_HELPER_METHOD), ("rule_5", PROCESS_TYPE)]
    assert result.book.rule("rule_4").example == 'def find(agent, thing):\n    return agent.open("box_1")'
    assert result.book.rule("rule_0").log[-1] == "seen in task/3"
    assert result.change is not None
    batch = result.change.batch
    assert (batch.who, batch.where, batch.case) == ("builder", "learn/3/builder/0", Case.DIRECT_SUCCESS)
    assert model.roles(0) == ["system", "user"]
    assert "Verdict" not in model.prompt(0)
    assert "The task was done, and no plan ended in an error." in model.prompt(0)


def test_case_2_writes_success_rules_and_corrected_errors(sandbox: Sandbox) -> None:
    result, model = build(sandbox, INDIRECT, RULES, edits(PROCESS, CORRECTED, STOP))
    assert (result.case, result.blame) == (Case.INDIRECT_IMPERFECT_RULES, Blame.IMPERFECT_RULES)
    assert written(result) == [("rule_4", PROCESS_TYPE), ("rule_5", RuleType.CORRECTED_ERROR)]
    assert result.analysis == RULES
    assert model.roles(1) == ["system", "user", "assistant", "user"]
    assert "the rules had not prepared the agent" in model.prompt(1)


@pytest.mark.parametrize(
    ("outcome", "verdict", "case", "forbidden", "allowed"),
    [
        (INDIRECT, AGENT, Case.INDIRECT_IMPERFECT_AGENT, [PROCESS, HELPER], [FOUND, REWORDED]),
        (FAILURE, RULES, Case.FAILURE_IMPERFECT_RULES, [PROCESS, HELPER, CORRECTED, REWORDED], [FOUND, UNRESOLVED]),
        (FAILURE, AGENT, Case.FAILURE_IMPERFECT_AGENT, [PROCESS, HELPER, CORRECTED, UNRESOLVED], [FOUND, REWORDED]),
    ],
)
def test_edits_that_a_case_forbids_are_left_out(
    sandbox: Sandbox, outcome: Outcome, verdict: str, case: Case, forbidden: list[str], allowed: list[str]
) -> None:
    result, _ = build(sandbox, outcome, verdict, edits(*forbidden, *allowed, STOP))
    assert result.case is case
    assert result.note.count(f"{BUILDER_PERMISSIONS[case].situation}, a ") == len(forbidden)
    assert "must not be written; only these types may be written: " in result.note
    types = [RuleType.SPECIAL_PHENOMENON, *[RuleType.UNRESOLVED_ERROR] * (UNRESOLVED in allowed)]
    assert [type for _, type in written(result)] == types
    assert (result.book.rule("rule_2") == BOOK.rule("rule_2")) is (REWORDED in forbidden)


def test_a_rule_does_not_build_on_one_that_was_left_out(sandbox: Sandbox) -> None:
    linked = 'rule_system.write_rule(content="Look twice.", type="Special Mechanism", builds_on=[way])'
    reply = f"### Code\n```python\nway = rule_system.{PROCESS}\n{linked}\nrule_system.{STOP}\n```"
    result, _ = build(sandbox, FAILURE, AGENT, reply)
    [(id, _)] = written(result)
    assert result.book.rule(id).builds_on == ()
    assert result.change is not None
    assert result.change.apply_to(BOOK) == result.book


def test_a_rule_does_not_name_one_that_was_left_out(sandbox: Sandbox) -> None:
    linked = 'rule_system.write_rule(content=f"Look twice; {way} has more.", type="Special Mechanism")'
    reply = f"### Code\n```python\nway = rule_system.{PROCESS}\n{linked}\nrule_system.{STOP}\n```"
    result, model = build(sandbox, FAILURE, AGENT, reply, edits(FOUND, STOP))
    assert "the text names rule_4, but this rule is not permitted, and was left out: do not name it" in model.prompt(2)
    assert written(result) == [("rule_4", RuleType.SPECIAL_PHENOMENON)]


def test_a_missing_verdict_is_asked_for_again(sandbox: Sandbox) -> None:
    result, model = build(sandbox, INDIRECT, "I think the agent erred.", AGENT, edits(REWORDED, STOP))
    assert "there is no verdict" in model.prompt(1)
    assert result.blame is Blame.IMPERFECT_AGENT
    assert "I think the agent erred." not in [message.content for message in model.asked[2]]


def test_without_a_verdict_nothing_changes(sandbox: Sandbox) -> None:
    result, _ = build(sandbox, FAILURE, "Hard to say.", "Both, in a way.", "Verdict: neither")
    assert (result.book, result.change, result.case, result.blame) == (BOOK, None, None, None)
    assert "the builder gave no usable reply to builder/classify.j2" in result.note


@pytest.mark.parametrize("outcome", [Outcome.BROKEN, Outcome.NOT_RUN])
def test_a_broken_episode_is_not_shown_to_the_builder(sandbox: Sandbox, outcome: Outcome) -> None:
    result, _ = build(sandbox, outcome)
    assert (result.book, result.change) == (BOOK, None)
    assert result.note


@pytest.mark.parametrize(
    ("bad", "message", "applied"),
    [
        ("I would keep the rules.", "no Python code", False),
        (edits(PROCESS, 'update_rule("rule_9", log="x")', STOP), "there is no rule_9", True),
        (edits(PROCESS, STOP) + "\n```python\nraise ValueError('oh')\n```", "ValueError: oh", True),
        (edits(PROCESS, 'delete_rule("rule_3")', STOP), "has no action or attribute delete_rule", False),
    ],
)
def test_a_refused_batch_is_asked_for_again(sandbox: Sandbox, bad: str, message: str, applied: bool) -> None:
    """After the last reply, those of its calls that are valid are applied."""
    result, model = build(sandbox, DIRECT, bad, bad, bad)
    assert message in model.prompt(1)
    assert "the builder gave no usable reply to builder/manage.j2" in result.note
    assert (VALID_PART_APPLIED in result.note) is applied
    assert (written(result) if applied else result.book) == ([("rule_4", PROCESS_TYPE)] if applied else BOOK)
    result, _ = build(sandbox, DIRECT, bad, edits(PROCESS, STOP))
    assert written(result) == [("rule_4", PROCESS_TYPE)], "refused calls use up no id"


def test_the_builder_sees_rules_logs_episode_and_conclusion(sandbox: Sandbox) -> None:
    _, model = build(sandbox, INDIRECT, RULES, edits(STOP))
    for shown in ("## rule_2 (Success Process)", "Given by the user.", "# Episode task/3", *THOUGHTS, *CODE):
        assert shown in model.prompt(0)


def test_a_conclusion_that_repeats_the_episode_is_shown_once(sandbox: Sandbox) -> None:
    _, model = build(sandbox, INDIRECT, RULES, edits(STOP), conclusion=Conclusion(text="", code="agent.open('box_1')"))
    assert model.prompt(0).count("```python\nagent.open('box_1')\n```") == 1
    assert "without additions" in model.prompt(0)


@pytest.mark.parametrize(("outcome", "texts"), [(DIRECT, ()), (INDIRECT, (RULES,))])
def test_the_builder_sees_how_the_plan_failed_elsewhere(
    sandbox: Sandbox, outcome: Outcome, texts: tuple[str, ...]
) -> None:
    _, model = build(sandbox, outcome, *texts, edits(STOP), elsewhere="Box_4 was locked there.")
    assert "Box_4 was locked there." in model.prompt(0)


def test_without_classification_the_rules_are_blamed(sandbox: Sandbox) -> None:
    result, model = build(sandbox, INDIRECT, edits(PROCESS, CORRECTED, STOP), classification=False)
    assert (result.case, result.blame) == (Case.INDIRECT_IMPERFECT_RULES, None)
    assert "# Episode task/3" in model.prompt(0)
    result, _ = build(sandbox, FAILURE, edits(UNRESOLVED, STOP), classification=False)
    assert result.case is Case.FAILURE_IMPERFECT_RULES


def test_without_cases_every_type_may_be_written(sandbox: Sandbox) -> None:
    result, model = build(sandbox, FAILURE, edits(PROCESS, UNRESOLVED, REWORDED, STOP), cases=False)
    assert result.case is None
    assert written(result) == [("rule_4", PROCESS_TYPE), ("rule_5", RuleType.UNRESOLVED_ERROR)]
    assert "Decide from the whole episode" in model.prompt(0)


ODD = r"""s = '''three "dots" ... \\n {{ x }} {% y %} <b>&amp;</b> ``` **kw'''  # “curly” ’quotes’"""


def test_odd_code_reaches_the_rule_unchanged(sandbox: Sandbox) -> None:
    call = f'write_rule(content="Odd.", type="Special Phenomenon", example=r"""{ODD}""")'
    result, _ = build(sandbox, DIRECT, edits(call, STOP))
    assert result.book.rule("rule_4").example == ODD


# The descriptions of found types.

(FETCH,) = found_types(*(SolvedTask(thing, f"fetch a {thing}", f"agent.fetch('{thing}')") for thing in ("mug", "egg")))
JSON = '{"name": "fetch_it", "summary": "Fetch it.", "parameters": {"value": "the thing"}}'


@pytest.mark.parametrize("reply", [JSON, f"It fetches {{value}}:\n{JSON}", f"```json\n{JSON}\n``` So {{it}} is."])
def test_a_type_gets_the_name_and_descriptions_of_the_builder(reply: str) -> None:
    scope, model = scripted_scope(reply)
    described = describe_type(scope, FETCH, {"put"})
    assert (described.name, described.summary) == ("fetch_it", "Fetch it.")
    assert [(each.name, each.summary) for each in described.parameters] == [("value", "the thing")]
    assert "fetch a mug" in model.prompt(0)


@pytest.mark.parametrize(
    "reply", ["It fetches.", '{"name": "put", "summary": ""}', '{"name": "Fetch it", "summary": ""}']
)
def test_without_a_usable_name_a_type_keeps_its_own(reply: str) -> None:
    scope, model = scripted_scope(reply, reply, reply)
    assert describe_type(scope, FETCH, {"put"}) == FETCH
    assert len(model.asked) == 3
