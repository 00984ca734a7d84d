"""The scopes in which somebody was given a sub-task, put together as the tree that the sub-tasks make."""

from dataclasses import replace

from planbook.figures.subtasks import PLANNER
from planbook.report.places import Branch, Item, Place


def grown(place: Place) -> Place:
    """The place with the scopes of sub-tasks put together as a tree, one branch for each sub-task."""
    items: list[Item] = []
    for item in place.items:
        if not isinstance(item, Place):
            items.append(item)
            continue
        inside, before = grown(item), items[-1] if items else None
        if inside.subtask is None:
            items.append(inside)
        elif inside.subtask.by != PLANNER:
            items.append(Branch(inside, None))
        elif isinstance(before, Branch) and before.planner is None and before.subtask.text == inside.subtask.text:
            before.planner = inside
        else:
            items.append(Branch(None, inside))
    return replace(place, items=items)
