"""The Builder's five cases from the question to the book, in the real sandbox, with a model that replies by a list."""

from dataclasses import replace

import pytest

from planbook.planner import Conclusion, Outcome
from planbook.rules import Blame, BuilderSettings, Form, RuleBook, RuleType, build_rules
from planbook.rules.builder import BuildResult
from planbook.rules.cases import Case
from planbook.sandbox import Sandbox
from tests.rules.given import BOOK
from tests.rules.replies import Replies
from tests.rules.told import CONCLUSION, TERMS, asking, edits, episode, last, roles

STOP = "stop_generating()"
RULES, AGENT = "Nobody knew.\n\nVerdict: Imperfect Rules", "rule_2 says so.\n\nVerdict: Imperfect Agent"
INDIRECT, FAILURE = Outcome.INDIRECT_SUCCESS, Outcome.FAILURE
NOTED = 'update_rule("rule_0", log="seen in task/3")'
HELPER = '''write_rule(content="To search, use find.", type="Useful Helper Method", log="task/3",
    example=r"""def find(agent, thing):
    return agent.open("box_1")
""")'''
PROCESS = 'write_rule(content="To fetch, search first.", type="Success Process")'
CORRECTED = 'write_rule(content="Look into every box.", type="Corrected Error", builds_on=["rule_0"])'
UNRESOLVED = 'write_rule(content="Box_2 did not open.", type="Unresolved Error")'
FOUND = 'write_rule(content="Boxes hold several things.", type="Special Phenomenon")'
SHARPER = 'update_rule("rule_2", content="To put a thing on the table, **find it first** with rule_1.")'


def built(
    sandbox: Sandbox,
    outcome: Outcome,
    *texts: str,
    settings: BuilderSettings = TERMS,
    book: RuleBook = BOOK,
    conclusion: Conclusion = CONCLUSION,
) -> tuple[BuildResult, Replies]:
    scope, model = asking(*texts)
    made = build_rules(scope, sandbox, book, episode(outcome), conclusion, settings)
    assert len(model.asked) == len(texts), "every reply was asked for"
    return made, model


def written(made: BuildResult) -> list[tuple[str, RuleType | None]]:
    assert made.change is not None
    return [(id, made.book.rule(id).type) for id in made.change.assigned]


def untouched(made: BuildResult) -> None:
    assert made.book is BOOK
    assert made.change is None
    assert made.note


def test_case_1_a_direct_success_is_not_classified(sandbox: Sandbox) -> None:
    made, model = built(sandbox, Outcome.DIRECT_SUCCESS, edits(HELPER, PROCESS, NOTED, STOP))
    assert (made.case, made.blame, made.note) == (Case.DIRECT_SUCCESS, None, "")
    assert written(made) == [("rule_4", RuleType.USEFUL_HELPER_METHOD), ("rule_5", RuleType.SUCCESS_PROCESS)]
    assert made.book.rule("rule_4").example == 'def find(agent, thing):\n    return agent.open("box_1")'
    assert made.book.rule("rule_0").log[-1] == "seen in task/3"
    assert made.change is not None
    assert (made.change.batch.who, made.change.batch.where) == ("builder", "learn/3/builder/0")
    assert made.change.batch.case is Case.DIRECT_SUCCESS
    assert roles(model, 0) == ["system", "user"]
    assert "Verdict" not in last(model, 0)
    assert "The task was done, and no plan ended in an error." in last(model, 0)


def test_case_2_learns_the_way_and_the_mistake(sandbox: Sandbox) -> None:
    made, model = built(sandbox, INDIRECT, RULES, edits(PROCESS, CORRECTED, STOP))
    assert (made.case, made.blame) == (Case.INDIRECT_IMPERFECT_RULES, Blame.IMPERFECT_RULES)
    assert written(made) == [("rule_4", RuleType.SUCCESS_PROCESS), ("rule_5", RuleType.CORRECTED_ERROR)]
    assert made.analysis == RULES
    assert roles(model, 1) == ["system", "user", "assistant", "user"]
    assert "the rules had not prepared the agent" in last(model, 1)


@pytest.mark.parametrize("tried", [PROCESS, HELPER])
def test_case_3_writes_no_success_rule_though_the_model_tries(sandbox: Sandbox, tried: str) -> None:
    made, _ = built(sandbox, INDIRECT, AGENT, edits(FOUND, tried, SHARPER, STOP))
    assert made.case is Case.INDIRECT_IMPERFECT_AGENT
    assert "must not be written; only these may: " in made.note
    assert written(made) == [("rule_4", RuleType.SPECIAL_PHENOMENON)], "what is forbidden costs that call alone"
    assert "**find it first**" in made.book.rule("rule_2").content


