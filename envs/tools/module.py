"""``--env module:FILE.py[:NAME]`` or ``module:package.module[:NAME]``: Python functions or methods as actions.

If NAME is a class, its public methods become the actions, and each task gets its own instance. NAME may also be a
function that creates the instance, if its return annotation is the class. The class or the function may take the
parameters ``task``, ``params`` and ``seed``. If the class annotates an attribute with another class, the methods of
that class become actions, too. For example, with ``files: Files``, plans can call ``agent.files.read``.

Without NAME, the functions of the module become the actions. A module that is given as a file is executed again for
each task.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, get_type_hints

from pydantic import JsonValue

from planbook.envs.base import _MARK
from planbook.envs.errors import EnvironmentBroken, UnknownEnvironment, error_location
from planbook.envs.registry import ModuleLoadError, execute_module, import_error, load_module
from planbook.envs.requirements import file_digest
from planbook.envs.tools.environment import END_HINT, RESERVED, Effect, Tool, ToolEnvironment, ToolFailed
from planbook.envs.tools.schemas import EMPTY, accepts_only_json, arguments_of_function, python_name, to_json, tool_doc
from planbook.envs.tools.tasks import call_with
from planbook.envs.types import Task, Verdict
from planbook.sandbox import did_you_mean

Loader = Callable[[], ModuleType]


class ModuleEnvironment(ToolEnvironment):
    """Functions of a module, or the methods of an object."""

    make_state: ClassVar[Callable[[Task], object]]
    """A function that creates the state of a task: an instance of the class, or the module."""
    file: ClassVar[Path | None] = None
    """The file of the module, if it has one."""

    def start(self, task: Task) -> str:
        """Create the state of a task, and return "", since the first observation contains nothing but the goal."""
        try:
            self._state = type(self).make_state(task)
        except Exception as error:
            raise EnvironmentBroken(f"{self.name}: cannot create the state of {task.id}: {_reason(error)}") from error
        return ""

    def call(self, tool: Tool, arguments: dict[str, Any]) -> JsonValue:
        """Call the tool's function, and return its result as JSON. Raises ToolFailed if the function fails."""
        function = self._state
        for part in tool.source:
            function = getattr(function, part)
        assert callable(function)
        bound = inspect.signature(function).bind_partial()
        bound.arguments.update(arguments)
        try:
            result = function(*bound.args, **bound.kwargs)
            return to_json(asyncio.run(result) if inspect.iscoroutine(result) else result)
        except Exception as error:
            raise ToolFailed(f"{type(error).__name__}: {error}") from error

    @property
    def judged_state(self) -> object:
        """The state of the task: the instance of the class, or the module."""
        return self._state

    def verdict(self) -> Verdict:
        """Return the judge's verdict. If the state can be copied, undo any change that the judge makes to it."""
        saved = self._save()
        try:
            return super().verdict()
        finally:
            if saved is not None:
                self._state, _ = saved

    def _save(self) -> tuple[object, list[JsonValue]] | None:
        """Return a copy of the state and the answers, or None if the state cannot be copied."""
        with suppress(Exception):
            return None if isinstance(self._state, ModuleType) else deepcopy((self._state, self._answers))
        return None

    def _load(self, saved: Any) -> None:
        self._state, self._answers = deepcopy(saved)
        self._last_verdict = None

    @classmethod
    def checksums(cls, tasks: Any, options: Any = None) -> dict[str, str]:
        """Return the digests of the task file and of the module's file."""
        module = {"module": file_digest(cls.file)} if cls.file else {}
        return {**super().checksums(tasks, options), **module}


