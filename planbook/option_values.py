"""NAME=VALUE on the command line: read, and held against the model that says which options there are."""

import json
from collections.abc import Iterable

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from planbook.errors import BadArgument
from planbook.option_help import values_of

SAID = {"extra_forbidden": "there is no such option", "missing": "this has to be given"}
"""What is said of an option whose value is not what is wrong, by the validator's kind of error."""
IN_JSON = {
    "tuple_type": """{flag} '{name}=["ONE", "TWO"]'""",
    "list_type": """{flag} '{name}=["ONE", "TWO"]'""",
    "dict_type": """{flag} '{name}={{"NAME": "VALUE"}}'""",
}
"""How a value of several is written, by the validator's kind of error."""


def pairs(values: Iterable[str], flag: str) -> dict[str, JsonValue]:
    """NAME=VALUE pairs; a value that reads as JSON is taken as such, anything else as a string."""
    parsed: dict[str, JsonValue] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise BadArgument(f"{flag} {text}: write NAME=VALUE")
        try:
            parsed[name] = json.loads(value)
        except ValueError:
            parsed[name] = value
    return parsed


def validated(model: type[BaseModel], values: dict[str, JsonValue], flag: str) -> BaseModel:
    """The values as the model has them, defaults included. Raises BadArgument, which says all that is wrong."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        wrong = "; ".join(dict.fromkeys(_said(model, each, flag) for each in error.errors()))
        known = ", ".join(model.model_fields) or "none"
        told = wrong if known in wrong else f"{wrong}. The options there are: {known}"
        raise BadArgument(f"{flag}: {told}") from error


def _said(model: type[BaseModel], error: ErrorDetails, flag: str) -> str:
    """What is wrong with one option, and what to write instead."""
    name = ".".join(map(str, error["loc"]))
    if error["type"] == "value_error":  # words of our own
        return f"{name}: {error['ctx']['error']}" if name else str(error["ctx"]["error"])
    if error["type"] in SAID:
        return f"{name}: {SAID[error['type']]}"
    field = model.model_fields.get(str(error["loc"][0])) if error["loc"] else None
    if field is None:
        return f"{name}: {error['msg']}"
    takes = f"{name}: {json.dumps(error['input'], ensure_ascii=False)} does not fit; it takes {values_of(field)}"
    example = IN_JSON.get(error["type"])
    return f"{takes}, so write {example.format(flag=flag, name=name)}" if example else takes
