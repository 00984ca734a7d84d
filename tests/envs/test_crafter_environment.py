"""Crafter: observations, refusals, possible actions, queries and the end of tasks."""

import random
import re
from functools import cache
from itertools import islice

import pytest

from planbook.envs import Action, Selection, Snapshot
from planbook.envs.crafter import Crafter
from planbook.envs.crafter.environment import SURVIVE, make_task
from planbook.envs.crafter.rules import STEPS, VITALS, portable_items, tables
from tests.envs.crafter_games import ALL_ACTIONS, possible_actions, random_actions, started

NORTH = Action("move", ("north",))


@cache
def game_of_seed_0() -> tuple[Crafter, Snapshot]:
    environment = started(0)
    return environment, environment.snapshot()


@pytest.fixture
def environment() -> Crafter:
    """The start of the game with seed 0. All tests share one environment, because making one takes about a second."""
    environment, start = game_of_seed_0()
    environment.restore(start)
    return environment


def give(environment: Crafter, **items: int) -> None:
    environment.game.player.inventory.update(items)


def surround(environment: Crafter, **materials: str) -> None:
    """Replace squares next to the player; ``materials`` maps directions to materials."""
    x, y = map(int, environment.game.player.pos)
    for direction, material in materials.items():
        dx, dy = STEPS[direction]
        environment.game.land[x + dx, y + dy] = material


def test_a_terse_observation_does_not_say_what_happened() -> None:
    environment = Crafter(Crafter.Options(terse=True))
    environment.reset(make_task(SURVIVE, 0))
    give(environment, wood=0)
    for act in (Action("place", ("table",)), NORTH):
        seen = environment.act(act)
        assert seen.text == environment.scene()
        assert environment.brief(seen, seen) == f"Step {environment.player_view.step}."


def test_the_first_observation_describes_everything_in_view() -> None:
    environment = Crafter()
    text = environment.reset(make_task(SURVIVE, 0)).text
    assert text.startswith("Step 0.\nBeside you: north grass, south grass (you face it), east grass, west grass.")
    assert "- cow: 4 steps east (4E)\n" in text
    assert "- tree: 7 steps north-west (3N 4W); 7 steps south-east (3S 4E)\n" in text
    assert "Further south: 26 grass, 1 tree.\n" in text
    assert "Vitals: health 9/9, food 9/9, drink 9/9, energy 9/9. Inventory: nothing. You are awake." in text
    assert all(name in text for name in tables().achievements)
    assert text.endswith("Your task is to: survive, and unlock as many of the 22 achievements as you can.")


def test_an_observation_begins_with_what_changed(environment: Crafter) -> None:
    surround(environment, south="tree")
    last = environment.act(Action("do"))
    assert last.text.startswith("You collect wood. Step 1: unlocked collect_wood; wood 0 -> 1")
    first, second, *_ = last.text.splitlines()
    assert environment.brief(last, last) == first
    assert second.startswith("Beside you: ")
    assert environment.state().endswith("Inventory: 1 wood. You are awake.")
    assert "Remaining achievements: collect_coal," in last.text
    assert environment.milestones() == ("collect_wood",)


@pytest.mark.parametrize(
    ("action", "materials", "held", "reason"),
    [
        (NORTH, {"north": "water"}, {}, "water is in the way; you now face north"),
        (Action("do"), {"south": "stone"}, {}, "you have no tool for stone"),
        (Action("do"), {"south": "sand"}, {}, "there is nothing to be done with sand"),
        (Action("do"), {"south": "tree"}, {"wood": 9}, "you cannot carry more wood"),
        (Action("sleep"), {}, {}, "you are not tired"),
        (Action("place", ("table",)), {"south": "grass"}, {"wood": 1}, "you do not have enough wood"),
        (Action("place", ("table",)), {"south": "water"}, {"wood": 9}, "table cannot be placed on water"),
        (Action("make", ("iron_sword",)), {}, {}, "there is no table and no furnace right beside you"),
        (Action("make", ("stone_sword",)), {"east": "table"}, {}, "you do not have enough wood and stone"),
    ],
)
def test_a_refused_action_gives_a_reason_and_costs_a_step(
    environment: Crafter, action: Action, materials: dict[str, str], held: dict[str, int], reason: str
) -> None:
    surround(environment, **materials)
    give(environment, **held)
    assert action not in possible_actions(environment)
    last = environment.act(action)
    assert not last.accepted
    assert last.text.startswith(f"Nothing happens: {reason}. Step 1")


