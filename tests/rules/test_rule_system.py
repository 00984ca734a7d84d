"""The rule system, called by code in the real sandbox."""

import pytest

from planbook.rules import RuleType
from planbook.rules.cases import BUILDER, CONSOLIDATOR, Case, Permissions
from planbook.rules.system import EditResult, RuleSystem, run_edits
from planbook.sandbox import Limits, Sandbox
from tests.rules.given import BOOK, USER, apply

OPENED = {"task/1": "agent.open('box_1') -> nothing", "task/2": "agent.open('box_2') -> key"}


def trajectories(ids: list[str]) -> str:
    return "\n".join(OPENED[id] for id in ids)


def edited(sandbox: Sandbox, code: str, permissions: Permissions = USER) -> EditResult:
    system = RuleSystem(BOOK, permissions, trajectories, who="builder", where="task/17/builder/0")
    return run_edits(sandbox, system, code, Limits(wall_seconds=0.5))


def refused(sandbox: Sandbox, code: str, permissions: Permissions = USER) -> str:
    result = edited(sandbox, code, permissions)
    assert (result.change, result.stopped) == (None, False)
    assert "nothing was changed" in result.message
    return result.message


@pytest.mark.parametrize(
    ("permissions", "names"),
    [
        (USER, "write_rule update_rule delete_rule"),
        (BUILDER[Case.DIRECT_SUCCESS], "write_rule update_rule"),
        (BUILDER[Case.FAILURE_IMPERFECT_AGENT], "write_rule update_rule"),
        (CONSOLIDATOR, "update_rule delete_rule"),
    ],
)
def test_only_what_is_permitted_is_offered(permissions: Permissions, names: str) -> None:
    expected = [f"rule_system.{name}" for name in names.split()]
    assert list(RuleSystem(BOOK, permissions).functions()) == [*expected, "rule_system.stop_generating"]
    offered = RuleSystem(BOOK, permissions, trajectories).functions()
    assert list(offered)[-2:] == ["rule_system.get_trajectory", "rule_system.stop_generating"]


def test_calls_become_one_batch(sandbox: Sandbox) -> None:
    code = """
new = rule_system.write_rule("Box_9 sticks.", type="Special Phenomenon", log="task/17")
print("wrote", new)
rule_system.update_rule("rule_3", log=f"explained by {new}", builds_on=[new])
rule_system.stop_generating()
"""
    result = edited(sandbox, code)
    assert (result.message, result.stopped) == ("wrote rule_4", True)
    assert result.change is not None
    assert result.change is not None
    assert apply(BOOK, result.change.batch, USER) == result.change
    book = result.change.on(BOOK)
    assert book.rule("rule_4").type is RuleType.SPECIAL_PHENOMENON
    assert (book.rule("rule_3").builds_on, book.rule("rule_3").log) == (("rule_4",), ("explained by rule_4",))
    assert (result.change.batch.who, result.change.batch.where, result.change.batch.case) == (
        "builder",
        "task/17/builder/0",
        None,
    )


THREE = """
rule_system.write_rule("One.", type="Special Phenomenon")
rule_system.update_rule("rule_0", example="x = 1")
rule_system.update_rule("rule_3", log="seen again")
"""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (THREE + "raise KeyError('box_9')", "line 5: KeyError: 'box_9'"),
        (THREE + "rule_system.update_rule('rule_33', log='x')", "line 5: ValueError: there is no rule_33"),
        (THREE + "rule_system.write_rule('Two.', type='Tip')", "line 5: ValueError: there is no type 'Tip'"),
        (
            THREE + "for n in [1]:\n    rule_system.update_rule(n, log='x')",
            "argument 'rule_id' should be a valid string",
        ),
        (THREE + "while True:\n    pass", "wall"),
        (THREE + "rule_system.delete_rule('rule_1')", "edit 4, delete_rule rule_1: rule_2 would still name rule_1"),
        (THREE + "rule_system.write_rule(", "syntax"),
        (THREE + "rule_system.wirte_rule('x')", "did you mean rule_system.write_rule"),
    ],
)
def test_three_sound_calls_before_a_bad_one_are_not_applied(sandbox: Sandbox, code: str, told: str) -> None:
    assert told in refused(sandbox, code)


