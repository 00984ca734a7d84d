"""The 53 types of tasks on which the papers report results, and the parsing of goals into params."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from runpy import run_path

from pydantic import JsonValue

from planbook.envs.resources import PackageData

FEEDBACK = tuple(
    "search-engine tic-tac-toe terminal login-user-popup guess-number email-inbox email-inbox-nl-turk "
    "email-inbox-forward-nl email-inbox-forward-nl-turk".split()
)
"""Types whose pages answer an action with information on which the next action depends."""

FREE_WORDING = ("email-inbox-nl-turk", "email-inbox-forward-nl", "email-inbox-forward-nl-turk")
"""Types whose goals are free sentences. Their pages publish the values that the goal expresses."""

NO_FEEDBACK = tuple(
    "choose-list click-button click-button-sequence click-checkboxes click-checkboxes-large click-checkboxes-soft "
    "click-checkboxes-transfer click-collapsible click-collapsible-2 click-color click-dialog click-dialog-2 "
    "click-link click-menu click-option click-scroll-list click-shades click-shape click-tab click-tab-2 "
    "click-tab-2-hard click-test click-test-2 click-widget count-shape enter-date enter-password enter-text "
    "enter-text-dynamic enter-time focus-text focus-text-2 grid-coordinate identify-shape login-user multi-layouts "
    "multi-orderings navigate-tree simple-algebra social-media social-media-all social-media-some use-autocomplete "
    "use-spinner".split()
)

RELOADED = ("search-engine", "use-autocomplete", "use-spinner")
"""Types whose pages are loaded again for each episode, since they keep traces of the previous one."""

SPLITS: Mapping[str, tuple[str, ...]] = {
    "all": FEEDBACK + NO_FEEDBACK,
    "feedback": FEEDBACK,
    "no-feedback": NO_FEEDBACK,
}

Pairs = Sequence[tuple[str, str]]
"""Names and values of a goal's fields."""


PACKAGE = PackageData("miniwob", "browser", prefixes=("miniwob",))


def page(type_name: str) -> str:
    """Return the address of the page of a type."""
    return (PACKAGE.folder() / "html" / "miniwob" / f"{type_name}.html").as_uri()


@cache
def _extractors() -> Mapping[str, Callable[[str], Pairs]]:
    """Return miniwob's field extractors: a dict that maps a type to the function that parses its goals.

    Their module is run without importing the package, since it needs nothing but the standard library.
    """
    extractors: Mapping[str, Callable[[str], Pairs]] = run_path(str(PACKAGE.folder() / "fields.py"))["FIELD_EXTRACTORS"]
    return extractors


def params(type_name: str, goal: str, fields: Mapping[str, str] | None) -> dict[str, JsonValue]:
    """Return the params of a goal: its values, such as the name of the button to click.

    They are the ``fields`` that the page publishes, or otherwise the values that miniwob's extractor finds in the goal.
    The keys are miniwob's (``target``, ``username``, ``by``, ``to`` ...), with ``_`` in place of a space. Values with
    numbered keys form one list: ``target 0`` and ``target 1`` become ``targets``. A goal that the extractor cannot
    parse has no params.
    """
    try:
        pairs = tuple(fields.items()) if fields else _extractors()[type_name](goal)
    except (KeyError, ValueError):
        return {}
    single: dict[str, JsonValue] = {}
    lists: dict[str, list[JsonValue]] = {}
    for key, value in pairs:
        if match := re.fullmatch(r"(.+) \d+", key):
            lists.setdefault(f"{match[1].replace(' ', '_')}s", []).append(value)
        else:
            single[key.replace(" ", "_")] = value
    return single | dict(lists)
