"""Read the procedures and demonstrations of a library: the shipped one, or the user's own folder.

A library has a folder for each environment. In this folder, ``procedures/`` holds the procedures, ``helpers/`` the plan
code that several procedures use, and ``demonstrations/`` the examples that a method shows to its models; ``library``
describes the other files. A file in ``procedures/`` has one of two forms:

- A file with one procedure defines the function ``solve(agent, task)``.
- A file with several procedures defines one function for each, with a line ``type: TYPE`` in its docstring. A function
  that solves several types has a line ``type: TYPE - SUMMARY`` for each of them. Header lines that all procedures share
  are in the docstring of the module.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path

from pydantic import BaseModel

from planbook.envs import Environment, Task
from planbook.manuals.errors import BadKnowledge
from planbook.planner import Memory, Procedure, Recall, checked_procedure, parse_procedure, read_procedure
from planbook.sandbox import Fault, bound_names, parse as parse_python

SHIPPED = Path(__file__).parent
"""The folder of the shipped library: procedures, demonstrations and learned knowledge for each environment."""
TYPES_FILE = "types.json"
"""Name of the file with the task types that planbook found by itself, in the folder of an environment."""
_TYPE_LINE = re.compile(r"^\s*type: (\S+)(?: - (.+))?$", re.MULTILINE)
_SHARED_LINE = re.compile(r"^\s*(world|source|uses): (.+)$", re.MULTILINE)


class ProcedureLibrary:
    """The procedures of a library for one environment, except those for ``excluded_types``.

    A procedure is checked only when it is requested, against the actions that remain with ``options``.
    """

    def __init__(
        self,
        environment: type[Environment],
        folder: Path = SHIPPED,
        options: BaseModel | None = None,
        excluded_types: Collection[str] = (),
    ) -> None:
        self.environment, self.folder, self.options = environment, folder / environment.name / "procedures", options
        self._excluded_types = frozenset(excluded_types)
        self._recalls: dict[str, Recall] = {}

    @cached_property
    def _by_type(self) -> Mapping[str, tuple[Path, Procedure]]:
        files = sorted(self.folder.glob("*.py"))
        pairs = ((path, found) for path in files for found in module_procedures(path) or [read_procedure(path)])
        return {found.type: (path, found) for path, found in pairs if found.type not in self._excluded_types}

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Maps each task type to the file that holds its procedure."""
        return {task_type: path for task_type, (path, _) in self._by_type.items()}

    def procedure(self, task_type: str) -> Procedure | None:
        """Return the procedure for a task type, or None if there is none.

        Raises BadProcedure if it does not pass the check.
        """
        return self.existing_procedure(task_type) if task_type in self.files else None

    def existing_procedure(self, task_type: str) -> Procedure:
        """Return the procedure for a task type in ``files``. Raises BadProcedure if it does not pass the check."""
        return checked_procedure(self._by_type[task_type][1], self.environment, self.options)

    def recall(self, task: Task) -> Recall:
        """Return a recall with the procedure for the task's type, if there is one."""
        if task.type not in self._recalls:
            self._recalls[task.type] = Recall(procedure=self.procedure(task.type))
        return self._recalls[task.type]


def module_procedures(path: Path) -> list[Procedure]:
    """Return the procedures of a module that defines several, each with all the code that it needs.

    If the file has just one procedure, or cannot be read or parsed, the list is empty. Raises BadProcedure if a
    procedure of the module is invalid.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    tree = parse_python(text)
    if isinstance(tree, Fault):
        return []
    functions = [node for node in tree.body if _TYPE_LINE.search(_docstring(node))]
    return [
        parse_procedure(code, f"{re.sub(r'[^A-Za-z0-9_]', '_', task_type)}.py", path.parent.parent / "helpers")
        for function in functions
        for task_type, code in _split_out(text, tree, function)
    ]


def _docstring(node: ast.stmt) -> str:
    return (ast.get_docstring(node) or "") if isinstance(node, ast.FunctionDef) else ""


def _split_out(text: str, tree: ast.Module, function: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield each task type of the function, with the text of a file that has only the procedure for this type."""
    docstring = _docstring(function)
    header = {**dict(_SHARED_LINE.findall(ast.get_docstring(tree) or "")), **dict(_SHARED_LINE.findall(docstring))}
    body = _body(text, tree, function)
    for task_type, summary in _TYPE_LINE.findall(docstring):
        fields = {"world": "", "type": task_type, "source": "", **header}
        lines = "\n".join(f"{name}: {value}" for name, value in fields.items())
        yield task_type, f'"""{summary or docstring.splitlines()[0]}\n\n{lines}\n"""\n{body}\n'


