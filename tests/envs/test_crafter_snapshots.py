"""Coming back to a snapshot: what follows is what would have followed, and nothing is shared with what went on."""

from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.envs import Action
from planbook.envs.crafter import Crafter
from planbook.envs.crafter.game import save
from tests.envs.crafter_games import begun, look_alike, survive, wild

CALLS = st.sampled_from([Action("move", (way,)) for way in ("north", "south", "east", "west")] + [Action("do")] * 3)
OTHERS = st.sampled_from(
    [Action("sleep"), Action("noop"), Action("place", ("table",)), Action("make", ("wood_sword",))]
)
WALKS = st.lists(CALLS | OTHERS, max_size=25)
START = begun(7)
AT = [START.snapshot()]
for _turn, _action in enumerate(islice(wild(START, 7), 240)):
    if START.ended:
        break
    START.act(_action)
    if _turn % 40 == 0 and not START.ended:
        AT.append(START.snapshot())


def walk(world: Crafter, actions: list[Action]) -> list[object]:
    seen: list[object] = []
    for action in actions:
        if not world.ended:
            seen += [world.act(action), world.attribute_values(), world.milestones(), world.measures()]
    return seen


@settings(max_examples=12, deadline=None)
@given(start=st.sampled_from(range(len(AT))), before=WALKS, between=WALKS, after=WALKS)
def test_what_follows_is_the_same_after_coming_back(
    start: int, before: list[Action], between: list[Action], after: list[Action]
) -> None:
    world = START
    world.restore(AT[start])
    walk(world, before)
    mark, saved = world.snapshot(), save(world.game)
    first = walk(world, after)
    end = save(world.game)
    world.restore(mark)
    walk(world, between)
    assert world.restore(mark) == mark.last
    assert repr(save(world.game)) == repr(saved)
    assert walk(world, after) == first
    assert repr(save(world.game)) == repr(end)


def test_a_snapshot_is_the_same_game_as_walking_there_again() -> None:
    world, again = begun(9), begun(9)
    actions = []
    for action in islice(wild(world, 9), 60):
        actions.append(action)
        world.act(action)
    mark = world.snapshot()
    walk(world, [Action("noop")] * 30)
    world.restore(mark)
    for action in actions:
        again.act(action)
    look_alike(world.game, again.game)


def test_a_snapshot_can_be_taken_up_by_another_instance_and_shares_nothing() -> None:
    one, other = begun(5), begun(5)
    walk(one, [Action("move", ("north",))] * 5)
    mark = one.snapshot()
    other.restore(mark)
    look_alike(one.game, other.game)
    walk(other, [Action("move", ("west",))] * 5)
    one.restore(mark)
    assert walk(one, [Action("do")] * 3) == walk(begun_at(5, 5), [Action("do")] * 3)


def begun_at(seed: int, steps: int) -> Crafter:
    world = Crafter()
    world.reset(survive(seed))
    walk(world, [Action("move", ("north",))] * steps)
    return world
