"""Find task types: groups of solved tasks whose plans have the same shape (see ``plan_shapes``).

Constants that occur in the goals become parameters of the type. Each goal becomes a pattern, with slots in place of
these constants. For example, ``put a mug on the desk`` and ``put a pen in the box`` may belong to one type with the
parameters ``object`` and ``target``, and the patterns ``put {object} on {target}`` and ``put {object} in {target}``.
"""

import ast
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import JsonValue

from planbook.planner import AGENT, TASK
from planbook.rules.goal_words import FORMS, spans, tokens, words
from planbook.rules.plan_shapes import plan_shape, with_expressions
from planbook.rules.types import Example, FoundType, TypeParameter, Wording
from planbook.sandbox import parse_source

MIN_EXAMPLES = 3
"""With at least this many examples, a constant that is the same in all of them may be part of the type.

With fewer examples, such a constant counts as a parameter that has had only one value so far.
"""
PREPOSITIONS = frozenset("at from in inside into near on onto to under with".split())
"""Words that precede nouns in a goal. A lower-case word after ``to`` is not taken for a noun: it may be a verb."""
ANYTHING = "{*}"
"""The part of a pattern that matches any number of words, or none."""


class SolvedTask(NamedTuple):
    """A solved task, and the plan that solved it.

    If the goal fits a pattern of a known type, ``matched_type`` is the name of that type, and ``params`` maps its
    parameters to their values in this goal. The plan may still differ from the plans of that type. If the goal fits no
    pattern, ``matched_type`` and ``params`` are empty.
    """

    task_id: str
    goal: str
    code: str
    matched_type: str = ""
    params: Mapping[str, JsonValue] = {}


def with_solved_task(types: Sequence[FoundType], solved: SolvedTask) -> tuple[FoundType, ...]:
    """Return the types with a solved task added to one of them.

    The task is added to the first type with the same plan shape to which it belongs (see ``_is_same_type``), or else to
    the type named ``matched_type``, or else to a new type. Raises SyntaxError if the plan cannot be parsed.
    """
    plan = plan_shape(solved.code)
    example = Example(task_id=solved.task_id, goal=solved.goal, constants=plan.constants)
    for n, found_type in enumerate(types):
        if plan.shape == found_type.shape and _is_same_type(found_type, extended := _with_example(found_type, example)):
            return (*types[:n], extended, *types[n + 1 :])
    for n, found_type in enumerate(types):
        if found_type.name == solved.matched_type:
            params = dict(solved.params)
            example = Example(task_id=solved.task_id, goal=solved.goal, params=params, matched_by_goal=True)
            return (*types[:n], _with_example(found_type, example), *types[n + 1 :])
    names = plan.constant_names
    found_type = FoundType(name="", shape=plan.shape, code=solved.code, constant_names=names, examples=(example,))
    new = derive_parameters(found_type)
    name = unused_name(type_name_from_goal(new.wordings[0].literal_words), [found_type.name for found_type in types])
    return (*types, new.model_copy(update={"name": name}))


def _with_example(found_type: FoundType, example: Example) -> FoundType:
    others = [other for other in found_type.examples if other.task_id != example.task_id]
    return derive_parameters(found_type.model_copy(update={"examples": (*others, example)}))


def _is_same_type(found_type: FoundType, extended: FoundType) -> bool:
    """Return True if a new example belongs to the type ``found_type``. ``extended`` is the type with the example.

    The example belongs to the type if every difference between the plans is also a difference between the goals, or if
    the goal needs no new wording and the type keeps all its parameters (an existing procedure may read them).
    """
    if _ConstantTable(extended).expressions() is not None:
        return True
    keeps_parameters = {each.name for each in found_type.parameters} <= {each.name for each in extended.parameters}
    return keeps_parameters and len(extended.wordings) == len(found_type.wordings)


def type_name_from_goal(goal: str) -> str:
    """Return a provisional name for the type of a goal: the goal's first words. A model may later replace it."""
    return "_".join(words(goal)[:4]) or "task"


def unused_name(name: str, used: Iterable[str]) -> str:
    """Return the name or, if it is already used, the name with a number: ``put_2`` for the second ``put``."""
    taken = set(used)
    names = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
    return next(candidate for candidate in names if candidate not in taken)


def derive_parameters(found_type: FoundType) -> FoundType:
    """Return the type with parameters and wordings that are derived anew from its examples."""
    table = _ConstantTable(found_type)
    table.expressions()
    examples = [
        example.model_copy(update={"params": {name: column[n] for name, column in table.values.items()}})
        for n, example in enumerate(table.examples)
    ]
    by_task = {example.task_id: example for example in (*found_type.examples, *examples)}
    all_examples, parameters = tuple(by_task.values()), tuple(table.parameters.values())
    wordings = _wordings(all_examples, parameters)
    return found_type.model_copy(update={"parameters": parameters, "examples": all_examples, "wordings": wordings})


