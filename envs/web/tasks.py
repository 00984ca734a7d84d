"""Tasks on web pages: the goal, the start address, and the checks at the end of the episode.

A task file is a JSON list of tasks. Each task has the form of ``WebTask`` or the form of the WebArena benchmark (see
``planbook.envs.web.webarena``). An address may contain the name of a site in braces, as in ``{trac}/wiki``.
``with_site_addresses`` replaces these names with the addresses of the sites.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal, get_args
from urllib.parse import urljoin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from planbook.envs.errors import BadSelection, validation_faults
from planbook.envs.types import Task
from planbook.envs.web import webarena

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?!\w)")
"""A number in an answer, such as ``-3``, ``1,200`` or ``4.50``."""


def _web_address(text: str) -> str:
    if not re.match(r"https?://[^/]|\{\w+\}|about:blank$", text):
        raise ValueError(f"{text!r} is not an address: begin with http://HOST or https://HOST")
    return text


def _site_address(text: str) -> str:
    if re.search(r"[{}]", text):
        raise ValueError(f"{text!r} is not the address of a site: it must not contain braces")
    return _web_address(text)


def _expected_address(text: str) -> str:
    return text if text.startswith("/") else _web_address(text)


Address = Annotated[str, AfterValidator(_web_address)]
"""An address that may begin with the name of a site in braces, such as ``{trac}/wiki``."""
SiteAddress = Annotated[str, AfterValidator(_site_address)]
"""The address of a site, which replaces the site's name in other addresses. It must not contain such names itself."""


class _FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AnswerCheck(_FrozenModel):
    """Checks the answer that the agent passed to ``stop``.

    Case, extra white space, and quotation marks around the answer do not matter. ``how`` is one of:

    - ``exact``: the answer must be equal to one of the values.
    - ``must_include``: every value must occur in the answer. A value may consist of alternatives, ``a |OR| b``.
    - ``numbers``: the numbers in the answer must be exactly the values, in any order. Words are ignored.
    - ``items``: the answer is split at commas, semicolons, line ends and "and". The parts must be exactly the values,
      in any order.
    """

    kind: Literal["answer"] = "answer"
    how: Literal["exact", "must_include", "numbers", "items"]
    values: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_numbers(self) -> "AnswerCheck":
        if self.how == "numbers" and not all(NUMBER.fullmatch(value) for value in self.values):
            raise ValueError(f"values must be numbers, not {', '.join(self.values)}")
        return self


class UrlCheck(_FrozenModel):
    """Checks the final address: the address of the current tab at the end of the episode.

    Different forms of the same address count as equal. Except with ``within``, an address that begins with / is on the
    site where the task starts. ``how`` is one of:

    - ``equal``: the final address must have the same page and the same query as one of ``any_of``.
    - ``including``: the final address must have the same page as one of ``any_of`` and all query parameters of that
      address, with the same values. It may have other parameters, too.
    - ``within``: WebArena's check "GOLD in PRED". The host and path of one of ``any_of`` must occur in the final
      address. For each parameter in the queries of ``any_of``, the final address must have one of the values that the
      parameter has in these queries.
    """

    kind: Literal["url"] = "url"
    how: Literal["equal", "including", "within"] = "equal"
    any_of: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_addresses(self) -> "UrlCheck":
        if self.how != "within":
            tuple(map(_expected_address, self.any_of))
        return self


class PageCheck(_FrozenModel):
    """Checks texts that must or must not be on the page at ``url``.

    If ``url`` is "last", the page is the one in the current tab at the end of the episode. A ``url`` that begins with /
    is on the site where the task starts.

    ``script`` (a JavaScript expression, as in WebArena's files) selects the text to compare. By default, this is the
    text of the whole page. If ``exact`` is given, the text must be equal to one of its values. A value may consist of
    alternatives, ``a |OR| b``.
    """

    kind: Literal["page"] = "page"
    url: str = "last"
    script: str = ""
    exact: tuple[str, ...] = ()
    must_include: tuple[str, ...] = ()
    must_exclude: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_texts(self) -> "PageCheck":
        if not (self.exact or self.must_include or self.must_exclude):
            raise ValueError("a page check needs exact, must_include or must_exclude")
        if self.url != "last":
            _expected_address(self.url)
        return self


class ServerCheck(_FrozenModel):
    """Checks that exactly the ``changes`` were made to the data of our own site.

    ``changes`` maps a key such as ``ticket/12/status`` or ``wiki/Roadmap`` (see ``sites.read_state``) to the value that
    it must have. None means that the value must have been removed.
    """

    kind: Literal["server"] = "server"
    changes: dict[str, str | None] = Field(min_length=1)


class UnachievableCheck(_FrozenModel):
    """Checks that the answer begins with ``N/A``, which says that the task is impossible."""

    kind: Literal["unachievable"] = "unachievable"


Check = AnswerCheck | UrlCheck | PageCheck | ServerCheck | UnachievableCheck


SHIPPED_FILE = Path(__file__).with_name("trac.json")
"""The task file that ships with planbook."""
Kind = Literal["look_up", "navigate", "edit", "backtrack", "loop", "unachievable"]
KINDS: tuple[str, ...] = get_args(Kind)
"""The kinds of tasks, by their demands on the agent. Each kind is also a split.

In ``backtrack`` tasks, the obvious path is wrong, so the agent has to go back.
"""
SPLITS = ("all", *KINDS)


