"""The actions that a page offers, for methods that search among them."""

from planbook.envs.types import Action
from planbook.envs.web.nodes import ACTED_ON, Node
from planbook.envs.web.visit import Visit

FILLED_IN = ("textbox", "searchbox", "spinbutton", "slider", "combobox", "listbox", "date", "inputtime", "datetime",
             "colorwell")  # fmt: skip
"""Roles of what a click alone does nothing to."""


def actions(visit: Visit) -> list[Action]:
    """Clicks on what is in view, choices of select boxes, scrolling, and going back and forward."""
    page = visit.page
    if page is None:
        return []
    found = [each for node in page.root.walk() if node.visible for each in _of(node, visit)]
    trail = visit.tab.trail(page.trail)
    others = {
        Action("scroll", ("down", 0)): page.below > 0,
        Action("scroll", ("up", 0)): page.above > 0,
        Action("go_back"): trail.at > 0,
        Action("go_forward"): trail.at + 1 < len(trail.urls),
    }
    return [*found, *(action for action, there in others.items() if there)]


def _of(node: Node, visit: Visit) -> list[Action]:
    if "disabled" in node.said or node.role not in ACTED_ON or node.role == "option":
        return []
    if node.role in FILLED_IN:
        return [Action("select", (visit.number(node), option)) for option in node.options if option != node.value]
    return [Action("click", (visit.number(node),))]
