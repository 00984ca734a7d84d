"""Minecraft as text, the environment of the DEPS paper.

Each action pursues a whole goal. Time is counted in ticks, and the task's seed determines the map.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from planbook.envs.base import Environment, action, query
from planbook.envs.minecraft import tasks
from planbook.envs.minecraft.game_data import DATA, RECIPES_FILE, STARTING_TOOL, VERSION, milestones
from planbook.envs.minecraft.goals import HORIZONS_FILE, MinecraftGoals, preconditions
from planbook.envs.minecraft.player import GoalEffects, GoalRefused, MinecraftPlayer, effects_of, format_counts
from planbook.envs.minecraft.terrain import Terrain, distance_words, terrain_of
from planbook.envs.optional_members import Goals
from planbook.envs.preconditions import Preconditions
from planbook.envs.requirements import file_digest
from planbook.envs.types import Action, EnvironmentOptions, Observation, Selection, Task, Verdict


class MinecraftOptions(EnvironmentOptions):
    """Options of Minecraft, recorded with every result."""

    ticks: int | None = Field(
        default=None,
        ge=1,
        description="Ticks in an episode. By default those of the task's group in table 1, or 3000 for parallel goals.",
    )
    time_limits: bool = Field(
        default=False,
        description="Each goal has its own time limit (table 18): 600 ticks, but 3000 for ores and 12000 for diamonds.",
    )
    chances: bool = Field(
        default=False,
        description="Goals fail by chance as often as in table 18. Such a failure takes the goal's whole time limit.",
    )
    terse: bool = Field(
        default=False,
        description="Failed goals give no reason: they return only 'It failed', biome and inventory, as in DEPS.",
    )
    paper_state: bool = Field(
        default=False,
        description="Describe the state as DEPS does: only inventory and biome, not the things in sight or the time.",
    )


class Minecraft(Environment):
    """Each seed has its own map. A goal that is refused takes no time; any other takes ticks, even if it fails."""

    name = "minecraft"
    about = (
        "Minecraft 1.11.2 in words: the agent stands in a world of several biomes, with an axe in hand that is not "
        "part of its inventory. Each action is a whole goal: to mine, kill, craft, smelt or equip something; to mine "
        "or kill, the agent walks to the nearest place that has the thing, and digs down if that is underground. Goals "
        "take time, and an episode ends when the task is done or its fixed number of ticks is over: walking 20 blocks "
        "takes about 100 ticks, smelting 200 per item (no fuel needed), crafting 10 to 30. Animals wander off, quartz "
        "lies in ordinary ground, and much that is out of sight can still be found: animals, ores deep in the ground, "
        "other trees. An action that cannot be done (a missing tool, crafting table, furnace or material, or a wrong "
        "recipe) takes no time and returns 'Nothing happens: ' and the reason; one that fails on the way takes time "
        "and returns 'In vain: ' and the reason. If no reasons are given, both return 'It failed' and the biome. All "
        "end with the inventory."
    )
    types = tasks.TYPES
    splits = tasks.SPLITS
    combined_splits = {"full": ("table21", "full")}
    seeded = True
    action_limit = 100
    handoff = "state"
    Options = MinecraftOptions
    options: MinecraftOptions

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self.terrain: Terrain = terrain_of(0)
        """The map of the task's seed. Plans never see it."""
        self.player = MinecraftPlayer()
        """The player's current state. Plans never see it."""
        self._required_items: Mapping[str, int] = {}
        self._limit = 0

    # Tasks.

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return the selected tasks. If no seeds are selected, the seed is 0.

        Each seed has one task for each object of the paper's groups or, in the split ``parallel``, one task for each
        number of parallel goals.
        """
        return tasks.select(selection)

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return the digests of the recipes and of the recorded goals, from which selectors learn horizons."""
        return {"recipes": file_digest(RECIPES_FILE), "recorded goals": file_digest(HORIZONS_FILE)}

    @classmethod
    def preconditions(cls, task: Task, options: BaseModel | None = None) -> Preconditions:
        """Return the preconditions of goals, which follow from the recipes, the tools and the initial inventory."""
        return preconditions(task)

    def versions(self) -> Mapping[str, str]:
        """Return the version of the recipes, and how this environment deviates from the real game."""
        deviation = "quartz is minable in ordinary ground"
        return {"recipes": f"Minecraft {VERSION}, from minedojo 0.1", "deviation": deviation}

    @property
    def goals(self) -> Goals:
        """The goals, with the facts about them that selectors use."""
        return MinecraftGoals(self)

    # Episodes.

    def begin(self, task: Task) -> Observation:
        """Place the player in the middle of the seed's map, and return the first observation."""
        self.terrain, self._required_items = terrain_of(task.seed), tasks.required_items(task)
        parallel = task.type in tasks.PARALLEL
        inventory = dict(tasks.PARALLEL_START) if parallel else {}
        self.player = MinecraftPlayer(inventory, first_held=dict.fromkeys(inventory, 0))
        self._limit = self.options.ticks or (tasks.PARALLEL_TICKS if parallel else DATA.groups[task.type].ticks)
        self.player.look(self.terrain)
        return Observation(f"{self.scene()} {self.state()} Your task is to: {task.goal}.")

    def scene(self) -> str:
        """Return a sentence about the facts that never change during an episode. ``state`` describes the others."""
        return f"You are in Minecraft, with an {STARTING_TOOL} in hand."

    def state(self) -> str:
        """Describe the inventory, the equipment, the biome, the depth, what is in sight, and the time."""
        player = self.player
        if self.options.paper_state:
            return f"Inventory: {format_counts(player.inventory)}. Biome: {self.biome()}."
        worn = f" You wear {', '.join(player.worn)}." if player.worn else ""
        depth = f"{player.spot.depth} blocks under the ground" if player.spot.depth else "on the ground"
        seen = (
            ", ".join(f"{name} ({word})" for name, word in distance_words(player.sight(self.terrain)).items())
            or "nothing of use"
        )
        used = int(player.spot.tick)
        return (
            f"Inventory: {format_counts(player.inventory)}.{worn} Biome: {self.biome()}, {depth}. In sight: {seen}. "
            f"Ticks: {used} used, {self._limit - used} left."
        )

    def biome(self) -> str:
        """Return the biome in which the player is."""
        return self.terrain.biome(self.player.spot.x, self.player.spot.y)

    @action('agent.mine({"log": 3}) -> "You mine 3 log. Inventory: 3 log."')
    def mine(self, obj: dict[str, int], tool: str | None = None) -> Observation:
        """Walk to the nearest source of one kind of block, and mine this many more.

        Blocks are named by what they give: cobblestone, coal, iron_ore, diamond. ``tool`` is the tool that the block
        needs; it must be held. Logs, sand and most plants need none; leaves and vine need shears. "log" means oak;
        agent.mine({"birch_log": 2}) also gives 2 log, and so do acacia_log, spruce_log and other trees."""
        return self._pursue("mine", obj, tool)

    @action('agent.kill({"wool": 1}) -> "You kill 1 sheep. Inventory: 1 wool, 1 mutton."')
    def kill(self, obj: dict[str, int], tool: str | None = None) -> Observation:
        """Walk to the nearest animals that give an item, and kill enough to get this many more.

        Such items are meat (beef, mutton, porkchop, chicken, rabbit), wool, leather, feather, string and bone.
        No tool is needed."""
        return self._pursue("kill", obj, tool)

    @action('agent.craft({"planks": 4}, {"log": 1}) -> "You craft 4 planks from 1 log. Inventory: 4 planks."')
    def craft(self, obj: dict[str, int], materials: dict[str, int], tool: str | None = None) -> Observation:
        """Craft one kind of item.

        ``materials`` are those of the recipe. If the recipe does not fit into two by two fields, ``tool`` is
        "crafting_table", which must be held. If you ask for more than the recipe gives, the recipe is repeated;
        ``materials`` must then cover all of it. Materials beyond that are not used, and surplus items are kept."""
        return self._pursue("craft", obj, materials, tool)

    @action(
        'agent.smelt({"iron_ingot": 1}, {"iron_ore": 1}, "furnace") -> '
        '"You smelt 1 iron_ingot from 1 iron_ore. Inventory: 1 furnace, 1 iron_ingot."'
    )
    def smelt(self, obj: dict[str, int], materials: dict[str, int], tool: str | None = "furnace") -> Observation:
        """Smelt or cook one kind of item in a furnace, which must be held. No fuel is needed."""
        return self._pursue("smelt", obj, materials, tool)

    @action('agent.equip("leather_boots") -> "You equip the leather_boots. Inventory: 1 leather_boots."')
    def equip(self, obj: str) -> Observation:
        """Put on a piece of armour, or take a tool or shield in hand. It must be in the inventory."""
        return self._pursue("equip", obj)

    @query('agent.inventory() -> {"log": 3}')
    def inventory(self) -> dict[str, int]:
        """Return the items that the agent holds, with their counts."""
        return dict(self.player.inventory)

    @query('agent.sees() -> {"oak_tree": "near", "sheep": "far"}')
    def sees(self) -> dict[str, str]:
        """Return what is in sight, each with the distance of the nearest: "next to you", "near" or "far"."""
        return dict(distance_words(self.player.sight(self.terrain)))

    def _pursue(self, name: str, *args: Any) -> Observation:
        try:
            effects = effects_of(self.terrain, self.player, Action(name, args))
        except GoalRefused as reason:
            return self._failure(f"Nothing happens: {reason}.")
        ticks, failure = self._outcome(effects)
        self.player.goals_tried += 1
        if self.player.spot.tick + ticks > self._limit:
            self.player.wait(self.terrain, self._limit - int(self.player.spot.tick))
            return self._failure(f"In vain: the time is over before you {effects.text}.")
        if failure:
            self.player.wait(self.terrain, ticks)
            return self._failure(f"In vain: {failure}.")
        self.player.carry_out(self.terrain, effects)
        return self._observe(f"You {effects.text}.")

    def ticks_for(self, effects: GoalEffects) -> int:
        """Return the number of ticks that a goal takes, unless it fails by bad luck.

        With the option ``time_limits``, this is at most the goal's time limit.
        """
        return min(effects.ticks, effects.time_limit) if self.options.time_limits else effects.ticks

    def _outcome(self, effects: GoalEffects) -> tuple[int, str]:
        """Return how many ticks this attempt at a goal takes, and why it fails, or "" if it succeeds."""
        limit = effects.time_limit
        if self.options.time_limits and effects.ticks > limit:
            return limit, f"to {effects.text} takes longer than the {limit} ticks allowed"
        if self.options.chances and self.task and not effects.succeeds(self.task.id, self.player.goals_tried):
            return limit, f"bad luck: you did not {effects.text} within {limit} ticks; it may go well another time"
        return effects.ticks, ""

    def _failure(self, text: str) -> Observation:
        return self._observe(f"It failed. Biome: {self.biome()}." if self.options.terse else text, accepted=False)

    def _observe(self, text: str, accepted: bool = True) -> Observation:
        solved = self._is_solved()
        truncated = not solved and self.player.spot.tick >= self._limit
        text = f"{text} Inventory: {format_counts(self.player.inventory)}."
        return Observation(text, accepted=accepted, terminated=solved, truncated=truncated)

    # Judging.

    def verdict(self) -> Verdict:
        """Return the verdict: solved if all required items are held and, in the equipment group, also equipped.

        The score is the fraction of the task's milestones that were reached.
        """
        if not self.task:
            return Verdict(False, 0.0)
        solved = self._is_solved()
        return Verdict(solved, 1.0 if solved else len(self.milestones()) / len(self.milestones_of(self.task)))

    def _is_solved(self) -> bool:
        return all(self._is_obtained(item, count) for item, count in self._required_items.items())

    def _is_obtained(self, item: str, count: int) -> bool:
        is_equipped = not self.task or self.task.type != tasks.EQUIP or item in self.player.worn
        return is_equipped and self.player.count_held(item) >= count

    @classmethod
    def milestones_of(cls, task: Task) -> list[str]:
        """Return the milestones of a task, in one possible order.

        For parallel goals, the milestones are the items of the goals. For a single object, they are all items that
        have to be obtained before it, the object itself and, if it must be equipped, "equip OBJECT". For example, the
        diamond has the twelve milestones of the paper's figure 8.
        """
        if task.type in tasks.PARALLEL:
            return list(tasks.required_items(task))
        item = str(task.params["object"])
        return [*milestones(item), *([f"equip {item}"] if task.type == tasks.EQUIP else [])]

    def milestones(self) -> list[str]:
        """Return the milestones of the task that were reached in this episode."""
        if not self.task:
            return []
        if self.task.type in tasks.PARALLEL:
            return [item for item, count in self._required_items.items() if self._is_obtained(item, count)]
        worn = {f"equip {item}" for item in self.player.worn}
        return [item for item in self.milestones_of(self.task) if item in self.player.first_held or item in worn]

    # Snapshots.

    def _save(self) -> object:
        return self.player.copy()

    def _load(self, saved: Any) -> None:
        self.player = saved.copy()
