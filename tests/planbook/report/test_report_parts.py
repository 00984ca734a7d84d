"""Small parts of the report: formatted numbers, lists of settings."""

import pytest

from planbook.report.elements import nodes_of
from planbook.report.episodes import document
from planbook.report.sections import nonempty_values
from planbook.store import Event
from planbook.wording import NO_FIGURE, PRICE_UNKNOWN, counted, format_money, interval, utc_time


def test_numbers_are_formatted_for_readers() -> None:
    assert interval(0.095, 0.905) == "9.5% to 90.5%"
    assert (counted(1, "action"), counted(1200, "token")) == ("1 action", "1,200 tokens")
    assert (utc_time(0.0), utc_time(None)) == ("1970-01-01 00:00:00 UTC", NO_FIGURE)


@pytest.mark.parametrize(
    ("money", "shown"),
    [(None, PRICE_UNKNOWN), (0.0, "$0.00"), (0.01234, "$0.0123"), (12.345, "$12.35"), (1234.5, "$1,234.50")],
)
def test_sums_of_money_have_only_significant_digits(money: float | None, shown: str) -> None:
    assert format_money(money) == shown


def test_empty_settings_are_not_listed() -> None:
    asked = {"env": "toy", "library": "", "selection": {"seeds": [1, 2], "types": [], "limit": None}, "paper": False}
    assert dict(nonempty_values(asked)) == {"env": "toy", "selection.seeds": "1, 2", "paper": "False"}


def test_code_in_a_sentence_is_marked() -> None:
    assert [*nodes_of(["A run of `planbook build`: a ` b."])] == [
        ["p", "A run of ", ["code", "planbook build"], ": a ` b."]
    ]


@pytest.mark.parametrize("path", ["run", "formulate/0", "a/b/c/d/e", "task/3x/0"])
def test_events_outside_a_play_are_kept_unchanged(path: str) -> None:
    (part,) = document([Event(path, "versions", 0, {"odd": [1, None]}, 0.0)], {})["parts"]
    assert part == {"scope": path, "kind": "versions", "n": 0, "body": {"odd": [1, None]}}
