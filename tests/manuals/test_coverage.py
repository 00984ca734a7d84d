"""The coverage report: task types without a rule, rules that are never used, and why a rule covers a type."""

import pytest

from planbook.envs import Selection, load_environment
from planbook.manuals.coverage import Coverage, CoveredType, coverage_table, goals_of, measure_coverage, scope_of
from planbook.rules import Rule, RuleType

ALFWORLD = goals_of(load_environment("alfworld").select(Selection(split="generated", limit=30)))
CLICKS: dict[str, list[str]] = {"click-checkboxes": [], "click-checkboxes-large": [], "click-tab": []}


def success(number: int, content: str) -> Rule:
    return Rule(id=f"rule_{number}", type=RuleType.SUCCESS_PROCESS, content=content)


def covered_types(content: str, goals: dict[str, list[str]]) -> dict[str, str]:
    """Return a dict that maps the types that one success rule covers to the grounds."""
    report = measure_coverage([success(0, content)], goals, {})
    return {each.type: each.grounds for each in report.types if each.grounds != "missing"}


@pytest.mark.parametrize(
    ("content", "covered"),
    [
        ("For pick_two_obj tasks, without heating.", {"pick_two_obj": "named"}),
        ("In tasks of the type Pick Two Obj: one by one.", {"pick_two_obj": "named"}),
        ("When the task is to heat an object and place it: take it.", {"pick_heat_then_place": "likely"}),
        ("For putting a hot thing somewhere.", {"pick_heat_then_place": "likely"}),
        ("For cleaning and for cooling.", {"pick_clean_then_place": "likely", "pick_cool_then_place": "likely"}),
        ("For putting an object in or on a receptacle: find it.", {"pick_and_place": "likely"}),
        ("For looking at a thing under a lamp.", {"look_at_obj": "likely"}),
        ("When the task is to cool something: look for it under the two shelves.", {"pick_cool_then_place": "likely"}),
        ("In these tasks: clean.", {"pick_clean_then_place": "likely"}),
        ("In any task, be careful. With heat, too.", {}),
        ("Look after the mug.\n\nHeat it.", {"look_at_obj": "likely"}),
        ("", {}),
    ],
)
def test_a_rule_covers_the_types_of_its_scope(content: str, covered: dict[str, str]) -> None:
    assert covered_types(content, ALFWORLD) == covered


@pytest.mark.parametrize(
    ("content", "covered"),
    [
        ("For click-checkboxes-large: scroll.", {"click-checkboxes-large": "named"}),
        ("For click-checkboxes and click-tab: click.", {"click-checkboxes": "named", "click-tab": "named"}),
        ("Many checkboxes: click each.", {"click-checkboxes": "likely"}),
        ("Large pages of checkboxes: scroll.", {"click-checkboxes-large": "likely"}),
        ("Tabs: click the one that is named.", {"click-tab": "likely"}),
    ],
)
def test_a_type_whose_name_contains_another_is_distinguished(content: str, covered: dict[str, str]) -> None:
    assert covered_types(content, CLICKS) == covered


def test_only_a_success_process_covers_a_type() -> None:
    mechanism = success(0, "For pick_two_obj tasks.").model_copy(update={"type": RuleType.SPECIAL_MECHANISM})
    assert measure_coverage([mechanism], ALFWORLD, {}).missing == tuple(ALFWORLD)


def test_uncited_and_dangling_rules_are_reported() -> None:
    rules = [
        success(1, "Heat it, as rule_7 says."),
        success(2, "Cool it.").model_copy(update={"builds_on": ("rule_9", "rule_1"), "example": "# rule_7"}),
        success(3, "Clean it.").model_copy(update={"log": ("took over what rule_8 said",)}),
    ]
    report = measure_coverage(rules, ALFWORLD, {"rule_2": 4, "rule_3": 0, "rule_8": 1})
    assert report.never_cited == ("rule_1", "rule_3")
    assert report.dangling == {"rule_1": ("rule_7",), "rule_2": ("rule_7", "rule_9")}
    assert report.missing == ("pick_and_place", "look_at_obj", "pick_two_obj")


def test_goals_leave_out_the_params_of_a_task() -> None:
    goals = goals_of(load_environment("toy").select(Selection()))
    assert set(goals["fetch"]) == {"put the on the table"}
    assert len(goals["fetch_two"]) == 5


@pytest.mark.parametrize(
    ("content", "scope"), [("One. Two.", "One."), ("One\nand\n\nTwo", "One\nand"), ("a.b c", "a.b c")]
)
def test_the_scope_is_the_first_sentence(content: str, scope: str) -> None:
    assert scope_of(success(0, content)) == scope


def test_the_table_is_readable_in_a_terminal_and_as_markdown() -> None:
    report = Coverage(
        types=(
            CoveredType(type="fetch", grounds="named", rule_ids=("rule_1", "rule_2")),
            CoveredType(type="fetch_two", grounds="likely", rule_ids=("rule_3",), words=("both", "two")),
            CoveredType(type="lose", grounds="missing"),
        ),
        never_cited=("rule_2",),
        dangling={"rule_1": ("rule_0",)},
    )
    assert (
        coverage_table(report)
        == """\
| task type | success process    | rules          |
| --------- | ------------------ | -------------- |
| fetch     | named              | rule_1, rule_2 |
| fetch_two | likely (both, two) | rule_3         |
| lose      | missing            | -              |

Without a success process: lose.
Never cited by a planner: rule_2.
Citing rules that do not exist: rule_1 (cites rule_0)."""
    )
    nothing = coverage_table(measure_coverage([], {}, {}))
    assert "Without a success process: no task type." in nothing