def _body(text: str, tree: ast.Module, function: ast.stmt) -> str:
    """Return the code of the function, renamed to ``solve``, and of the module's other statements that it needs."""
    needed, pending = set[int](), [function]
    while pending:
        node = pending.pop()
        needed.add(id(node))
        names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        others = (other for other in tree.body if id(other) not in needed)
        pending += [other for other in others if names & bound_names(_source(text, other))]
    code, previous = "", None
    for node in tree.body:
        if id(node) in needed:
            source = _as_solve(text, node) if node is function else _source(text, node)
            code += "\n" * _newlines_before(node, previous) + source
            previous = node
    return code


def _newlines_before(node: ast.stmt, previous: ast.stmt | None) -> int:
    """Return the number of newlines before a statement: two blank lines before and after functions and classes."""
    definitions = (ast.FunctionDef, ast.ClassDef)
    if isinstance(node, definitions) or isinstance(previous, definitions):
        return 3 if previous else 2
    return 1 if previous and type(previous) is type(node) else 2 if previous else 1


def _source(text: str, node: ast.stmt) -> str:
    """Return the lines of a statement, including its decorators and a comment at the end of its last line."""
    lines = text.split("\n")
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    return "\n".join(lines[first - 1 : node.end_lineno])


def _as_solve(text: str, node: ast.stmt) -> str:
    """Return the lines of a procedure's function, renamed to ``solve`` and without its docstring."""
    assert isinstance(node, ast.FunctionDef)
    head, *lines = _source(text, node).split("\n")
    docstring = node.body[0]
    body = lines[docstring.end_lineno - node.lineno :] if docstring.end_lineno else lines
    return "\n".join([head.replace(f"def {node.name}(", "def solve(", 1), *body])


DEMONSTRATIONS_FOLDER = "demonstrations"
"""Name of the folder of demonstrations, in the folder of an environment."""
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def existing_demonstrations(environment: str, names: Sequence[str], library: Path = SHIPPED) -> tuple[str, ...]:
    """Return those ``names`` for which an environment has a demonstration, for all task types or only for one."""
    folders = [folder / environment / DEMONSTRATIONS_FOLDER for folder in (library, SHIPPED)]
    return tuple(
        name
        for name in names
        if any((folder / f"{name}.md").is_file() or any((folder / name).glob("*.md")) for folder in folders)
    )


class DemonstratingMemory:
    """A memory that adds demonstrations to what another memory recalls.

    The demonstration NAME is the file ``ENVIRONMENT/demonstrations/NAME/TYPE.md`` for tasks of one type, or
    ``ENVIRONMENT/demonstrations/NAME.md`` for all other tasks. Comments (``<!-- ... -->``), which name the task that
    the example solves, are not shown. A demonstration in ``library`` replaces the shipped one with the same name.
    """

    def __init__(self, memory: Memory, names: Sequence[str], library: Path = SHIPPED) -> None:
        self._memory, self._names, self._libraries = memory, tuple(names), (library, SHIPPED)

    def recall(self, task: Task) -> Recall:
        """Return what the other memory recalls, with demonstrations, but without a procedure.

        Raises BadKnowledge if the file of a demonstration cannot be read.
        """
        texts = {name: self._find(task, name) for name in self._names}
        demonstrations = {name: text for name, text in texts.items() if text}
        return self._memory.recall(task).model_copy(update={"demonstrations": demonstrations, "procedure": None})

    def _find(self, task: Task, name: str) -> str:
        for library in self._libraries:
            folder = library / task.env / DEMONSTRATIONS_FOLDER
            for path in (folder / name / f"{task.type}.md", folder / f"{name}.md"):
                if path.is_file():
                    return _read_demonstration(path)
        return ""


@cache
def _read_demonstration(path: Path) -> str:
    try:
        return _COMMENT.sub("", path.read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadKnowledge(f"the demonstration {path} cannot be read: {error}") from error
