"""The tasks: wishes dealt out to splits by their place in the shuffled list."""

from collections.abc import Sequence
from functools import cache

from planbook.envs.errors import BadSelection
from planbook.envs.selection import chosen_split, chosen_types, find_task, in_turn
from planbook.envs.shopping.catalogue import own_shop
from planbook.envs.shopping.files import shop_of
from planbook.envs.shopping.options import ShoppingOptions
from planbook.envs.shopping.search import Search
from planbook.envs.shopping.wares import Shop, Wish
from planbook.envs.types import Selection, Task

SPLITS = {"test": (0, 100), "dev": (500, 540), "full": (0, 500), "example": (540, 546)}
"""The wishes of each split; "full" are WebShop's 500, of which ADaPT and AgentKit were tested on the first 100."""
TYPES = ("beauty", "garden", "grocery", "electronics", "fashion")


def shop(options: ShoppingOptions) -> Shop:
    """The shop that the options name. Raises BadSelection for files that cannot be read."""
    return shop_of(options.items, options.attributes, options.goals) if options.items else own_shop()


@cache
def search(items: str, attributes: str, goals: str) -> Search:
    """The index of a shop's products, made once a process (our own: 0.2 s)."""
    named = ShoppingOptions(items=items, attributes=attributes, goals=goals)
    return Search(list(shop(named).products.values()))


def wish_of(task: Task, options: ShoppingOptions) -> Wish:
    """What the task is about. Raises BadSelection if the shop has no such task."""
    wishes = shop(options).wishes
    if not 0 <= task.seed < len(wishes) or wishes[task.seed].sentence != task.goal:
        raise BadSelection(f"shopping: {task.id} is no task of this shop; was it made from other product files?")
    return wishes[task.seed]


def select(selection: Selection, options: ShoppingOptions) -> list[Task]:
    """The chosen tasks, in turn from each type. Raises BadSelection."""
    stocked = shop(options)
    if selection.ids:
        return [find_task(_tasks(task_id.partition("/")[0], stocked), task_id, "shopping") for task_id in selection.ids]
    split = chosen_split(selection, tuple(SPLITS), "shopping")
    if selection.seeds:
        raise BadSelection("shopping: its tasks are not made from seeds; name them by id, such as test/17")
    tasks = _tasks(split, stocked)
    known = tuple(dict.fromkeys([*TYPES, *(task.type for task in tasks)]))
    types = chosen_types(selection, known, "shopping")
    return list(in_turn(([task for task in tasks if task.type == kind] for kind in types), selection.limit))


def _tasks(split: str, stocked: Shop) -> Sequence[Task]:
    if split not in SPLITS:
        raise BadSelection(f"shopping has no split {split!r}; an id reads SPLIT/NUMBER, for example test/17")
    begin, end = SPLITS[split]
    if not stocked.wishes[begin:end]:
        raise BadSelection(f"shopping: there are {len(stocked.wishes)} goals; split {split!r} begins after {begin}")
    return [_task(split, place, stocked) for place in range(begin, min(end, len(stocked.wishes)))]


def _task(split: str, place: int, stocked: Shop) -> Task:
    """A task without what only the judge may know: the product that the wish was made from, and how it is judged."""
    wish = stocked.wishes[place]
    return Task(
        id=f"{split}/{place}",
        env="shopping",
        split=split,
        type=stocked.products[wish.product].category,
        goal=wish.sentence,
        params={} if wish.price_below is None else {"price_below": wish.price_below},
        seed=place,
    )