def procedure_code(found_type: FoundType) -> str | None:
    """Return the plan of a type as a function ``solve(agent, task)``, which reads parameters in place of constants.

    Return None if a constant varies in a way that the goals do not show, if there are fewer than two examples to
    compare, or if an earlier version of planbook stored the type with different constants. Raises SyntaxError,
    ValueError or RecursionError if the code cannot be parsed or written.
    """
    table = _ConstantTable(found_type)
    expressions = table.expressions()
    same_constants = len(plan_shape(found_type.code).constants) == len(found_type.constant_names)
    if expressions is None or len(table.examples) < 2 or not same_constants:
        return None
    return as_procedure(with_expressions(found_type.code, expressions))


def as_procedure(code: str) -> str:
    """Return a plan as a procedure.

    The whole plan, including its functions, becomes the body of ``solve``, so that these functions still see the plan's
    variables. A name that one of them declares as global is also declared as global in ``solve``.
    """
    tree = ast.parse(code)
    names = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    declared = [ast.Global(sorted(names))] if names else []
    arguments = ast.arguments([], [ast.arg(AGENT), ast.arg(TASK)], None, [], [], None, [])
    solve = ast.FunctionDef("solve", arguments, [*declared, *tree.body] or [ast.Pass()], [])
    return ast.unparse(ast.fix_missing_locations(ast.Module([solve], [])))


class _ConstantTable:
    """The constants of a type's examples, and the parameters that replace the constants that vary with the goals.

    A row holds the constants of one example. A column holds the constants at one position of the plan.
    """

    def __init__(self, found_type: FoundType) -> None:
        self.examples = [example for example in found_type.examples if not example.matched_by_goal]
        self.parameters: dict[str, TypeParameter] = {}
        self.values: dict[str, list[JsonValue]] = {}
        """Maps the name of a parameter to its value in each example."""
        self._goals = [example.goal for example in self.examples]
        self._columns = [
            [ast.literal_eval(example.constants[n]) for example in self.examples]
            for n in range(len(found_type.constant_names))
        ]
        self._constant_names = found_type.constant_names
        self._code = found_type.code
        self._existing_parameters = {parameter.form + parameter.name: parameter for parameter in found_type.parameters}

    def expressions(self) -> dict[int, ast.expr] | None:
        """Return a dict that maps positions in the plan to the expressions that replace the constants there.

        Return None if a constant varies in a way that the goals do not show. Fills ``parameters`` and ``values``.
        """
        nodes = {n: self._expression(column, self._constant_names[n]) for n, column in enumerate(self._columns)}
        if any(node is None for node in nodes.values()):
            return None
        return {n: node for n, node in nodes.items() if node is not None and not isinstance(node, ast.Constant)}

    def _expression(self, column: list[Any], name: str, *, in_sequence: bool = False) -> ast.expr | None:
        """Return the expression for a column, or None if the goals do not show how its constants vary.

        ``in_sequence`` is True if the column holds one element of a list or tuple in the plan.
        """
        first = column[0]
        if isinstance(first, list | tuple) and all(isinstance(each, type(first)) for each in column):
            return self._sequence(column, name)
        same = all(each == first and type(each) is type(first) for each in column)
        form = self._common_form(column)
        if form and not (same and self._belongs_to_type(column, form, is_named=bool(name) and not in_sequence)):
            return self._parameter_expression(column, form, name)
        if same and isinstance(first, str | int | float):
            return ast.Constant(first)
        if same:
            return ast.parse(repr(first), mode="eval").body
        return self._f_string(column, name) if all(isinstance(each, str) for each in column) else None

    def _sequence(self, column: list[Any], name: str) -> ast.expr | None:
        if len({len(each) for each in column}) > 1:
            return None
        parts = [self._expression(list(part), name, in_sequence=True) for part in zip(*column, strict=True)]
        if any(part is None for part in parts):
            return None
        node_class = ast.List if isinstance(column[0], list) else ast.Tuple
        return node_class([part for part in parts if part is not None], ast.Load())

    def _f_string(self, column: list[str], name: str) -> ast.expr | None:
        """Return an f-string for texts that differ only in words of the goals, or None if they differ otherwise.

        For example, ``search[red shoes]`` and ``search[blue hat]`` become ``search[{task.params['query']}]``.
        """
        before = re.sub(r"\w+\Z", "", _common_prefix(column))
        after = re.sub(r"\A\w+", "", _common_prefix([each[len(before) :][::-1] for each in column])[::-1])
        middles = [each[len(before) : len(each) - len(after)] for each in column]
        if not (form := self._common_form(middles)):
            return None
        slot = ast.FormattedValue(self._parameter_expression(middles, form, name), conversion=-1)
        return ast.JoinedStr(
            [*map(ast.Constant, filter(None, [before])), slot, *map(ast.Constant, filter(None, [after]))]
        )

    def _common_form(self, column: list[Any]) -> str:
        """Return the name of the first form in which each goal contains its example's value, or "" if there is none."""
        if not all(isinstance(each, str | int | float) for each in column):
            return ""
        pairs = list(zip(column, self._goals, strict=True))
        return next((form for form in FORMS if all(spans(value, form, goal) for value, goal in pairs)), "")

    def _belongs_to_type(self, column: list[Any], form: str, *, is_named: bool) -> bool:
        """Return True if a constant that is the same in all examples is part of the type, not a parameter.

        This needs at least ``MIN_EXAMPLES`` examples. Even then, the constant is a parameter if the plan gives it a
        name (``is_named``), all goals use it as a noun, and no other name or text in the plan contains it.
        """
        value = column[0]
        is_once = is_named and self._count_uses(value) == 1
        may_vary = is_once and all(_is_noun(value, form, goal) for goal in self._goals)
        return len(column) >= MIN_EXAMPLES and not may_vary

    def _count_uses(self, value: JsonValue) -> int:
        """Return the number of names and texts in the plan that contain a value."""
        fields = (field for node in ast.walk(parse_source(self._code)) for _, field in ast.iter_fields(node))
        return sum(alnum(str(value)) in alnum(field) for field in fields if isinstance(field, str))

    def _parameter_expression(self, column: list[Any], form: str, name: str) -> ast.expr:
        """Return an expression that reads the parameter with these values, which is created if it does not exist."""
        existing = [n for n, values in self.values.items() if values == column and self.parameters[n].form == form]
        name = existing[0] if existing else unused_name(name or "value", self.values)
        if not existing:
            self.values[name] = column
            self.parameters[name] = self._existing_parameters.get(form + name) or TypeParameter(name=name, form=form)
        return ast.parse(f"{TASK}.params[{name!r}]", mode="eval").body