def test_a_rule_may_not_build_on_one_that_was_left_out(sandbox: Sandbox) -> None:
    linked = 'rule_system.write_rule(content="Look twice.", type="Special Mechanism", builds_on=[way])'
    first = "way = rule_system." + PROCESS
    reply = f"### Code\n```python\n{first}\n{linked}\nrule_system.stop_generating()\n```"
    made, _ = built(sandbox, FAILURE, AGENT, reply)
    [id] = [id for id, _ in written(made)]
    assert made.book.rule(id).builds_on == ()
    assert made.change is not None
    assert made.change.on(BOOK) == made.book


def test_the_valid_calls_of_the_last_reply_are_applied(sandbox: Sandbox) -> None:
    bad = edits(FOUND, 'update_rule("rule_9", log="x")', STOP)
    made, _ = built(sandbox, FAILURE, RULES, bad, bad, bad)
    assert written(made) == [("rule_4", RuleType.SPECIAL_PHENOMENON)]
    assert "there is no rule_9" in made.note
    assert "The valid calls before it were applied." in made.note


@pytest.mark.parametrize(
    ("outcome", "tried"),
    [(Outcome.OUT_OF_BUDGET, PROCESS), *((FAILURE, each) for each in (PROCESS, HELPER, CORRECTED, SHARPER))],
)
def test_case_4_teaches_no_way_of_doing_it(sandbox: Sandbox, outcome: Outcome, tried: str) -> None:
    made, _ = built(sandbox, outcome, RULES, edits(UNRESOLVED, tried, FOUND, NOTED, STOP))
    assert made.case is Case.FAILURE_IMPERFECT_RULES
    assert "After a failure with imperfect rules, a " in made.note
    assert [type for _, type in written(made)] == [RuleType.UNRESOLVED_ERROR, RuleType.SPECIAL_PHENOMENON]
    assert made.book.rule("rule_2") == BOOK.rule("rule_2")


@pytest.mark.parametrize("tried", [PROCESS, HELPER, CORRECTED, UNRESOLVED])
def test_case_5_updates_and_writes_how_the_environment_works(sandbox: Sandbox, tried: str) -> None:
    made, _ = built(sandbox, FAILURE, AGENT, edits(tried, FOUND, SHARPER, STOP))
    assert made.case is Case.FAILURE_IMPERFECT_AGENT
    assert "After a failure with an imperfect agent, a " in made.note
    assert [type for _, type in written(made)] == [RuleType.SPECIAL_PHENOMENON]
    assert "**find it first**" in made.book.rule("rule_2").content


def test_a_verdict_that_is_not_there_is_asked_for_again(sandbox: Sandbox) -> None:
    made, model = built(sandbox, INDIRECT, "I think the agent erred.", AGENT, edits(SHARPER, STOP))
    assert "there is no verdict" in last(model, 1)
    assert made.blame is Blame.IMPERFECT_AGENT
    assert "I think the agent erred." not in [message.content for message in model.asked[2]]


def test_without_a_verdict_nothing_is_learnt_and_the_note_says_so(sandbox: Sandbox) -> None:
    made, _ = built(sandbox, FAILURE, "Hard to say.", "Both, in a way.", "Verdict: neither")
    untouched(made)
    assert "the builder gave no usable reply to builder/classify.j2" in made.note
    assert (made.case, made.blame, made.analysis) == (None, None, "")


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("I would keep the rules.", "no Python code"),
        (edits(PROCESS, 'update_rule("rule_9", log="x")', STOP), "there is no rule_9"),
        (edits(PROCESS, 'delete_rule("rule_3")', STOP), "has no action or attribute delete_rule"),
        (edits(PROCESS, STOP) + "\n```python\nraise ValueError('oh')\n```", "ValueError: oh"),
        (edits(PROCESS, "write_rule(", STOP), "never closed"),
        ("```python\nimport os\nos.remove('x')\n```", "os"),
    ],
)
def test_a_refused_batch_is_asked_for_again(sandbox: Sandbox, bad: str, told: str) -> None:
    made, model = built(sandbox, Outcome.DIRECT_SUCCESS, bad, bad, bad)
    assert [type for _, type in written(made)] == [RuleType.SUCCESS_PROCESS] if made.change else made.book is BOOK
    assert told in last(model, 1)
    assert "the builder gave no usable reply to builder/manage.j2" in made.note
    made, _ = built(sandbox, Outcome.DIRECT_SUCCESS, bad, edits(PROCESS, STOP))
    assert written(made) == [("rule_4", RuleType.SUCCESS_PROCESS)], "what was refused has used up no id"


@pytest.mark.parametrize("outcome", [Outcome.BROKEN, Outcome.NOT_RUN])
def test_what_is_no_fault_of_the_plan_teaches_nothing(sandbox: Sandbox, outcome: Outcome) -> None:
    made, _ = built(sandbox, outcome)
    untouched(made)


