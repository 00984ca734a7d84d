"""Jinja in graph files: templates and expressions that use the database and the answers of nodes.

Values are plain JSON, and ``{{ }}`` in a value is not evaluated. Rendering has no time limit, since the author of a
template is trusted, like the author of the graph's hooks.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, meta, nodes, pass_context
from jinja2.exceptions import TemplateError
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import JsonValue

from planbook.planner.errors import GraphError
from planbook.planner.graph.template_syntax import LookUp, look_ups, suggestion, tested_paths
from planbook.planner.types import RenderedText, digest_of

DATABASE = "db"
"""The variable in templates and expressions that holds the database."""


def value_text(value: JsonValue) -> str:
    """Return a value as text for a prompt: a string unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


class _Missing(StrictUndefined):
    """A value that does not exist.

    Looking up a part of it is not an error: ``db.a.b | default("none")`` works even if there is no ``db.a``.
    """

    @property
    def _undefined_message(self) -> str:
        return f"{self._undefined_name} has no value{self._undefined_hint or '.'}"

    def part(self, name: object) -> "_Missing":
        return _Missing(self._undefined_hint, name=f"{self._undefined_name}.{name}")


class _Rendering:
    """The look-ups in one rendering. ``roots`` maps the template's variables, such as ``db``, to their values."""

    def __init__(self, roots: Mapping[str, JsonValue]) -> None:
        self.roots = roots
        self.looked_up: list[tuple[str, JsonValue]] = []
        """The path and value of each look-up, in order. The digest of the rendered text is computed from them."""

    def part(self, value: Any, name: Any) -> Any:
        """Return the field or item of a JSON value with this name or index. Python attributes are never returned."""
        if isinstance(value, _Missing):
            return value.part(name)
        path = f"{self._path(value)}.{name}".lstrip(".")
        index = int(name) if str(name).removeprefix("-").isdecimal() else None
        if isinstance(value, dict) and name in value:
            part = value[name]
        elif isinstance(value, list | str) and index is not None and -len(value) <= index < len(value):
            part = value[index]
        else:
            return _Missing(suggestion(str(name), value if isinstance(value, dict) else ()), name=path)
        self.looked_up.append((path, part))
        return part

    def _path(self, value: object) -> str:
        if self.looked_up and self.looked_up[-1][1] is value:
            return self.looked_up.pop()[0]  # only a part of the value is used
        return next((name for name, root in self.roots.items() if root is value), "")

    def finalize(self, value: Any) -> str:
        """Return a value as text, for ``{{ value }}`` in a template."""
        if any(root is value for root in self.roots.values()):
            self.looked_up.append(("", value))
        if isinstance(value, Undefined):
            str(value)  # raises
        return value_text(value)


MAX_PROMPT = 10_000_000
"""Maximum number of characters of a rendered template, since a template may loop over long lists in answers."""
FAILURES = (TemplateError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError, RecursionError)
"""Errors that a template raises for an unsuitable value, for example if a filter gets a list and not a dict."""
_RENDERING: ContextVar[_Rendering] = ContextVar("_RENDERING")


