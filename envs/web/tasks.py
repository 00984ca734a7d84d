"""Tasks on web pages: what is asked for, where it begins, and what is checked at the end.

A task file is a JSON list of tasks as ``WebTask`` has them, or of WebArena's (see ``planbook.envs.web.webarena``).
Addresses may hold the names of sites in braces, ``{trac}/wiki``; ``placed`` puts the sites' addresses there, once they
are known.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from planbook.envs.errors import BadSelection
from planbook.envs.types import Task
from planbook.envs.web import webarena
from planbook.envs.web.checks import Check, PageCheck, UrlCheck

SHIPPED = Path(__file__).with_name("trac.json")
KINDS = ("look_up", "navigate", "edit", "backtrack", "loop", "unachievable")
"""What a task asks of an agent; a task's split. A backtracking task's first likely way is the wrong one."""
SPLITS = ("all", *KINDS)


class WebTask(BaseModel):
    """A task. ``params`` says what the goal says, parsed, never what is to be found out.

    ``more_tabs`` are opened behind ``start``. Where ``unjudged`` says why the checks cannot be made here, the task is
    not offered. ``site`` names a site that we run ourselves and reset for the task.
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
    """The file of a login that the browser begins with (``planbook.envs.web.logins``)."""


def load_tasks(
    path: Path | None = None,
    sites: Mapping[str, str] | None = None,
    *,
    approximate: bool = False,
    logged_in: bool = False,
    logins: Path | None = None,
) -> list[WebTask]:
    """The tasks of a file, by default the shipped ones, in the file's order.

    The others are for WebArena's files: ``sites`` (name to address) stands in for its placeholders, ``approximate``
    lets a comparison of words stand in for its judging model, ``logged_in`` says that the sites log the browser in by
    themselves, ``logins`` is the folder of the logins that tasks name. Raises BadSelection.
    """
    if path is None:
        return list(_shipped())
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise BadSelection(
            f"the task file {path} is no JSON (line {error.lineno}: {error.msg}); it must hold a list of tasks"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadSelection(f"the task file {path} cannot be read: {error}") from error
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise BadSelection(f"the task file {path} must hold a list of at least one task, each an object")
    read = partial(webarena.converted, sites=sites or {}, approximate=approximate, logged_in=logged_in, logins=logins)
    tasks = [_task(entry, f"{path}, task {number}", read) for number, entry in enumerate(entries)]
    if repeated := sorted({task.id for task in tasks if sum(task.id == other.id for other in tasks) > 1}):
        raise BadSelection(f"the task file {path} has the ids {', '.join(repeated)} more than once")
    return tasks


@cache
def _shipped() -> tuple[WebTask, ...]:
    return tuple(load_tasks(SHIPPED))


def types() -> tuple[str, ...]:
    """The types of the shipped tasks, in their order."""
    return tuple(dict.fromkeys(task.type for task in load_tasks()))


def _task(entry: webarena.Entry, where: str, read: Callable[[webarena.Entry, str], webarena.Entry]) -> WebTask:
    """The task of an entry; ``read`` translates one of WebArena's. Raises BadSelection."""
    try:
        return WebTask.model_validate(read(entry, where) if webarena.is_theirs(entry) else entry)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise BadSelection(f"{where} is no task: {faults}") from error


def to_task(task: WebTask) -> Task:
    """The task as the rest of planbook knows it; start and checks stay here."""
    return Task(id=task.id, env="web", split=task.kind, type=task.type, goal=task.goal, params=task.params)


def offered(tasks: Iterable[WebTask], ids: Sequence[str] = ()) -> list[WebTask]:
    """The tasks that can be judged here. Raises BadSelection where one that cannot is asked for by its id."""
    for task in (kept := list(tasks)):
        if task.unjudged and task.id in ids:
            raise BadSelection(f"web cannot judge the task {task.id!r}: {task.unjudged}")
    return [task for task in kept if not task.unjudged]


def placed(task: WebTask, sites: Mapping[str, str]) -> WebTask:
    """The task with the sites' addresses in place of their names in braces. Raises BadSelection for an unknown one."""

    def put(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: _address(match[1], task.id, sites), text)

    checks: list[Check] = []
    for check in task.checks:
        if isinstance(check, UrlCheck):
            check = check.model_copy(update={"any_of": tuple(map(put, check.any_of))})
        elif isinstance(check, PageCheck):
            check = check.model_copy(update={"url": put(check.url)})
        checks.append(check)
    tabs = tuple(map(put, task.more_tabs))
    return task.model_copy(update={"start": put(task.start), "more_tabs": tabs, "checks": tuple(checks)})


def _address(name: str, task_id: str, sites: Mapping[str, str]) -> str:
    if name not in sites:
        known = ", ".join(sorted(sites)) or "none"
        raise BadSelection(
            f"the task {task_id!r} needs the site {name!r}, whose address is not known (known: {known}); "
            f'give it with -o sites=\'{{"{name}": "http://..."}}\''
        )
    return sites[name].rstrip("/")
