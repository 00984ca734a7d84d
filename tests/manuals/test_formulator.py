"""The formulator: a scripted model writes the outline of a manual, and the rules are inserted."""

import pytest

from planbook.envs import load_environment
from planbook.manuals.errors import BadManual
from planbook.manuals.formulator import FORMULATOR, formulate, read_outline
from planbook.manuals.markdown import parse, render
from planbook.planner import MemoryJournal, Roles, Scope
from planbook.rules import Rule, RuleType
from tests.planner.episode_kit import Replies

TOY = load_environment("toy")
RULES = [
    Rule(id="rule_0", type=RuleType.SPECIAL_MECHANISM, content="A box must be opened first.", log=("a log entry",)),
    Rule(
        id="rule_1", type=RuleType.SUCCESS_PROCESS, content="For tasks with one thing: find it, put it.", example="x=1"
    ),
    Rule(
        id="rule_4",
        type=RuleType.USEFUL_HELPER_METHOD,
        content="When searching",
        example="# ## find\ndef find(agent, **kwargs):\n    return r'\\d'",
        builds_on=("rule_0",),
    ),
]
IDS = [rule.id for rule in RULES]
GOOD = """\
The box comes first, as everything hides in one.

# Manual of boxes

What there is to know.

## Basics

Boxes hide things.

Key points:
- open, then look

Rules: rule_0

## Fetching

One thing after the other.

Rules: rule_4, rule_1
"""


def scripted_scope(*texts: str) -> tuple[Scope, Replies]:
    """Return a scope whose formulator gives these replies, and its model."""
    model = Replies(*texts)
    return Scope(MemoryJournal(), "formulate", Roles(lambda role: model, {})), model


def test_rules_are_inserted_unchanged() -> None:
    scope, model = scripted_scope(GOOD)
    manual = formulate(scope, RULES, TOY)
    assert [section.title for section in manual.sections] == ["Basics", "Fetching"]
    assert (manual.title, manual.overview) == ("Manual of boxes", "What there is to know.")
    assert manual.sections[0].introduction == "Boxes hide things.\n\nKey points:\n- open, then look"
    assert manual.rule_ids == ("rule_0", "rule_4", "rule_1")
    _, rules = parse(render(manual, RULES))
    assert {rule.id: rule.example for rule in rules} == {rule.id: rule.example for rule in RULES}
    assert model.labels == [f"{FORMULATOR}: formulate.j2"]


def test_an_environment_without_a_description_has_no_section_in_the_prompt() -> None:
    class Silent(TOY):  # type: ignore[valid-type, misc]
        about, types = "", ()

    scope, model = scripted_scope(GOOD)
    formulate(scope, RULES, Silent)
    assert "# The environment\n" not in model.asked[0][0].content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Rules: rule_4, rule_1", "Rules: rule_4"), "in no section: rule_1"),
        (("Rules: rule_0", "Rules: rule_0, rule_4"), "named more than once: rule_4"),
        (("Rules: rule_0", "Rules: rule_0, rule_7"), "not among the rules: rule_7"),
        (("Rules: rule_0\n", ""), "section 'Basics' has no rule; .*\n- in no section: rule_0"),
        (("# Manual of boxes", "Manual of boxes"), "no title"),
        (("## ", "**"), "there is no section"),
        (("# Manual of boxes", "#"), "a heading without a title"),
        (("Boxes hide things.", "```"), "never closed"),
        (("Boxes hide things.", "<!-- x"), "^a code fence or an HTML comment is left open"),
    ],
)
def test_a_faulty_outline_is_requested_again_with_its_fault(change: tuple[str, str], message: str) -> None:
    scope, model = scripted_scope(GOOD.replace(*change), GOOD)
    assert formulate(scope, RULES, TOY).rule_ids == ("rule_0", "rule_4", "rule_1")
    *_, repaired, problem = model.asked[1]
    assert repaired.content == GOOD.replace(*change)
    with pytest.raises(ValueError, match=message) as wrong:
        read_outline(GOOD.replace(*change), IDS)
    assert str(wrong.value) in problem.content


def test_a_repeated_run_sends_no_request() -> None:
    scope, _ = scripted_scope("no", GOOD)
    manual = formulate(scope, RULES, TOY)
    assert formulate(Scope(scope.journal, "formulate"), RULES, TOY) == manual


def test_without_rules_no_request_is_sent() -> None:
    scope, model = scripted_scope()
    with pytest.raises(BadManual, match="no rules"):
        formulate(scope, [], TOY)
    assert model.asked == []


@pytest.mark.parametrize(
    "line",
    [
        "**Rules:** **rule_4**, `rule_1`.",
        "Rules: rule_4 (Useful Helper Method) and Rule_1",
        "- Rules in this section: rule_4; rule_1",
        "Rules:\n\n- rule_4: find\n- **rule_1**",
        "*Rules*:\n1. rule_4\n2. rule_1, which builds on rule_4",
        "Rules: rule_4\nRules: rule_1",
        "### Rules\n\n- rule_4\n- rule_1",
        "Rules:\nrule_4, rule_1",
        "Rules:\n- rule_4 (used by rule_1)\n- [rule_1]",
        "Rules:\n- rule_4 (Useful Helper Method) and **rule_1**, after rule_0",
        "Rules: rule_4 - finds; rule_1 - fetches",
        'Rules: "rule_4", "rule_1"',
        "Rules: 'rule_4', 'rule_1'",
        "Rules: (rule_4, rule_1)",
        "Rules: ['rule_4', 'rule_1']",
        "Rules: <rule_4>, <rule_1>",
        'Rules:\n- (rule_4)\n- "rule_1" (after rule_0)',
    ],
)
def test_rules_may_be_listed_in_many_forms(line: str) -> None:
    manual = read_outline(GOOD.replace("Rules: rule_4, rule_1", line), IDS)
    assert manual.sections[1].rule_ids == ("rule_4", "rule_1")
    assert manual.sections[1].introduction == "One thing after the other."


def test_prose_may_mention_rules() -> None:
    prose = (
        "Rules of the house\nRules to heed: be quick.\nRule of thumb: look first, as rule_1 says.\n\n- rule_0 matters"
    )
    manual = read_outline(
        GOOD.replace("One thing after the other.", prose).replace("rule_1\n", "rule_1\n\nAs rule_0."), IDS
    )
    assert manual.sections[1].introduction == f"{prose}\n\n\nAs rule_0."
    assert manual.sections[1].rule_ids == ("rule_4", "rule_1")


@pytest.mark.parametrize(
    "wrap",
    [
        "```markdown\n{}```\nThat is all.",
        "# Notes\n\n## On boxes\n\n{}",
        "Here:\n\n````md\n{}````",
        "<think>\n# x\n</think>\n{}",
    ],
)
def test_text_around_an_outline_is_dropped(wrap: str) -> None:
    assert read_outline(wrap.format(GOOD).replace("ing\n\n", "ing\n"), IDS) == read_outline(GOOD, IDS)
    assert read_outline(wrap.format(GOOD).replace("\n", "\r\n"), IDS) == read_outline(GOOD, IDS)


def test_headings_within_a_section_become_bold_lines() -> None:
    code = "```\n### not a heading\n```"
    manual = read_outline(GOOD.replace("Key points:", f"{code}\n\n### **Key points**"), IDS)
    assert manual.sections[0].introduction == f"Boxes hide things.\n\n{code}\n\n**Key points**\n- open, then look"
    assert parse(render(manual, RULES))[0] == manual
