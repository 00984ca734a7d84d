"""A page as text: one line for each node of its accessibility tree that is in view."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from pydantic import JsonValue

from planbook.envs.web.nodes import STATED, Node
from planbook.envs.web.reading import Page
from planbook.envs.web.writing import NAME, quoted

LONG_TEXT = 1_000
"""Characters of a text that are shown."""
MOST_OPTIONS = 40
"""Options of a select box that are shown."""
TEXTS = ("text", "paragraph", "listitem", "cell", "gridcell", "blockquote", "code", "definition", "term")
LONGEST_CHANGE = 600
"""Characters of a page's change that feedback tells of one action."""
INDENT = "  "
ADDRESS, TITLE, TABS, IN_VIEW = "Address: ", "Title: ", "Tabs: ", "In view ("
"""How the lines of an observation begin that are not the page's own."""

Number = Callable[[Node], int]


def told(page: Page, number: Number, most: int) -> str:
    """The page, at most so many characters of its nodes."""
    where = f"{page.above} px above, {page.below} px below" if page.above or page.below else "all of it"
    if page.part:
        where += "; the page is so large that find sees only what is in view"
    lines, left, cut = [f"{IN_VIEW}{where}):"], most, 0
    for line in _lines(page.root, number):
        if len(line) >= left:
            cut += 1
            left = 0
        else:
            lines.append(line)
            left -= len(line) + 1
    if cut:
        lines.append(f"({cut} more lines in view are left out: the limit is {most} characters)")
    if len(lines) == 1:
        lines.append("(nothing)")
    return "\n".join(lines)


def _lines(root: Node, number: Number) -> Iterator[str]:
    pending = [(node, 0) for node in reversed(root.children) if node.visible]
    while pending:
        node, depth = pending.pop()
        while node.shell:
            node = node.children[0]
        yield f"{INDENT * depth}{line_of(node, number(node))}"
        shown = [child for child in node.children if child.visible]
        pending.extend((child, depth + 1) for child in reversed(shown))


def line_of(node: Node, number: int) -> str:
    """``[12] textbox 'Name' value='Ada' required``."""
    parts = [f"[{number}]", node.role]
    if node.name:
        parts.append(quoted(node.name, LONG_TEXT if node.role in TEXTS else NAME))
    if node.value and node.value != node.name:
        parts.append(f"value={quoted(node.value)}")
    if node.options:
        parts.append(f"options={_options(node.options)}")
    return " ".join([*parts, *(_property(name, value) for name, value in node.said.items())])


def _property(name: str, value: JsonValue) -> str:
    if name not in STATED and (value is True or value == "true"):
        return name
    return f"{name}={str(value).lower()}"


def _options(options: Sequence[str]) -> str:
    shown = " | ".join(quoted(option, 80) for option in options[:MOST_OPTIONS])
    return shown if len(options) <= MOST_OPTIONS else f"{shown} | ({len(options) - MOST_OPTIONS} more)"


def described(node: Node, number: int) -> dict[str, JsonValue]:
    """The node as ``find`` tells it."""
    link: dict[str, JsonValue] = {"url": node.link} if node.link else {}
    return {
        "id": number,
        "role": node.role,
        "name": node.text(),
        "value": node.value,
        "in_view": node.visible,
        **({"options": list[JsonValue](node.options)} if node.options else {}),
        **node.said,
        **link,
    }


def change(before: str, after: str) -> str:
    """What is otherwise in an observation than in the one before, in short."""
    (old_head, old), (head, new) = _parts(before), _parts(after)
    if _stated(head, ADDRESS) != _stated(old_head, ADDRESS):
        return _joined([*_unusual(head), f"now at {_stated(head, ADDRESS)}, {_stated(head, TITLE)}"])
    appeared, gone = Counter(new) - Counter(old), Counter(old) - Counter(new)
    lines = [_listed("new: ", new, appeared), _listed("gone: ", old, gone)]
    return _joined([*_unusual(head), *filter(None, lines)]) or "nothing changed in view"


def _parts(text: str) -> tuple[list[str], list[str]]:
    """What an observation says of the tab, and the lines of its page."""
    lines = text.split("\n")
    at = next((number for number, line in enumerate(lines) if line.startswith(IN_VIEW)), len(lines))
    return lines[:at], [line.strip().removesuffix(" focused") for line in lines[at:]]


def _stated(head: Sequence[str], what: str) -> str:
    return next((line.removeprefix(what) for line in head if line.startswith(what)), "")


def _unusual(head: Sequence[str]) -> list[str]:
    return [line.rstrip(".") for line in head if not line.startswith((ADDRESS, TITLE, TABS))]


def _joined(parts: Sequence[str]) -> str:
    return "; ".join(parts)


def _listed(title: str, lines: Sequence[str], counted: Counter[str]) -> str:
    text, half = " | ".join(line for line in lines if counted[line] > 0), LONGEST_CHANGE // 2
    return f"{title}{text[:half]}{' ...' if len(text) > half else ''}" if text else ""