def test_a_refused_call_spoils_the_batch_even_if_the_code_catches_it(sandbox: Sandbox) -> None:
    code = THREE + "try:\n    rule_system.delete_rule('rule_8')\nexcept ValueError:\n    pass"
    assert "edit 4, delete_rule rule_8: there is no rule_8" in refused(sandbox, code)
    hidden = THREE + "try:\n    rule_system.delete_rule(*[8])\nexcept Exception:\n    pass"
    assert "the arguments of 1 calls were wrong" in refused(sandbox, hidden)


def test_every_refused_call_is_told(sandbox: Sandbox) -> None:
    code = """
for id in ["rule_7", "rule_8"]:
    try:
        rule_system.delete_rule(id)
    except ValueError as error:
        print(error)
rule_system.delete_rule("rule_9")
"""
    told = refused(sandbox, code)
    assert all(told.count(f"there is no {id}") == 1 for id in ("rule_7", "rule_8", "rule_9"))


def test_calls_after_stop_generating_are_refused(sandbox: Sandbox) -> None:
    code = "rule_system.stop_generating()\nrule_system.update_rule('rule_0', log='x')"
    assert "stop_generating was called before it" in refused(sandbox, code)
    code = (
        "rule_system.stop_generating()\ntry:\n    rule_system.get_trajectory(['task/1'])\nexcept ValueError:\n    pass"
    )
    assert "edit 1, get_trajectory: stop_generating was called before it" in refused(sandbox, code)


def test_stopping_alone_is_an_empty_batch(sandbox: Sandbox) -> None:
    result = edited(sandbox, "rule_system.stop_generating()\nrule_system.stop_generating()")
    assert result.change is not None
    assert result.change.on(BOOK) == BOOK
    assert (result.stopped, result.change.touched) == (True, ())


@pytest.mark.parametrize("code", ["x = 1", "if False:\n    rule_system.stop_generating()"])
def test_code_that_calls_nothing_is_told_what_there_is(sandbox: Sandbox, code: str) -> None:
    told = refused(sandbox, code)
    assert "called nothing" in told
    assert "call rule_system.write_rule, rule_system.update_rule, rule_system.delete_rule" in told
    assert "rule_system.stop_generating() if nothing is to do" in told


@pytest.mark.parametrize("code", ["", "# nothing to do", "def edits():\n    rule_system.stop_generating()"])
def test_code_that_does_nothing_is_not_run(sandbox: Sandbox, code: str) -> None:
    assert "The code was not run" in refused(sandbox, code)


def test_a_function_that_is_not_permitted_is_not_there(sandbox: Sandbox) -> None:
    told = refused(sandbox, "rule_system.delete_rule('rule_0')", BUILDER[Case.DIRECT_SUCCESS])
    assert "rule_system has no action or attribute delete_rule" in told


def test_trajectories_are_shown_whether_printed_or_not(sandbox: Sandbox) -> None:
    silent = edited(sandbox, "rule_system.get_trajectory(['task/1', 'task/2'])", CONSOLIDATOR)
    assert silent.message == "\n".join(OPENED.values())
    assert silent.change is not None
    assert not silent.stopped
    printed = edited(sandbox, "print('Look:', rule_system.get_trajectory(['task/2']))", CONSOLIDATOR)
    assert printed.message == f"Look: {OPENED['task/2']}"
    assert "KeyError: 'task/3'" in refused(sandbox, "rule_system.get_trajectory(['task/3'])", CONSOLIDATOR)


def test_only_edits_that_fit_each_other_are_taken(sandbox: Sandbox) -> None:
    """Faults that only the whole batch shows are told by edit."""
    code = "rule_system.update_rule('rule_3', content='Boxes stick. See rule_6.')"
    assert "The calls do not fit together" in refused(sandbox, code)
