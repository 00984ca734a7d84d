"""Crafter in words, as in the AgentKit paper (section 4.1 and appendix D.1). The original package runs the game."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, JsonValue

from planbook.envs.base import Environment, action, query
from planbook.envs.crafter import rules, view
from planbook.envs.crafter.rules import STEPS, CrafterAction, Direction, Placeable, Tool
from planbook.envs.crafter.view import find_sightings, kind_beside
from planbook.envs.requirements import folder_digest
from planbook.envs.selection import chosen_split, chosen_types, interleave, read_seeded_id
from planbook.envs.types import EnvironmentOptions, Observation, Requirement, Selection, Task, Verdict

if TYPE_CHECKING:
    from planbook.envs.crafter.game import CrafterGame


NAME = "crafter"
SURVIVE = "survive"
SPLITS = ("open", "achievements")
ACHIEVEMENTS = tuple(
    """collect_coal collect_diamond collect_drink collect_iron collect_sapling collect_stone collect_wood
    defeat_skeleton defeat_zombie eat_cow eat_plant make_iron_pickaxe make_iron_sword make_stone_pickaxe
    make_stone_sword make_wood_pickaxe make_wood_sword place_furnace place_plant place_stone place_table
    wake_up""".split()
)
"""The achievements. The tables of the game's package list them, too, but the package may not be installed."""
TYPES = (SURVIVE, *ACHIEVEMENTS)
SEEDS = {"open": tuple(range(20)), "achievements": tuple(range(5))}
"""Maps each split to its default seeds."""


class CrafterOptions(EnvironmentOptions):
    """Options of the game, recorded with every result."""

    terse: bool = Field(
        default=False,
        description="Observations say only what is in view, as in AgentKit, and not whether an action failed, or why.",
    )


def make_task(task_type: str, seed: int) -> Task:
    """Return the task of this type on the map that is generated from this seed."""
    goal, params = f"unlock the achievement {task_type}", dict[str, JsonValue](achievement=task_type)
    if task_type == SURVIVE:
        goal, params = f"survive, and unlock as many of the {len(ACHIEVEMENTS)} achievements as you can", {}
    split = _split_of(task_type)
    return Task(id=f"{task_type}/{seed}", env=NAME, split=split, type=task_type, goal=goal, params=params, seed=seed)


def _split_of(task_type: str) -> str:
    return "open" if task_type == SURVIVE else "achievements"


ALL_UNLOCKED, TIME_IS_UP = " Everything wanted is unlocked.", " The game's time is up."


