"""Look-ups: ``$db.subgoals.first$`` in a prompt stands for what the database holds there.

Only the text that the graph's author wrote is searched, and only once: a value or an answer that itself contains
``$db.secret$`` is put in as it is.
"""

import json
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import NamedTuple

from pydantic import JsonValue

from planbook.planner.errors import GraphError

DATABASE = "db"
"""The name under which look-ups and conditions find the database."""
SEGMENT = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
PATH = re.compile(rf"{SEGMENT}(?:\.{SEGMENT})*")
_LOOK_UP = re.compile(rf"\$(?P<name>[A-Za-z_]\w*)(?P<path>(?:\.{SEGMENT})*)(?:\|(?P<otherwise>[^$\n]*))?\$")
_UNCLOSED = re.compile(r"\$(?P<name>[A-Za-z_]\w*)\b[^\s$]*")


class LookUp(NamedTuple):
    """One look-up of a text: the name (``db``, or that of a loop's item), the path below it, and what stands else."""

    name: str
    path: str
    otherwise: str | None
    text: str
    """As it was written."""


Find = Callable[[LookUp], str]


def look_ups(text: str, names: Iterable[str]) -> list[LookUp]:
    """Those of a text, in order; what begins with none of the names is no look-up."""
    known = set(names)
    return [found for found in map(_read, _LOOK_UP.finditer(text)) if found.name in known]


def unclosed(text: str, names: Iterable[str]) -> list[str]:
    """What begins like a look-up and is none, such as ``$db.plan`` without the second ``$``."""
    known = set(names)
    rest = _LOOK_UP.sub(lambda match: "" if match["name"] in known else match[0], text)
    return [match[0] for match in _UNCLOSED.finditer(rest) if match["name"] in known]


def unknown(text: str, names: Iterable[str]) -> list[LookUp]:
    """What is written like a look-up and begins with none of the names: it may well be meant as it stands."""
    known = set(names)
    return [found for found in map(_read, _LOOK_UP.finditer(text)) if found.name not in known]


def fill(text: str, names: Iterable[str], find: Find) -> str:
    """The text with every look-up replaced, once: what is put in is not searched again."""
    known = set(names)
    return _LOOK_UP.sub(lambda match: find(_read(match)) if match["name"] in known else match[0], text)


def told(value: JsonValue) -> str:
    """How a value stands in a prompt: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def at(value: JsonValue, path: str) -> JsonValue:
    """The part of a value at a dotted path; items of lists by number. Raises KeyError with the part that is missing."""
    for segment in filter(None, path.split(".")):
        if isinstance(value, dict) and segment in value:
            value = value[segment]
        elif isinstance(value, list) and segment.isdecimal() and int(segment) < len(value):
            value = value[int(segment)]
        else:
            raise KeyError(segment)
    return value


def paths_of(value: JsonValue, before: str = "") -> list[str]:
    """Every path of a value, parents first."""
    inner = value.items() if isinstance(value, dict) else ()
    found: list[str] = []
    for key, each in inner:
        path = f"{before}.{key}" if before else key
        found += [path, *paths_of(each, path)]
    return found


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: ``; did you mean "plan"?`` where something known is alike, else a full stop."""
    alike = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f'; did you mean "{alike[0]}"?' if alike else "."


def checked_path(path: str) -> str:
    """The path. Raises GraphError for what is none."""
    if not PATH.fullmatch(path):
        raise GraphError(f"{path!r} is no path of the database; write names with dots between them, such as plan.goal")
    return path


def _read(match: re.Match[str]) -> LookUp:
    return LookUp(match["name"], match["path"].removeprefix("."), match["otherwise"], match[0])
