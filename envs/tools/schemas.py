"""The signatures of tools, from JSON Schemas and from Python functions.

The parameters of Python functions may have types that JSON lacks, such as enums. The values that plans pass are
converted to these types. An annotation that is derived from a schema accepts every value that the schema accepts. It
may accept more, since the tool itself validates each call.
"""

import inspect
import json
import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from planbook.envs.errors import validation_faults
from planbook.sandbox import fail_fast_validator

Schema = Mapping[str, Any]
EMPTY = inspect.Parameter.empty
MAX_DEPTH = 6
"""Number of nested levels of a schema that annotations and descriptions show. Deeper levels count as "any"."""
SCALAR_TYPES: Mapping[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}
MAX_DESCRIPTION = 20_000
"""Maximum number of characters in a description. A schema with a longer description is described as "any"."""
ReferenceCache = dict[tuple[str, int], Any]
"""Maps a reference and its depth to a result. Without it, schemas that refer to themselves take too long to read."""
JSON_ANNOTATIONS = {str, int, float, bool, None, NoneType, Any, object, list, dict, EMPTY}


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter of a tool."""

    name: str
    """The name that plans use, which is a Python identifier."""
    key: str
    """The name that the tool itself uses."""
    annotation: Any = Any
    default: Any = EMPTY
    convert: Callable[[Any], Any] | None = None
    """A function that converts JSON to the type that the tool takes. None if no conversion is needed."""
    omits_default: bool = True
    """True if a value equal to the default is not passed to the tool, which then uses its own default."""
    doc: str = ""
    """The meaning of the values, and their structure if they have named parts (see ``describe_schema``)."""

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter in the signature that plans see."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Parameter(self.name, kind, default=self.default, annotation=self.annotation)


def keyed_arguments(arguments: Sequence[Argument], values: Sequence[Any]) -> dict[str, Any]:
    """Return the arguments of a call as a dict from parameter key to value.

    Defaults that are not passed to the tool are left out (see ``Argument.omits_default``). Other defaults are not
    converted. Raises ValueError if a value cannot be converted to the type of its parameter.
    """
    keyed: dict[str, Any] = {}
    for arg, value in zip(arguments, values, strict=True):
        is_default = type(value) is type(arg.default) and value == arg.default
        if is_default and arg.omits_default:
            continue
        try:
            keyed[arg.key] = arg.convert(value) if arg.convert and not is_default else value
        except ValidationError as error:
            raise ValueError(f"argument {arg.name!r}: {validation_faults(error)[0]}") from None
        except Exception as error:  # a validator that the tool's author wrote may raise any error
            raise ValueError(f"argument {arg.name!r}: {type(error).__name__}: {error}") from None
    return keyed


def python_name(name: str, used_names: Iterable[str] = ()) -> str:
    """Turn a name into a Python identifier that plans can use and that is not in ``used_names``."""
    identifier = re.sub(r"\W", "_", name).strip("_") or "unnamed"
    identifier = f"n{identifier}" if identifier[0].isdigit() else identifier
    identifier = f"{identifier}_" if keyword.iskeyword(identifier) or identifier == "self" else identifier
    used = used_names if isinstance(used_names, Set | Mapping) else set(used_names)
    if identifier not in used:
        return identifier
    taken, free = 1, 2
    while f"{identifier}_{free}" in used:
        taken, free = free, 2 * free
    while free - taken > 1:  # a binary search, so that many equal names are numbered quickly
        middle = (taken + free) // 2
        taken, free = (middle, free) if f"{identifier}_{middle}" in used else (taken, middle)
    return f"{identifier}_{free}"


def _required_first(arguments: Iterable[Argument]) -> tuple[Argument, ...]:
    return tuple(sorted(arguments, key=lambda argument: argument.default is not EMPTY))


# From JSON Schemas.


def arguments_of_schema(schema: Schema, is_valid: Callable[[Schema, object], bool]) -> tuple[Argument, ...]:
    """Return the parameters that an object schema describes. Required parameters come first.

    If an optional property has no valid default, its parameter gets the default None, which is not passed to the tool.
    """
    arguments, cache, doc_cache = dict[str, Argument](), ReferenceCache(), ReferenceCache()
    for key, inner in properties(schema).items():
        name = python_name(key, arguments)
        annotation = annotation_of(inner, schema, cache=cache)
        default: Any = EMPTY
        if key not in schema.get("required", ()):
            default = inner.get("default") if isinstance(inner, Mapping) else None
            if default is None or not is_valid(inner, default):
                annotation, default = union([annotation, None]), None
        meaning = " ".join(str(inner.get("description", "")).split()) if isinstance(inner, Mapping) else ""
        doc = " ".join(filter(None, (meaning, _structure(inner, schema, doc_cache))))
        arguments[name] = Argument(name, key, annotation, default, doc=doc)
    return _required_first(arguments.values())


def properties(schema: Schema) -> Mapping[str, Any]:
    """Return the properties of an object schema."""
    inner = schema.get("properties", {})
    return inner if isinstance(inner, Mapping) else {}


def with_merged_properties(schema: Any, root: Schema, depth: int = 0, cache: ReferenceCache | None = None) -> Schema:
    """Return an object schema that also contains the properties of the schemas in its ``$ref`` and ``allOf``."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return {}
    cache = {} if cache is None else cache
    parts = [with_merged_properties(part, root, depth + 1, cache) for part in schema.get("allOf", ())]
    if "$ref" in schema:
        parts.append(_resolve(with_merged_properties, schema["$ref"], root, depth, cache))
    if not parts:
        return schema
    merged: dict[str, Any] = {}
    for part in (schema, *parts):
        merged |= {key: value for key, value in properties(part).items() if key not in merged}
    required = dict.fromkeys(str(key) for part in (schema, *parts) for key in part.get("required", ()))
    return {**schema, "properties": merged, "required": [*required]}


