"""ALFWorld as an environment: actions, observations, options, and which actions are possible."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from random import Random

import pytest

from planbook.envs.alfworld import Alfworld, AlfworldOptions, generated
from planbook.envs.alfworld.direct import DirectEngine
from planbook.envs.alfworld.generated import find_plan
from planbook.envs.alfworld.goals import TYPES
from planbook.envs.alfworld.wording import as_action
from planbook.envs.errors import EpisodeEnded
from planbook.envs.toy import Toy
from planbook.envs.types import Action, Observation, Selection, Task


def task_of(kind: str, seed: int) -> Task:
    (task,) = Alfworld.tasks(Selection(ids=(f"generated/{kind}/{seed}",)))
    return task


def action_of(command: str) -> Action:
    """A command of the game as the action that means it."""
    words = command.split()
    things = [f"{kind}_{number}" for kind, number in pairwise(words) if number.isdigit()]
    names = {
        "go": "go_to",
        "take": "take_from",
        "move": "put_in_or_on",
        "clean": "clean_with",
        "heat": "heat_with",
        "cool": "cool_with",
    }
    return Action(names.get(words[0], words[0]), tuple(things))


def winning_actions(kind: str, seed: int) -> list[Action]:
    engine = DirectEngine()
    engine.load(generated.make(kind, seed))
    plan = find_plan(engine, generated.search_goal(kind, generated.make(kind, seed).goal))
    assert plan
    return [action_of(command) for command in plan]


def neighbours(kind: str) -> Iterator[tuple[int, list[str]]]:
    """Seeds of games in which receptacles share a location, with the receptacles' ids."""
    for seed in range(50):
        engine = DirectEngine()
        engine.load(generated.make(kind, seed))
        for there in engine.scene.neighbours.values():
            if len(there) > 1:
                yield seed, [engine.scene.names[receptacle].replace(" ", "_") for receptacle in there]


@pytest.fixture
def environment() -> Alfworld:
    return Alfworld()


def test_the_actions_are_the_papers_and_three_to_look(environment: Alfworld) -> None:
    paper = ["go_to", "open", "close", "take_from", "put_in_or_on", "use", "clean_with", "heat_with", "cool_with"]
    assert list(environment.actions) == [*paper, "look", "inventory", "examine"]
    assert str(environment.actions["take_from"].signature).startswith("(object: str, receptacle: str)")
    assert all(spec.doc and spec.example.startswith(f"agent.{name}(") for name, spec in environment.actions.items())
    assert environment.actions["close"].bind("cabinet_1") == Action("close", ("cabinet_1",))


@pytest.mark.parametrize("kind", TYPES)
def test_a_winning_plan_wins_and_ends_the_episode(environment: Alfworld, kind: str) -> None:
    first = environment.reset(task_of(kind, 4))
    assert first.text.startswith("You are in the middle of a room. Looking quickly around you, you see ")
    assert first.text.endswith(f"\nYour task is to: {task_of(kind, 4).goal}.")
    *before, last = [environment.act(action) for action in winning_actions(kind, 4)]
    assert last.terminated
    assert not any(observation.terminated for observation in before)
    assert all(observation.accepted for observation in before)
    assert (environment.verdict().solved, environment.verdict().score) == (True, 1.0)
    with pytest.raises(EpisodeEnded):
        environment.act(Action("look"))


def test_results_end_with_the_place_and_what_is_held(environment: Alfworld) -> None:
    environment.reset(task_of("pick_clean_then_place", 4))
    assert environment.attribute_values() == {"location": "middle_of_room", "holding": "nothing"}
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
    assert (
        environment.act(Action("inventory")).text
        == f"You are carrying: {thing}. You are at {place} and holding {thing}."
    )
    assert environment.state() == f"You are at {place} and holding {thing}."
    assert environment.act(take).accepted is False
    put = environment.act(Action("put_in_or_on", take.args))
    assert put.text == f"You put {thing} in/on {place}. You are at {place} and holding nothing."


def test_an_argument_that_is_no_id_is_refused(environment: Alfworld) -> None:
    environment.reset(task_of("look_at_obj", 4))
    for argument in ("desk 1", "DESK_1", "", "desk_1 and more", 7, None, ["desk_1"]):
        observation = environment.act(Action("go_to", (argument,)))  # type: ignore[arg-type]
        assert not observation.accepted
        assert observation.text.startswith("Nothing happens.")