class Crafter(Environment):
    """One game. The task type is ``survive`` (the whole game) or an achievement; a typical id is ``survive/3``.

    The whole game is solved, and ends, when all achievements are unlocked; its score is the fraction unlocked. The task
    of a single achievement ends as soon as it is unlocked. Both kinds of tasks also end when the player dies, and are
    truncated after 10,000 steps, as in the original.
    """

    name = NAME
    about = (
        "Crafter, a survival game on a map of squares: to unlock achievements, the agent gathers materials, makes "
        "tools from them, eats, drinks and sleeps to keep its vitals up, and fights or avoids zombies and skeletons. "
        "It faces one of four directions; `do` and `place` act on the square that it faces, and `move` turns it, even "
        "if something blocks the way. It sees only the squares around it, and has to find out how much of a material "
        "something takes. Each action is one step of the game, in which the creatures move too. An action that fails "
        "still costs its step. An observation says what is in view. If observations begin with what happened and "
        "changed, then that of an action that fails begins with 'Nothing happens: ' and the reason."
    )
    types = TYPES
    splits = SPLITS
    combined_splits = {"open": SPLITS}  # if no split is selected, the selected types may belong to either split
    seeded = True
    action_limit = 10_000
    all_milestones = ACHIEVEMENTS
    attributes = {
        "facing": "the direction that the agent faces: north, south, east or west",
        "inventory": "a dict of the items that are carried and their counts, without items of count 0",
        "vitals": "health, food, drink and energy",
        "sleeping": "whether the agent is asleep",
        "remaining": "the achievements that are not unlocked yet",
        "step": "the number of game steps taken so far",
        "view": "what is in view: 7 rows from north to south, each of 9 names from west to east; view[3][4] is 'you', "
        "'edge' is a square beyond the map, and 'ripe_plant' a plant that can be eaten",
    }
    Options = CrafterOptions
    options: CrafterOptions
    game: "CrafterGame"
    """The game of this episode."""
    player_view: view.PlayerView
    """The player's current view."""

    # Tasks.

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return the selected tasks, taken from each type in turn."""
        if selection.ids:
            return [make_task(*read_seeded_id(task_id, TYPES, NAME)) for task_id in selection.ids]
        split = chosen_split(selection, SPLITS, NAME)
        types = chosen_types(selection, TYPES, NAME)
        if selection.split or not selection.types:
            types = tuple(name for name in types if _split_of(name) == split)
        groups = ([make_task(name, seed) for seed in selection.seeds or SEEDS[_split_of(name)]] for name in types)
        return list(interleave(groups, selection.limit))

    @classmethod
    def requirements(cls) -> Sequence[Requirement]:
        """Return the game's package as a requirement."""
        return (rules.PACKAGE.requirement("crafter"),)

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return a digest of the package's tables and code."""
        return {"crafter's tables and code": folder_digest(rules.PACKAGE.folder(), ("*.py", "*.yaml"))}

    def versions(self) -> Mapping[str, str]:
        """Return the version of the package."""
        return {"crafter": version("crafter")}

    # Episodes.

    def begin(self, task: Task) -> Observation:
        """Start a game on the map of the task's seed, and return the first observation. This takes about a second."""
        from planbook.envs.crafter.game import CrafterGame  # imported only here, since the import takes half a second

        self.game = CrafterGame(task.seed)
        self.player_view = view.player_view(self.game)
        return Observation(f"{self.scene()}\n\nYour task is to: {task.goal}.")

    def scene(self) -> str:
        """Describe the current view: in Crafter, no fact stays true for a whole episode."""
        return f"Step {self.player_view.step}.\n{view.describe_view(self.player_view)}"

    def state(self) -> str:
        """Return the player's vitals and inventory."""
        return view.describe_status(self.player_view)

    def brief(self, observation: Observation, before: Observation) -> str:
        """Return the first line, which reports the outcome and the changes or, with ``terse``, only the step."""
        return observation.text.partition("\n")[0]

    def attribute_values(self) -> Mapping[str, JsonValue]:
        """Return the player's current view as data."""
        if self.task is None:
            return {}
        values: dict[str, Any] = self.player_view._asdict()
        return {**values, "view": list(map(list, self.player_view.view)), "remaining": list(self.player_view.remaining)}

    def verdict(self) -> Verdict:
        """Return the verdict: solved if the task's achievements are unlocked. The score is the fraction unlocked."""
        achievement = self.task.params.get("achievement") if self.task else None
        required = [str(achievement)] if achievement else ACHIEVEMENTS
        unlocked = sum(name in self.game.unlocked for name in required)
        return Verdict(unlocked == len(required), unlocked / len(required))

    def milestones(self) -> Sequence[str]:
        """Return the achievements in the order in which they were unlocked."""
        return tuple(self.game.unlocked)

    def measures(self) -> Mapping[str, float]:
        """Return the sum of the game's rewards, and the number of steps taken."""
        return {"reward": self.game.reward, "steps": self.game.steps}

    def _save(self) -> object:
        return self.game.save(), self.player_view

    def _load(self, saved: Any) -> None:
        game, self.player_view = saved
        self.game.load(game)

    # Actions.

    @action("agent.move('north') -> 'You move north. Step 12: now in view: tree. ...'")
    def move(self, direction: Direction) -> Observation:
        """Turn in a direction, and step there if the square is free (grass, sand or path). Stepping into lava kills."""
        return self._step(CrafterAction("move", direction))

    @action("agent.do() -> 'You collect wood. Step 13: unlocked collect_wood; ...'")
    def do(self) -> Observation:
        """Act on the faced square: collect its material, drink, hit the creature there, or eat."""
        return self._step(CrafterAction("do"))

    @action("agent.sleep() -> 'You sleep. Step 180: you fell asleep. ...'")
    def sleep(self) -> Observation:
        """Fall asleep, or keep sleeping. Until energy is full or you are hurt, only sleep and noop work."""
        return self._step(CrafterAction("sleep"))

    @action("agent.noop() -> 'You wait. Step 14. ...'")
    def noop(self) -> Observation:
        """Wait for one step."""
        return self._step(CrafterAction("noop"))

    @action("agent.place('table') -> 'You place table. Step 30: unlocked place_table; ...'")
    def place(self, thing: Placeable) -> Observation:
        """Place a thing on the faced square: stone, a table or furnace made of materials, or a sapling as a plant."""
        return self._step(CrafterAction("place", thing))

    @action("agent.make('wood_pickaxe') -> 'Nothing happens: there is no table right beside you. Step 31. ...'")
    def make(self, tool: Tool) -> Observation:
        """Make a tool from materials, next to a table (diagonals count). Iron tools also need a furnace next to you."""
        return self._step(CrafterAction("make", tool))

    @query("agent.nearby('tree') -> [{'direction': 'north-west', 'steps': 3, 'dx': -1, 'dy': -2}]")
    def nearby(self, kind: str) -> list[JsonValue]:
        """Return everything of a kind in view, the nearest first. dx counts steps east, dy steps south."""
        sightings = find_sightings(self.player_view.view, [kind])
        return [{"direction": s.direction, "steps": s.steps, "dx": s.dx, "dy": s.dy} for s in sightings]

    @query("agent.around() -> {'north': 'grass', 'south': 'tree', 'east': 'grass', 'west': 'water'}")
    def around(self) -> dict[str, str]:
        """Return what is on each of the four squares beside the agent."""
        return {direction: kind_beside(self.player_view.view, direction) for direction in STEPS}

    def _step(self, chosen: CrafterAction) -> Observation:
        """Take one step of the game, and return its observation."""
        game, before = self.game, self.player_view
        if chosen.game_name not in rules.tables().actions:
            return Observation.refused(f"there is no {chosen.verb} {chosen.thing!r}")
        reason, target, counts = rules.refusal(game, chosen), rules.faced_kind(game), dict(game.player.achievements)
        game.advance(chosen.game_name)
        outcome = "" if reason else rules.describe_outcome(game, chosen, target, counts)
        accepted = bool(outcome)
        if not accepted:
            outcome = f"Nothing happens: {reason or f'the {target} holds nothing this time'}"
        after = self.player_view = view.player_view(game)
        changes = view.describe_changes(before, after)
        report = f"{outcome}. Step {after.step}{f': {changes}' if changes else ''}."
        text = f"Step {after.step}." if self.options.terse else report
        solved = self.verdict().solved
        ending = " You died." * game.is_dead or ALL_UNLOCKED * solved or TIME_IS_UP * game.is_time_up
        return Observation(
            f"{text}{ending}\n{view.describe_view(after)}",
            accepted=accepted,
            terminated=game.is_dead or solved,
            truncated=game.is_time_up and not (game.is_dead or solved),
        )