class _JsonSandbox(ImmutableSandboxedEnvironment):
    """A Jinja environment in which templates read only JSON values."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, LoopContext):
            return super().getattr(obj, attribute)
        return _RENDERING.get().part(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return _RENDERING.get().part(obj, argument)


def _eager_filter(name: str) -> Callable[..., Any]:
    """Return Jinja's filter with this name, changed to return a list instead of an iterator."""

    @pass_context
    def run(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        result = _PLAIN_JINJA.call_filter(name, value, args, kwargs, context=context)
        return list(result) if isinstance(result, Iterator) else result

    return run


@pass_context
def _finalize(context: Context, value: Any) -> str:  # because of ``context``, Jinja does not call it while compiling
    return _RENDERING.get().finalize(value)


_PLAIN_JINJA = ImmutableSandboxedEnvironment()
_JINJA = _JsonSandbox(
    undefined=_Missing, finalize=_finalize, trim_blocks=True, lstrip_blocks=True, autoescape=False, optimized=False
)
_JINJA.filters = {name: _eager_filter(name) for name in _PLAIN_JINJA.filters if name not in ("attr", "random")}
_JINJA.globals = {}


class _JinjaSource:
    """A template or an expression, with the values that it uses."""

    def __init__(self, source: str, tree: nodes.Template) -> None:
        self.source = source
        other_files: Iterator[Any] = tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends))
        if any(other_files):
            raise ValueError("a template cannot use other files")
        conditions: Iterator[Any] = tree.find_all((nodes.If, nodes.CondExpr))
        self.tested_paths = tuple(path for condition in conditions for path in tested_paths(condition.test))
        """The paths of the values whose truth an ``if`` tests."""
        all_look_ups = list(look_ups(tree))
        optional = {look_up.path for look_up in all_look_ups if look_up.may_be_missing}
        finder = meta.TrackingCodeGenerator(_JINJA)
        finder.optimizer = None  # it would evaluate constants, which could take long
        finder.visit(tree)
        self.names = frozenset(finder.undeclared_identifiers)
        """The variables that the text uses: ``db``, names of nodes, or the name of a loop's item."""
        self.look_ups = tuple(
            LookUp(path, any(f"{path}.".startswith(f"{start}.") for start in optional))
            for path, _ in all_look_ups
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
        except FAILURES as error:
            raise GraphError(str(error)) from error
        finally:
            _RENDERING.reset(token)


class Template(_JinjaSource):
    """The text of a prompt. Raises ValueError if it is not a valid template."""

    def __init__(self, source: str) -> None:
        with _syntax_errors("the template"):
            tree = _JINJA.parse(source)
            super().__init__(source, tree)
            self._compiled: Any = _JINJA.from_string(tree)

    def render(self, values: Mapping[str, JsonValue]) -> RenderedText:
        """Return the rendered text, with a digest of the looked-up values. Raises GraphError if rendering fails."""
        parts, length = list[str](), 0
        with self._rendering(values) as rendering:
            for part in self._compiled.generate(values):
                parts.append(part)
                length += len(part)
                if length > MAX_PROMPT:
                    raise GraphError(f"the template produces more than {MAX_PROMPT:,} characters")
        # a loop may look up one value many times
        looked_up = {(path, id(value)): value for path, value in rendering.looked_up}
        data = [{path.rpartition(".")[2]: value} for (path, _), value in looked_up.items()]
        return RenderedText.with_digest("".join(parts).strip(), digest_of(data))


class Expression(_JinjaSource):
    """A condition, or an expression that selects a value. Raises ValueError if it is not a valid expression."""

    def __init__(self, source: str) -> None:
        with _syntax_errors(f"{source!r} is not an expression"):
            self._compiled = _JINJA.compile_expression(source, undefined_to_none=False)
            tree = _JINJA.parse(f"{{{{ {source} }}}}")
            super().__init__(source, tree)
            (output,) = tree.find_all(nodes.Output)
            (expression,) = output.nodes
            self.condition_paths = tuple(tested_paths(expression))
            """The paths of the values whose truth the expression tests if it is a condition."""

    def value(self, values: Mapping[str, JsonValue]) -> JsonValue:
        """Return the value of the expression. Raises KeyError if there is none, or GraphError if computing it fails."""
        with self._rendering(values):
            result = self._compiled(values)
        if isinstance(result, Undefined):
            raise KeyError(self.source)
        return result

    def holds(self, values: Mapping[str, JsonValue]) -> bool:
        """Return True if the condition holds. Raises GraphError, for example if its value does not exist."""
        try:
            return bool(self.value(values))
        except KeyError:
            raise GraphError(
                f"{self.source}: there is no such value; write `{self.source} is defined and ...`"
            ) from None


@contextmanager
def _syntax_errors(subject: str) -> Iterator[None]:
    """Turn Jinja's syntax errors into a ValueError whose message begins with ``subject``."""
    try:
        yield
    except TemplateSyntaxError as error:
        line = f", line {error.lineno}" if error.lineno > 1 else ""
        raise ValueError(f"{subject}{line}: {error.message}") from error
    except (RecursionError, SyntaxError):  # Python limits how deeply loops and brackets can be nested
        raise ValueError(f"{subject}: this is nested too deeply") from None
