"""A function never receives an argument that its annotations exclude, whatever the parameter, annotation or value.

A host function receives only values of limited size and of exactly the annotated built-in type. This holds for calls
of plans with the policy, for calls of plain Python, and for messages that a worker has written by hand.
"""

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import pytest
from pydantic import JsonValue

from planbook.sandbox import Sandbox
from planbook.sandbox.answers import Answers, function_specs
from planbook.sandbox.conversation import parse_message
from planbook.sandbox.protocol import MAX_STRING, HostileFrame
from tests.sandbox.fuzz.arguments import exactly

ANNOTATIONS: dict[str, Any] = {
    "text": str,
    "number": int,
    "real": float,
    "flag": bool,
    "none": None,
    "choice": Literal["a", "b"],
    "level": Literal[1, 2],
    "maybe": str | None,
    "mixed": int | str,
    "texts": list[str],
    "table": dict[str, int],
    "pair": tuple[int, int],
    "pairs": list[tuple[str, float]],
    "json": JsonValue,
    "anything": object,
}
KINDS = ("first", "either", "named", "several", "settings", "optional")
CLASSES = """
import datetime, enum, itertools
class S(str): pass
class I(int): pass
class F(float): pass
class L(list): pass
class T(tuple): pass
class D(dict): pass
class O: pass
class E(enum.IntEnum):
    one = 1
class C(str, enum.Enum):
    a = 'a'
ring = []
ring.append(ring)
circle = {}
circle['a'] = circle
def deep(n):
    x = []
    for _ in range(n):
        x = [x]
    return x
"""
ODD = """True | False | 1 | 0 | -1 | 3 | 2**63 | -2**63 | 2**63 - 1 | 10**400 | 1.0 | 0.0 | -0.0 | 1e308 | 5e-324
float('inf') | float('-inf') | float('nan') | 1j | None | ... | NotImplemented | '' | 'a' | 'c' | 'A' | 'a ' | '1'
'true' | 'null' | '\\ud800' | 'a\\x00b' | '\\u202e' | b'a'
bytearray(b'a') | [] | [1] | [1, 2] | [1, 2, 3] | ['a'] | ['a', 1] | [True] | [True, False] | [None] | [['a', 1.5]]
[['a', 1]] | [['a', True]] | [[]] | () | (1, 2) | ('a', 1.5) | [('a', 1.5)] | ((1,), 2) | {} | {'a': 1} | {'a': True}
{'a': 1.0} | {'a': 'b'} | {'a': None} | {1: 1} | {None: 1} | {True: 1} | {S('a'): 1} | {'\\ud800': 1}
{'a': float('nan')} | {'a': [2**64]} | {1} | frozenset('a') | range(3) | iter([1, 2]) | (x for x in [1]) | 'ab'.split
lambda x: x | print | O | O() | S('a') | I(1) | F(1.5) | L(['a']) | T((1, 2)) | D(a=1) | E.one | C.a | [S('a')] | [I(1)]
{'a': I(1)} | (I(1), 2) | ring | circle | deep(31) | deep(33)
ValueError('a') | int | list[int] | 'a'.__iter__()
datetime.date(2024, 1, 2) | itertools.count() | slice(1) | text_either"""
HUGE = """'x' * 100_000 | 'x' * 100_001 | 'x' * 2_000_000 | {'x' * 100_001: 1} | ['x' * 1_000] * 2_000
[0] * 10_000 | deep(5_000)"""
VALUES = [value for line in ODD.splitlines() for value in line.split(" | ")]
FRAMES = """1 | 1.0 | -0 | -0.0 | 1e2 | 1e999 | -1e999 | 1E400 | 0.1e1 | NaN | Infinity | 9223372036854775808 | 1e18
true | null | "a" | "c" | "\\ud800" | "\\udc00\\ud800" | "\\u0000" | [1, 2] | [1, true] | [1, 2.0] | {"a": 1, "a": true}
{"a": 1e999} | {"": 1} | {"\\u0000": 1} | {"__class__": 1} | [["a", 1]] | [["a", 1e999]] | [[["a"]]] | ["a"] | " a"
"a\\n" """
RAW = [value for line in FRAMES.splitlines() for value in line.split(" | ")]


