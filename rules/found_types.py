"""Found task types: groups of solved tasks whose plans are the same code up to constants.

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
"""A constant that never varies counts as part of the type once there are this many examples."""
LONGEST_VALUE = 24
"""Maximum number of a goal's tokens that form one constant of a plan."""
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+(?:['-](?!s\b)[^\W\d_]+)*|'s\b|\w+?(?=_|\b)|[^\w\s]|_")
NUMBERS = {str(n): name for n, name in enumerate("zero one two three four five six seven eight nine ten".split())}
"""Number words by their digits."""
_DIGITS = {name: digits for digits, name in NUMBERS.items()}
ANYTHING = "{*}"
"""The part of a pattern that matches any number of words, even none."""
ARTICLES = frozenset({"a", "an", "the", "some"})


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
    "integer": lambda text: int(_DIGITS.get(text.lower(), text)),
    "number": _number,
}
"""Conversions of a goal's words into a constant of a plan, by the name of the constant's form."""
NUMERIC = ("integer", "number")
"""The forms of numbers, which are one word."""


class Token(NamedTuple):
    """A word or punctuation mark of a goal, and its position in the goal."""

    text: str
    begin: int
    end: int

    @property
    def part(self) -> str:
        """The token as a pattern has it: in lower case, and without braces, which mark slots."""
        return self.text.lower().replace("{", "(").replace("}", ")")


def tokens(goal: str) -> list[Token]:
    """Return the words and punctuation marks of a goal, without articles and a closing ``.``, ``!`` or ``?``."""
    every = [Token(match[0], *match.span()) for match in _TOKEN.finditer(goal)]
    every = every[:-1] if every and every[-1].text in ".!?" else every
    return [token for token in every if token.text.lower() not in ARTICLES]


class Solved(NamedTuple):
    """A solved task, and the plan that solved it.

    ``same_type`` names the known type whose pattern the goal fits, with ``params`` as its parameters, or is empty.
    Its plans may have another shape.
    """

    task_id: str
    goal: str
    code: str
    same_type: str = ""
    params: Mapping[str, JsonValue] = {}


def with_solved(types: Sequence[FoundType], solved: Solved) -> tuple[FoundType, ...]:
    """Return the types with the task added to one with its plan's shape, else to ``same_type``, else to a new one.

    Raises SyntaxError.
    """
    plan = plan_shape(solved.code)
    example = Example(task_id=solved.task_id, goal=solved.goal, constants=plan.constants)
    for n, each in enumerate(types):
        if plan.shape == each.shape and _is_same_type(each, grown := _with_example(each, example)):
            return (*types[:n], grown, *types[n + 1 :])
    for n, each in enumerate(types):
        if each.name == solved.same_type:
            example = Example(task_id=solved.task_id, goal=solved.goal, params=dict(solved.params), joined=True)
            return (*types[:n], _with_example(each, example), *types[n + 1 :])
    new = with_parameters(FoundType(name="", shape=plan.shape, code=solved.code, hints=plan.hints, examples=(example,)))
    name = unused_name(plain_type_name(new.wordings[0].literal_words), [each.name for each in types])
    return (*types, new.model_copy(update={"name": name}))


def _with_example(found: FoundType, example: Example) -> FoundType:
    others = [each for each in found.examples if each.task_id != example.task_id]
    return with_parameters(found.model_copy(update={"examples": (*others, example)}))


def _is_same_type(found: FoundType, grown: FoundType) -> bool:
    """Return True if the goals explain all differences between the plans, or the new goal is worded like others.

    In the second case no parameter may be lost, as a procedure may read it.
    """
    if _Columns(grown).expressions() is not None:
        return True
    kept = {each.name for each in found.parameters} <= {each.name for each in grown.parameters}
    return kept and len(grown.wordings) == len(found.wordings)


def plain_type_name(goal: str) -> str:
    """Return a name for a goal's type, made of the goal's first words; used when no model gives a name."""
    return "_".join(words(goal)[:4]) or "task"


def unused_name(name: str, used: Iterable[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    taken = set(used)
    names = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
    return next(candidate for candidate in names if candidate not in taken)


def with_parameters(found: FoundType) -> FoundType:
    """Return the type with the parameters and wordings derived from its examples."""
    columns = _Columns(found)
    columns.expressions()
    examples = [
        each.model_copy(update={"params": {name: column[n] for name, column in columns.values.items()}})
        for n, each in enumerate(columns.examples)
    ]
    by_task = {each.task_id: each for each in (*found.examples, *examples)}
    every, parameters = tuple(by_task.values()), tuple(columns.parameters.values())
    wordings = _wordings(every, parameters)
    return found.model_copy(update={"parameters": parameters, "examples": every, "wordings": wordings})


def procedure_code(found: FoundType) -> str | None:
    """Return the plan as ``def solve(agent, task)``, with parameters in place of their constants.

    Return None if the goals do not explain how a constant varies, if there are fewer than two examples to compare, or
    if an earlier version stored the type with other constants. Raises SyntaxError, ValueError or RecursionError for
    code that cannot be read or written.
    """
    columns = _Columns(found)
    expressions = columns.expressions()
    same_constants = len(plan_shape(found.code).constants) == len(found.hints)
    if expressions is None or len(columns.examples) < 2 or not same_constants:
        return None
    return as_procedure(with_expressions(found.code, expressions))


def as_procedure(code: str) -> str:
    """Return a plan as a procedure, all of it in the body of ``solve``, so that its functions see its variables.

    Names that a function of the plan declares global are global in ``solve`` too.
    """
    tree = ast.parse(code)
    names = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    declared = [ast.Global(sorted(names))] if names else []
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
        self._earlier = {parameter.form + parameter.name: parameter for parameter in found.parameters}

    def expressions(self) -> dict[int, ast.expr] | None:
        """Return the expressions that replace constants, by position; None if the goals leave a difference unexplained.

        Fills ``parameters`` and ``values``.
        """
        every = {n: self._expression(column, self._hints[n]) for n, column in enumerate(self._columns)}
        if any(each is None for each in every.values()):
            return None
        return {n: each for n, each in every.items() if each is not None and not isinstance(each, ast.Constant)}

    def _expression(self, column: list[Any], hint: str) -> ast.expr | None:
        first = column[0]
        if isinstance(first, list | tuple) and all(isinstance(each, type(first)) for each in column):
            return self._sequence(column, hint)
        if form := self._form(column):
            return self._parameter(column, form, hint)
        if all(each == first and type(each) is type(first) for each in column):
            return ast.Constant(first) if isinstance(first, str | int | float) else ast.parse(repr(first)).body[0].value  # type: ignore[attr-defined]
        return self._f_string(column, hint) if all(isinstance(each, str) for each in column) else None

    def _sequence(self, column: list[Any], hint: str) -> ast.expr | None:
        if len({len(each) for each in column}) > 1:
            return None
        parts = [self._expression(list(part), hint) for part in zip(*column, strict=True)]
        if any(part is None for part in parts):
            return None
        make = ast.List if isinstance(column[0], list) else ast.Tuple
        return make([part for part in parts if part is not None], ast.Load())

    def _f_string(self, column: list[str], hint: str) -> ast.expr | None:
        """Return an f-string for texts that differ only in words of the goals, such as ``search[red shoes]``."""
        before = re.sub(r"\w+\Z", "", _common_prefix(column))
        after = re.sub(r"\A\w+", "", _common_prefix([each[len(before) :][::-1] for each in column])[::-1])
        middles = [each[len(before) : len(each) - len(after)] for each in column]
        if not (form := self._form(middles)):
            return None
        inner = ast.FormattedValue(self._parameter(middles, form, hint), conversion=-1)
        return ast.JoinedStr(
            [*map(ast.Constant, filter(None, [before])), inner, *map(ast.Constant, filter(None, [after]))]
        )

    def _form(self, column: list[Any]) -> str:
        """Return the form in which every value occurs in its goal; empty if there is none, or if none is needed."""
        same = all(each == column[0] for each in column)
        if (same and len(column) >= MIN_EXAMPLES) or not all(isinstance(each, str | int | float) for each in column):
            return ""
        pairs = list(zip(column, self._goals, strict=True))
        return next((form for form in FORMS if all(spans(value, form, goal) for value, goal in pairs)), "")

    def _parameter(self, column: list[Any], form: str, hint: str) -> ast.expr:
        same = [n for n, values in self.values.items() if values == column and self.parameters[n].form == form]
        name = same[0] if same else unused_name(hint or "value", self.values)
        if not same:
            self.values[name] = column
            self.parameters[name] = self._earlier.get(form + name) or TypeParameter(name=name, form=form)
        return ast.parse(f"{TASK}.params[{name!r}]").body[0].value  # type: ignore[attr-defined,no-any-return]


def _common_prefix(texts: Sequence[str]) -> str:
    same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in same)


def spans(value: JsonValue, form: str, goal: str) -> list[tuple[int, int]]:
    """Return the places of a value in a goal, as indexes of its first token and of the one after its last."""
    goal_tokens, most = tokens(goal), 1 if form in NUMERIC else LONGEST_VALUE
    matches = list[tuple[int, int]]()
    for begin in range(len(goal_tokens)):
        for end in range(begin + 1, min(begin + most, len(goal_tokens)) + 1):
            text = goal[goal_tokens[begin].begin : goal_tokens[end - 1].end]
            if parse_value(text, form) == value and type(value) is not bool:
                matches.append((begin, end))
    return matches if not isinstance(value, str) or words(value) or any(map(str.isdigit, value)) else []


def parse_value(raw: JsonValue, form: str) -> JsonValue:
    """Convert words of a goal, or a value from a model, to a form; None if that is not possible."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    if form == "number" and isinstance(raw, int):
        return raw
    try:
        value: JsonValue = FORMS[form](str(raw))
    except (ValueError, OverflowError):
        return None
    return value


def _wordings(examples: Sequence[Example], parameters: Sequence[TypeParameter]) -> tuple[Wording, ...]:
    goals: dict[str, list[str]] = {}
    for example in examples:
        goals.setdefault(_pattern(example, parameters), []).append(example.goal)
    wordings = list[Wording]()
    for pattern, same in goals.items():
        new = Wording(pattern=pattern, goals=tuple(dict.fromkeys(same)))
        for n, old in enumerate(wordings):
            if merged := _merge_wordings(old, new):
                wordings[n] = merged
                break
        else:
            wordings.append(new)
    return tuple(wordings)


def _merge_wordings(one: Wording, other: Wording) -> Wording | None:
    """Return the common wording of two, with ``{*}`` where they differ; None if they have too little in common.

    It keeps all slots, at least two significant words, and at least half of those of the shorter pattern.
    """
    parts, before = list[str](), (0, 0)
    for begin, end, size in SequenceMatcher(None, one.parts, other.parts, autojunk=False).get_matching_blocks():
        between = [*one.parts[before[0] : begin], *other.parts[before[1] : end]]
        if any(part.startswith("{") and part != ANYTHING for part in between):
            return None
        parts += [ANYTHING] * bool(between) + one.parts[begin : begin + size]
        before = begin + size, end + size
    patterns = dict.fromkeys(pattern for each in (one, other) for pattern in each.joined or [each.pattern])
    merged = Wording(pattern=" ".join(parts), goals=(*one.goals, *other.goals), joined=tuple(patterns))
    shorter = min(len(words(one.literal_words)), len(words(other.literal_words)))
    common = len(words(merged.literal_words))
    return merged if common >= 2 and 2 * common >= shorter else None


def _pattern(example: Example, parameters: Sequence[TypeParameter]) -> str:
    """Return the goal with slots in place of the parameters' values; longer values take precedence."""
    parts: list[str | None] = [token.part for token in tokens(example.goal)]
    matches = [
        (begin - end, begin, end, each.name)
        for each in parameters
        if each.name in example.params
        for begin, end in spans(example.params[each.name], each.form, example.goal)
    ]
    slots = dict[int, str]()
    for _, begin, end, name in sorted(matches):
        if not any(n in slots or parts[n] is None for n in range(begin, end)):
            slots[begin] = f"{{{name}}}"
            parts[begin + 1 : end] = [None] * (end - begin - 1)
    return " ".join(slots.get(n, part) for n, part in enumerate(parts) if part is not None)