def _resolve(read: Callable[..., Any], reference: object, root: Schema, depth: int, cache: ReferenceCache) -> Any:
    """Return the result of ``read`` for the schema that ``reference`` names. It is read once for each depth."""
    key = str(reference), depth
    if key not in cache:
        cache[key] = read(resolve(reference, root), root, depth + 1, cache)
    return cache[key]


def annotation_of(schema: Any, root: Schema, depth: int = 0, cache: ReferenceCache | None = None) -> Any:
    """Return an annotation that accepts every value that a schema accepts, and as few others as possible."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return Any
    cache = {} if cache is None else cache
    if "$ref" in schema:
        return _resolve(annotation_of, schema["$ref"], root, depth, cache)
    if "const" in schema or "enum" in schema:
        return _choice(schema["enum"] if "enum" in schema else [schema["const"]])
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return union([annotation_of(choice, root, depth + 1, cache) for choice in choices])
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return union([annotation_of({**schema, "type": kind}, root, depth + 1, cache) for kind in kinds])
    if kinds == "array":
        items = Any if "prefixItems" in schema else annotation_of(schema.get("items"), root, depth + 1, cache)
        return list[items]  # type: ignore[valid-type]
    return dict[str, Any] if kinds == "object" else SCALAR_TYPES.get(kinds or "", Any)


def resolve(reference: object, root: Schema) -> Any:
    """Return the part of a schema that a reference names.

    If the part is missing or in another document, return True, which is a schema that accepts any value.
    """
    if not isinstance(reference, str) or not reference.startswith("#"):
        return True
    target: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(target, Mapping) or part not in target:
            return True
        target = target[part]
    return target


def _choice(values: Any) -> Any:
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    fits_literal = kinds and kinds <= {str, int, bool, NoneType} and not {int, bool} <= kinds
    return Literal[tuple(values)] if fits_literal else Any


def union(annotations: Sequence[Any]) -> Any:
    """Return the union of annotations. Return Any if there are no annotations, or if one of them is Any."""
    if not annotations or Any in annotations:
        return Any
    return Union[tuple(annotations)]  # noqa: UP007 - the members are known only here


def describe_schema(schema: Any, root: Schema, depth: int = 0, cache: ReferenceCache | None = None) -> str:
    """Return a schema as one short line, such as ``{"path": string, "depth"?: integer}``."""
    text = _describe(schema, root, depth, {} if cache is None else cache)
    return text if len(text) <= MAX_DESCRIPTION else "any"


def _describe(schema: Any, root: Schema, depth: int, cache: ReferenceCache) -> str:
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return "any"
    if "$ref" in schema:
        return str(_resolve(describe_schema, schema["$ref"], root, depth, cache))
    if "enum" in schema or "const" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(describe_schema(choice, root, depth + 1, cache) for choice in choices))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"[{describe_schema(schema.get('items'), root, depth + 1, cache)}]"
    if kind == "object" and properties(schema):
        required = schema.get("required", ())
        inner = [
            f"{json.dumps(key)}{'' if key in required else '?'}: {describe_schema(value, root, depth + 1, cache)}"
            for key, value in properties(schema).items()
        ]
        return f"{{{', '.join(inner)}}}"
    return " | ".join(kind) if isinstance(kind, list) else str(kind)


def _structure(schema: Any, root: Schema, cache: ReferenceCache | None = None) -> str:
    """Return the description of a schema if its values have named parts, or else ""."""
    text = describe_schema(schema, root, cache=cache)
    return text if "{" in text else ""


def tool_doc(text: str, arguments: Sequence[Argument], *notes: str) -> str:
    """Return the documentation of a tool: a text, a line for each parameter that has a description, and notes."""
    lines = (f"{argument.name}: {argument.doc}" for argument in arguments if argument.doc)
    return "\n".join(filter(None, (text, *lines, *notes)))


# From Python functions.


def arguments_of_function(function: Callable[..., Any], *, method: bool) -> tuple[Argument, ...]:
    """Return the parameters of a function, without the first if ``method`` is True.

    Raises TypeError if an annotation cannot be used.
    """
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    return _required_first(map(_argument, parameters[1:] if method else parameters))


def _argument(parameter: inspect.Parameter) -> Argument:
    name, annotation, default = parameter.name, parameter.annotation, parameter.default
    if parameter.kind is parameter.VAR_POSITIONAL:
        return Argument(name, name, list, [], omits_default=False)
    if parameter.kind is parameter.VAR_KEYWORD:
        return Argument(name, name, dict[str, Any], {}, omits_default=False)
    convert, doc = None, ""
    if not accepts_only_json(annotation):
        convert, schema = fail_fast_validator(annotation).validate_python, TypeAdapter(annotation).json_schema()
        annotation, doc = annotation_of(schema, schema), _structure(schema, schema)
    annotation = Any if annotation is EMPTY else annotation
    is_not_json = default is not EMPTY and not _is_json(default)
    if is_not_json:
        default = _json_default(default, convert)
        annotation = union([annotation, None]) if default is None else annotation
    return Argument(python_name(name), name, annotation, deepcopy(default), convert, omits_default=is_not_json, doc=doc)


def _json_default(default: object, convert: Callable[[Any], Any] | None) -> JsonValue:
    """Return the JSON value that ``convert`` turns into a default, or None if there is no such value.

    For example, the JSON value for a member of an enum is the member's value.
    """
    if convert is None or isinstance(default, set | frozenset):  # the order of a set differs between processes
        return None
    with suppress(Exception):  # a validator that the tool's author wrote may raise any error
        value = to_json(default)
        return value if convert(value) == default else None
    return None


def accepts_only_json(annotation: Any) -> bool:
    """Return whether all values that an annotation accepts are JSON."""
    if annotation in JSON_ANNOTATIONS or get_origin(annotation) is Literal:
        return True
    is_composite = get_origin(annotation) in (list, dict, Union, UnionType)
    return is_composite and all(map(accepts_only_json, get_args(annotation)))


def _is_json(value: object) -> bool:
    if isinstance(value, list | dict):
        return all(map(_is_json, value.values() if isinstance(value, dict) else value))
    return value is None or type(value) in (str, int, float, bool)


def to_json(value: object) -> JsonValue:
    """Return a value as JSON. Values that do not exist in JSON become strings."""
    plain: JsonValue = to_jsonable_python(value, fallback=str, inf_nan_mode="strings")
    return plain
