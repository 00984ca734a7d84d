"""Jinja in graph files: templates and expressions that use the database and the answers of nodes.

Only a part of Jinja is allowed: ``{{ }}``, ``{% if %}``, ``{% for %}``, filters and tests. Values are plain JSON. If a
value contains ``{{ }}``, this is not evaluated. The work of a template is limited: it may go through at most
``MAX_ITEMS`` items, and no text that it produces may have more than ``MAX_CHARACTERS`` characters.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, meta, nodes, pass_context
from jinja2.exceptions import TemplateError
from jinja2.lexer import TOKEN_EOF
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS as JINJA_TESTS
from pydantic import JsonValue

from planbook.planner.errors import GraphError
from planbook.planner.graph.template_syntax import (
    FILTERS,
    TESTS,
    LookUp,
    checked_nodes,
    comparisons,
    look_ups,
    suggestion,
    tested_paths,
)
from planbook.planner.types import RenderedText

DATABASE = "db"
"""The variable in templates and expressions that holds the database."""
MAX_CHARACTERS = 1_000_000
"""Maximum number of characters of a rendered text, and of each intermediate text."""
MAX_ITEMS = 100_000
"""Maximum number of items that one rendering goes through, in all its loops, look-ups and filters."""
MAX_NUMBER = 10**15
"""The largest number with which a template may calculate."""
_COUNTED, _RESULT = "counted", "result"


def value_text(value: JsonValue) -> str:
    """Return a value as text for a prompt: a string is not changed, any other value is written as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


class _Missing(StrictUndefined):
    """Stands for a value that does not exist.

    Its parts do not exist either, without an error: ``db.a.b | default("none")`` works even if there is no ``db.a``.
    """

    @property
    def _undefined_message(self) -> str:
        return f"{self._undefined_name} has no value{self._undefined_hint or '.'}"

    def part(self, name: object) -> "_Missing":
        return _Missing(self._undefined_hint, name=f"{self._undefined_name}.{name}")


