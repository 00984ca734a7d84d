"""The evidence for a rule, counted over episodes. Its check is code that says whether an episode obeyed it."""

from dataclasses import replace

import pytest

from planbook.envs import Action, Observation
from planbook.planner import Outcome, Round, Step, Trajectory
from planbook.rules import (
    Citation,
    Evidence,
    Rule,
    RuleBook,
    RuleForm,
    build_rules,
    check_problem,
    consolidate,
    count_evidence,
    evidence_table,
    rule_text,
    run_checks,
    useless_rules,
)
from planbook.rules.evidence import NO_EVIDENCE, BadCheck, Obedience, run_check
from planbook.sandbox import Sandbox
from tests.rules.builder_kit import CONCLUSION, SETTINGS, STOP, edits, episode, scripted_scope
from tests.rules.example_book import BOOK

FIRST = """
def obeyed(code, steps):
    opened = [step["call"] for step in steps if step["action"] == "open" and step["accepted"]]
    return opened[0] == "open('box_1')" if opened else None
"""
CHECKED = RuleBook.from_rules((*BOOK.active[:-1], BOOK.active[-1].model_copy(update={"check": FIRST})))


def episode_of(*boxes: str, outcome: Outcome = Outcome.INDIRECT_SUCCESS) -> Trajectory:
    """Return an episode in which these boxes were opened."""
    steps = tuple(
        Step(scope="s", cell=0, line=1, action=Action("open", (box,)), observation=Observation(f"You open {box}."))
        for box in boxes
    )
    return episode(outcome).model_copy(update={"rounds": (Round(number=0, steps=steps),)})


@pytest.mark.parametrize(("boxes", "answer"), [(("box_1", "box_2"), True), (("box_2",), False), ((), None)])
def test_a_check_reads_the_steps_of_an_episode(sandbox: Sandbox, boxes: tuple[str, ...], answer: bool | None) -> None:
    assert run_check(sandbox, FIRST, episode_of(*boxes)) is answer


def test_a_check_reads_the_code_too(sandbox: Sandbox) -> None:
    assert run_check(sandbox, "def obeyed(code, steps):\n    return 'box_1' in code", episode(Outcome.FAILURE))


BROKEN_CHECKS = {
    "print('hello')": "does not define obeyed",
    "def obeyed(code, steps):\n    return steps[7]": "IndexError",
    "answer(True)\ndef obeyed(code, steps):\n    return steps[8]": "IndexError",
    "def obeyed(code, steps):\n    return 'yes'": "answer",
    "def obeyed(code, steps):\n    return open('/etc/passwd').read()": "open",
    "def obeyed(code, steps):\n    while True: pass": "the check failed",
}


@pytest.mark.parametrize(("check", "message"), BROKEN_CHECKS.items())
def test_a_check_that_fails_is_refused_and_decides_nothing(sandbox: Sandbox, check: str, message: str) -> None:
    with pytest.raises(BadCheck, match=message):
        run_check(sandbox, check, episode_of("box_1"))
    assert message in check_problem(sandbox, check, [episode_of("box_1")])
    assert run_checks(sandbox, [Rule(id="rule_1", type=None, content="x", check=check)], episode_of("box_1")) == {}


def test_a_check_must_apply_to_a_stored_episode(sandbox: Sandbox) -> None:
    assert check_problem(sandbox, FIRST, [episode_of(), episode_of("box_2")]) == ""
    assert "returned None for every episode" in check_problem(sandbox, FIRST, [episode_of()])


def test_a_check_of_the_builder_is_tried_before_it_is_kept(sandbox: Sandbox) -> None:
    settings = replace(
        SETTINGS, form=RuleForm(checks=True), try_check=lambda text: check_problem(sandbox, text, [episode_of("box_2")])
    )
    kind = '"Special Phenomenon"'
    tried = ("def obeyed(code, steps): return 1 / 0", FIRST)
    bad, good = (
        edits(f'write_rule(content="Open box_1 first.", type={kind}, check={check!r})', STOP) for check in tried
    )
    scope, model = scripted_scope(bad, good)
    built = build_rules(scope, sandbox, BOOK, episode(Outcome.DIRECT_SUCCESS), CONCLUSION, settings)
    assert "ZeroDivisionError" in model.prompt(1)
    assert "`obeyed(code, steps)`" in model.asked[0][0].content
    assert built.book.active[-1].check == FIRST.strip("\n")
    assert "  check:" in rule_text(built.book.active[-1])


