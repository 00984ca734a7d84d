"""Generated ALFWorld games and the commands and actions that win them."""

from planbook.envs import Action
from planbook.envs.alfworld import Alfworld, DirectEngine, generated
from planbook.envs.alfworld.generated import find_plan
from planbook.envs.alfworld.wording import as_action
from tests.envs.playing import started


def game(kind: str, seed: int, **options: object) -> Alfworld:
    """Return an environment at the start of a generated game."""
    return started(Alfworld, f"generated/{kind}/{seed}", **options)


def loaded(kind: str, seed: int) -> DirectEngine:
    """Return the direct engine at the start of a generated game."""
    engine = DirectEngine()
    engine.load(generated.make(kind, seed))
    engine.reset()
    return engine


def winning_commands(kind: str, seed: int) -> list[str]:
    """Return the commands that win a generated game."""
    plan = find_plan(loaded(kind, seed), generated.search_goal(kind, generated.make(kind, seed).goal))
    assert plan
    return list(plan)


def winning_actions(kind: str, seed: int) -> list[Action]:
    """Return the actions that win a generated game."""
    actions = map(as_action, winning_commands(kind, seed))
    return [action for action in actions if action]
