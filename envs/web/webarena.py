"""WebArena's task files (Zhou et al., 2024): a list of objects with ``intent``, ``start_url`` and ``eval``.

Users run the six sites of the published tasks themselves; their addresses replace the placeholders ``__SHOPPING__``,
``__REDDIT__`` and so on. A task whose original check cannot be made here is never counted as solved: it keeps the
reason in ``unjudged`` and is not offered. This concerns

- ``fuzzy_match``, which the original lets a language model judge. With ``approximate``, a comparison of words replaces
  the model (``planbook.envs.web.judging.fuzzy``); such figures cannot be compared with published ones.
- ``func:`` in addresses and locators: Python functions of the original that query its sites' interfaces.
- tasks that begin logged in (``storage_state``), unless ``logins`` is a folder with the file that they name, or
  ``logged_in`` says that the sites log the browser in by themselves.

An expected "N/A" is met by an answer that begins with it; the original also accepts a reason alone if its model finds
it the same. Prompts, actions and waiting times are this environment's own.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from planbook.envs.errors import BadSelection

SITES = {
    "__SHOPPING_ADMIN__": "shopping_admin",
    "__SHOPPING__": "shopping",
    "__REDDIT__": "reddit",
    "__GITLAB__": "gitlab",
    "__MAP__": "map",
    "__WIKIPEDIA__": "wikipedia",
    "__HOMEPAGE__": "homepage",
}
"""Placeholder to the name under which the user gives the address."""
WHOLE_PAGE = "document.documentElement.outerHTML"
Entry = dict[str, JsonValue]


class Unjudged(Exception):
    """The reason why a task's checks cannot be made here."""


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


