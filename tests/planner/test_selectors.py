"""Which goal comes next: what can be done now, without taking from an earlier goal what it needs."""

from collections.abc import Sequence

import pytest

from planbook.envs import Action, Features, Goals, MissingRequirement, Selection
from planbook.envs.minecraft import Minecraft
from planbook.envs.tabletop import Tabletop
from planbook.planner.strategies.deps.selectors import (
    FIXED,
    NEAREST,
    Candidate,
    Choice,
    at_random,
    by_horizon,
    candidates_of,
    select,
    selector_of,
)
from tests.planner.camp import Camp, CampGoals


def mine(kind: str, count: int = 1) -> Action:
    return Action("mine", ({kind: count}, None))


def craft(kind: str, **materials: int) -> Action:
    return Action("craft", ({kind: 1}, dict(materials)))


SAND, STONE, LOG, OAK, BIRCH = map(mine, ("sand", "cobblestone", "log", "oak_log", "birch_log"))
PICKED = Action("mine", ({"cobblestone": 1}, "pickaxe"))
BOX, STICK, PICKAXE = craft("box", planks=4), craft("stick", planks=2), craft("pickaxe", planks=3, stick=2)


@pytest.fixture
def goals() -> Goals:
    environment = Camp()
    environment.reset(Camp.tasks(Selection())[0])
    environment.held = {"planks": 4}
    return environment.goals


class Table:
    """Predicts what it was given, by how far the environment says the goal is."""

    def predict(self, features: Sequence[Features], /) -> Sequence[float]:
        return [-float(each["far"]) for each in features]


def test_what_the_plan_says_cannot_be_done_now_is_no_candidate(goals: Goals) -> None:
    assert candidates_of(goals, [PICKED, SAND]) == [Candidate(1, SAND)]
    assert candidates_of(goals, [STONE]) == [Candidate(0, STONE)], "the plan does not say that it takes a pickaxe"


def test_each_way_to_reach_a_goal_is_a_candidate(goals: Goals) -> None:
    assert candidates_of(goals, [SAND, LOG]) == [
        Candidate(0, SAND),
        Candidate(1, LOG),
        Candidate(1, OAK),
        Candidate(1, BIRCH),
    ]


def test_goals_do_not_compete_for_a_material(goals: Goals) -> None:
    assert candidates_of(goals, [BOX, STICK]) == [Candidate(0, BOX)]
    assert candidates_of(goals, [PICKAXE, STICK, SAND]) == [Candidate(2, SAND)], "the pickaxe's planks are kept for it"


def test_another_way_takes_nothing_that_a_later_goal_needs() -> None:
    environment = Minecraft()
    environment.reset(Minecraft.tasks(Selection())[0])
    environment.player.inventory |= {"string": 4, "stick": 3, "crafting_table": 1}
    wool, from_string = Action("kill", ({"wool": 1}, None)), Action("craft", ({"wool": 1}, {"string": 4}, None))
    bow = Action("craft", ({"bow": 1}, {"stick": 3, "string": 3}, "crafting_table"))
    assert candidates_of(environment.goals, [wool]) == [Candidate(0, wool), Candidate(0, from_string)]
    assert candidates_of(environment.goals, [wool, bow]) == [Candidate(0, wool), Candidate(1, bow)]
    assert candidates_of(environment.goals, [bow, wool]) == [Candidate(0, bow), Candidate(1, wool)]


def test_another_way_may_take_what_its_goal_takes_anyway() -> None:
    environment = Tabletop()
    environment.reset(Tabletop.select(Selection(ids=("put_block_in_bowl/0",)))[0])
    block = next(name for name in environment.table.on if name.endswith("_block") and not environment.table.upon(name))
    bowl = next(
        name for name in environment.table.things if name.endswith("_bowl") and not environment.table.upon(name)
    )
    first, second, *others = environment.table.free_spots()
    aside, then = Action("pick_place", (block, first)), Action("pick_place", (block, bowl))
    ways = [each.action.args[1] for each in candidates_of(environment.goals, [aside, then]) if each.place == 0]
    assert ways == [first, second, *others]
    ways = [
        each.action.args[1] for each in candidates_of(environment.goals, [aside, Action("pick_place", ("x", second))])
    ]
    assert ways == [first, *others], "a spot that a later move needs is no way to clear another"


def test_where_nothing_can_be_done_the_first_goal_is_tried(goals: Goals) -> None:
    assert select(goals, [PICKAXE, PICKED], NEAREST) == Choice(Candidate(0, PICKAXE), ())


def test_the_fixed_order_is_the_plans(goals: Goals) -> None:
    assert select(goals, [PICKED, SAND, LOG], FIXED).chosen == Candidate(1, SAND)
    assert select(goals, [LOG, SAND], FIXED).chosen == Candidate(0, LOG)


def test_the_nearest_goal_and_way_are_chosen(goals: Goals) -> None:
    choice = select(goals, [SAND, LOG], NEAREST)
    assert (choice.chosen, choice.horizons) == (Candidate(1, BIRCH), [20.0, 30.0, 30.0, 10.0])


def test_the_goal_with_the_least_predicted_horizon_is_chosen(goals: Goals) -> None:
    assert select(goals, [SAND, LOG], by_horizon(Table().predict)).chosen == Candidate(1, LOG)


def test_the_random_order_depends_on_its_seed_alone(goals: Goals) -> None:
    def order(seed: str) -> list[Candidate]:
        chooser = at_random(seed)
        return [select(goals, [SAND, LOG, STICK], chooser).chosen for _ in range(30)]

    assert order("a") == order("a") != order("b")
    taken = order("a")
    assert all(Candidate(*each) in taken for each in ((0, SAND), (1, LOG), (2, STICK)))
    assert all(each.action in (SAND, LOG, STICK) for each in taken)


def test_an_environment_without_records_has_the_fixed_order_and_no_predictor(goals: Goals) -> None:
    assert selector_of(goals, None, "0").name == "fixed"
    assert [selector_of(goals, name, "0").name for name in ("random", "nearest")] == ["random", "nearest (oracle)"]
    with pytest.raises(MissingRequirement, match="the environment camp has no recorded goals"):
        selector_of(goals, "horizon", "0")


def test_the_environment_of_these_tests_is_as_they_say(goals: Goals) -> None:
    assert isinstance(goals, CampGoals)
    assert goals.refusal(STONE) == "cobblestone takes a pickaxe"
    assert goals.routes(SAND) == (SAND,)