def test_without_checks_none_is_asked_for_or_accepted(sandbox: Sandbox) -> None:
    written = edits(f'write_rule(content="x", type="Special Phenomenon", check={FIRST!r})', STOP)
    scope, model = scripted_scope(written, edits(STOP))
    built = build_rules(scope, sandbox, BOOK, episode(Outcome.DIRECT_SUCCESS), CONCLUSION, SETTINGS)
    assert "check" not in model.asked[0][0].content.partition("# The rules")[2]
    assert "rules have no checks here" in model.prompt(1)
    assert built.book.ids == BOOK.ids
    assert "check" not in BOOK.active[0].model_dump()


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ((0, 0, 5, 2), "never obeyed"),
        ((0, 0, 4, 2), ""),
        ((2, 1, 2, 1), ""),
        ((3, 0, 3, 3), ""),
        ((4, 0, 4, 4), "episodes that obey it are solved less often (p = 0.014)"),
        ((4, 4, 4, 0), ""),
        ((9, 4, 1, 1), ""),
        ((5, 0, 0, 0), ""),
    ],
)
def test_a_rule_is_useless_only_if_the_difference_is_significant(counts: tuple[int, ...], reason: str) -> None:
    names = ("obeyed", "obeyed_solved", "others", "others_solved")
    assert Obedience(**dict(zip(names, counts, strict=True))).reason_to_drop == reason


def test_the_consolidator_sees_how_often_a_rule_was_obeyed(sandbox: Sandbox) -> None:
    rule = BOOK.active[-1].id
    citations = [
        Citation(episode=f"task/{number}", rule_ids=(), solved=solved, obeyed={rule: done})
        for number, (done, solved) in enumerate([(True, False), (False, True)] * 4)
    ]
    evidence = count_evidence(citations)
    assert useless_rules(evidence) == {rule: "episodes that obey it are solved less often (p = 0.014)"}
    table = evidence_table(CHECKED, evidence).splitlines()
    assert table[0].endswith("obeyed  solved if obeyed  not obeyed  solved if not")
    scope, model = scripted_scope(edits(f'delete_rule("{rule}")', STOP))
    book, _ = consolidate(
        scope, sandbox, CHECKED, evidence, lambda ids: "", replace(SETTINGS, form=RuleForm(checks=True))
    )
    counts = "obeyed in 4 of 8 episodes, 0 of them solved, 4 of the other 4 solved"
    assert f"{counts}: episodes that obey it are solved less often" in model.prompt(0)
    assert "Delete a rule that is never obeyed" in model.asked[0][0].content
    assert rule not in book.ids


# All evidence.


CITATIONS = (
    Citation(episode="task/0", rule_ids=("rule_0", "rule_2", "rule_0"), solved=True),
    Citation(episode="task/1", rule_ids=("rule_2",), solved=False, ignored_rule_ids=frozenset({"rule_2", "rule_1"})),
    Citation(episode="task/2", rule_ids=("rule_2", "rule_99"), solved=True, ignored_rule_ids=frozenset({"rule_99"})),
)


def test_an_episode_counts_once_for_each_rule_that_it_cites() -> None:
    counted = count_evidence(CITATIONS)
    assert counted == {
        "rule_0": Evidence(cited=1, unblamed=1, solved=1),
        "rule_2": Evidence(cited=3, unblamed=2, solved=2),
        "rule_99": Evidence(cited=1, unblamed=0, solved=1),
    }


def test_the_later_of_two_records_of_an_episode_counts() -> None:
    corrected = CITATIONS[1].model_copy(update={"solved": True, "ignored_rule_ids": frozenset()})
    assert count_evidence((*CITATIONS, corrected))["rule_2"] == Evidence(cited=3, unblamed=3, solved=3)


def test_the_table_has_a_row_for_every_rule() -> None:
    assert evidence_table(BOOK, count_evidence(CITATIONS)) == (
        "rule    type                  cited  without blame  solved\n"
        "rule_0  Special Mechanism         1              1       1\n"
        "rule_1  Useful Helper Method      0              0       0\n"
        "rule_2  Success Process           3              2       2\n"
        "rule_3  Unresolved Error          0              0       0\n"
    )


def test_evidence_is_printed_as_one_line() -> None:
    counted = count_evidence(CITATIONS)
    assert str(counted["rule_0"]) == "cited in 1 episode (1 without blame, 1 solved)"
    assert str(counted["rule_2"]) == "cited in 3 episodes (2 without blame, 2 solved)"
    assert str(NO_EVIDENCE) == "never cited"
