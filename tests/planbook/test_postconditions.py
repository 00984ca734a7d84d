"""Post-conditions of procedures, from what could be read after the tasks that they did."""

import pytest

from planbook.learning.postconditions import Reading, postcondition

TOGETHER = [{"what": "mug"}, {"what": "egg"}, {"what": "pen"}]


@pytest.mark.parametrize(
    ("readings", "asserted"),
    [
        ([{"agent.holding": "nothing"}] * 3, ["agent.holding == 'nothing'"]),
        ([{"agent.holding": "nothing"}] * 2, []),
        ([{"agent.cart()": "mug"}, {"agent.cart()": "egg"}], ["agent.cart() == task.params['what']"]),
        ([{"agent.cart()": "mug"}, {"agent.cart()": "pen"}], []),
        ([{"agent.cart()": "mug"}, None], []),
        ([{"agent.cart()": "mug"}, {}], []),
        ([], []),
    ],
)
def test_what_always_held_or_was_the_value_of_a_parameter(readings: list[Reading | None], asserted: list[str]) -> None:
    lines = postcondition(readings, TOGETHER[: len(readings)]).splitlines()
    assert [line.removeprefix("assert ").partition(", f")[0] for line in lines] == asserted
