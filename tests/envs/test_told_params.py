"""What prompts may tell of a task's params."""

import pytest

from planbook.envs import Selection
from planbook.envs.miniwob import Miniwob
from planbook.envs.toy import Toy


def test_a_world_tells_its_params() -> None:
    task = Toy.select(Selection(ids=("fetch/0",)))[0]
    assert Toy.told_params(task) == task.params != {}


@pytest.mark.parametrize("kind", Miniwob.types)
def test_the_fields_that_a_page_publishes_for_a_goal_in_free_wording_are_not_told(kind: str) -> None:
    task = Miniwob.select(Selection(ids=(f"{kind}/1",)))[0].model_copy(update={"params": {"to": "Ada"}})
    free = kind.startswith("email-inbox-") and kind.endswith(("-nl", "-nl-turk"))
    assert Miniwob.told_params(task) == ({} if free else {"to": "Ada"})
