"""Task files of the WebArena benchmark (Zhou et al., 2024), and the logins that its tasks need.

A task file is a list of objects with the keys ``intent``, ``start_url`` and ``eval``. A login is a file with cookies
and local storage, which Playwright calls a storage state. WebArena's program ``auto_login.py`` writes one login for
each site.

The published tasks use six sites, which users have to run themselves. In a task file, placeholders such as
``__SHOPPING__`` and ``__REDDIT__`` are replaced with the addresses of these sites.

Some tasks cannot be judged here. They are left out, and their field ``unjudgeable`` gives the reason. Of the 812
published tasks, these are 161:

- 82 tasks with ``fuzzy_match``, which a language model judges in the original
- 79 tasks with ``func:`` in addresses or locators, which calls Python functions of the original

Tasks that begin logged in (``storage_state``) are left out, too, unless the folder ``logins`` has the file that they
name.

If the expected answer is "N/A", the agent's answer must begin with "N/A". The original also accepts an answer that only
gives a reason, if its model considers the reason right. Prompts, actions and waiting times are our own, not WebArena's.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue, ValidationError

from planbook.envs.errors import BadSelection, EnvironmentBroken, validation_faults
from planbook.envs.web.context import BrowserContext
from planbook.envs.web.tabs import WebTab

SITES = {
    "__SHOPPING_ADMIN__": "shopping_admin",
    "__SHOPPING__": "shopping",
    "__REDDIT__": "reddit",
    "__GITLAB__": "gitlab",
    "__MAP__": "map",
    "__WIKIPEDIA__": "wikipedia",
    "__HOMEPAGE__": "homepage",
}
"""Maps each placeholder to the name of its site in the option ``sites``."""
WHOLE_PAGE = "document.documentElement.outerHTML"
"""A JavaScript expression for the HTML of a page."""
Entry = dict[str, JsonValue]
"""A JSON object, such as a task of a task file."""


class UnsupportedCheck(Exception):
    """A task has a check that cannot be carried out here. The message is the reason."""


class _PageTarget(BaseModel):
    url: str
    locator: str = ""
    prep_actions: tuple[str, ...] = ()
    required_contents: dict[str, str | tuple[str, ...]] = Field(min_length=1)


class _Eval(BaseModel):
    eval_types: tuple[str, ...] = Field(min_length=1)
    reference_answers: dict[str, str | tuple[str, ...]] | None = None
    reference_url: str | None = None
    url_note: str = "GOLD in PRED"
    program_html: tuple[_PageTarget, ...] | None = None


class _WebArenaTask(BaseModel):
    task_id: int | str
    intent: str
    start_url: str
    storage_state: str | None = None
    eval: _Eval


def convert_task(entry: Entry, location: str, sites: Mapping[str, str], logins: Path | None = None) -> Entry:
    """Return a WebArena task in the form of ``WebTask``. Error messages use ``location`` to say where the entry is.

    Raises BadSelection if the entry is not in WebArena's form, or if the address of its site is unknown.
    """
    entry = json.loads(_with_sites(json.dumps(entry), location, sites))
    try:
        task = _WebArenaTask.model_validate(entry)
    except ValidationError as error:
        faults = "; ".join(validation_faults(error))
        raise BadSelection(f"{location} is not in WebArena's format: {faults}") from error
    checks: list[JsonValue] = []
    login = logins / Path(task.storage_state).name if task.storage_state and logins else None
    unjudgeable = ""
    if login and not login.is_file():
        unjudgeable = f"it begins logged in, and there is no {login}; write it with WebArena's auto_login"
    elif task.storage_state and not login:
        unjudgeable = "it begins logged in; name the folder of the logins with -o logins=FOLDER"
    try:
        checks.extend(check for kind in task.eval.eval_types for check in _checks(kind, task.eval))
    except UnsupportedCheck as reason:
        unjudgeable = str(reason)
    start, *more_tabs = task.start_url.split(" |AND| ")
    kind = _kind(task.eval)
    return {
        "id": f"webarena/{task.task_id}",
        "type": kind,
        "kind": kind,
        "goal": task.intent,
        "start": start,
        "more_tabs": list(more_tabs),
        "checks": [] if unjudgeable else checks,
        "unjudgeable": unjudgeable,
        "login": str(login) if login else None,
    }


def _with_sites(text: str, location: str, sites: Mapping[str, str]) -> str:
    for placeholder, name in SITES.items():
        if placeholder in text and name not in sites:
            raise BadSelection(
                f"{location} uses WebArena's site {name!r}, which you have to run yourself; "
                f'give its address with -o sites=\'{{"{name}": "http://..."}}\''
            )
        text = text.replace(placeholder, sites.get(name, "").rstrip("/"))
    return text


def _kind(evaluation: _Eval) -> str:
    """Return the kind of a task, derived from its checks, since WebArena's files do not state it."""
    if "program_html" in evaluation.eval_types:
        return "edit"
    if "url_match" in evaluation.eval_types:
        return "navigate"
    return "unachievable" if (evaluation.reference_answers or {}).get("fuzzy_match") == "N/A" else "look_up"


def _checks(eval_type: str, evaluation: _Eval) -> list[JsonValue]:
    if eval_type not in _CHECK_READERS:
        known = ", ".join(_CHECK_READERS)
        raise UnsupportedCheck(f"its eval type {eval_type!r} is unknown; the known types are {known}")
    checks = _CHECK_READERS[eval_type](evaluation)
    if not checks:
        raise UnsupportedCheck(f"its eval type {eval_type!r} has nothing to check")
    return checks


