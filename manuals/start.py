"""Read starts. A start (short for starting knowledge) is the knowledge with which a run of `planbook build` begins.

A start is a folder with two files: ``example.md``, a simple task and its solution, which planners see, and
``rules.json``, the rules that the example uses. Shipped starts are in ``manuals/ENVIRONMENT/start/NAME``. The first
line of ``example.md`` may give the id of the task that the example solves: ``<!-- task: ID -->``. Planners do not see
this line, and must not be tested on that task.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from planbook.manuals.errors import BadStart
from planbook.manuals.library import EXAMPLE_FILE, RULES_FILE
from planbook.manuals.procedures import SHIPPED
from planbook.rules import LearnedRecord, Rule

WITHOUT_HELPERS = "without_helpers"
"""Name of the subfolder with the version of a start for runs without helper methods."""
DEFAULT_STARTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "alfworld": {"": ("put",)},
    "miniwob": {"": ("search-engine", "click-menu", "enter-date", "social-media-some"), "feedback": ("search-engine",)},
    "toy": {"": ("fetch",)},
}
"""Maps each environment to a dict from split (a named set of tasks) to the names of its default starts.

Except for toy, these are the starts of the AutoManual paper's experiments (section 4, appendix D). The key ""
means all splits that are not listed.
"""
TEST_ONLY_TYPES: Mapping[str, tuple[str, ...]] = {"miniwob": ("email-inbox-nl-turk", "email-inbox-forward-nl-turk")}
"""Maps environments to task types from which a build must not learn: they resemble other types (appendix D)."""

_RULES = TypeAdapter(tuple[Rule, ...])
_TASK = re.compile(r"<!-- task: (\S+) -->\n")
_ID = re.compile(r"\brule_\d+\b")


class Start(LearnedRecord):
    """The knowledge before the first task. ``tasks`` lists the ids of the tasks that the example solves."""

    example: str = ""
    rules: tuple[Rule, ...] = ()
    tasks: tuple[str, ...] = ()


def starts(environment_name: str) -> tuple[str, ...]:
    """Return the names of an environment's shipped starts."""
    return tuple(sorted(path.parent.name for path in (SHIPPED / environment_name / "start").glob(f"*/{EXAMPLE_FILE}")))


def default_starts(environment_name: str, split: str = "") -> tuple[str, ...]:
    """Return the names of the default starts for a build that uses this split, or () if there are none."""
    by_split = DEFAULT_STARTS.get(environment_name, {})
    return by_split.get(split, by_split.get("", ()))


def types_to_learn_from(environment_name: str, types: Sequence[str]) -> tuple[str, ...]:
    """Return the task types that a build may learn from: all except ``TEST_ONLY_TYPES``."""
    return tuple(task_type for task_type in types if task_type not in TEST_ONLY_TYPES.get(environment_name, ()))


def read_start(environment_name: str, names: Sequence[str], *, helpers: bool = True) -> Start:
    """Read the named starts, and join them into one: the examples in order, and the rules numbered from rule_0.

    Each of the ``names`` is the name of a shipped start, or the path of a folder. Without names, the result is empty.
    If ``helpers`` is False, starts are read in their versions without helper methods, where these exist. Raises
    BadStart if a start does not exist, is invalid, or is named twice.
    """
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise BadStart(f"the start {repeated[0]!r} is named more than once")
    joined = Start()
    for name in names:
        folder = _start_folder(environment_name, name)
        if not helpers and (folder / WITHOUT_HELPERS).is_dir():
            folder = folder / WITHOUT_HELPERS
        added = _renumbered(_read_start_folder(folder), first=len(joined.rules))
        example = f"{joined.example}\n{added.example}" if joined.example else added.example
        joined = Start(example=example, rules=joined.rules + added.rules, tasks=joined.tasks + added.tasks)
    return joined


def _start_folder(environment_name: str, name: str) -> Path:
    shipped = starts(environment_name)
    folder = SHIPPED / environment_name / "start" / name if name in shipped else Path(name)
    if not folder.is_dir():
        available = f"{environment_name} has {', '.join(shipped) or 'no shipped starts'}"
        raise BadStart(f"no start {name!r}: {available}; or give a folder with {EXAMPLE_FILE} and {RULES_FILE}")
    return folder


def _read_start_folder(folder: Path) -> Start:
    """Return the start in a folder. Raises BadStart if it cannot be read or is invalid."""
    try:
        example, rules_json = ((folder / name).read_text(encoding="utf-8") for name in (EXAMPLE_FILE, RULES_FILE))
        rules = _RULES.validate_json(rules_json)
    except (OSError, UnicodeDecodeError) as error:
        raise BadStart(f"{folder} cannot be read: {error}; a start needs {EXAMPLE_FILE} and {RULES_FILE}") from error
    except ValidationError as error:
        raise BadStart(f"{folder / RULES_FILE} is not a list of rules: {error}") from error
    _check_consecutive_ids(rules, folder / RULES_FILE)
    task = _TASK.match(example)
    return Start(example=_TASK.sub("", example, count=1), rules=rules, tasks=(task[1],) if task else ())


def _check_consecutive_ids(rules: Sequence[Rule], path: Path) -> None:
    """Raise BadStart unless the ids are rule_0, rule_1 and so on, and each rule builds only on earlier ones."""
    for number, rule in enumerate(rules):
        if rule.id != f"rule_{number}":
            raise BadStart(f"{path}: rule {number} has the id {rule.id!r}; ids are rule_0, rule_1 and so on, in order")
        if unknown := set(rule.builds_on) - {earlier.id for earlier in rules[:number]}:
            raise BadStart(f"{path}: {rule.id} builds on {', '.join(sorted(unknown))}, which is not an earlier rule")


def _renumbered(start: Start, first: int) -> Start:
    """Return the start with its rules numbered from ``first``, including where texts or the example name them."""
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