def test_receptacles_at_one_location_are_hidden_or_open() -> None:
    seed, (first, second, *_) = next(neighbours("pick_and_place"))
    hidden, opened = Alfworld(), Alfworld(AlfworldOptions(shared_locations="open"))
    task = task_of("pick_and_place", seed)
    for environment in (hidden, opened):
        environment.reset(task)
        assert environment.act(Action("go_to", (first,))).accepted
    refused = hidden.act(Action("go_to", (second,)))
    assert (refused.text, refused.accepted) == (f"Nothing happens. You are at {first} and holding nothing.", False)
    inside = hidden.act(Action("examine", (second,))).text.split(" You are at ")[0]
    shown = opened.act(Action("go_to", (second,)))
    assert (shown.text, shown.accepted) == (f"{inside} You are at {second} and holding nothing.", True)
    assert not opened.act(Action("go_to", (second,))).accepted, "the agent stands there already"
    assert opened.act(Action("go_to", (first,))).accepted
    assert not opened.act(Action("go_to", ("elephant_1",))).accepted
    assert (hidden.versions()["shared_locations"], opened.versions()["shared_locations"]) == ("hidden", "open")


def test_versions_name_engine_grammar_and_packages(environment: Alfworld) -> None:
    versions = environment.versions()
    assert versions["engine"] == "direct"
    assert versions["grammar"] == "move"
    assert versions["alfworld"].startswith("0.4")
    assert "textworld" in versions


def test_a_snapshot_is_gone_back_to_without_walking(environment: Alfworld) -> None:
    actions = winning_actions("pick_two_obj", 4)
    environment.reset(task_of("pick_two_obj", 4))
    environment.act(actions[0])
    snapshot = environment.snapshot()
    assert snapshot.native is not None
    first = [environment.act(action) for action in actions[1:]]
    assert environment.ended
    assert environment.restore(snapshot) == snapshot.last
    assert not environment.ended
    assert not environment.verdict().solved
    assert environment.attribute_values()["location"] == actions[0].args[0]
    assert [environment.act(action) for action in actions[1:]] == first


@pytest.mark.deep
def test_both_engines_give_the_same_observations_and_textworld_restores_by_replay() -> None:
    argv = sys.argv
    reference, direct = Alfworld(AlfworldOptions(engine="textworld")), Alfworld()
    task, actions = task_of("look_at_obj", 4), winning_actions("look_at_obj", 4)
    assert reference.reset(task) == direct.reset(task)
    for action in (*actions[:2], Action("look"), Action("examine", ("mug_99",))):
        assert reference.act(action) == direct.act(action)
    snapshot = reference.snapshot()
    assert snapshot.native is None
    rest = [direct.act(action) for action in actions[2:]]
    assert [reference.act(action) for action in actions[2:]] == rest
    reference.restore(snapshot)
    assert reference.act(actions[2]) == rest[0]
    assert reference.versions()["engine"] == "textworld"
    assert sys.argv is argv
    reference.close()
    reference.close()


def play(engine: str, kind: str, seed: int) -> list[Observation]:
    environment = Alfworld(AlfworldOptions.model_validate({"engine": engine}))
    first = environment.reset(task_of(kind, seed))
    observations = [first, *(environment.act(action) for action in winning_actions(kind, seed))]
    environment.close()
    return observations


@pytest.mark.deep
def test_environments_work_side_by_side_in_threads() -> None:
    jobs = [("direct", kind, 1) for kind in TYPES]
    jobs[3:3] = [("textworld", "pick_and_place", 1), ("textworld", "look_at_obj", 1)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: play(*job), jobs))
    assert together == [play("direct", kind, seed) for _, kind, seed in jobs]
    assert all(observations[-1].terminated for observations in together)


PLAN = """
def check(agent, get_object_with_id, mug):
    observation = agent.go_to(mug["place"])
    if "closed" in observation:
        observation = agent.open(mug["place"])
        assert f"You open {mug['place']}. In {mug['place']}, you see" in observation
    assert agent.location == mug["place"]
    found = get_object_with_id(observation, mug["kind"])
    assert mug["id"] in found
    observation = agent.take_from(mug["id"], mug["place"])
    assert f"You take {mug['id']} from {mug['place']}." in observation
    assert agent.holding == mug["id"]
    observation = agent.go_to("sinkbasin_1")
    observation = agent.clean_with(mug["id"], "sinkbasin_1")
    assert f"You clean {mug['id']} using sinkbasin_1." in observation
    observation = agent.clean_with("elephant_1", "sinkbasin_1")
    assert "Nothing happens" in observation
    assert observation.endswith(f"You are at sinkbasin_1 and holding {mug['id']}.")
"""


class Agent:
    """The environment as a plan written for the paper's listing 3 sees it."""

    def __init__(self, environment: Alfworld) -> None:
        self._environment = environment

    def __getattr__(self, name: str) -> object:
        if name in self._environment.attributes:
            return self._environment.attribute_values()[name]
        return lambda *arguments: self._environment.act(Action(name, arguments)).text


def test_the_assertions_of_a_plan_for_listing_3_hold(environment: Alfworld) -> None:
    environment.reset(task_of("pick_clean_then_place", 6))
    take = next(action for action in winning_actions("pick_clean_then_place", 6) if action.name == "take_from")
    thing, place = map(str, take.args)
    namespace: dict[str, object] = {}
    exec(environment.helpers + PLAN, namespace)
    check = namespace["check"]
    assert callable(check)
    check(
        Agent(environment), namespace["get_object_with_id"], {"id": thing, "kind": thing.split("_")[0], "place": place}
    )


