"""Starts: the knowledge that a run of ``planbook build`` has before its first task.

A start is a folder with ``example.md``, an example of a simple task that planners see, and ``rules.json``, a list of
the rules that the example uses. Shipped starts are in ``manuals/ENVIRONMENT/start/NAME``. The first line of an example
may name the task that it solves, as ``<!-- task: ID -->``. Planners do not see this line, and must not be tested on
that task. A subfolder ``without_helpers`` has both files for runs without helper methods.
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
"""Maps environment and split to the starts of AutoManual's experiments (section 4, appendix D).

The key "" stands for all splits that are not listed.
"""
TEST_ONLY_TYPES: Mapping[str, tuple[str, ...]] = {"miniwob": ("email-inbox-nl-turk", "email-inbox-forward-nl-turk")}
"""Maps environments to task types that are used only in tests, since they resemble other types (appendix D)."""

_RULES = TypeAdapter(tuple[Rule, ...])
_TASK = re.compile(r"<!-- task: (\S+) -->\n")
_ID = re.compile(r"\brule_\d+\b")


class Start(Learned):
    """The knowledge before the first task. ``tasks`` lists the ids of the tasks that the example plays."""

    example: str = ""
    rules: tuple[Rule, ...] = ()
    tasks: tuple[str, ...] = ()


def starts(environment_name: str) -> tuple[str, ...]:
    """Return the names of an environment's shipped starts."""
    return tuple(sorted(path.parent.name for path in (SHIPPED / environment_name / "start").glob(f"*/{EXAMPLE}")))


def default_starts(environment_name: str, split: str = "") -> tuple[str, ...]:
    """Return the names of the default starts for a build that uses this split, or () if there are none."""
    by_split = DEFAULT_STARTS.get(environment_name, {})
    return by_split.get(split, by_split.get("", ()))


def types_to_build_on(environment_name: str, types: Sequence[str]) -> tuple[str, ...]:
    """Return the types that a build may use: all except ``TEST_ONLY_TYPES``."""
    return tuple(kind for kind in types if kind not in TEST_ONLY_TYPES.get(environment_name, ()))


def read_start(environment_name: str, names: Sequence[str], *, helpers: bool = True) -> Start:
    """Read the named starts, and join them into one: the examples in order, and the rules with new numbers.

    Each name is the name of a shipped start, or the path of a folder. If there are no names, the start is empty. If
    ``helpers`` is False, the version for runs without helper methods is read, if there is one. Raises BadStart if a
    start does not exist or is invalid, or is named twice.
    """
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise BadStart(f"the start {repeated[0]!r} is named more than once")
    joined = Start()
    for name in names:
        folder = _folder(environment_name, name)
        reduced = folder / WITHOUT_HELPERS
        added = _renumbered(_read(folder if helpers or not reduced.is_dir() else reduced), first=len(joined.rules))
        example = f"{joined.example}\n{added.example}" if joined.example else added.example
        joined = Start(example=example, rules=joined.rules + added.rules, tasks=joined.tasks + added.tasks)
    return joined


def _folder(environment_name: str, name: str) -> Path:
    shipped = starts(environment_name)
    folder = SHIPPED / environment_name / "start" / name if name in shipped else Path(name)
    if not folder.is_dir():
        available = f"{environment_name} has {', '.join(shipped)}" if shipped else f"none ship for {environment_name}"
        raise BadStart(f"no start {name!r}: {available}; or name the path of a folder with {EXAMPLE} and {RULES}")
    return folder


def _read(folder: Path) -> Start:
    """Return the start in a folder. Raises BadStart if it cannot be read or is invalid."""
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
    """Raise BadStart unless the ids are rule_0, rule_1 and so on, and each rule builds only on earlier ones."""
    for number, rule in enumerate(rules):
        if rule.id != f"rule_{number}":
            raise BadStart(f"{path}: rule {number} has the id {rule.id!r}; ids are rule_0, rule_1 and so on, in order")
        if unknown := set(rule.builds_on) - {earlier.id for earlier in rules[:number]}:
            raise BadStart(f"{path}: {rule.id} builds on {', '.join(sorted(unknown))}, which is not an earlier rule")


def _renumbered(start: Start, first: int) -> Start:
    """Return the start with its rules numbered from ``first``. The ids in the texts are changed, too."""
    new_ids = {rule.id: f"rule_{number}" for number, rule in enumerate(start.rules, first)}

    def renamed(text: str) -> str:
        return _ID.sub(lambda match: new_ids.get(match[0], match[0]), text)

    rules = [
        rule.model_copy(
            update={
                "id": new_ids[rule.id],
                **{name: renamed(getattr(rule, name)) for name in ("content", "example", "check")},
                **{name: tuple(map(renamed, getattr(rule, name))) for name in ("log", "builds_on")},
            }
        )
        for rule in start.rules
    ]
    return Start(example=renamed(start.example), rules=tuple(rules), tasks=start.tasks)
