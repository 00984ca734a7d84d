"""ALFWorld as an environment: actions, observations, options, and which actions are possible."""

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from random import Random

import pytest

from planbook.envs.alfworld import Alfworld
from planbook.envs.alfworld.generated import TYPES
from planbook.envs.alfworld.wording import as_action
from planbook.envs.errors import EpisodeEnded
from planbook.envs.types import Action, Observation
from tests.envs.alfworld_games import game, loaded, winning_actions


def neighbours(task_type: str) -> tuple[int, list[str]]:
    """Return the seed of a game in which several receptacles share a location, and the ids of these receptacles."""
    for seed in range(50):
        scene = loaded(task_type, seed).scene
        for there in scene.receptacles_at.values():
            if len(there) > 1:
                return seed, [scene.names[receptacle].replace(" ", "_") for receptacle in there]
    raise AssertionError("every receptacle stands alone")


def test_the_actions_are_those_of_the_paper_and_three_for_looking() -> None:
    paper = ["go_to", "open", "close", "take_from", "put_in_or_on", "use", "clean_with", "heat_with", "cool_with"]
    assert list(Alfworld.actions) == [*paper, "look", "inventory", "examine"]
    assert str(Alfworld.actions["take_from"].signature).startswith("(object: str, receptacle: str)")
    assert Alfworld.actions["close"].bind("cabinet_1") == Action("close", ("cabinet_1",))


@pytest.mark.parametrize("task_type", TYPES)
def test_a_winning_plan_ends_the_episode_with_a_solved_task(task_type: str) -> None:
    environment = game(task_type, 4)
    *before, last = [environment.act(action) for action in winning_actions(task_type, 4)]
    assert last.terminated
    assert not any(observation.terminated for observation in before)
    assert all(observation.accepted for observation in before)
    assert (environment.verdict().solved, environment.verdict().score) == (True, 1.0)
    with pytest.raises(EpisodeEnded):
        environment.act(Action("look"))


def test_every_result_ends_with_the_place_and_the_held_object() -> None:
    environment = game("pick_clean_then_place", 4)
    assert environment.attribute_values() == {"location": "middle_of_room", "holding": "nothing"}
    first_room = environment.scene()
    go, *rest = winning_actions("pick_clean_then_place", 4)
    assert environment.act(Action("open", go.args)) == Observation(
        "Nothing happens. You are at middle_of_room and holding nothing.", accepted=False
    )
    place = str(go.args[0])
    assert environment.act(go).text.endswith(f" You are at {place} and holding nothing.")
    take = next(action for action in rest if action.name == "take_from")
    for action in rest[: rest.index(take)]:
        environment.act(action)
    thing = take.args[0]
    assert environment.act(take).text == f"You take {thing} from {place}. You are at {place} and holding {thing}."
    assert environment.attribute_values() == {"location": place, "holding": thing}
    inventory = environment.act(Action("inventory"))
    assert inventory.text == f"You are carrying: {thing}. You are at {place} and holding {thing}."
    assert environment.state() == f"You are at {place} and holding {thing}."
    assert environment.act(take).accepted is False
    put = environment.act(Action("put_in_or_on", take.args))
    assert put.text == f"You put {thing} in/on {place}. You are at {place} and holding nothing."
    assert environment.scene() == first_room


def test_an_argument_that_is_not_an_id_is_refused() -> None:
    environment = game("look_at_obj", 4)
    for argument in ("desk", "desk 1", "DESK_1", "desk_1; look", "desk_", "_1", "", 7, None, ["desk_1"]):
        observation = environment.act(Action("go_to", (argument,)))  # type: ignore[arg-type]
        assert not observation.accepted
        assert observation.text.startswith("Nothing happens.")


def test_a_second_receptacle_at_a_location_opens_only_with_the_option() -> None:
    seed, (first, second, *_) = neighbours("pick_and_place")
    hidden, opened = (game("pick_and_place", seed, shared_locations=choice) for choice in ("hidden", "open"))
    for environment in (hidden, opened):
        assert environment.act(Action("go_to", (first,))).accepted
    refused = hidden.act(Action("go_to", (second,)))
    assert (refused.text, refused.accepted) == (f"Nothing happens. You are at {first} and holding nothing.", False)
    inside = hidden.act(Action("examine", (second,))).text.split(" You are at ")[0]
    shown = opened.act(Action("go_to", (second,)))
    assert (shown.text, shown.accepted) == (f"{inside} You are at {second} and holding nothing.", True)
    assert not opened.act(Action("go_to", (second,))).accepted, "the agent stands there already"
    assert opened.act(Action("go_to", (first,))).accepted
    assert not opened.act(Action("go_to", ("elephant_1",))).accepted


def test_versions_name_the_grammar_and_the_packages() -> None:
    versions = Alfworld().versions()
    assert versions["grammar"] == "move"
    assert versions["alfworld"].startswith("0.4")
    assert "textworld" in versions