class _Rendering:
    """The state of one rendering: the look-ups so far, and the number of items that it may still go through.

    ``roots`` maps the variables of the template, such as ``db``, to their values.
    """

    def __init__(self, roots: Mapping[str, JsonValue]) -> None:
        self.roots, self._remaining_items = roots, MAX_ITEMS
        self.looked_up: list[tuple[str, JsonValue]] = []
        """The path and the value of each look-up, in order. The digest of the rendered text is made from them."""
        self._sizes: dict[int, tuple[JsonValue, int]] = {}

    def part(self, value: Any, name: Any) -> Any:
        """Return the field or item of a JSON value with this name or number. Python attributes are never returned."""
        if isinstance(value, _Missing):
            return value.part(name)
        path = f"{self._path(value)}.{name}".lstrip(".")
        number = int(name) if str(name).removeprefix("-").isdecimal() else None
        if isinstance(value, dict) and name in value:
            part = value[name]
        elif isinstance(value, list | str) and number is not None and -len(value) <= number < len(value):
            part = value[number]
        else:
            return _Missing(suggestion(str(name), value if isinstance(value, dict) else ()), name=path)
        self.looked_up.append((path, part))
        return self.count(part, 1 + self._look_up_cost(part))

    def _path(self, value: object) -> str:
        if self.looked_up and self.looked_up[-1][1] is value:
            self._remaining_items += self._look_up_cost(value)  # undo its cost, since only a part of it is used
            return self.looked_up.pop()[0]
        return next((name for name, root in self.roots.items() if root is value), "")

    def count(self, value: Any, items: int | None = None) -> Any:
        """Subtract the items of a value from the remaining items. Every 1,000 characters of a string count as an item.

        Return the value. An iterator is turned into a list. Raises GraphError if too few items remain.
        """
        if isinstance(value, Iterator):
            value = list(value)
        length = len(value) if isinstance(value, list | tuple | dict) else 1
        self._remaining_items -= (items or 1 + length) + (len(value) // 1_000 if isinstance(value, str) else 0)
        if self._remaining_items < 0:
            raise GraphError(f"the template loops over more than {MAX_ITEMS:,} items; select fewer of them")
        return value

    def _look_up_cost(self, value: Any) -> int:
        """Return the cost of looking up a value, as a number of items.

        It is in proportion to the value's size, because comparing and recording the value take that long.
        """
        if id(value) not in self._sizes:
            self._sizes[id(value)] = value, _size(value) // 10
        return self._sizes[id(value)][1]

    def finalize(self, value: Any) -> str:
        """Return a value as text, for ``{{ value }}`` in a template."""
        if any(root is value for root in self.roots.values()):
            self.looked_up.append(("", value))
        return value_text(_require(value))


_RENDERING: ContextVar[_Rendering] = ContextVar("_RENDERING")


def _size(value: JsonValue) -> int:
    """Return the number of values in a nested value. In a string, every twenty characters count as another value."""
    if isinstance(value, dict | list):
        return 1 + sum(map(_size, value.values() if isinstance(value, dict) else value))
    return 1 + len(value) // 20 if isinstance(value, str) else 1


def _require(value: Any) -> Any:
    if isinstance(value, Undefined):
        str(value)  # raises
    return value


def _check_length(characters: int) -> None:
    if characters > MAX_CHARACTERS:
        raise GraphError(f"the template produces more than {MAX_CHARACTERS:,} characters; leave something out")


class _JsonSandbox(ImmutableSandboxedEnvironment):
    """A Jinja environment in which templates read only JSON values, and calculate only with numbers."""

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, LoopContext):
            return super().getattr(obj, attribute)
        return _RENDERING.get().part(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return _RENDERING.get().part(obj, argument)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        for operand in map(_require, (left, right)):
            if not isinstance(operand, int | float) or abs(operand) > MAX_NUMBER:
                raise GraphError(f"{operator} works only on numbers, and only up to {MAX_NUMBER:,}")
        return super().call_binop(context, operator, left, right)


def _bounded(name: str) -> Callable[..., Any]:
    """Return a function that runs Jinja's filter with this name, and counts the items that it takes and returns.

    It raises GraphError before ``join`` or ``replace`` would produce a text that is too long.
    """

    @pass_context
    def run(context: Context, value: Any, *arguments: Any, **named: Any) -> Any:
        rendering = _RENDERING.get()
        value = rendering.count(value)
        if name == "join":
            separator_length = len(_argument(0, "d", arguments, named))
            _check_length(sum(len(str(item)) + separator_length for item in value))
        if name == "replace":
            old, new = _argument(0, "old", arguments, named), _argument(1, "new", arguments, named)
            _check_length(len(str(value)) + str(value).count(old) * len(new))
        return rendering.count(_PLAIN_JINJA.call_filter(name, value, arguments, named, context=context))

    return run


def _argument(index: int, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> str:
    return str(arguments[index] if len(arguments) > index else named.get(name, ""))


@pass_context
def _finalize(context: Context, value: Any) -> str:  # because of the parameter, Jinja does not call it while compiling
    return _RENDERING.get().finalize(value)


@pass_context
def _counted(context: Context, value: Any) -> Any:
    return _RENDERING.get().count(_require(value))


_PLAIN_JINJA = ImmutableSandboxedEnvironment()
_JINJA = _JsonSandbox(
    undefined=_Missing, finalize=_finalize, trim_blocks=True, lstrip_blocks=True, autoescape=False, optimized=False
)
_JINJA.filters = {**{name: _bounded(name) for name in FILTERS}, _COUNTED: _counted}
_JINJA.tests = {name: JINJA_TESTS[name] for name in TESTS}
_JINJA.globals = {}


class _JinjaSource:
    """A template or an expression: its text, and the values that it uses.

    Creating one raises ValueError if the text uses a construct that is not allowed.
    """

    def __init__(self, source: str, tree: nodes.Template) -> None:
        self.source = source
        parts = checked_nodes(tree)
        _count_items(part for part in parts if isinstance(part, nodes.For))
        conditions = [part.test for part in parts if isinstance(part, nodes.If | nodes.CondExpr)]
        self.tested_paths = tuple(path for condition in conditions for path in tested_paths(condition))
        """The paths of the values whose truth an ``if`` in the text tests."""
        self.comparisons = tuple(comparisons(parts))
        """Pairs of a path and a constant: the value at the path is compared with the constant."""
        found = list(look_ups(tree))
        optional = {look_up.path for look_up in found if look_up.may_be_missing}
        self.names = _undeclared_names(tree)
        """The variables that the text uses: ``db``, names of nodes, or the name of a loop's item."""
        self.look_ups = tuple(
            LookUp(path, any(f"{path}.".startswith(f"{start}.") for start in optional), is_conditional)
            for path, _, is_conditional in found
            if path.partition(".")[0] in self.names
        )

    def __str__(self) -> str:
        return self.source

    @contextmanager
    def _rendering(self, values: Mapping[str, JsonValue]) -> Iterator[_Rendering]:
        rendering = _Rendering({name: value for name, value in values.items() if name in self.names})
        token = _RENDERING.set(rendering)
        try:
            yield rendering
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            raise GraphError(str(error)) from error
        finally:
            _RENDERING.reset(token)


class Template(_JinjaSource):
    """The text of a prompt. Templates with the same text are the same object."""

    def __init__(self, source: str) -> None:
        with _reading("the template"):
            tree = _JINJA.parse(source)
            super().__init__(source, tree)
            self._compiled: Any = _JINJA.from_string(tree)

    @staticmethod
    @lru_cache(maxsize=1_000)
    def of(source: str) -> "Template":
        """Return the template with that text. Raises ValueError if it is not a valid template."""
        return Template(source)

    def render(self, values: Mapping[str, JsonValue]) -> RenderedText:
        """Return the rendered text, with a digest of the looked-up values. Raises GraphError if rendering fails."""
        with self._rendering(values) as rendering:
            parts: list[str] = []
            characters = 0
            for part in self._compiled.generate(values):
                parts.append(part)
                characters += len(part)
                _check_length(characters)
        data = [{path.rpartition(".")[2]: value} for path, value in rendering.looked_up]
        return RenderedText.of("".join(parts).strip(), data)


class Expression(_JinjaSource):
    """A condition, or an expression that selects a value."""

    def __init__(self, source: str) -> None:
        with _reading(f"{source!r} is not an expression"):
            parser = Parser(_JINJA, source, state="variable")
            expression = parser.parse_expression()
            if parser.stream.current.type != TOKEN_EOF:
                parser.fail("there is text after the end of the expression", 1)
            super().__init__(source, _tree(nodes.Output([expression])))
            self._compiled: Any = _JINJA.from_string(_tree(nodes.Assign(nodes.Name(_RESULT, "store"), expression)))
            self.as_condition = tuple(tested_paths(expression))
            """The paths of the values whose truth the expression tests if it is used as a condition."""

    @staticmethod
    @lru_cache(maxsize=1_000)
    def of(source: str) -> "Expression":
        """Return the expression with that text. Raises ValueError if it is not a valid expression."""
        return Expression(source)

    def value(self, values: Mapping[str, JsonValue]) -> JsonValue:
        """Return the value of the expression. Raises KeyError if there is none, or GraphError if computing it fails."""
        with self._rendering(values):
            context = self._compiled.new_context(dict(values))
            for _ in self._compiled.root_render_func(context):
                pass  # an expression writes nothing
            result: Any = context.vars[_RESULT]
        if isinstance(result, Undefined):
            raise KeyError(self.source)
        return result  # type: ignore[no-any-return]

    def holds(self, values: Mapping[str, JsonValue]) -> bool:
        """Return True if the condition is true. Raises GraphError, for example if its value does not exist."""
        try:
            return bool(self.value(values))
        except KeyError:
            raise GraphError(
                f"{self.source}: there is no such value; write `{self.source} is defined and ...`"
            ) from None


@contextmanager
def _reading(subject: str) -> Iterator[None]:
    try:
        yield
    except TemplateSyntaxError as error:
        line = f", line {error.lineno}" if error.lineno > 1 else ""
        raise ValueError(f"{subject}{line}: {error.message}") from error
    except RecursionError:
        raise ValueError("this is nested too deeply") from None
    except SyntaxError:  # Python compiles at most 20 nested loops
        raise ValueError(f"{subject}: loops are nested too deeply") from None


def _tree(node: nodes.Stmt) -> nodes.Template:
    tree = nodes.Template([node], lineno=1)
    tree.set_lineno(1)
    tree.set_environment(_JINJA)
    return tree


def _undeclared_names(tree: nodes.Template) -> frozenset[str]:
    """Return what ``meta.find_undeclared_variables`` returns, but in a time that is not cubic in the nested levels."""
    generator = meta.TrackingCodeGenerator(_JINJA)
    generator.optimizer = None  # it would search the whole rest for constants again at each level
    generator.visit(tree)
    return frozenset(generator.undeclared_identifiers)


def _count_items(loops: Iterable[nodes.For]) -> None:
    """Change the syntax tree so that these loops count their items."""
    for loop in loops:
        counted = nodes.Filter(loop.iter, _COUNTED, [], [], None, None, lineno=loop.lineno)
        counted.set_environment(_JINJA)
        loop.iter = counted