class _Theirs(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    task_id: int | str
    intent: str
    start_url: str
    storage_state: str | None = None
    eval: _Eval


def is_theirs(entry: Mapping[str, JsonValue]) -> bool:
    """Return whether an object of a task file is one of WebArena's tasks."""
    return "intent" in entry and "eval" in entry


def converted(
    entry: Entry,
    where: str,
    sites: Mapping[str, str],
    *,
    approximate: bool = False,
    logged_in: bool = False,
    logins: Path | None = None,
) -> Entry:
    """Return the task as ``WebTask`` has it. ``where`` is for messages. Raises BadSelection."""
    entry = json.loads(_with_sites(json.dumps(entry), where, sites))
    try:
        theirs = _Theirs.model_validate(entry)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise BadSelection(f"{where} is not in WebArena's format: {faults}") from error
    checks: list[JsonValue] = []
    login = logins / Path(theirs.storage_state).name if theirs.storage_state and logins else None
    unjudged = ""
    if login and not login.is_file():
        unjudged = f"it begins logged in, and there is no {login}; write it with WebArena's auto_login"
    elif theirs.storage_state and not login and not logged_in:
        unjudged = (
            "it begins logged in; name the folder of the logins with -o logins=FOLDER, or let the site log the browser "
            "in by itself and say -o logged_in=true"
        )
    try:
        checks.extend(check for kind in theirs.eval.eval_types for check in _checks(kind, theirs.eval, approximate))
    except Unjudged as reason:
        unjudged = str(reason)
    start, *more = theirs.start_url.split(" |AND| ")
    kind = _kind(theirs.eval)
    return {
        "id": f"webarena/{theirs.task_id}",
        "type": kind,
        "kind": kind,
        "goal": theirs.intent,
        "start": start,
        "more_tabs": list(more),
        "checks": [] if unjudged else checks,
        "unjudged": unjudged,
        "login": str(login) if login else None,
    }


def _with_sites(text: str, where: str, sites: Mapping[str, str]) -> str:
    for placeholder, name in SITES.items():
        if placeholder in text and name not in sites:
            raise BadSelection(
                f"{where} is about WebArena's site {name!r}, which you have to run yourself; "
                f'give its address with -o sites=\'{{"{name}": "http://..."}}\''
            )
        text = text.replace(placeholder, sites.get(name, "").rstrip("/"))
    return text


def _kind(evaluation: _Eval) -> str:
    """Return the kind of a task, derived from its checks: the files do not name it."""
    if "program_html" in evaluation.eval_types:
        return "edit"
    if "url_match" in evaluation.eval_types:
        return "navigate"
    return "unachievable" if (evaluation.reference_answers or {}).get("fuzzy_match") == "N/A" else "look_up"


def _checks(eval_type: str, evaluation: _Eval, approximate: bool) -> list[JsonValue]:
    if eval_type not in _READERS:
        raise Unjudged(f"its eval type {eval_type!r} is unknown; known are {', '.join(_READERS)}")
    checks = _READERS[eval_type](evaluation, approximate)
    if not checks:
        raise Unjudged(f"its eval type {eval_type!r} says nothing that could be checked")
    return checks


def _answer_checks(evaluation: _Eval, approximate: bool) -> list[JsonValue]:
    checks: list[JsonValue] = []
    for how, value in (evaluation.reference_answers or {}).items():
        if how == "fuzzy_match" and value == "N/A":
            checks.append({"kind": "unachievable"})
            continue
        if how == "fuzzy_match" and not approximate:
            raise Unjudged(
                "fuzzy_match is judged by a language model in the original; "
                "-o approximate=true lets a comparison of words stand in for it"
            )
        if how not in _HOW:
            raise Unjudged(f"its answer is compared by {how!r}, which is unknown")
        checks.append({"kind": "answer", "how": _HOW[how], "values": _listed(value)})
    return checks


_HOW = {"exact_match": "exact", "must_include": "must_include", "fuzzy_match": "fuzzy"}


def _url_checks(evaluation: _Eval, approximate: bool) -> list[JsonValue]:
    rules = {"GOLD in PRED": "within", "EXACT": "equal"}
    if evaluation.url_note not in rules:
        raise Unjudged(f"its address is compared by {evaluation.url_note!r}, which is unknown")
    if not evaluation.reference_url:
        return []
    return [{"kind": "url", "how": rules[evaluation.url_note], "any_of": _listed(evaluation.reference_url, " |OR| ")}]


def _page_checks(evaluation: _Eval, approximate: bool) -> list[JsonValue]:
    return [_page_check(target) for target in evaluation.program_html or ()]


def _page_check(target: _PageTarget) -> JsonValue:
    required = {"exact_match": "exact", "must_include": "must_include", "must_exclude": "must_exclude"}
    for text in (target.url, target.locator):
        if text.startswith("func:"):
            raise Unjudged(f"it calls a Python function of the original: {text}")
    if unknown := sorted(target.required_contents.keys() - required.keys()):
        raise Unjudged(f"a page's content is compared by {', '.join(unknown)}, which is unknown")
    contents: Entry = {required[how]: _listed(value) for how, value in target.required_contents.items()}
    return {"kind": "page", "url": target.url, "script": _script(target)} | contents


def _script(target: _PageTarget) -> str:
    """Return the locator as an expression that gives a text; preparing actions run before it, and may fail."""
    locator = target.locator.strip()
    if locator and not re.match(r"(\[\.\.\.)?document\.", locator):
        raise Unjudged(f"its locator is neither JavaScript on the document nor empty: {locator}")
    prepared = "".join(f"{action};" for action in target.prep_actions)
    return f"(() => {{ try {{ {prepared} }} catch {{}} return String(({locator or WHOLE_PAGE}) ?? ''); }})()"


def _listed(value: str | Sequence[str], separator: str = "") -> list[JsonValue]:
    if isinstance(value, str):
        return list(value.split(separator)) if separator else [value]
    return list(value)


_READERS: Mapping[str, Callable[[_Eval, bool], list[JsonValue]]] = {
    "string_match": _answer_checks,
    "url_match": _url_checks,
    "program_html": _page_checks,
}
