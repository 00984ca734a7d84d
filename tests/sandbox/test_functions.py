"""Arguments of calls are checked against the signature of the function."""

import functools
import gc
import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, JsonValue

from planbook.sandbox import BadFunction
from planbook.sandbox.answers import function_specs
from planbook.sandbox.functions import FunctionSpec


class Colour(Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    y: int = 0


class Environment:
    def go_to(self, place: str, times: int = 1) -> str:
        """Go there."""
        return place * times


def spec(function: Callable[..., object], name: str = "f") -> FunctionSpec:
    return FunctionSpec.of(name, function)


def typed(annotation: object) -> FunctionSpec:
    """Return the spec of a function with one parameter ``x`` that has this annotation."""

    def function(x: object) -> None: ...

    parameter = inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)
    function.__signature__ = inspect.Signature([parameter])  # type: ignore[attr-defined]
    return spec(function)


@dataclass
class Taker:
    """A callable that cannot be hashed."""

    place: str

    def __call__(self, thing: str) -> str:
        return self.place + thing


def given_signature(*args: object, **kwargs: object) -> None: ...


given_signature.__signature__ = inspect.signature(Environment().go_to)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (Environment().go_to, ["place", "times"]),
        (given_signature, ["place", "times"]),
        (functools.partial(Environment().go_to, times=3), ["place", "times"]),
        (lambda a, *b, **c: None, ["a", "*b", "**c"]),
        (len, ["obj"]),
        (Taker("desk"), ["thing"]),
    ],
    ids=["method", "given signature", "partial", "lambda", "builtin", "unhashable"],
)
def test_a_signature_is_read(function: Callable[..., object], parameters: list[str]) -> None:
    assert spec(function).parameters() == parameters


def test_instances_share_the_checks_of_a_method() -> None:
    assert spec(Environment().go_to).arguments is spec(Environment().go_to).arguments


def test_functions_are_not_kept_alive() -> None:
    def take(thing: str) -> None: ...

    alive = weakref.ref(take)
    spec(take)
    del take
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "name", ["", "a.b.c.d", "a.", ".b", "1a", "class", "agent.class", "_a", "agent._b", "a b", "a\n"]
)
def test_names_that_plans_cannot_use_are_refused(name: str) -> None:
    with pytest.raises(BadFunction, match="cannot be offered"):
        FunctionSpec.of(name, len)


def unreadable(x: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821


async def coroutine() -> None: ...


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: typed(inspect.Parameter), "cannot be checked"),
        (lambda: typed("str"), "is a string"),
        (lambda: spec(unreadable), "signature cannot be read"),
        (lambda: spec(coroutine), "f is a coroutine function"),
        (lambda: spec(Point(x=1)), r"f is not a function; offer each of its methods as f\.METHOD"),  # type: ignore[arg-type]
        (lambda: function_specs([len]), "must be a dict such as {'agent.open': open_box}"),  # type: ignore[arg-type]
    ],
)
def test_functions_that_cannot_be_checked_are_refused(make: Callable[[], FunctionSpec], message: str) -> None:
    with pytest.raises(BadFunction, match=message):
        make()


ACCEPTED: list[tuple[object, JsonValue, object]] = [
    (str, "x" * 100_000, "x" * 100_000),
    (int, -(2**63), -(2**63)),
    (float, 1, 1.0),
    (int | str, "1", "1"),
    (list[tuple[int, str]], [[1, "a"]], [(1, "a")]),
    (Literal["a", 1], "a", "a"),
    (Annotated[int, Field(ge=0)], 0, 0),
    (Colour, "red", Colour.RED),
    (Point, {"x": 1}, Point(x=1)),
    (JsonValue, {"a": [None, 1.5]}, {"a": [None, 1.5]}),
    (object, [1, "a"], [1, "a"]),
    (inspect.Parameter.empty, "a", "a"),
]


@pytest.mark.parametrize(("annotation", "given", "expected"), ACCEPTED)
def test_valid_arguments_are_converted(annotation: object, given: JsonValue, expected: object) -> None:
    for (value,), named in [typed(annotation).check([given], {}), typed(annotation).check([], {"x": given})]:
        assert value == expected
        assert type(value) is type(expected)
        assert not named


REFUSED: list[tuple[object, JsonValue, type[Exception], str]] = [
    (str, 1, TypeError, "f(): argument 'x' should be a valid string, not int 1"),
    (int, True, TypeError, "should be a valid integer, not bool True"),
    (int, "1", TypeError, "should be a valid integer, not str '1'"),
    (list[int], [1, "a"], TypeError, "should be a valid integer at 1"),
    (tuple[int, int], [1], ValueError, "Field required at 1"),
    (str | None, 1, TypeError, "should be a valid string"),
    (Literal["a", "b"], "c", ValueError, "should be 'a' or 'b', not str 'c'"),
    (Literal["stone_pickaxe", "table"], "stone pickaxe", ValueError, "'stone pickaxe'; did you mean 'stone_pickaxe'?"),
    (Colour, "blue", ValueError, "should be 'red'"),
    (Annotated[int, Field(ge=0)], -1, ValueError, "greater than or equal to 0"),
    (str, "x" * 100_001, ValueError, "100001 characters; at most 100000"),
    (object, ["x" * 100_001], ValueError, "at most 100000"),
    (object, {"x" * 100_001: 1}, ValueError, "at most 100000"),
    (str, "\ud800", ValueError, "lone surrogate"),
    (JsonValue, [{"a": "\udfff"}], ValueError, "lone surrogate"),
    (int, 2**63, ValueError, "64 bits"),
    (object, [-(2**63) - 1], ValueError, "64 bits"),
    (Callable[[int], int], 1, TypeError, "should be callable"),
    (object, functools.reduce(lambda inner, _: [inner], range(40), 1), ValueError, "nested more than 32 levels deep"),  # type: ignore[arg-type, return-value]
]


@pytest.mark.parametrize(("annotation", "given", "kind", "message"), REFUSED)
def test_the_refusal_of_an_argument_names_it(
    annotation: object, given: JsonValue, kind: type[Exception], message: str
) -> None:
    for args, kwargs in [([given], {}), ([], {"x": given})]:
        with pytest.raises(kind) as caught:
            typed(annotation).check(args, kwargs)
        assert message in str(caught.value)
        assert "f(): argument 'x'" in str(caught.value)
        assert len(str(caught.value)) < 300


class Collector:
    """An environment with an action that changes its default. In plain Python, all calls share this default."""

    def add(self, item: str, before: int = 0, seen: list[str] = [], /, *more: str, **named: str) -> list[str]:  # noqa: B006
        seen.append(item)
        return seen


def test_every_call_gets_a_new_copy_of_a_mutable_default() -> None:
    offered = spec(Collector().add, "agent.add")
    calls: list[list[JsonValue]] = [["a"], ["a", 2], ["a"]]
    for args in calls:
        checked, named = offered.check(args, {})
        assert offered.function(*checked, **named) == ["a"]
    assert offered.signature.parameters["seen"].default == []
    checked, named = offered.check(["a", 1, ["b"], "c"], {"d": "e"})
    assert (tuple(checked), dict(named)) == (("a", 1, ["b"], "c"), {"d": "e"})
