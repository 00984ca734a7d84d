"""The direct engine is compared with textworld at every step: its texts, admissible commands, and victory."""

import os
import re
from random import Random

import pytest

from planbook.envs.alfworld import generated, tasks
from planbook.envs.alfworld.engines import AlfworldGame, DirectEngine, ReferenceEngine
from planbook.envs.alfworld.generated import TYPES
from planbook.envs.alfworld.wording import NOTHING
from planbook.envs.errors import EnvironmentBroken
from tests.envs.alfworld_games import find_plan, loaded, search_goal, winning_commands

MALFORMED = "|fly|go to|go to desk 99|GO TO DESK 1|go  to desk 1|take mug 1|put mug 1 on desk 1|use".split("|")
WITHOUT_EFFECT = ("look", "inventory", "  look  ")
ON_DISK = bool(os.environ.get("ALFWORLD_DATA")) and (tasks.data_root() / tasks.DATA_FOLDER / "valid_seen").is_dir()
needs_data = pytest.mark.skipif(not ON_DISK, reason="ALFWORLD_DATA does not hold the split valid_seen")


def in_old_dialect(game: AlfworldGame) -> AlfworldGame:
    """Return the game as alfworld before 0.4 stored it: put for move, locations for receptacles, no help."""
    grammar = str(game.data["grammar"]).split("\naction help {")[0]
    for new, old in (
        ("You arrive at {r.name}.", "You arrive at {lend.name}."),
        ("move {o} to {r}", "put {o} in/on {r}"),
        ("You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}."),
    ):
        grammar = grammar.replace(new, old)
    domain = str(game.data["pddl_domain"]).split("(:action help")[0] + ")"
    return AlfworldGame(f"{game.id} in the old dialect", {**game.data, "grammar": grammar, "pddl_domain": domain})


class EnginePair:
    """The same game in both engines. Each command is sent to both, and their answers must agree."""

    def __init__(self, game: AlfworldGame, task_type: str, goal: str) -> None:
        self.game, self.direct, self.reference = game, DirectEngine(), ReferenceEngine()
        self.direct.load(game)
        self.plan = find_plan(self.direct, search_goal(task_type, goal))
        self.reference.load(game)
        assert self.direct.reset() == self.reference.reset()
        self.seen = set(self.direct.admissible())
        assert self.direct.admissible() == self.reference_commands()

    def reference_commands(self) -> list[str]:
        """Return the commands that textworld admits, except slice and help, which our actions never send."""
        return [each for each in self.reference.admissible() if not each.startswith(("slice ", "help"))]

    def step(self, command: str) -> None:
        assert self.direct.step(command) == self.reference.step(command), (self.game.id, command)
        admissible = self.direct.admissible()
        assert admissible == self.reference_commands(), (self.game.id, command)
        self.seen.update(admissible)

    def compare(self, rng: Random, steps: int) -> None:
        """Win the game, then send random commands: mostly ones that handle things, and some that are not admissible."""
        assert self.plan, f"{self.game.id} cannot be won"
        for command in self.plan:
            self.step(rng.choice((*MALFORMED, *WITHOUT_EFFECT)))
            self.step(command)
        for _ in range(steps):
            here = self.direct.admissible()
            handling = [command for command in here if not command.startswith("go to")]
            pool = rng.choices((handling, here, sorted(self.seen), MALFORMED), (5, 3, 2, 1))[0]
            self.step(rng.choice(pool))
        self.reference.close()


QUICK_TYPES = ("look_at_obj",)
"""The type of game that every test run compares. It covers the old dialect and lamps; deep tests compare the others."""


@pytest.mark.parametrize(
    "task_type", [pytest.param(name, marks=[] if name in QUICK_TYPES else [pytest.mark.deep]) for name in TYPES]
)
def test_both_engines_play_generated_games_alike(task_type: str) -> None:
    game = generated.make_game(task_type, 3)
    played = in_old_dialect(game) if task_type in ("look_at_obj", "pick_two_obj") else game
    EnginePair(played, task_type, game.goal).compare(Random(task_type), steps=8)


@needs_data
@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("number", "steps"), [(5, 15), (6, 40), (11, 40)])
@pytest.mark.parametrize("task_type", TYPES)
def test_both_engines_agree_on_real_games(task_type: str, number: int, steps: int) -> None:
    listed = tasks.list_games("valid_seen")[task_type]
    game_id = listed[number % len(listed)]
    game = tasks.read_game(game_id)
    is_old = number == 6 or (number == 5 and task_type == "pick_heat_then_place")
    played = in_old_dialect(game) if is_old else game
    EnginePair(played, task_type, tasks.scan_game(game_id)[0]).compare(Random(f"{task_type} {number}"), steps)


def test_commands_of_the_other_dialect_are_refused() -> None:
    engine = loaded("pick_heat_then_place", 0)
    for command in winning_commands("pick_heat_then_place", 0):
        if command.startswith("move "):
            assert engine.step(re.sub("^move (.*) to ", r"put \1 in/on ", command)).text == NOTHING
        assert engine.step(command).text != NOTHING


def test_a_game_that_textworld_cannot_load_breaks_the_environment() -> None:
    engine, game = ReferenceEngine(), generated.make_game("look_at_obj", 0)
    for damage in ({"pddl_problem": "(define (problem p) (:domain alfred) (:init"}, {"grammar": "grammar ::"}):
        with pytest.raises(EnvironmentBroken, match="textworld cannot load damaged"):
            engine.load(AlfworldGame("damaged", {**game.data, **damage}))
    engine.load(game)
    assert "You are in the middle of a room" in engine.reset().text
    engine.close()


def test_the_direct_engine_refuses_unknown_rules() -> None:
    game = generated.make_game("look_at_obj", 0)
    for key, part in (("pddl_domain", "(not (holdsAny ?a))"), ("grammar", "You open the")):
        assert part in str(game.data[key])
        altered = AlfworldGame("altered", {**game.data, key: str(game.data[key]).replace(part, "(isHot ?o)")})
        with pytest.raises(EnvironmentBroken, match="choose the engine 'textworld'"):
            DirectEngine().load(altered)
