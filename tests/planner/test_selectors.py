"""Selectors choose the next goal among those that are possible now and take nothing that another goal needs."""

from collections.abc import Sequence

import pytest

from planbook.envs import Action, Features, Goals, MissingRequirement, Selection
from planbook.envs.minecraft import Minecraft, MinecraftOptions
from planbook.planner.strategies.deps.selectors import (
    NEAREST,
    Candidate,
    Choice,
    candidates_of,
    expected_selector,
    horizon_selector,
    select,
    selector_of,
)
from tests.planner.camp import Camp


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


class ReversedPredictor:
    """A predictor of horizons that takes far goals for near ones."""

    def predict(self, features: Sequence[Features], /) -> Sequence[float]:
        return [-float(each["far"]) for each in features]


def test_a_goal_that_is_not_possible_now_is_not_a_candidate(goals: Goals) -> None:
    assert candidates_of(goals, [PICKED, SAND]) == [Candidate(1, SAND)]
    assert candidates_of(goals, [STONE]) == [Candidate(0, STONE)], "the plan does not say that it takes a pickaxe"


def test_goals_do_not_compete_for_a_material(goals: Goals) -> None:
    assert candidates_of(goals, [BOX, STICK]) == [Candidate(0, BOX)]
    assert candidates_of(goals, [PICKAXE, STICK, SAND]) == [Candidate(2, SAND)], "the pickaxe's planks are kept for it"


class Placing(Goals):
    """Goals of putting a block on a spot. The other spots are routes."""

    def materials(self, goal: Action) -> dict[str, int]:
        return dict.fromkeys(map(str, goal.args), 1)

    def routes(self, goal: Action) -> Sequence[Action]:
        block, spot = goal.args
        return (goal, *(Action("place", (block, other)) for other in ("spot_1", "spot_2", "spot_3") if other != spot))


def test_a_route_takes_what_its_own_goal_would_take_and_nothing_that_another_goal_needs() -> None:
    goals = Placing(Camp())
    aside, then = Action("place", ("block", "spot_1")), Action("place", ("block", "bowl"))
    routes = [each.action.args[1] for each in candidates_of(goals, [aside, then]) if each.position == 0]
    assert routes == ["spot_1", "spot_2", "spot_3"]
    later = Action("place", ("x", "spot_2"))
    routes = [each.action.args[1] for each in candidates_of(goals, [aside, later]) if each.position == 0]
    assert routes == ["spot_1", "spot_3"], "a later move needs that spot"
    routes = [each.action.args[1] for each in candidates_of(goals, [later, aside]) if each.position == 1]
    assert routes == ["spot_1", "spot_3"], "an earlier move needs that spot"


def test_the_nearest_selector_takes_the_least_true_horizon(goals: Goals) -> None:
    choice = select(goals, [SAND, LOG], NEAREST)
    assert (choice.chosen, choice.horizons) == (Candidate(1, BIRCH), [20.0, 30.0, 30.0, 10.0])
    assert select(goals, [PICKAXE, PICKED], NEAREST) == Choice(Candidate(0, PICKAXE), ()), "no goal is possible now"


def test_the_horizon_selector_takes_the_least_predicted_horizon(goals: Goals) -> None:
    assert select(goals, [SAND, LOG], horizon_selector(ReversedPredictor().predict)).chosen == Candidate(1, LOG)


def test_the_expected_selector_counts_the_failures_of_a_goal() -> None:
    environment = Minecraft(MinecraftOptions(chances=True))
    environment.reset(Minecraft.tasks(Selection())[0])
    oak, birch = Action("mine", ({"log": 1}, None)), Action("mine", ({"birch_log": 1}, None))

    def predict(rows: Sequence[Features]) -> Sequence[float]:
        return [10.0 if row["source"] == "birch_tree" else 100.0 for row in rows]

    selectors = horizon_selector(predict), expected_selector(predict)
    chosen = [select(environment.goals, [oak], selector).chosen.action for selector in selectors]
    assert chosen == [birch, oak], "a birch is missed more often (table 18)"
    assert selector_of(environment.goals, "expected", "0").name == "expected"


def test_the_random_order_depends_on_its_seed_alone(goals: Goals) -> None:
    def order(seed: str) -> list[Candidate]:
        chooser = selector_of(goals, "random", seed)
        return [select(goals, [SAND, LOG, STICK], chooser).chosen for _ in range(30)]

    assert order("a") == order("a") != order("b")
    candidates = [Candidate(0, SAND), Candidate(1, LOG), Candidate(2, STICK)]
    assert all(candidate in order("a") for candidate in candidates)
    assert all(chosen in candidates for chosen in order("a"))


def test_without_records_the_default_is_fixed_and_horizon_is_refused(goals: Goals) -> None:
    assert selector_of(goals, None, "0").name == "fixed"
    assert [selector_of(goals, name, "0").name for name in ("random", "nearest")] == ["random", "nearest (oracle)"]
    with pytest.raises(MissingRequirement, match="the environment camp has no recorded goals"):
        selector_of(goals, "horizon", "0")
    with pytest.raises(MissingRequirement, match="the environment camp has no recorded goals"):
        selector_of(goals, "expected", "0")
