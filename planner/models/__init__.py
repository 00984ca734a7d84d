"""Load a language model by its name, such as ``openai:gpt-4o-mini``. The command line uses these names.

- ``types``: the protocol ``Model``, with its messages, sampling parameters, replies, tokens and prices.
- ``stand_ins``: stand-ins for language models. Their replies come from a function, a list, or files that people write.
- ``openai_api``: models behind a server that speaks OpenAI's API for chat completions. Import this module only when it
  is needed, because importing OpenAI's SDK takes most of a second.
- ``openai_replies``: read the replies and the failures of a server that speaks OpenAI's API.
- ``waiting``: wait for a server until it answers or the user stops the run.
- ``recordings``: models that replay recorded replies, or record new ones.
"""

import inspect
import re
from pathlib import Path

from planbook.planner.errors import UnknownModel
from planbook.planner.models.types import Model
from planbook.planner.models.waiting import DEFAULT_TIMEOUTS, IsStopped, Timeouts, never_stopped

MODEL_FORMS = {
    "openai:NAME": "a model from OpenAI, or from the server at OPENAI_BASE_URL",
    "recorded:FILE": "answers from a recording",
    "recorded:FILE+MODEL": "the same; MODEL answers prompts without a recorded reply, and its replies are recorded",
    "exchange:DIR": "prompts are written to files, answers are read from files",
    "scripted:FILE.py:NAME": "your own function (messages, sampling) -> str, or a list of replies",
}
_FILE_AND_INNER = re.compile(r"(?P<file>.+?)\+(?P<inner>[a-z]+:.*|none)", re.DOTALL)
OBJECT_PREFIX = "object:"
"""Prefix of the names of models that are Python objects. Such a model exists only in the process that created it."""
_REGISTERED_MODELS: dict[str, Model] = {}


def register_model(model: Model) -> str:
    """Make a model known to ``load_model`` in this process, and return its full name.

    The full name is ``object:``, followed by the model's ``name`` or, if it has none, by the name of its class. Raises
    UnknownModel if the model's method ``complete`` has the wrong parameters.
    """
    base = getattr(model, "name", "") or type(model).__name__
    try:
        for arguments in (2, 3):  # without and with on_text
            inspect.signature(model.complete).bind(*[None] * arguments)
    except TypeError as error:
        raise UnknownModel(
            f"the model {base} cannot be asked: {error}. Give it the method "
            "complete(self, messages, sampling, on_text=None) -> Reply"
        ) from error
    name = base if base.startswith(OBJECT_PREFIX) else f"{OBJECT_PREFIX}{base}"
    _REGISTERED_MODELS[name] = model
    return name


def load_model(spec: str, *, stopped: IsStopped = never_stopped, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> Model:
    """Return the model with this full name, which has one of the ``MODEL_FORMS``.

    A model calls ``stopped`` while it waits. ``timeouts`` apply to a model behind a server. Raises UnknownModel if
    there is no model with this name, or ModelRefused if the key or the URL of its server cannot be used.
    """
    kind, colon, argument = spec.partition(":")
    if spec in _REGISTERED_MODELS:
        return _REGISTERED_MODELS[spec]
    if spec.startswith(OBJECT_PREFIX):
        raise UnknownModel(f"{spec} was an object of the Python process that began the run; pass it again as model=")
    if spec == "none":
        raise UnknownModel(
            f"none is not a model; it is for planners that need no model, such as procedures. {_list_forms()}"
        )
    if kind not in ("openai", "recorded", "exchange", "scripted") or not colon:
        raise UnknownModel(f"no model is called {spec!r}. {_list_forms()}")
    if not argument:
        raise UnknownModel(f"{spec!r} does not name a model. {_list_forms()}")
    if kind == "openai":
        from planbook.planner.models.openai_api import OpenAIModel  # importing the SDK takes most of a second

        return OpenAIModel(argument, stopped=stopped, timeouts=timeouts)
    from planbook.planner.models.stand_ins import ExchangeModel, load_script  # needed only by these models

    if kind == "exchange":
        if Path(argument).is_file():
            raise UnknownModel(f"{spec} needs a folder, but {argument} is a file")
        return ExchangeModel(argument, stopped=stopped)
    return _recorded_model(argument, stopped, timeouts) if kind == "recorded" else load_script(argument)


def _list_forms() -> str:
    return "A model is one of: " + "; ".join(f"{form} ({meaning})" for form, meaning in MODEL_FORMS.items())


def _recorded_model(recording: str, stopped: IsStopped, timeouts: Timeouts) -> Model:
    from planbook.planner.models.recordings import RecordedModel

    match = _FILE_AND_INNER.fullmatch(recording)
    if match:
        return RecordedModel(match["file"], load_model(match["inner"], stopped=stopped, timeouts=timeouts))
    if not Path(recording).is_file():
        raise UnknownModel(
            f"there is no recording {recording}; to make one, name the model to be recorded: recorded:{recording}+MODEL"
        )
    return RecordedModel(recording)