def test_the_paper_s_actions_and_docs_say_nothing_of_what_actions_need() -> None:
    usual, theirs = Alfworld.offered(), Alfworld.offered(Alfworld.Options(paper_actions=True, paper_docs=True))
    assert set(usual.actions) - set(theirs.actions) == {"look", "inventory", "examine"}
    assert len(theirs.actions) == 9
    assert all(len(spec.doc.split()) <= 8 for spec in theirs.actions.values())
    assert not any(word in spec.doc for spec in theirs.actions.values() for word in ("holds", "closed", "must", "sink"))
    assert set(Alfworld.offered(Alfworld.Options(paper_docs=True)).actions) == set(usual.actions)


def begun(kind: str, seed: int, **options: str) -> Alfworld:
    environment = Alfworld(AlfworldOptions.model_validate(options))
    environment.reset(Alfworld.tasks(Selection(ids=(f"generated/{kind}/{seed}",)))[0])
    return environment


def step_of(environment: Alfworld, dice: Random) -> Action:
    """One of the possible actions, rather one that handles things."""
    possible = environment.possible_actions()
    handling = [each for each in possible if each.name not in ("go_to", "look", "inventory", "examine", "close")]
    return dice.choice(handling if handling and dice.random() < 0.6 else possible)


def every_action(environment: Alfworld, dice: Random, count: int) -> list[Action]:
    """Actions drawn from all that can be written with the names that were ever seen."""
    seen = sorted({str(thing) for each in environment.possible_actions() for thing in each.args})
    ones = [Action(name, (thing,)) for name in ("go_to", "open", "close", "use", "examine") for thing in seen]
    pairs = ("take_from", "put_in_or_on", "clean_with", "heat_with", "cool_with")
    twos = [Action(name, (one, two)) for name in pairs for one, two in product(seen, seen)]
    return [*ones, *dice.sample(twos, min(count, len(twos)))]


@pytest.mark.parametrize("shared", ["hidden", "open"])
@pytest.mark.parametrize("kind", TYPES)
def test_what_is_listed_is_accepted_and_all_else_is_refused(kind: str, shared: str) -> None:
    dice, environment = Random(f"{kind} {shared}"), begun(kind, 5, shared_locations=shared)
    names = set()
    for _ in range(25):
        possible = environment.possible_actions()
        assert len(set(possible)) == len(possible)
        names |= {each.name for each in possible}
        snapshot = environment.snapshot()
        for each in (*possible, *every_action(environment, dice, 100)):
            accepted = environment.act(each).accepted
            assert accepted == (each in possible), each
            environment.restore(snapshot)
        if environment.act(step_of(environment, dice)).terminated:
            break
    assert {"go_to", "look", "inventory", "examine", "take_from"} <= names


def test_receptacles_that_share_a_location_can_be_gone_to_only_with_the_option() -> None:
    found = 0
    for seed in range(12):
        hidden, opened = begun("pick_and_place", seed), begun("pick_and_place", seed, shared_locations="open")
        for go in [each for each in hidden.possible_actions() if each.name == "go_to"]:
            for environment in (hidden, opened):
                environment.reset(Alfworld.tasks(Selection(ids=(f"generated/pick_and_place/{seed}",)))[0])
                environment.act(go)
            more = set(opened.possible_actions()) - set(hidden.possible_actions())
            assert {each.name for each in more} <= {"go_to"}
            assert go not in more
            found += len(more)
    assert found > 0


DEEP = [pytest.param(kind, marks=pytest.mark.deep) for kind in ("pick_heat_then_place", "look_at_obj")]


@pytest.mark.parametrize("kind", ["pick_clean_then_place", *DEEP])
def test_textworld_admits_the_actions_that_are_listed(kind: str) -> None:
    dice, ours, theirs = Random(kind), begun(kind, 2), begun(kind, 2, engine="textworld")
    for _ in range(8):
        assert ours.possible_actions() == theirs.possible_actions()
        step = step_of(ours, dice)
        assert ours.act(step) == theirs.act(step)
        if ours.ended:
            break
    theirs.close()


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("move mug 1 to desk 12", Action("put_in_or_on", ("mug_1", "desk_12"))),
        ("put mug 1 in/on desk 12", Action("put_in_or_on", ("mug_1", "desk_12"))),
        ("close fridge 1", Action("close", ("fridge_1",))),
        ("look", Action("look")),
        ("help", None),
        ("slice apple 1 with knife 2", None),
        ("go to desk", None),
    ],
)
def test_a_command_means_an_action_or_none(command: str, action: Action | None) -> None:
    assert as_action(command) == action


def test_an_environment_that_cannot_list_them_says_none() -> None:
    assert Toy().possible_actions() is None