def test_the_documentation_names_no_amounts() -> None:
    texts = [Crafter.about, *Crafter.attributes.values()]
    texts += [spec.doc for spec in (*Crafter.actions.values(), *Crafter.queries.values())]
    assert not re.search(
        r"\b(\d+|one|two|three|four|five|six) (wood|stone|coal|iron|sapling|diamond)s?\b", " ".join(texts)
    )


def test_the_actions_that_are_not_refused_take_effect(environment: Crafter) -> None:
    """Refusals are compared with the effects of all actions at many points of a game.

    Collecting from grass is always possible, but succeeds only by luck.
    """
    rng = random.Random(3)
    for turn, action in enumerate(islice(random_actions(environment, 3), 150)):
        if turn % 5 == 0:
            give(environment, **{name: rng.randint(0, 8) for name in ("wood", "stone", "coal", "iron", "sapling")})
            environment.game.land[tuple(each + 1 for each in environment.game.player.pos)] = rng.choice(
                ["table", "furnace", "grass", "tree"]
            )
            snapshot, possible = environment.snapshot(), possible_actions(environment)
            for each in ALL_ACTIONS:
                player = environment.game.player
                items, place = dict(player.inventory), tuple(player.pos)
                last = environment.act(each)
                player = environment.game.player
                assert last.accepted <= (each in possible)
                if each.name in ("place", "make"):
                    changed = any(player.inventory[name] != items[name] for name in portable_items())
                    assert changed == last.accepted == (each in possible)
                if each.name == "move":
                    assert (tuple(player.pos) != place) == last.accepted == (each in possible)
                environment.restore(snapshot)
        if environment.act(action).terminated:
            break
    assert turn > 40


def test_attributes_and_queries_agree_with_the_view(environment: Crafter) -> None:
    values, view = environment.attribute_values(), environment.player_view.view
    assert values["view"] == [list(row) for row in view]
    assert [len(row) for row in view] == [9] * 7
    assert view[3][4] == "you"
    assert environment.around() == {name: view[3 + dy][4 + dx] for name, (dx, dy) in STEPS.items()}
    assert environment.nearby("cow") == [{"direction": "east", "steps": 4, "dx": 4, "dy": 0}]
    assert environment.nearby("diamond") == []
    assert values["vitals"] == dict.fromkeys(VITALS, 9)
    assert values["facing"] == "south"
    assert values["remaining"] == list(tables().achievements)


def test_squares_beyond_the_map_are_named_edge(environment: Crafter) -> None:
    environment.game.land.move(environment.game.player, (0, 0))
    environment.act(Action("noop"))
    view = environment.attribute_values()["view"]
    assert isinstance(view, list)
    assert view[0] == ["edge"] * 9
    assert "edge is in the way" in environment.act(NORTH).text


def test_sleep_continues_until_energy_is_back_and_waking_is_an_achievement(environment: Crafter) -> None:
    give(environment, energy=8)
    assert "you fell asleep" in environment.act(Action("sleep")).text
    asleep = environment.act(NORTH)
    assert asleep.text.startswith("Nothing happens: you are asleep, and sleep on.")
    assert not asleep.accepted
    assert set(possible_actions(environment)) == {Action("noop"), Action("sleep")}
    for _ in range(40):
        last = environment.act(Action("sleep"))
        if "you woke up" in last.text:
            break
    assert "wake_up" in environment.milestones()


def test_death_in_lava_ends_the_game(environment: Crafter) -> None:
    surround(environment, north="lava")
    last = environment.act(NORTH)
    assert last.terminated
    assert "You died." in last.text.splitlines()[0]
    assert not environment.verdict().solved
    assert environment.measures() == {"reward": -0.9, "steps": 1}


def test_the_score_is_the_share_of_achievements_and_all_solve_the_game(environment: Crafter) -> None:
    environment.game.unlocked += [name for name in tables().achievements if name != "collect_wood"]
    assert environment.verdict().score == pytest.approx(21 / 22)
    surround(environment, south="tree")
    last = environment.act(Action("do"))
    assert last.terminated
    assert "Remaining achievements: none." in last.text
    assert environment.verdict().solved


def test_an_achievement_solves_its_task() -> None:
    environment = Crafter()
    (task,) = Crafter.select(Selection(ids=("collect_drink/0",)))
    assert environment.reset(task).text.endswith("Your task is to: unlock the achievement collect_drink.")
    surround(environment, south="water")
    assert environment.verdict().score == 0
    assert environment.act(Action("do")).terminated
    assert environment.verdict().solved


def test_an_unknown_argument_costs_no_step(environment: Crafter) -> None:
    for name in ("up", "left"):  # the game's own names
        last = environment.act(Action("move", (name,)))
        assert (last.accepted, environment.measures()["steps"]) == (False, 0)
        assert last.text == f"Nothing happens: there is no move {name!r}."
