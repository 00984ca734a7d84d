"""What a session starts with, checked and put into the message that opens it."""

from collections.abc import Callable, Collection, Mapping
from hashlib import sha512

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

from planbook.sandbox.errors import BadFunction
from planbook.sandbox.functions import FunctionSpec, check_name
from planbook.sandbox.protocol import MAX_FROM_HOST


def specs(functions: Mapping[str, Callable[..., object]]) -> dict[str, FunctionSpec]:
    """A FunctionSpec for each function. Raises BadFunction."""
    return {name: FunctionSpec.of(name, function) for name, function in functions.items()}


def message(
    specs: Mapping[str, FunctionSpec],
    values: Mapping[str, JsonValue],
    attributes: Mapping[str, JsonValue],
    seed: str | int,
) -> bytes:
    """The "open" message. Raises BadFunction for bad names, names that clash, values that are not JSON."""
    _check_names(specs, values, attributes)
    settings = {
        "functions": {name: spec.parameters() for name, spec in specs.items()},
        "values": values,
        "attributes": attributes,
        "seed": seed if isinstance(seed, int) else _number(seed),
    }
    try:
        payload = to_json(["open", settings], inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError) as error:
        raise BadFunction(f"a value or an attribute is not JSON: {error}") from error
    if len(payload) > MAX_FROM_HOST:
        raise BadFunction(f"values and attributes take {len(payload)} bytes; at most {MAX_FROM_HOST} are allowed")
    return payload


def _number(seed: str) -> int:
    """The number that ``random.seed`` makes of a text."""
    text = seed.encode()
    return int.from_bytes(text + sha512(text).digest())


def _check_names(functions: Collection[str], values: Collection[str], attributes: Collection[str]) -> None:
    for name in values:
        check_name(name, most=1)
    for name in attributes:
        check_name(name)
        if "." not in name:
            raise BadFunction(f"attribute {name!r}: it must be named object.attribute")
    dotted = [name for name in (*functions, *attributes) if "." in name]
    objects = {name.partition(".")[0] for name in dotted}
    given = [*(name for name in functions if "." not in name), *values, *objects, *dotted]
    if twice := sorted({name for name in given if given.count(name) > 1}):
        raise BadFunction(f"given twice, or both as an object and as something else: {', '.join(twice)}")
