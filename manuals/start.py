"""Starting knowledge for a build: an example of a simple task, and the few rules that it shows.

A start is a folder with ``example.md``, the example that planners see, and ``rules.json``, a list of rules. Shipped
starts are in ``manuals/ENVIRONMENT/start/NAME``. The first line of an example may name the task that it plays, as
``<!-- task: ID -->``; that line is not shown, and the task must not be used in tests. A subfolder ``without_helpers``
has both files for runs without helper methods.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from planbook.manuals.errors import BadStart
from planbook.manuals.library import SHIPPED
from planbook.rules import Learned, Rule

EXAMPLE, RULES, WITHOUT_HELPERS = "example.md", "rules.json", "without_helpers"
DEFAULT_STARTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "alfworld": {"": ("put",)},
    "miniwob": {"": ("search-engine", "click-menu", "enter-date", "social-media-some"), "feedback": ("search-engine",)},
    "toy": {"": ("fetch",)},
}
"""Starts of AutoManual's experiments (section 4, appendix D), by environment and split; "" is for all other splits."""
TEST_ONLY_TYPES: Mapping[str, tuple[str, ...]] = {"miniwob": ("email-inbox-nl-turk", "email-inbox-forward-nl-turk")}
"""Task types, by environment, that are used only for tests since they resemble others (appendix D)."""

_RULES = TypeAdapter(tuple[Rule, ...])
_TASK = re.compile(r"<!-- task: (\S+) -->\n")
_ID = re.compile(r"\brule_\d+\b")


class Start(Learned):
    """Knowledge before the first task. ``tasks`` lists the ids of the tasks that the example plays."""

    example: str = ""
    rules: tuple[Rule, ...] = ()
    tasks: tuple[str, ...] = ()


def starts(environment_name: str) -> tuple[str, ...]:
    """Return the names of an environment's shipped starts."""
    return tuple(sorted(path.parent.name for path in (SHIPPED / environment_name / "start").glob(f"*/{EXAMPLE}")))


def usual_starts(environment_name: str, split: str = "") -> tuple[str, ...]:
    """Return the default starts for a build on a split; () if there are none."""
    by_split = DEFAULT_STARTS.get(environment_name, {})
    return by_split.get(split, by_split.get("", ()))


def types_to_build_on(environment_name: str, types: Sequence[str]) -> tuple[str, ...]:
    """Return those of the types that a build may use: all but ``TEST_ONLY_TYPES``."""
    return tuple(kind for kind in types if kind not in TEST_ONLY_TYPES.get(environment_name, ()))


def read_start(environment_name: str, names: Sequence[str], *, helpers: bool = True) -> Start:
    """Join the named starts: examples in order, rules renumbered. Without names, the start is empty.

    A name is that of a shipped start, or the path of a folder. Without ``helpers``, the version for runs without helper
    methods is read, if there is one. Raises BadStart.
    """
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise BadStart(f"the start {repeated[0]!r} is named more than once")
    joined = Start()
    for name in names:
        folder = _folder(environment_name, name)
        without = folder / WITHOUT_HELPERS
        added = _renumbered(_read(folder if helpers or not without.is_dir() else without), first=len(joined.rules))
        example = f"{joined.example}\n{added.example}" if joined.example else added.example
        joined = Start(example=example, rules=joined.rules + added.rules, tasks=joined.tasks + added.tasks)
    return joined


def _folder(environment_name: str, name: str) -> Path:
    shipped = starts(environment_name)
    folder = SHIPPED / environment_name / "start" / name if name in shipped else Path(name)
    if not folder.is_dir():
        known = f"{environment_name} has {', '.join(shipped)}" if shipped else f"none ship for {environment_name}"
        raise BadStart(f"no start {name!r}: {known}; or name the path of a folder with {EXAMPLE} and {RULES}")
    return folder


def _read(folder: Path) -> Start:
    """Return the start in a folder. Raises BadStart."""
    try:
        example, rules_json = ((folder / name).read_text(encoding="utf-8") for name in (EXAMPLE, RULES))
        rules = _RULES.validate_json(rules_json)
    except (OSError, UnicodeDecodeError) as error:
        raise BadStart(f"the start {folder} cannot be read: {error}; it needs {EXAMPLE} and {RULES}") from error
    except ValidationError as error:
        raise BadStart(f"{folder / RULES} is not a list of rules: {error}") from error
    _check_ids(rules, folder / RULES)
    task = _TASK.match(example)
    return Start(example=_TASK.sub("", example, count=1), rules=rules, tasks=(task[1],) if task else ())


def _check_ids(rules: Sequence[Rule], path: Path) -> None:
    """Raise BadStart unless ids count up from rule_0 and rules build only on earlier ones."""
    for number, rule in enumerate(rules):
        if rule.id != f"rule_{number}":
            raise BadStart(f"{path}: rule {number} has the id {rule.id!r}; ids are rule_0, rule_1 and so on, in order")
        if unknown := set(rule.builds_on) - {earlier.id for earlier in rules[:number]}:
            raise BadStart(f"{path}: {rule.id} builds on {', '.join(sorted(unknown))}, which is not an earlier rule")


def _renumbered(start: Start, first: int) -> Start:
    """Return the start with its rules numbered from ``first``; ids in its texts change as well."""
    new = {rule.id: f"rule_{number}" for number, rule in enumerate(start.rules, first)}

    def renamed(text: str) -> str:
        return _ID.sub(lambda match: new.get(match[0], match[0]), text)

    rules = [
        rule.model_copy(
            update={
                "id": new[rule.id],
                **{name: renamed(getattr(rule, name)) for name in ("content", "example", "check")},
                **{name: tuple(map(renamed, getattr(rule, name))) for name in ("log", "builds_on")},
            }
        )
        for rule in start.rules
    ]
    return Start(example=renamed(start.example), rules=tuple(rules), tasks=start.tasks)
