"""The direct engine against textworld: texts, admissible commands and won, step by step."""

import os
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from planbook.envs.alfworld import generated, tasks
from planbook.envs.alfworld.direct import DirectEngine
from planbook.envs.alfworld.engine import NOTHING, AlfworldGame, ReferenceEngine
from planbook.envs.alfworld.generated import find_plan
from planbook.envs.alfworld.goals import TYPES
from planbook.envs.errors import EnvironmentBroken

MALFORMED = "|fly|go to|go to desk 99|GO TO DESK 1|go  to desk 1|take mug 1|put mug 1 on desk 1|use".split("|")
WITHOUT_EFFECT = ("look", "inventory", "  look  ")
ON_DISK = bool(os.environ.get("ALFWORLD_DATA")) and (tasks.data_root() / tasks.DATA_FOLDER / "valid_seen").is_dir()
needs_data = pytest.mark.skipif(not ON_DISK, reason="ALFWORLD_DATA does not hold the split valid_seen")


def in_old_words(game: AlfworldGame) -> AlfworldGame:
    """The game as alfworld before 0.4 would have stored it: put for move, locations for receptacles, no help."""
    grammar = str(game.data["grammar"]).split("\naction help {")[0]
    for now, before in (
        ("You arrive at {r.name}.", "You arrive at {lend.name}."),
        ("move {o} to {r}", "put {o} in/on {r}"),
        ("You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}."),
    ):
        grammar = grammar.replace(now, before)
    domain = str(game.data["pddl_domain"]).split("(:action help")[0] + ")"
    return AlfworldGame(f"{game.id} in old words", {**game.data, "grammar": grammar, "pddl_domain": domain})


def won_on_the_way(plan: Sequence[str], rng: Random) -> Iterator[str]:
    """The plan, with commands between its own that change nothing."""
    for command in plan:
        yield from rng.sample((*MALFORMED, *WITHOUT_EFFECT), 1)
        yield command


class Pair:
    """Both engines at the same game; every command is compared."""

    def __init__(self, game: AlfworldGame, kind: str, goal: str) -> None:
        self.game, self.direct, self.reference = game, DirectEngine(), ReferenceEngine()
        self.direct.load(game)
        self.plan = find_plan(self.direct, generated.search_goal(kind, goal))
        self.reference.load(game)
        assert self.direct.reset() == self.reference.reset()
        self.seen = set(self.direct.admissible())
        assert self.direct.admissible() == self.offered()

    def offered(self) -> list[str]:
        """What the reference admits, without the two commands that no action of ours sends."""
        return [each for each in self.reference.admissible() if not each.startswith(("slice ", "help"))]

    def step(self, command: str) -> str:
        ours, theirs = self.direct.step(command), self.reference.step(command)
        assert ours == theirs, (self.game.id, command)
        admissible = self.direct.admissible()
        assert admissible == self.offered(), (self.game.id, command)
        self.seen.update(admissible)
        return ours.text

    def compare(self, rng: Random, steps: int) -> None:
        """A winning plan, then a random walk that likes to handle things and tries what is not admissible."""
        assert self.plan, f"{self.game.id} cannot be won"
        for command in won_on_the_way(self.plan, rng):
            self.step(command)
        for _ in range(steps):
            here = self.direct.admissible()
            handling = [command for command in here if not command.startswith("go to")]
            pool = rng.choices((handling, here, sorted(self.seen), MALFORMED), (5, 3, 2, 1))[0]
            self.step(rng.choice(pool))
        self.reference.close()


def generated_pair(kind: str, seed: int, *, old: bool = False) -> Pair:
    game = generated.make(kind, seed)
    return Pair(in_old_words(game) if old else game, kind, generated.make(kind, seed).goal)


def real_pair(kind: str, number: int, split: str = "valid_seen", *, old: bool = False) -> Pair:
    listed = tasks.list_games(split)[kind]
    game_id = listed[number % len(listed)]
    game = tasks.read_game(game_id)
    return Pair(in_old_words(game) if old else game, kind, tasks.peek(game_id)[0])


DAILY = ("look_at_obj",)
"""It has the old wording, and a lamp; the other types are compared by the deep tests."""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in DAILY else [pytest.mark.deep]) for kind in TYPES]
)
def test_generated_games_are_played_alike(kind: str) -> None:
    generated_pair(kind, 3, old=kind in ("look_at_obj", "pick_two_obj")).compare(Random(kind), steps=8)


@needs_data
@pytest.mark.deep
@pytest.mark.parametrize("kind", TYPES)
def test_real_games_are_played_alike(kind: str) -> None:
    real_pair(kind, 5, old=kind == "pick_heat_then_place").compare(Random(kind), steps=15)


@needs_data
@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("kind", TYPES)
def test_many_real_games_are_played_alike(kind: str, number: int) -> None:
    real_pair(kind, 6 + 5 * number, old=number == 0).compare(Random(f"{kind} {number}"), steps=40)


def test_every_verb_of_a_game_is_refused_where_it_does_nothing() -> None:
    engine = DirectEngine()
    engine.load(generated.make("pick_heat_then_place", 0))
    engine.reset()
    scene = engine.scene
    thing, holder = (scene.names[name] for name in min(scene.start.inside))
    for command in (
        f"open {holder}",
        f"close {holder}",
        f"take {thing} from {holder}",
        f"move {thing} to {holder}",
        f"put {thing} in/on {holder}",
        f"heat {thing} with {holder}",
        f"use {thing}",
        f"examine {thing}",
        f"examine {holder}",
    ):
        assert engine.step(command).text == NOTHING, command


def test_a_saved_state_is_gone_back_to() -> None:
    engine = DirectEngine()
    engine.load(generated.make("pick_clean_then_place", 1))
    engine.reset()
    plan = find_plan(
        engine, generated.search_goal("pick_clean_then_place", generated.make("pick_clean_then_place", 1).goal)
    )
    assert plan is not None
    saved, before = engine.save(), engine.admissible()
    first = [engine.step(command) for command in plan]
    assert first[-1].won
    engine.restore(saved)
    assert engine.admissible() == before
    assert [engine.step(command) for command in plan] == first


def test_a_game_that_textworld_cannot_load_breaks_the_world() -> None:
    engine, game = ReferenceEngine(), generated.make("look_at_obj", 0)
    for damage in ({"pddl_problem": "(define (problem p) (:domain alfred) (:init"}, {"grammar": "grammar ::"}):
        with pytest.raises(EnvironmentBroken, match="textworld cannot load damaged"):
            engine.load(AlfworldGame("damaged", {**game.data, **damage}))
    engine.load(game)
    assert "You are in the middle of a room" in engine.reset().text
    engine.close()


def test_unknown_rules_are_refused_by_the_direct_engine() -> None:
    game = generated.make("look_at_obj", 0)
    for key, change in (("pddl_domain", "(not (holdsAny ?a))"), ("grammar", "You open the")):
        assert change in str(game.data[key])
        altered = AlfworldGame("altered", {**game.data, key: str(game.data[key]).replace(change, "(isHot ?o)")})
        with pytest.raises(EnvironmentBroken, match="choose the engine 'textworld'"):
            DirectEngine().load(altered)