def environment(target: str) -> type[ToolEnvironment]:
    """Return the environment class for ``module:TARGET``. Raises UnknownEnvironment if the class cannot be made."""
    source, _, attribute = target.partition(":")
    module, load = _module(source)
    file = Path(module.__file__) if module.__file__ else None
    title = "_".join(filter(None, (Path(source).stem.rpartition(".")[2], attribute)))
    name = f"module_{python_name(title).lower()}"
    about = inspect.getdoc(module) or f"The functions of {Path(source).name}."
    if not attribute:
        tools = list(_functions(module))
        return _build_class(name, about, tools, target, make_state=staticmethod(lambda task: load()), file=file)
    factory = getattr(module, attribute, None)
    state_class = factory if isinstance(factory, type) else _returned_class(factory)
    if state_class is None:
        fault = "is neither a class nor a function annotated with the class it returns"
        fault = fault if hasattr(module, attribute) else "does not exist"
        known = list(_candidates(module))
        hint = did_you_mean(attribute, known) if known else ""
        raise UnknownEnvironment(f"module:{target}: {attribute} {fault}{hint}")
    about = inspect.getdoc(state_class) or about

    def make_state(task: Task) -> object:
        return call_with(factory, task=task, params=task.params, seed=task.seed)  # type: ignore[arg-type]

    tools = list(_methods(state_class))
    return _build_class(name, about, tools, target, make_state=staticmethod(make_state), file=file)


def _build_class(name: str, about: str, tools: list[Tool], target: str, **members: object) -> type[ToolEnvironment]:
    if not tools:
        if ":" in target:
            raise UnknownEnvironment(f"module:{target}: the class has no public methods; name another class")
        raise UnknownEnvironment(f"module:{target}: it has no public functions; name a class: module:FILE.py:Class")
    return ModuleEnvironment.with_tools(name, f"{about}\n\n{END_HINT}", tools, **members)


def _module(source: str) -> tuple[ModuleType, Loader]:
    """Return a module, and a function that returns the module to use for a new task.

    Raises UnknownEnvironment if the module cannot be loaded.
    """
    try:
        if source.endswith(".py"):
            path = Path(source).resolve()
            return load_module(path), lambda: execute_module(path)
        module = import_module(source)
    except ModuleLoadError as error:
        raise UnknownEnvironment(str(error)) from error
    except (Exception, SystemExit) as error:
        raise UnknownEnvironment(f"module:{source} cannot be imported: {import_error(error)}") from error
    return module, lambda: module


def _returned_class(factory: object) -> type | None:
    hints = get_type_hints(factory) if inspect.isfunction(factory) else {}
    returned = hints.get("return")
    return returned if isinstance(returned, type) else None


def _candidates(module: ModuleType) -> Iterator[str]:
    """Yield the names of a module's own classes, and of its functions that are annotated with the class they return."""
    for name, member in vars(module).items():
        is_own = str(getattr(member, "__module__", "")).startswith(module.__name__)
        if is_own and name[0] != "_" and (isinstance(member, type) or _returned_class(member)):
            yield name


def _functions(module: ModuleType) -> Iterator[Tool]:
    for name, member in vars(module).items():
        if inspect.isfunction(member) and name[0] != "_" and member.__module__ == module.__name__:
            yield _tool((name,), member, method=False)


def _methods(owner: type, prefix: tuple[str, ...] = ()) -> Iterator[Tool]:
    for name, member in inspect.getmembers_static(owner):
        function = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        if inspect.isfunction(function) and name[0] != "_":
            yield _tool((*prefix, name), function, method=not isinstance(member, staticmethod))
    for name, hint in () if prefix else get_type_hints(owner).items():
        if isinstance(hint, type) and name[0] != "_" and not accepts_only_json(hint) and hint.__module__ != "builtins":
            yield from _methods(hint, (name,))


def _tool(source: tuple[str, ...], function: Callable[..., Any], *, method: bool) -> Tool:
    name = ".".join((python_name(source[0], RESERVED), *map(python_name, source[1:])))
    try:
        arguments = arguments_of_function(function, method=method)
        hints = get_type_hints(function)
    except Exception as error:
        raise UnknownEnvironment(f"{'.'.join(source)}: its annotations cannot be used: {_reason(error)}") from error
    returns = hints.get("return", EMPTY)
    returns = returns if accepts_only_json(returns) else Any
    effect: Effect = "read" if getattr(function, _MARK, ("",))[0] == "query" else ""
    return Tool(name, arguments, returns, tool_doc(inspect.getdoc(function) or "", arguments), source, effect)


def _reason(error: Exception) -> str:
    place = error_location(error)[0]
    return f"{type(error).__name__}: {error}" + (f" ({place})" if place else "")
