"""What building starts from: one example of a simple task, and the few rules that can be read off it.

A start is a folder with ``example.md``, the example as a planner is shown it, and ``rules.json``, a list of rules.
Those that ship are ``manuals/WORLD/start/NAME``. An example's first line may name the task that it plays, as
``<!-- task: ID -->``; it is not shown. A task that is an example does not belong into a test.
A folder ``without_helpers`` inside has both files again for runs without helper methods.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from planbook.manuals.errors import BadStart
from planbook.manuals.library import SHIPPED
from planbook.rules.types import Learnt, Rule

EXAMPLE, RULES, WITHOUT_HELPERS = "example.md", "rules.json", "without_helpers"
USUAL_STARTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "alfworld": {"": ("put",)},
    "miniwob": {"": ("search-engine", "click-menu", "enter-date", "social-media-some"), "feedback": ("search-engine",)},
    "toy": {"": ("fetch",)},
}
"""The starts of AutoManual's experiments (sections 4 and D), by world and split; "" is any other split."""
NOT_BUILT_ON: Mapping[str, tuple[str, ...]] = {"miniwob": ("email-inbox-nl-turk", "email-inbox-forward-nl-turk")}
"""Task types, by world, that repeat others: tested, but not built on (section D)."""

_RULES = TypeAdapter(tuple[Rule, ...])
_TASK = re.compile(r"<!-- task: (\S+) -->\n")
_ID = re.compile(r"\brule_\d+\b")


class Start(Learnt):
    """What is known before the first task. ``tasks`` are the ids of the tasks that the example plays."""

    example: str = ""
    rules: tuple[Rule, ...] = ()
    tasks: tuple[str, ...] = ()


def starts(world_name: str) -> tuple[str, ...]:
    """The names of the starts that ship for a world."""
    return tuple(sorted(path.parent.name for path in (SHIPPED / world_name / "start").glob(f"*/{EXAMPLE}")))


def usual_starts(world_name: str, split: str = "") -> tuple[str, ...]:
    """The starts that building on a split of a world begins with unless a run says otherwise; none for other worlds."""
    by_split = USUAL_STARTS.get(world_name, {})
    return by_split.get(split, by_split.get("", ()))


def types_to_build_on(world_name: str, types: Sequence[str]) -> tuple[str, ...]:
    """Those of the types that are built on: of the 9 of MiniWoB++ with feedback, 7."""
    return tuple(kind for kind in types if kind not in NOT_BUILT_ON.get(world_name, ()))


def read_start(world_name: str, names: Sequence[str], *, helpers: bool = True) -> Start:
    """One start, or several as one: the examples in order, the rules numbered on. No names, no knowledge.

    A name is that of a start that ships, or the path of a folder. Without ``helpers``, what the start has for runs
    without helper methods, if it has that. Raises BadStart.
    """
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise BadStart(f"the start {twice[0]!r} is named twice")
    joined = Start()
    for name in names:
        folder = _folder(world_name, name)
        without = folder / WITHOUT_HELPERS
        added = _renumbered(_read(folder if helpers or not without.is_dir() else without), first=len(joined.rules))
        example = f"{joined.example}\n{added.example}" if joined.example else added.example
        joined = Start(example=example, rules=joined.rules + added.rules, tasks=joined.tasks + added.tasks)
    return joined


def _folder(world_name: str, name: str) -> Path:
    shipped = starts(world_name)
    folder = SHIPPED / world_name / "start" / name if name in shipped else Path(name)
    if not folder.is_dir():
        have = f"{world_name} has {', '.join(shipped)}" if shipped else f"none ship for {world_name}"
        raise BadStart(f"no start {name!r}: {have}; or name the path of a folder with {EXAMPLE} and {RULES}")
    return folder


def _read(folder: Path) -> Start:
    """A start as its folder has it. Raises BadStart."""
    try:
        example, listed = ((folder / name).read_text(encoding="utf-8") for name in (EXAMPLE, RULES))
        rules = _RULES.validate_json(listed)
    except (OSError, UnicodeDecodeError) as error:
        raise BadStart(f"the start {folder} cannot be read: {error}; it needs {EXAMPLE} and {RULES}") from error
    except ValidationError as error:
        raise BadStart(f"{folder / RULES} is no list of rules: {error}") from error
    _check_ids(rules, folder / RULES)
    named = _TASK.match(example)
    return Start(example=_TASK.sub("", example, count=1), rules=rules, tasks=(named[1],) if named else ())


def _check_ids(rules: Sequence[Rule], path: Path) -> None:
    """Ids count up from rule_0, and a rule builds on earlier ones only. Raises BadStart."""
    for number, rule in enumerate(rules):
        if rule.id != f"rule_{number}":
            raise BadStart(f"{path}: rule {number} has the id {rule.id!r}; ids are rule_0, rule_1 and so on, in order")
        if unknown := set(rule.builds_on) - {earlier.id for earlier in rules[:number]}:
            raise BadStart(f"{path}: {rule.id} builds on {', '.join(sorted(unknown))}, which does not come before it")


def _renumbered(start: Start, first: int) -> Start:
    """The start with its rules numbered from ``first``, wherever they are named: nothing cites them elsewhere yet."""
    new = {rule.id: f"rule_{number}" for number, rule in enumerate(start.rules, first)}

    def renamed(text: str) -> str:
        return _ID.sub(lambda found: new.get(found[0], found[0]), text)

    rules = [
        Rule(
            id=new[rule.id],
            type=rule.type,
            content=renamed(rule.content),
            example=renamed(rule.example),
            log=tuple(map(renamed, rule.log)),
            builds_on=tuple(map(renamed, rule.builds_on)),
        )
        for rule in start.rules
    ]
    return Start(example=renamed(start.example), rules=tuple(rules), tasks=start.tasks)