def _answer_checks(evaluation: _Eval) -> list[JsonValue]:
    checks: list[JsonValue] = []
    for how, value in (evaluation.reference_answers or {}).items():
        if how == "fuzzy_match" and value == "N/A":
            checks.append({"kind": "unachievable"})
            continue
        if how == "fuzzy_match":
            raise UnsupportedCheck("fuzzy_match is judged by a language model in the original, and there is none here")
        if how not in _ANSWER_COMPARISONS:
            raise UnsupportedCheck(f"its answer is compared by {how!r}, which is unknown")
        checks.append({"kind": "answer", "how": _ANSWER_COMPARISONS[how], "values": _as_list(value)})
    return checks


_ANSWER_COMPARISONS = {"exact_match": "exact", "must_include": "must_include"}
"""Maps WebArena's name for a comparison to our name for it, a value of ``AnswerCheck.how``."""


def _url_checks(evaluation: _Eval) -> list[JsonValue]:
    comparisons = {"GOLD in PRED": "within", "EXACT": "equal"}
    if evaluation.url_note not in comparisons:
        raise UnsupportedCheck(f"its address is compared by {evaluation.url_note!r}, which is unknown")
    if not evaluation.reference_url:
        return []
    addresses: list[JsonValue] = [*evaluation.reference_url.split(" |OR| ")]
    return [{"kind": "url", "how": comparisons[evaluation.url_note], "any_of": addresses}]


def _page_check(target: _PageTarget) -> JsonValue:
    comparisons = {"exact_match": "exact", "must_include": "must_include", "must_exclude": "must_exclude"}
    for text in (target.url, target.locator):
        if text.startswith("func:"):
            raise UnsupportedCheck(f"it calls a Python function of the original: {text}")
    if unknown := sorted(target.required_contents.keys() - comparisons.keys()):
        raise UnsupportedCheck(f"a page's content is compared by {', '.join(unknown)}, which is unknown")
    contents: Entry = {comparisons[how]: _as_list(value) for how, value in target.required_contents.items()}
    return {"kind": "page", "url": target.url, "script": _script(target)} | contents


def _script(target: _PageTarget) -> str:
    """Return a JavaScript expression for the text that the target's locator finds.

    The expression first runs the target's ``prep_actions``, which prepare the page, and ignores their errors.
    """
    locator = target.locator.strip()
    if locator and not re.match(r"(\[\.\.\.)?document\.", locator):
        raise UnsupportedCheck(f"its locator is neither JavaScript on the document nor empty: {locator}")
    preparation = "".join(f"{action};" for action in target.prep_actions)
    return f"(() => {{ try {{ {preparation} }} catch {{}} return String(({locator or WHOLE_PAGE}) ?? ''); }})()"


def _as_list(value: str | Sequence[str]) -> list[JsonValue]:
    return [value] if isinstance(value, str) else list(value)


_CHECK_READERS: Mapping[str, Callable[[_Eval], list[JsonValue]]] = {
    "string_match": _answer_checks,
    "url_match": _url_checks,
    "program_html": lambda evaluation: list(map(_page_check, evaluation.program_html or ())),
}
"""Maps each eval type of WebArena to the function that returns the checks for this type."""


class _StoredItem(BaseModel):
    name: str
    value: str


class _StoredOrigin(BaseModel):
    origin: str
    items: Annotated[tuple[_StoredItem, ...], Field(alias="localStorage")] = ()


class _Cookie(BaseModel):
    """A cookie of a login. Other keys, which newer versions of Playwright write, are ignored."""

    name: str
    value: str
    domain: str | None = None
    path: str | None = None
    expires: float | None = None
    http_only: Annotated[bool | None, Field(alias="httpOnly")] = None
    secure: bool | None = None
    same_site: Annotated[str | None, Field(alias="sameSite")] = None


class Login(BaseModel):
    """The content of a login file."""

    cookies: tuple[_Cookie, ...] = ()
    origins: tuple[_StoredOrigin, ...] = ()


def _to_devtools(cookie: _Cookie) -> Entry:
    """Return the cookie in the form that DevTools expects.

    The ``expires`` of a session cookie, -1 or 0, is left out. Playwright writes "None" for a cookie without
    ``sameSite``. Chromium silently ignores a cookie with "None" that is not ``secure``, so "None" is then left out.
    """
    entry = cookie.model_dump(by_alias=True, exclude_none=True)
    if cookie.expires is not None and cookie.expires <= 0:
        del entry["expires"]
    if cookie.same_site == "None" and not cookie.secure:
        del entry["sameSite"]
    return entry


def read_login(path: Path) -> Login:
    """Return the login that a file contains. Raises BadSelection if the file cannot be read or is not a login."""
    try:
        return Login.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadSelection(f"the login {path} cannot be read: {error.strerror}; log in again and write it") from error
    except ValidationError as error:
        fault = validation_faults(error, "the file")[0]
        raise BadSelection(f"{path} is not a login ({fault}); it must be a Playwright storage state") from error


def log_in(context: BrowserContext, login: Login) -> None:
    """Set the login's cookies and local storage. Raises EnvironmentBroken if a site does not open."""
    context.set_cookies([_to_devtools(cookie) for cookie in login.cookies])
    for origin in login.origins:
        tab = WebTab(context, context.open_tab(hidden=True))
        if reason := tab.load(origin.origin):
            raise EnvironmentBroken(f"the login is for {origin.origin}, which cannot be opened: {reason}")
        for item in origin.items:
            tab.evaluate(f"localStorage.setItem({json.dumps(item.name)}, {json.dumps(item.value)})")
        context.close_tab(tab.target)