def play(engine: str, task_type: str, seed: int) -> list[Observation]:
    environment = game(task_type, seed, engine=engine)
    observations = [environment.act(action) for action in winning_actions(task_type, seed)]
    environment.close()
    return observations


@pytest.mark.deep
def test_environments_in_several_threads_do_not_disturb_each_other() -> None:
    jobs = [("direct", task_type, 1) for task_type in TYPES]
    jobs[3:3] = [("textworld", "pick_and_place", 1), ("textworld", "look_at_obj", 1)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: play(*job), jobs))
    assert together == [play("direct", task_type, seed) for _, task_type, seed in jobs]
    assert all(observations[-1].terminated for observations in together)


def test_the_goals_of_the_paper_need_a_place() -> None:
    environment = game("pick_and_place", 0, paper_goals=True)
    assert list(environment.goals.specs) == ["pick", "put", "clean", "heat", "cool", "use"]
    assert {goal.name for goal in environment.goals.list_goals()} <= set(environment.goals.specs)
    with pytest.raises(TypeError, match="place"):
        environment.goals.specs["pick"].bind("mug")
    assert environment.goals.specs["pick"].example == "agent.pick('mug', 'shelf_1')"


def test_the_docs_of_the_paper_state_only_what_its_listing_states() -> None:
    full_offer, paper = Alfworld.offered(), Alfworld.offered(Alfworld.Options(paper_actions=True, paper_docs=True))
    assert set(full_offer.actions) - set(paper.actions) == {"look", "inventory", "examine"}
    docs = {name: spec.doc for name, spec in paper.actions.items()}
    assert not any(word in doc for doc in docs.values() for word in ("where", "closed", "sink", "microwave", "fridge"))
    facts = {
        "go_to": "location",
        "open": "contains",
        "take_from": "hold nothing",
        "put_in_or_on": "holds",
        "use": "lamp",
    }
    assert all(fact in docs[name] for name, fact in facts.items())
    assert set(Alfworld.offered(Alfworld.Options(paper_docs=True)).actions) == set(full_offer.actions)


def random_step(environment: Alfworld, rng: Random) -> Action:
    """Return a random possible action, more often one that handles an object."""
    possible = environment.possible_actions()
    handling = [each for each in possible if each.name not in ("go_to", "look", "inventory", "examine", "close")]
    return rng.choice(handling if handling and rng.random() < 0.6 else possible)


def actions_to_try(environment: Alfworld, rng: Random, count: int) -> list[Action]:
    """Return all actions on one name that the possible actions mention, and a sample of those on two names."""
    seen = sorted({str(thing) for each in environment.possible_actions() for thing in each.args})
    on_one = [Action(name, (thing,)) for name in ("go_to", "open", "close", "use", "examine") for thing in seen]
    pairs = ("take_from", "put_in_or_on", "clean_with", "heat_with", "cool_with")
    on_two = [Action(name, (one, two)) for name in pairs for one, two in product(seen, seen)]
    return [*on_one, *rng.sample(on_two, min(count, len(on_two)))]


@pytest.mark.parametrize("shared", ["hidden", "open"])
@pytest.mark.parametrize("task_type", TYPES)
def test_exactly_the_possible_actions_are_accepted(task_type: str, shared: str) -> None:
    rng, environment = Random(f"{task_type} {shared}"), game(task_type, 5, shared_locations=shared)
    names = set()
    for _ in range(25):
        possible = environment.possible_actions()
        assert len(set(possible)) == len(possible)
        names |= {each.name for each in possible}
        snapshot = environment.snapshot()
        for each in (*possible, *actions_to_try(environment, rng, 100)):
            accepted = environment.act(each).accepted
            assert accepted == (each in possible), each
            environment.restore(snapshot)
        if environment.act(random_step(environment, rng)).terminated:
            break
    assert {"go_to", "look", "inventory", "examine", "take_from"} <= names


DEEP = [pytest.param(task_type, marks=pytest.mark.deep) for task_type in ("pick_heat_then_place", "look_at_obj")]


@pytest.mark.parametrize("task_type", ["pick_clean_then_place", *DEEP])
def test_both_engines_list_the_same_possible_actions(task_type: str) -> None:
    argv = sys.argv
    rng, direct, reference = Random(task_type), game(task_type, 2), game(task_type, 2, engine="textworld")
    assert direct.scene() == reference.scene()
    for _ in range(8):
        assert direct.possible_actions() == reference.possible_actions()
        step = random_step(direct, rng)
        assert direct.act(step) == reference.act(step)
        if direct.ended:
            break
    reference.close()
    reference.close()
    assert sys.argv is argv


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("move mug 1 to desk 12", Action("put_in_or_on", ("mug_1", "desk_12"))),
        ("put mug 1 in/on desk 12", Action("put_in_or_on", ("mug_1", "desk_12"))),
        ("look", Action("look")),
        ("slice apple 1 with knife 2", None),
        ("go to desk", None),
    ],
)
def test_a_command_is_translated_into_an_action(command: str, action: Action | None) -> None:
    assert as_action(command) == action
