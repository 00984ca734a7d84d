"""The types that parameters of actions and queries may have, and random values of these types for ``check-env``."""

import random
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import JsonValue

JSON_TYPES = (str, int, float, bool, None, NoneType, Any, object, dict, list)


def is_json_type(annotation: Any) -> bool:
    """Return whether a parameter with this annotation can receive JSON values."""
    origin = get_origin(annotation)
    if origin is Literal or annotation is JsonValue:
        return True
    if origin in (Union, UnionType, list, dict):
        return all(map(is_json_type, get_args(annotation)))
    return annotation in JSON_TYPES or (isinstance(annotation, type) and hasattr(annotation, "__total__"))


def random_value(annotation: Any, words: Sequence[str], rng: random.Random) -> Any:
    """Return a random value of a type. For ``str`` and for types that are not handled here, return one of the words."""
    if get_origin(annotation) is Literal:
        return rng.choice(get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        return random_value(rng.choice(get_args(annotation)), words, rng)
    if hasattr(annotation, "__total__"):  # a TypedDict
        return {key: random_value(kind, words, rng) for key, kind in get_type_hints(annotation).items()}
    numbers = [0, 1, 2, *(int(word) for word in words if word.isdecimal() and len(word) < 6)]
    makers: Mapping[Any, Callable[[], Any]] = {
        bool: lambda: rng.random() < 0.5,
        int: lambda: rng.choice(numbers),
        float: lambda: float(rng.choice(numbers)),
        list: lambda: [random_value(item, words, rng) for item in get_args(annotation)],
        dict: dict,
        NoneType: lambda: None,
    }
    return makers.get(get_origin(annotation) or annotation, lambda: rng.choice(words))()
