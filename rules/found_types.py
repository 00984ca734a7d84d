"""Task types that are found: groups of solved tasks whose plans are the same code up to constants.

Constants that come from the goals become parameters, and the wordings of the goals become patterns.
"""

import ast
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from pydantic import JsonValue

from planbook.planner import AGENT, TASK
from planbook.rules.plans import plan_shape, with_expressions
from planbook.rules.retrieval import words
from planbook.rules.types import Example, FoundType, TypeParameter, Wording

MIN_EXAMPLES = 3
"""Number of examples from which on a constant that is the same in all of them is taken to belong to the type."""
LONGEST_VALUE = 24
"""Number of words and signs of a goal that a constant of a plan may be."""
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+(?:['-](?!s\b)[^\W\d_]+)*|'s\b|\w+?(?=_|\b)|[^\w\s]|_")
NUMBERS = {str(n): name for n, name in enumerate("zero one two three four five six seven eight nine ten".split())}
"""Words of numbers, by their digits."""
_NUMBERS = {name: int(digits) for digits, name in NUMBERS.items()}
ANYTHING = "{*}"
"""Part of a pattern that stands for any words, or none."""
ARTICLES = frozenset({"a", "an", "the", "some"})


def _integer(text: str) -> int:
    return _NUMBERS[text.lower()] if text.lower() in _NUMBERS else int(text)


def _number(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


FORMS: Mapping[str, Callable[[str], Any]] = {
    "as it is": str,
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "with _": lambda text: "_".join(text.lower().split()),
    "without spaces": lambda text: "".join(text.lower().split()),
    "integer": _integer,
    "number": _number,
}
"""How the words of a goal become the constant of a plan."""


class Token(NamedTuple):
    """A word or sign of a goal, and its place there."""

    text: str
    begin: int
    end: int


def tokens(goal: str) -> list[Token]:
    """Return the words and signs of a goal, without articles and the full stop at its end."""
    found = [Token(each[0], *each.span()) for each in _TOKEN.finditer(goal)]
    found = found[:-1] if found and found[-1].text in ".!?" else found
    return [token for token in found if token.text.lower() not in ARTICLES]


class Solved(NamedTuple):
    """A solved task, and the plan that solved it.

    ``same`` names the type whose procedure does the task with ``params``, although the plan may have another shape.
    """

    task_id: str
    goal: str
    code: str
    same: str = ""
    params: Mapping[str, JsonValue] = {}


def with_solved(types: Sequence[FoundType], solved: Solved) -> tuple[FoundType, ...]:
    """Return the types with a solved task: in a type of its plan's shape, else in the ``same`` type, else in a new one.

    Raises SyntaxError.
    """
    plan = plan_shape(solved.code)
    example = Example(task_id=solved.task_id, goal=solved.goal, constants=plan.constants)
    for n, each in enumerate(types):
        if plan.shape == each.shape and _is_like(each, grown := _with_example(each, example)):
            return (*types[:n], grown, *types[n + 1 :])
    for n, each in enumerate(types):
        if each.name == solved.same:
            example = Example(task_id=solved.task_id, goal=solved.goal, params=dict(solved.params), joined=True)
            return (*types[:n], _with_example(each, example), *types[n + 1 :])
    new = parametrised(FoundType(name="", shape=plan.shape, code=solved.code, hints=plan.hints, examples=(example,)))
    name = unused_name(type_name(new.wordings[0].literal_words), [each.name for each in types])
    return (*types, new.model_copy(update={"name": name}))


def _with_example(found: FoundType, example: Example) -> FoundType:
    others = [each for each in found.examples if each.task_id != example.task_id]
    return parametrised(found.model_copy(update={"examples": (*others, example)}))


def _is_like(found: FoundType, grown: FoundType) -> bool:
    """Return whether the goals explain what the plans of a grown type differ in, or are worded as goals before.

    In the second case no parameter may be lost, as a procedure may read it.
    """
    if _Columns(grown).expressions() is not None:
        return True
    kept = {each.name for each in found.parameters} <= {each.name for each in grown.parameters}
    return kept and len(grown.wordings) == len(found.wordings)


def type_name(goal: str) -> str:
    """Return the name of the type of a goal where no model gives one: its first words."""
    return "_".join(words(goal)[:4]) or "task"


def unused_name(name: str, used: Iterable[str]) -> str:
    """Return the name, with a number if it is taken."""
    taken = set(used)
    names = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
    return next(each for each in names if each not in taken)


def parametrised(found: FoundType) -> FoundType:
    """Return the type with the parameters and wordings that follow from its examples."""
    columns = _Columns(found)
    columns.expressions()
    examples = [
        each.model_copy(update={"params": {name: column[n] for name, column in columns.values.items()}})
        for n, each in enumerate(columns.examples)
    ]
    named = {each.task_id: each for each in examples}
    parameters = tuple(columns.parameters.values())
    every = tuple(named.get(each.task_id, each) for each in found.examples)
    wordings = _wordings(every, parameters)
    return found.model_copy(update={"parameters": parameters, "examples": every, "wordings": wordings})


def procedure_code(found: FoundType) -> str | None:
    """Return the plan with the parameters in place of their constants, ``def solve(agent, task)``.

    None if one of its constants varies, or may vary, for reasons that the goals do not tell.
    """
    columns = _Columns(found)
    expressions = columns.expressions()
    if expressions is None or len(columns.examples) < 2:
        return None
    return as_procedure(with_expressions(found.code, expressions))


def as_procedure(code: str) -> str:
    """Return a plan as a procedure: all of it is the body of ``solve``, so that its functions see its variables.

    Names that a function of the plan declares global are global in ``solve`` too.
    """
    tree = ast.parse(code)
    shared = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    declared = [ast.Global(sorted(shared))] if shared else []
    arguments = ast.arguments([], [ast.arg(AGENT), ast.arg(TASK)], None, [], [], None, [])
    solve = ast.FunctionDef("solve", arguments, [*declared, *tree.body] or [ast.Pass()], [])
    return ast.unparse(ast.fix_missing_locations(ast.Module([solve], [])))


class _Columns:
    """The constants of a type's examples, position by position, and the parameters that explain them."""

    def __init__(self, found: FoundType) -> None:
        self.examples = [each for each in found.examples if not each.joined]
        self.parameters: dict[str, TypeParameter] = {}
        self.values: dict[str, list[JsonValue]] = {}
        """The value of each parameter in each example."""
        self._goals = [each.goal for each in self.examples]
        self._columns = [
            [ast.literal_eval(each.constants[n]) for each in self.examples] for n in range(len(found.hints))
        ]
        self._hints = found.hints
        self._named = {parameter.form + parameter.name: parameter for parameter in found.parameters}

    def expressions(self) -> dict[int, ast.expr] | None:
        """Return what stands for each constant that a parameter explains; None if any remains unexplained."""
        found = {n: self._expression(column, self._hints[n]) for n, column in enumerate(self._columns)}
        if any(each is None for each in found.values()):
            return None
        return {n: each for n, each in found.items() if each is not None and not isinstance(each, ast.Constant)}

    def _expression(self, column: list[Any], hint: str) -> ast.expr | None:
        first = column[0]
        if isinstance(first, list | tuple) and all(isinstance(each, type(first)) for each in column):
            return self._display(column, hint)
        if form := self._form(column):
            return self._parameter(column, form, hint)
        if all(each == first and type(each) is type(first) for each in column):
            return ast.Constant(first) if isinstance(first, str | int | float) else ast.parse(repr(first)).body[0].value  # type: ignore[attr-defined]
        return self._text(column, hint) if all(isinstance(each, str) for each in column) else None

    def _display(self, column: list[Any], hint: str) -> ast.expr | None:
        if len({len(each) for each in column}) > 1:
            return None
        parts = [self._expression(list(part), hint) for part in zip(*column, strict=True)]
        if any(part is None for part in parts):
            return None
        make = ast.List if isinstance(column[0], list) else ast.Tuple
        return make([part for part in parts if part is not None], ast.Load())

    def _text(self, column: list[str], hint: str) -> ast.expr | None:
        """Return texts that differ in words of the goals alone: ``search[red shoes]``."""
        before = re.sub(r"\w+\Z", "", _begin_of_all(column))
        after = re.sub(r"\A\w+", "", _begin_of_all([each[len(before) :][::-1] for each in column])[::-1])
        middles = [each[len(before) : len(each) - len(after)] for each in column]
        if not (form := self._form(middles)):
            return None
        inner = ast.FormattedValue(self._parameter(middles, form, hint), conversion=-1)
        return ast.JoinedStr(
            [*map(ast.Constant, filter(None, [before])), inner, *map(ast.Constant, filter(None, [after]))]
        )

    def _form(self, column: list[Any]) -> str:
        """Return the form in which all values occur in their goals; empty if there is none, or none is wanted."""
        same = all(each == column[0] for each in column)
        if (same and len(column) >= MIN_EXAMPLES) or not all(isinstance(each, str | int | float) for each in column):
            return ""
        pairs = list(zip(column, self._goals, strict=True))
        return next((form for form in FORMS if all(spans(value, form, goal) for value, goal in pairs)), "")

    def _parameter(self, column: list[Any], form: str, hint: str) -> ast.expr:
        known = [
            name for name, values in self.values.items() if values == column and self.parameters[name].form == form
        ]
        name = known[0] if known else unused_name(hint or "value", self.values)
        if not known:
            self.values[name] = column
            earlier = self._named.get(form + name)
            self.parameters[name] = earlier or TypeParameter(name=name, form=form)
        return ast.parse(f"{TASK}.params[{name!r}]").body[0].value  # type: ignore[attr-defined,no-any-return]


def _begin_of_all(texts: Sequence[str]) -> str:
    """Return the longest text with which all of these begin."""
    same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in same)


def spans(value: JsonValue, form: str, goal: str) -> list[tuple[int, int]]:
    """Return where a goal says a value, as numbers of its first token and of the one after its last."""
    listed, most = tokens(goal), 1 if form in ("integer", "number") else LONGEST_VALUE
    found = list[tuple[int, int]]()
    for begin in range(len(listed)):
        for end in range(begin + 1, min(begin + most, len(listed)) + 1):
            words_there = goal[listed[begin].begin : listed[end - 1].end]
            if parse_value(words_there, form) == value and type(value) is not bool:
                found.append((begin, end))
    return found if not isinstance(value, str) or words(value) or any(map(str.isdigit, value)) else []


def parse_value(given: JsonValue, form: str) -> JsonValue:
    """Return the value in a form that words of a goal mean, or that a model gives; None if it is none."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    if form == "number" and isinstance(given, int):
        return given
    try:
        value: JsonValue = FORMS[form](str(given))
    except (ValueError, OverflowError):
        return None
    return value


def _wordings(examples: Sequence[Example], parameters: Sequence[TypeParameter]) -> tuple[Wording, ...]:
    goals: dict[str, list[str]] = {}
    for example in examples:
        goals.setdefault(_pattern(example, parameters), []).append(example.goal)
    kept = list[Wording]()
    for pattern, said in goals.items():
        new = Wording(pattern=pattern, goals=tuple(dict.fromkeys(said)))
        joined = next(((n, both) for n, old in enumerate(kept) if (both := _joined(old, new))), None)
        if joined is None:
            kept.append(new)
        else:
            kept[joined[0]] = joined[1]
    return tuple(kept)


def _joined(one: Wording, other: Wording) -> Wording | None:
    """Return the wording of what two have in common, with ``{*}`` for any words between; None if that is too little.

    It keeps all slots, and at least two words that say something: half of those of the shorter pattern.
    """
    parts, before = list[str](), (0, 0)
    for begin, end, size in SequenceMatcher(None, one.parts, other.parts, autojunk=False).get_matching_blocks():
        between = [*one.parts[before[0] : begin], *other.parts[before[1] : end]]
        if any(part.startswith("{") and part != ANYTHING for part in between):
            return None
        parts += [ANYTHING] * bool(between) + one.parts[begin : begin + size]
        before = begin + size, end + size
    patterns = dict.fromkeys(pattern for each in (one, other) for pattern in each.joined or [each.pattern])
    both = Wording(pattern=" ".join(parts), goals=(*one.goals, *other.goals), joined=tuple(patterns))
    least = min(len(words(one.literal_words)), len(words(other.literal_words)))
    kept = len(words(both.literal_words))
    return both if kept >= 2 and 2 * kept >= least else None


def _pattern(example: Example, parameters: Sequence[TypeParameter]) -> str:
    """Return the goal with slots in place of the parameters' values, longer ones first."""
    parts: list[str | None] = [each.text.lower().replace("{", "(").replace("}", ")") for each in tokens(example.goal)]
    places = [
        (begin - end, begin, end, each.name)
        for each in parameters
        if each.name in example.params
        for begin, end in spans(example.params[each.name], each.form, example.goal)
    ]
    slots = dict[int, str]()
    for _, begin, end, name in sorted(places):
        if not any(n in slots or parts[n] is None for n in range(begin, end)):
            slots[begin] = f"{{{name}}}"
            parts[begin + 1 : end] = [None] * (end - begin - 1)
    return " ".join(slots.get(n, part) for n, part in enumerate(parts) if part is not None)