def _common_prefix(texts: Sequence[str]) -> str:
    same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in same)


@lru_cache(maxsize=10_000)
def alnum(value: str) -> str:
    """Return the letters and digits of a text in lower case. Values with the same letters and digits count as equal."""
    return re.sub(r"[\W_]", "", value.lower())


def _is_noun(value: JsonValue, form: str, goal: str) -> bool:
    """Return True if the goal always uses the value as a noun: between a preposition and the end of a phrase.

    A phrase ends before a punctuation mark, "and", "then" or another preposition, or at the end of the goal.
    """
    goal_tokens = tokens(goal)
    for begin, end in spans(value, form, goal):
        before, first = goal_tokens[begin - 1].pattern_part if begin else "", goal_tokens[begin].text
        after = goal_tokens[end].pattern_part if end < len(goal_tokens) else ""
        ends_phrase = not after.isalnum() or after in {"and", "then", *PREPOSITIONS}
        if before not in PREPOSITIONS or (before == "to" and first.islower()) or not ends_phrase:
            return False
    return True


def _wordings(examples: Sequence[Example], parameters: Sequence[TypeParameter]) -> tuple[Wording, ...]:
    goals: dict[str, list[str]] = {}
    for example in examples:
        goals.setdefault(_pattern(example, parameters), []).append(example.goal)
    wordings = list[Wording]()
    for pattern, pattern_goals in goals.items():
        new = Wording(pattern=pattern, goals=tuple(dict.fromkeys(pattern_goals)))
        for n, old in enumerate(wordings):
            if merged := _merge_wordings(old, new):
                wordings[n] = merged
                break
        else:
            wordings.append(new)
    return tuple(wordings)


def _merge_wordings(first: Wording, second: Wording) -> Wording | None:
    """Return one wording for the goals of both wordings, with ``{*}`` where their patterns differ.

    Return None if the patterns have too little in common. They must have the same slots, and share at least two words
    (not counting words such as "the") and at least half of the words of the shorter pattern.
    """
    parts, previous_ends = list[str](), (0, 0)
    for begin, end, size in SequenceMatcher(None, first.parts, second.parts, autojunk=False).get_matching_blocks():
        between = [*first.parts[previous_ends[0] : begin], *second.parts[previous_ends[1] : end]]
        if any(part.startswith("{") and part != ANYTHING for part in between):
            return None
        parts += [ANYTHING] * bool(between) + first.parts[begin : begin + size]
        previous_ends = begin + size, end + size
    patterns = dict.fromkeys(pattern for each in (first, second) for pattern in each.merged_patterns or [each.pattern])
    merged = Wording(pattern=" ".join(parts), goals=(*first.goals, *second.goals), merged_patterns=tuple(patterns))
    shorter_length = min(len(words(first.literal_words)), len(words(second.literal_words)))
    common_length = len(words(merged.literal_words))
    return merged if common_length >= 2 and 2 * common_length >= shorter_length else None


def _pattern(example: Example, parameters: Sequence[TypeParameter]) -> str:
    """Return the goal with slots in place of the parameters' values. If values overlap, the longest gets the slot."""
    parts: list[str | None] = [token.pattern_part for token in tokens(example.goal)]
    matches = [
        (begin - end, begin, end, parameter.name)
        for parameter in parameters
        if parameter.name in example.params
        for begin, end in spans(example.params[parameter.name], parameter.form, example.goal)
    ]
    slots = dict[int, str]()
    for _, begin, end, name in sorted(matches):
        if not any(n in slots or parts[n] is None for n in range(begin, end)):
            slots[begin] = f"{{{name}}}"
            parts[begin + 1 : end] = [None] * (end - begin - 1)
    return " ".join(slots.get(n, part) for n, part in enumerate(parts) if part is not None)