class WebTask(BaseModel):
    """A task on web pages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    type: str
    kind: Kind
    goal: str
    start: Address
    more_tabs: tuple[Address, ...] = ()
    """Addresses that are opened in additional tabs, after ``start``."""
    site: Literal["", "trac"] = ""
    """The name of our own site if the task uses it, or "". The site is reset before the task begins."""
    params: dict[str, JsonValue] = Field(default_factory=dict)
    """The parts of the goal as data, for plans. They reveal nothing that the agent has to find out."""
    checks: tuple[Annotated[Check, Field(discriminator="kind")], ...] = ()
    unjudgeable: str = ""
    """The reason why the task cannot be judged here, or "". A task that cannot be judged is left out."""
    login: Path | None = None
    """A file with the login that the browser needs, if any (see ``planbook.envs.web.webarena``)."""

    @model_validator(mode="after")
    def _check_site(self) -> "WebTask":
        if not self.site and any(isinstance(check, ServerCheck) for check in self.checks):
            raise ValueError('a server check needs our own site: add "site": "trac"')
        return self


def load_tasks(
    path: Path | None = None, sites: Mapping[str, str] | None = None, logins: Path | None = None
) -> list[WebTask]:
    """Return the tasks of a file in the file's order. If ``path`` is None, read the file that ships with planbook.

    The other arguments are for WebArena's files. ``sites`` maps the name of each site to the address that replaces its
    placeholder. ``logins`` is the folder with the login files that tasks name. Raises BadSelection if the file cannot
    be read or is not a task file.
    """
    if path is None:
        return list(_shipped())
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise BadSelection(
            f"the task file {path} is not JSON (line {error.lineno}: {error.msg}); it must contain a list of tasks"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadSelection(f"the task file {path} cannot be read: {error}") from error
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise BadSelection(f"the task file {path} must contain a list of at least one task, each of them an object")
    convert = partial(webarena.convert_task, sites=sites or {}, logins=logins)
    tasks = [_task(entry, f"{path}, task {number}", convert) for number, entry in enumerate(entries, 1)]
    if repeated := sorted(task_id for task_id, count in Counter(task.id for task in tasks).items() if count > 1):
        raise BadSelection(f"the task file {path} gives the same id to several tasks: {', '.join(repeated)}")
    return tasks


@cache
def _shipped() -> tuple[WebTask, ...]:
    return tuple(load_tasks(SHIPPED_FILE))


def types_of(tasks: Sequence[WebTask]) -> tuple[str, ...]:
    """Return the types of the tasks, in the order in which they first occur."""
    return tuple(dict.fromkeys(task.type for task in tasks))


def _task(entry: webarena.Entry, location: str, convert: Callable[[webarena.Entry, str], webarena.Entry]) -> WebTask:
    """Return the task that an entry of a task file describes. Raises BadSelection if the entry is not a task.

    Error messages use ``location`` to say where the entry is. ``convert`` turns an entry in WebArena's form into ours.
    """
    try:
        return WebTask.model_validate(convert(entry, location) if {"intent", "eval"} <= entry.keys() else entry)
    except ValidationError as error:
        raise BadSelection(f"{location} is not a task: {'; '.join(validation_faults(error))}") from error


def to_task(task: WebTask) -> Task:
    """Return the task in the form that all environments share, without the start address and the checks."""
    return Task(id=task.id, env="web", split=task.kind, type=task.type, goal=task.goal, params=task.params)


def judgeable(tasks: Sequence[WebTask], ids: Sequence[str] = ()) -> list[WebTask]:
    """Return the tasks that can be judged here. Raises BadSelection if a task in ``ids`` cannot be judged."""
    for task in tasks:
        if task.unjudgeable and task.id in ids:
            raise BadSelection(f"web cannot judge the task {task.id!r}: {task.unjudgeable}")
    return [task for task in tasks if not task.unjudgeable]


def with_site_addresses(task: WebTask, sites: Mapping[str, str]) -> WebTask:
    """Return a copy of the task in which addresses replace the names of sites in braces.

    In checks other than ``within``, an address that begins with / is on the site where the task starts. Raises
    BadSelection if the address of a site is unknown.
    """

    def fill_in(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: _site_url(match[1], task.id, sites), text)

    start = fill_in(task.start)

    def resolve(text: str) -> str:
        url = fill_in(text)
        return urljoin(start, url) if url.startswith("/") else url

    checks: list[Check] = []
    for check in task.checks:
        if isinstance(check, UrlCheck):
            replace = fill_in if check.how == "within" else resolve
            check = check.model_copy(update={"any_of": tuple(map(replace, check.any_of))})
        elif isinstance(check, PageCheck):
            check = check.model_copy(update={"url": resolve(check.url)})
        checks.append(check)
    tabs = tuple(map(fill_in, task.more_tabs))
    return task.model_copy(update={"start": start, "more_tabs": tabs, "checks": tuple(checks)})


def _site_url(name: str, task_id: str, sites: Mapping[str, str]) -> str:
    if name not in sites:
        known = ", ".join(sorted(sites)) or "none"
        raise BadSelection(
            f"the task {task_id!r} needs the site {name!r}, whose address is unknown (known: {known}); "
            f'give it with -o sites=\'{{"{name}": "http://..."}}\''
        )
    return sites[name].rstrip("/")
