"""A model's code calls the rule system in the real sandbox."""

import pytest

from planbook.rules.book import Batch
from planbook.rules.permissions import BUILDER_PERMISSIONS, CONSOLIDATOR_PERMISSIONS, Case, Permissions
from planbook.rules.rule_system import EditResult, RuleSystem, run_edits
from planbook.sandbox import Sandbox
from tests.rules.example_book import BOOK, USER

BATCH = Batch(who="builder", where="task/17/builder/0")
EPISODES = {"task/1": "agent.open('box_1') -> nothing", "task/2": "agent.open('box_2') -> key"}


def trajectories(ids: list[str]) -> str:
    return "\n".join(EPISODES[id] for id in ids)


def edited(sandbox: Sandbox, code: str, permissions: Permissions = USER) -> EditResult:
    system = RuleSystem(BOOK, permissions, BATCH, trajectories)
    return run_edits(sandbox, system, code)


def refused(sandbox: Sandbox, code: str, permissions: Permissions = USER) -> str:
    result = edited(sandbox, code, permissions)
    assert (result.change, result.stopped) == (None, False)
    assert "nothing was changed" in result.message
    return result.message


def offered(system: RuleSystem) -> list[str]:
    return [name.removeprefix("rule_system.") for name in system.functions()]


@pytest.mark.parametrize(
    ("permissions", "names"),
    [
        (USER, ["write_rule", "update_rule", "delete_rule"]),
        (BUILDER_PERMISSIONS[Case.FAILURE_IMPERFECT_AGENT], ["write_rule", "update_rule"]),
        (CONSOLIDATOR_PERMISSIONS, ["update_rule", "delete_rule"]),
    ],
)
def test_only_permitted_functions_are_offered(permissions: Permissions, names: list[str]) -> None:
    assert offered(RuleSystem(BOOK, permissions, BATCH)) == [*names, "stop_generating"]
    with_episodes = RuleSystem(BOOK, permissions, BATCH, trajectories)
    assert offered(with_episodes) == [*names, "get_trajectory", "stop_generating"]


THREE = """
rule_system.write_rule("One.", type="Special Phenomenon")
rule_system.update_rule("rule_0", example="x = 1")
rule_system.update_rule("rule_3", log="seen again")
"""


CAUGHT = "try:\n    rule_system.{}\nexcept Exception:\n    pass"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("raise KeyError('box_9')", "line 5: KeyError: 'box_9'"),
        ("rule_system.update_rule('rule_33', log='x')", "line 5: ValueError: there is no rule_33"),
        ("for n in [1]:\n    rule_system.update_rule(n, log='x')", "argument 'rule_id' should be a valid string"),
        ("text = 'x' * 10**9", "memory"),
        ("rule_system.delete_rule('rule_1')", "edit 4, delete_rule rule_1: rule_2 would still name rule_1"),
        ("rule_system.wirte_rule('x')", "did you mean rule_system.write_rule"),
        (CAUGHT.format("delete_rule('rule_8')"), "edit 4, delete_rule rule_8: there is no rule_8"),
        (CAUGHT.format("delete_rule(*[8])"), "calls with invalid arguments: 1"),
    ],
)
def test_valid_calls_before_a_bad_one_are_not_applied(sandbox: Sandbox, bad: str, message: str) -> None:
    assert message in refused(sandbox, THREE + bad)


def test_every_refused_call_is_reported_once(sandbox: Sandbox) -> None:
    bad = [CAUGHT.format(f"delete_rule('{id}')") for id in ("rule_7", "rule_8")]
    message = refused(sandbox, "\n".join([*bad, "rule_system.delete_rule('rule_9')"]))
    assert [message.count(f"there is no {id}") for id in ("rule_7", "rule_8", "rule_9")] == [1, 1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("rule_system.update_rule('rule_0', log='x')", "stop_generating was called before this call"),
        (
            CAUGHT.format("get_trajectory(['task/1'])"),
            "edit 1, get_trajectory: stop_generating was called before this call",
        ),
    ],
)
def test_calls_after_stop_generating_are_refused(sandbox: Sandbox, call: str, message: str) -> None:
    assert message in refused(sandbox, f"rule_system.stop_generating()\n{call}")


def test_stopping_without_edits_is_an_empty_batch(sandbox: Sandbox) -> None:
    result = edited(sandbox, "rule_system.stop_generating()\nrule_system.stop_generating()")
    assert result.change is not None
    assert result.change.apply_to(BOOK) == BOOK
    assert (result.stopped, result.change.touched) == (True, ())


def test_code_that_calls_nothing_is_refused(sandbox: Sandbox) -> None:
    message = refused(sandbox, "if False:\n    rule_system.stop_generating()")
    assert "made no calls" in message
    assert "call rule_system.write_rule, rule_system.update_rule, rule_system.delete_rule" in message
    assert "rule_system.stop_generating() if there is nothing to do" in message


@pytest.mark.parametrize("code", ["", "# nothing to do", "def edits():\n    rule_system.stop_generating()"])
def test_code_that_does_nothing_is_not_run(sandbox: Sandbox, code: str) -> None:
    assert "The code was not run" in refused(sandbox, code)


def test_requested_episodes_are_shown_whether_printed_or_not(sandbox: Sandbox) -> None:
    silent = edited(sandbox, "rule_system.get_trajectory(['task/1', 'task/2'])", CONSOLIDATOR_PERMISSIONS)
    assert silent.message == "\n".join(EPISODES.values())
    assert silent.change is not None
    assert not silent.stopped
    printed = edited(sandbox, "print('Look:', rule_system.get_trajectory(['task/2']))", CONSOLIDATOR_PERMISSIONS)
    assert printed.message == f"Look: {EPISODES['task/2']}"
    assert "KeyError: 'task/3'" in refused(sandbox, "rule_system.get_trajectory(['task/3'])", CONSOLIDATOR_PERMISSIONS)


def test_a_batch_whose_edits_do_not_fit_together_is_refused(sandbox: Sandbox) -> None:
    code = "rule_system.update_rule('rule_3', content='Boxes stick. See rule_6.')"
    assert "The calls do not fit together" in refused(sandbox, code)