def test_the_builder_sees_rules_logs_episode_and_conclusion(sandbox: Sandbox) -> None:
    _, model = built(sandbox, INDIRECT, RULES, edits(STOP))
    told = last(model, 0)
    assert "## rule_2 (Success Process)" in told
    assert "Given by the user." in told
    assert "# The episode task/3" in told
    assert "It may be in box_1." in told
    assert "I looked into one box only." in told
    assert "agent.open('box_2')" in told


def test_a_conclusion_that_only_repeats_the_episode_is_not_shown_twice(sandbox: Sandbox) -> None:
    _, model = built(sandbox, INDIRECT, RULES, edits(STOP), conclusion=Conclusion(text="", code="agent.open('box_1')"))
    assert last(model, 0).count("```python\nagent.open('box_1')\n```") == 1
    assert "nothing was added to it" in last(model, 0)


@pytest.mark.parametrize(("outcome", "texts"), [(Outcome.DIRECT_SUCCESS, ()), (INDIRECT, (RULES,))])
def test_how_the_same_failed_elsewhere_is_told(sandbox: Sandbox, outcome: Outcome, texts: tuple[str, ...]) -> None:
    scope, model = asking(*texts, edits(STOP))
    build_rules(scope, sandbox, BOOK, episode(outcome), CONCLUSION, TERMS, elsewhere="Box_4 was locked there.")
    assert "Box_4 was locked there." in last(model, 0)


def test_without_cooperation_the_agents_thoughts_are_not_shown(sandbox: Sandbox) -> None:
    settings = replace(TERMS, cooperation=False)
    _, model = built(sandbox, INDIRECT, RULES, edits(STOP), settings=settings)
    told = last(model, 0)
    assert "It may be in box_1." not in told
    assert "I looked into one box only." not in told
    assert "agent.open('box_1')" in told
    assert "agent.open('box_2')" in told


def test_without_classification_the_rules_are_taken_to_be_at_fault(sandbox: Sandbox) -> None:
    settings = replace(TERMS, classification=False)
    made, model = built(sandbox, INDIRECT, edits(PROCESS, CORRECTED, STOP), settings=settings)
    assert (made.case, made.blame) == (Case.INDIRECT_IMPERFECT_RULES, None)
    assert "# The episode task/3" in last(model, 0)
    made, _ = built(sandbox, FAILURE, edits(UNRESOLVED, STOP), settings=settings)
    assert made.case is Case.FAILURE_IMPERFECT_RULES


def test_without_cases_everything_may_be_written_at_once(sandbox: Sandbox) -> None:
    settings = replace(TERMS, cases=False)
    made, model = built(sandbox, FAILURE, edits(PROCESS, UNRESOLVED, SHARPER, STOP), settings=settings)
    assert made.case is None
    assert written(made) == [("rule_4", RuleType.SUCCESS_PROCESS), ("rule_5", RuleType.UNRESOLVED_ERROR)]
    assert "Decide from the whole episode" in last(model, 0)


def test_without_types_a_rule_is_content_alone(sandbox: Sandbox) -> None:
    form = Form(types=False, examples=False, logs=False)
    book = RuleBook.of(form.fitted(BOOK.active))
    settings = replace(TERMS, form=form)
    typed = edits('write_rule(content="New.", type="Success Process")', STOP)
    made, model = built(
        sandbox, Outcome.DIRECT_SUCCESS, typed, edits('write_rule(content="New.")', STOP), settings=settings, book=book
    )
    assert "rules have no types here" in last(model, 1)
    assert written(made) == [("rule_4", None)]
    assert "Success Process" not in model.asked[0][0].content + last(model, 0)


def test_without_helper_methods_none_is_asked_for_or_taken(sandbox: Sandbox) -> None:
    settings = replace(TERMS, form=Form(helper_methods=False))
    book = RuleBook.of(settings.form.fitted(rule for rule in BOOK.active if rule.id != "rule_2"))
    made, model = built(
        sandbox, Outcome.DIRECT_SUCCESS, edits(HELPER, STOP), edits(PROCESS, STOP), settings=settings, book=book
    )
    assert "there is no type 'Useful Helper Method'" in last(model, 1)
    assert made.change is not None
    assert "Useful Helper Method" not in last(model, 0)


ODD = r"""s = '''three "dots" ... \\n {{ x }} {% y %} <b>&amp;</b> ``` **kw'''  # “curly” ’quotes’"""


def test_odd_code_gets_from_the_reply_into_the_rule_unchanged(sandbox: Sandbox) -> None:
    call = f'write_rule(content="Odd.", type="Special Phenomenon", example=r"""{ODD}""")'
    made, _ = built(sandbox, Outcome.DIRECT_SUCCESS, edits(call, STOP))
    assert made.book.rule("rule_4").example == ODD
