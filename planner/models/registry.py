"""Load a model by its name on the command line."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planbook.envs import CannotLoad, execute_module
from planbook.planner.errors import UnknownModel
from planbook.planner.models.answers import ExchangeModel, ScriptedModel
from planbook.planner.models.recordings import RecordedModel
from planbook.planner.models.types import Model
from planbook.planner.models.waiting import USUAL_TIMEOUTS, Stopped, Timeouts, never_stopped

FORMS = {
    "openai:NAME": "a model of OpenAI's, or of the server at OPENAI_BASE_URL",
    "recorded:FILE": "answers from a recording",
    "recorded:FILE+MODEL": "the same, and MODEL answers and is recorded where it has none",
    "exchange:DIR": "prompts written as files, answers read as files",
    "scripted:FILE.py:NAME": "a function (messages, sampling) -> str of yours, or a list of replies",
}
_INNER = re.compile(r"(?P<file>.+?)\+(?P<inner>[a-z]+:.*|none)", re.DOTALL)


OBJECT = "object:"
"""Prefix of the name of a model that exists in one process only."""
_OBJECTS: dict[str, Model] = {}


def register_model(model: Model) -> str:
    """Return a name by which a model loads in this process: ``object:NAME``, where NAME is its name or class."""
    base = getattr(model, "name", "") or type(model).__name__
    name = base if base.startswith(OBJECT) else f"{OBJECT}{base}"
    _OBJECTS[name] = model
    return name


def load_model(spec: str, *, stopped: Stopped = never_stopped, timeouts: Timeouts = USUAL_TIMEOUTS) -> Model:
    """Return the model with that full name; see FORMS. Raises UnknownModel; ModelRefused if a server's key is missing.

    A model checks ``stopped`` while it waits; a model behind a server applies ``timeouts``.
    """
    kind, colon, rest = spec.partition(":")
    if spec in _OBJECTS:
        return _OBJECTS[spec]
    if spec.startswith(OBJECT):
        raise UnknownModel(f"{spec} was an object of the Python process that began the run; pass it again as model=")
    if spec == "none":
        raise UnknownModel(f"none is not a model; it is for planners that need none, such as procedures. {_forms()}")
    if kind not in _KINDS or not colon:
        raise UnknownModel(f"no model is called {spec!r}. {_forms()}")
    if not rest:
        raise UnknownModel(f"{spec!r} does not name one. {_forms()}")
    return _KINDS[kind](rest, stopped, timeouts)


def _forms() -> str:
    return "A model is one of: " + "; ".join(f"{form} ({meaning})" for form, meaning in FORMS.items())


def _openai(rest: str, stopped: Stopped, timeouts: Timeouts) -> Model:
    from planbook.planner.models.openai_api import OpenAIModel  # the SDK takes most of a second to import

    return OpenAIModel(rest, stopped=stopped, timeouts=timeouts)


def _exchange(rest: str, stopped: Stopped, timeouts: Timeouts) -> Model:
    if Path(rest).exists() and not Path(rest).is_dir():
        raise UnknownModel(f"exchange:{rest} needs a folder, and {rest} is a file")
    return ExchangeModel(rest, stopped=stopped)


def _recorded(rest: str, stopped: Stopped, timeouts: Timeouts) -> Model:
    match = _INNER.fullmatch(rest)
    if match:
        return RecordedModel(match["file"], load_model(match["inner"], stopped=stopped, timeouts=timeouts))
    if not Path(rest).is_file():
        raise UnknownModel(
            f"there is no recording {rest}; to make one, name the model to be recorded: recorded:{rest}+MODEL"
        )
    return RecordedModel(rest)


def _scripted(rest: str, stopped: Stopped, timeouts: Timeouts) -> Model:
    file, _, name = rest.rpartition(":")
    if not file.endswith(".py") or not name:
        raise UnknownModel(f"scripted:{rest} does not name a function in a file: write scripted:FILE.py:NAME")
    try:
        module = execute_module(Path(file))
    except CannotLoad as error:
        raise UnknownModel(str(error)) from error
    return ScriptedModel(_script(vars(module).get(name), file, name), name=f"scripted:{rest}")


def _script(member: Any, file: str, name: str) -> Any:
    if callable(member) or (isinstance(member, list | tuple) and all(isinstance(text, str) for text in member)):
        return member
    expected = "a function (messages, sampling) -> str, or a list of str"
    if member is None:
        raise UnknownModel(f"{file} defines no {name}; it must be {expected}")
    raise UnknownModel(f"{name} in {file} is a {type(member).__name__}; it must be {expected}")


_KINDS: dict[str, Callable[[str, Stopped, Timeouts], Model]] = {
    "openai": _openai,
    "recorded": _recorded,
    "exchange": _exchange,
    "scripted": _scripted,
}