class Functions:
    """Host functions that record their arguments, one ``ANNOTATION_KIND`` for each annotation and kind of parameter."""

    def __init__(self) -> None:
        self.values: list[tuple[str, object]] = []
        self.names: list[str] = []

    def by_name(self) -> dict[str, Callable[..., object]]:
        return {
            f"{name}_{kind}": function
            for name, annotation in ANNOTATIONS.items()
            for kind, function in self._of(name, annotation).items()
        }

    def _of(self, annotation_name: str, annotation: Any) -> dict[str, Callable[..., object]]:
        def take(*values: object) -> None:
            self.values += [(annotation_name, value) for value in values]

        def first(x: Any, /) -> None:
            take(x)

        def either(x: Any) -> None:
            take(x)

        def named(*, x: Any) -> None:
            take(x)

        def several(*x: Any) -> None:
            take(*x)

        def settings(**x: Any) -> None:
            take(*x.values())
            self.names += x

        def optional(y: int = 0, x: Any = NOT_GIVEN) -> None:
            take(*(() if x is NOT_GIVEN else (x,)))

        made: dict[str, Any] = dict(zip(KINDS, (first, either, named, several, settings, optional), strict=True))
        for function in made.values():
            parameters = inspect.signature(function).parameters.values()
            annotated = [p.replace(annotation=annotation if p.name == "x" else int) for p in parameters]
            function.__signature__ = inspect.Signature(annotated)
        return made

    def wrong_values(self) -> list[tuple[str, str]]:
        """Return the annotation and the text of each value that reached a function although it should not."""
        return [(name, repr(value)[:80]) for name, value in self.values if not exactly(value, ANNOTATIONS[name])]


NOT_GIVEN = object()
CALLS = """
def calls(x):
    yield lambda: NAME_first(x)
    yield lambda: NAME_either(x)
    yield lambda: NAME_either(x=x)
    yield lambda: NAME_named(x=x)
    yield lambda: NAME_named(x)
    yield lambda: NAME_several(x, x)
    yield lambda: NAME_several(*[x])
    yield lambda: NAME_settings(a=x)
    yield lambda: NAME_settings(**{'b': x})
    yield lambda: NAME_settings(x)
    yield lambda: NAME_optional(1, x)
    yield lambda: NAME_optional(x=x)
    yield lambda: NAME_optional(x)
refused = 0
for make in values:
    for call in calls(make()):
        try:
            call()
        except (TypeError, ValueError, RecursionError):
            refused += 1
refused
"""
"""Passes every odd value to every kind of parameter. A refused value raises an exception in the plan."""


def calls_with_odd_values(name: str) -> str:
    """Return a cell that passes odd values to the functions with this annotation."""
    values = VALUES + (HUGE.replace("\n", " | ").split(" | ") if name in ("text", "json") else [])
    return "\n".join(
        [CLASSES, "values = [", *(f"    lambda: ({value})," for value in values), "]", CALLS.replace("NAME", name)]
    )


UNGUARDED = ("text", "number", "level", "pairs", "anything")
"""Annotations that are also tried without the language layer, since the host checks arguments in any case."""


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        *(pytest.param("guarded", name, marks=[pytest.mark.deep] * (name in UNGUARDED)) for name in ANNOTATIONS),
        *(("unguarded", name) for name in UNGUARDED),
    ],
)
def test_only_arguments_of_the_schema_reach_a_function(
    sandbox: Sandbox, unguarded: Sandbox, layer: str, name: str
) -> None:
    opened, functions = (sandbox if layer == "guarded" else unguarded), Functions()
    offered = {key: value for key, value in functions.by_name().items() if key.startswith((f"{name}_", "text_either"))}
    with opened.session(offered) as session:
        result = session.run(calls_with_odd_values(name))
    assert result.faults == ()
    assert functions.wrong_values() == []
    assert isinstance(result.value, int)
    assert result.value > len(VALUES)
    assert any(exactly(value, ANNOTATIONS[name]) for annotation, value in functions.values if annotation == name)


def handle_frame(answers: Answers, frame: str) -> None:
    with suppress(HostileFrame):
        answers.answer(parse_message(frame.encode()))


def test_handwritten_frames_pass_no_wrong_argument() -> None:
    functions = Functions()
    answers = Answers(function_specs(functions.by_name()), None)
    for name in functions.by_name():
        for value in RAW:
            for args, kwargs in ((f"[{value}]", "{}"), ("[]", f'{{"x":{value}}}'), (f"[{value}]", f'{{"x":{value}}}')):
                handle_frame(answers, f'["call",1,"{name}",{args},{kwargs}]')
    assert functions.wrong_values() == []
    assert {name for name, _ in functions.values} == ANNOTATIONS.keys()


@pytest.mark.parametrize("key", ["x" * (MAX_STRING + 1), "\\ud800"])
def test_names_of_arguments_are_bounded_text(key: str) -> None:
    functions = Functions()
    handle_frame(Answers(function_specs(functions.by_name()), None), f'["call",1,"text_settings",[],{{"{key}":"a"}}]')
    assert functions.names == []
