"""Tasks on web pages: the goal, the start address, and the checks at the end.

A task file is a JSON list of tasks in the form of ``WebTask``, or of WebArena's (see ``planbook.envs.web.webarena``).
Addresses may have the names of sites in braces, ``{trac}/wiki``; ``with_site_addresses`` replaces them.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from planbook.envs.errors import BadSelection, validation_faults
from planbook.envs.types import Task
from planbook.envs.web import webarena

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?!\w)")


class _FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AnswerCheck(_FrozenModel):
    """Checks the answer passed to ``stop``. Case, the quotation marks around it and extra white space do not matter.

    - ``exact``: the answer is one of the values.
    - ``must_include``: every value occurs in the answer (a value may hold alternatives, ``a |OR| b``).
    - ``numbers``: the numbers in the answer are exactly the values, in any order; other words are ignored.
    - ``items``: split at commas, semicolons, line ends and "and", the answer is exactly the values, in any order.
    """

    kind: Literal["answer"] = "answer"
    how: Literal["exact", "must_include", "numbers", "items"]
    values: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _numbers_are_numbers(self) -> "AnswerCheck":
        if self.how == "numbers" and not all(NUMBER.fullmatch(value) for value in self.values):
            raise ValueError(f"values must be numbers, not {', '.join(self.values)}")
        return self


class UrlCheck(_FrozenModel):
    """Checks the address at the end of the episode; different forms of the same address are equal.

    - ``equal``: the same page with the same query.
    - ``including``: the same page, and the query has at least these values.
    - ``within``: WebArena's "GOLD in PRED": the host and path of one of ``any_of`` occur in the final address, and for
      each parameter in their queries, the final address has one of their values.
    """

    kind: Literal["url"] = "url"
    how: Literal["equal", "including", "within"] = "equal"
    any_of: tuple[str, ...] = Field(min_length=1)


class PageCheck(_FrozenModel):
    """Checks texts that must or must not be on the page at ``url`` ("last": the page at the end of the episode).

    ``selector`` (CSS) or ``script`` (a JavaScript expression, as in WebArena's files) selects a part of the page; with
    neither, the whole page's text is compared. ``exact``: the text is one of these. A value may hold alternatives,
    ``a |OR| b``.
    """

    kind: Literal["page"] = "page"
    url: str = "last"
    selector: str = ""
    script: str = ""
    exact: tuple[str, ...] = ()
    must_include: tuple[str, ...] = ()
    must_exclude: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _has_texts(self) -> "PageCheck":
        if not (self.exact or self.must_include or self.must_exclude):
            raise ValueError("a page check needs exact, must_include or must_exclude")
        return self


class Text(_FrozenModel):
    """Texts that a value must or must not contain, for a value that need not match word for word."""

    must_include: tuple[str, ...] = ()
    must_exclude: tuple[str, ...] = ()


class ServerCheck(_FrozenModel):
    """Checks the changes to our site's data: exactly these must have been made, and no others.

    ``changes`` maps a place (``ticket/12/status``, ``wiki/Roadmap``) to its value; None if it must be deleted.
    """

    kind: Literal["server"] = "server"
    changes: dict[str, str | Text | None] = Field(min_length=1)


class UnachievableCheck(_FrozenModel):
    """Checks that the answer declares the task impossible: it begins with ``N/A``."""

    kind: Literal["unachievable"] = "unachievable"


Check = AnswerCheck | UrlCheck | PageCheck | ServerCheck | UnachievableCheck


SHIPPED = Path(__file__).with_name("trac.json")
KINDS = ("look_up", "navigate", "edit", "backtrack", "loop", "unachievable")
"""The abilities that tasks require, which are also their splits. ``backtrack``: the obvious way is wrong."""
SPLITS = ("all", *KINDS)


class WebTask(BaseModel):
    """A task on web pages. ``params`` is the parsed goal, without anything that the agent has to find out.

    ``more_tabs`` are opened after ``start``. ``unjudged`` is the reason why the checks cannot be made here; such a task
    is left out. ``site`` names a site that we run ourselves and reset for the task.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    type: str
    kind: Literal["look_up", "navigate", "edit", "backtrack", "loop", "unachievable"]
    goal: str
    start: str
    more_tabs: tuple[str, ...] = ()
    site: Literal["", "trac"] = ""
    params: dict[str, JsonValue] = Field(default_factory=dict)
    checks: tuple[Annotated[Check, Field(discriminator="kind")], ...] = ()
    unjudged: str = ""
    login: Path | None = None
    """The login file for the browser (``planbook.envs.web.webarena``)."""


def load_tasks(
    path: Path | None = None, sites: Mapping[str, str] | None = None, logins: Path | None = None
) -> list[WebTask]:
    """Return the tasks of a file, by default the shipped one, in the file's order.

    The other arguments are for WebArena's files: ``sites`` (name to address) replaces their placeholders, ``logins`` is
    the folder of the logins that tasks name. Raises BadSelection.
    """
    if path is None:
        return list(_shipped())
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise BadSelection(
            f"the task file {path} is not JSON (line {error.lineno}: {error.msg}); it must hold a list of tasks"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadSelection(f"the task file {path} cannot be read: {error}") from error
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise BadSelection(f"the task file {path} must hold a list of at least one task, each an object")
    convert = partial(webarena.convert_task, sites=sites or {}, logins=logins)
    tasks = [_task(entry, f"{path}, task {number}", convert) for number, entry in enumerate(entries)]
    if repeated := sorted({task.id for task in tasks if sum(task.id == other.id for other in tasks) > 1}):
        raise BadSelection(f"the task file {path} has the ids {', '.join(repeated)} more than once")
    return tasks


@cache
def _shipped() -> tuple[WebTask, ...]:
    return tuple(load_tasks(SHIPPED))


def types() -> tuple[str, ...]:
    """Return the types of the shipped tasks, in their order."""
    return tuple(dict.fromkeys(task.type for task in load_tasks()))


def _task(entry: webarena.Entry, where: str, convert: Callable[[webarena.Entry, str], webarena.Entry]) -> WebTask:
    """Return the task of an entry; ``convert`` is for those of WebArena. Raises BadSelection."""
    try:
        return WebTask.model_validate(convert(entry, where) if {"intent", "eval"} <= entry.keys() else entry)
    except ValidationError as error:
        raise BadSelection(f"{where} is not a task: {'; '.join(validation_faults(error))}") from error


def to_task(task: WebTask) -> Task:
    """Return the task for the rest of planbook, without start and checks."""
    return Task(id=task.id, env="web", split=task.kind, type=task.type, goal=task.goal, params=task.params)


def judgeable(tasks: Sequence[WebTask], ids: Sequence[str] = ()) -> list[WebTask]:
    """Return the tasks that can be judged here. Raises BadSelection if ``ids`` names one that cannot."""
    for task in tasks:
        if task.unjudged and task.id in ids:
            raise BadSelection(f"web cannot judge the task {task.id!r}: {task.unjudged}")
    return [task for task in tasks if not task.unjudged]


def with_site_addresses(task: WebTask, sites: Mapping[str, str]) -> WebTask:
    """Return the task with the sites' addresses in place of their names in braces. Raises BadSelection."""

    def fill_in(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: _address(match[1], task.id, sites), text)

    checks: list[Check] = []
    for check in task.checks:
        if isinstance(check, UrlCheck):
            check = check.model_copy(update={"any_of": tuple(map(fill_in, check.any_of))})
        elif isinstance(check, PageCheck):
            check = check.model_copy(update={"url": fill_in(check.url)})
        checks.append(check)
    tabs = tuple(map(fill_in, task.more_tabs))
    return task.model_copy(update={"start": fill_in(task.start), "more_tabs": tabs, "checks": tuple(checks)})


def _address(name: str, task_id: str, sites: Mapping[str, str]) -> str:
    if name not in sites:
        known = ", ".join(sorted(sites)) or "none"
        raise BadSelection(
            f"the task {task_id!r} needs the site {name!r}, whose address is unknown (known: {known}); "
            f'give it with -o sites=\'{{"{name}": "http://..."}}\''
        )
    return sites[name].rstrip("/")
