"""Memory: what is known about tasks of one type, such as rules, helper functions and procedures.

An episode asks its memory once about its task. If a model then matches the goal with a task type, the episode asks
again, about tasks of that type.

A procedure is stored plan code that does tasks of one type without asking a model. It is a file that defines
``solve(agent, task)``. The file's docstring consists of a summary and header lines (see ``HEADER_FORM``).
"""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, Self

from pydantic import AliasChoices, BaseModel, Field, JsonValue, model_validator

from planbook.envs import Environment, Task
from planbook.planner.agent import functions_to_check, plan_attributes
from planbook.planner.errors import BadProcedure
from planbook.planner.journal import Payload
from planbook.planner.types import Record, RenderedText, Text
from planbook.sandbox import Fault, bound_names, check_procedure, parse

LEARNED = "learnt from "
"""If a model wrote a procedure, the value of its header line ``source`` begins with these words."""


class Procedure(Record):
    """Stored plan code for tasks of one type.

    ``code`` is the text of the whole file, including the header, so that the line numbers in messages fit the file.
    ``source`` says who or what wrote the procedure.
    """

    name: str
    summary: str
    environment: str = Field(validation_alias=AliasChoices("environment", "world"))
    type: str
    source: str
    code: str
    helpers: str = ""

    @property
    def is_learned(self) -> bool:
        """True if a model wrote the procedure from its experience with tasks of the type."""
        return self.source.startswith(LEARNED)


class MatchCandidate(Record):
    """A task type to which a goal may belong, as it is shown to a model. planbook found the type by itself."""

    name: str
    summary: str = ""
    params: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    """The goals of the type's examples."""
    had: dict[str, tuple[JsonValue, ...]] = {}
    """Maps each parameter to its values in the type's examples."""


class Match(Payload):
    """The task type to which a goal belongs, and the parameters for the type's procedure that were read from the goal.

    If the match is uncertain, ``candidates`` are the types that are most similar to the goal, the most similar first.
    """

    span = "match"
    bulky = frozenset({"candidates"})

    type: str = ""
    params: dict[str, JsonValue] = {}
    by: str = ""
    """How the type was found: by ``pattern``, ``words`` or ``model``."""
    candidates: tuple[MatchCandidate, ...] = ()
    failed: str = ""
    """If the type's procedure was run and failed: the kind of the failure. Otherwise empty."""

    @property
    def title(self) -> str:
        """The name of the type."""
        return self.type or "no type"

    @property
    def status(self) -> str:
        """``failed`` if the procedure failed, otherwise empty."""
        return self.failed and "failed"


class Recall(Record):
    """The knowledge that may help with a task."""

    text: Text = ""
    """Knowledge for the prompt."""
    data: str = Field(default="", exclude_if=lambda data: not data)
    """Digest of the data from which ``text`` was made, or empty if it is unknown."""
    example: str = ""
    """A solved task of the environment as an example for the model. It also shows the format of a reply."""
    helpers: str = ""
    """Plan code that is run before all other plan code. It defines the helper functions that other code may call."""
    rule_ids: tuple[str, ...] = ()
    procedure: Procedure | None = None
    """The procedure for tasks of this type, or None if there is none."""
    match: Match | None = Field(default=None, exclude_if=lambda match: match is None)
    """The type of the goal and the procedure's parameters. None unless planbook learns task types from episodes."""
    check: str = Field(default="", exclude_if=lambda check: not check)
    """Plan code that raises an exception unless the post-conditions of the procedure hold."""
    demonstrations: Mapping[str, str] = {}
    """Maps the names of demonstrations to their texts. Methods show them in their prompts."""

    @model_validator(mode="after")
    def _keep_digest(self) -> Self:
        if isinstance(self.text, RenderedText):
            object.__setattr__(self, "data", self.text.data_digest)
        elif self.data:
            object.__setattr__(self, "text", RenderedText.known(self.text, self.data))
        return self


class Memory(Protocol):
    """A store of knowledge. Packages that import this one implement it."""

    def recall(self, task: Task) -> Recall:
        """Return the knowledge about tasks like this one."""


class NoMemory:
    """An empty memory."""

    def recall(self, task: Task) -> Recall:
        """Return an empty recall."""
        return Recall()


# Reading and checking procedures.

REQUIRED_HEADERS = ("world", "type", "source")
OPTIONAL_HEADERS = ("uses",)
HEADER_FORM = """a procedure begins with a docstring: its summary, an empty line, then the header lines
    world: ENVIRONMENT
    type: TASK TYPE
    source: who or what wrote it
    uses: HELPER FILE, ... (optional, without .py)"""


def parse_procedure(text: str, name: str, helpers_folder: Path | None = None) -> Procedure:
    """Parse the text of a procedure file. Raises BadProcedure, with an explanation, if the header is wrong."""
    header = _header_lines(text, name)
    lines = (line.partition(":") for line in header[1:])
    fields = {key.strip(): value.strip() for key, colon, value in lines if colon}
    if missing := [key for key in REQUIRED_HEADERS if not fields.get(key)]:
        raise BadProcedure(f"{name}: the header lacks {', '.join(missing)}; {HEADER_FORM}")
    if unknown := sorted(set(fields) - {*REQUIRED_HEADERS, *OPTIONAL_HEADERS}):
        raise BadProcedure(f"{name}: the header has unknown lines {', '.join(unknown)}; {HEADER_FORM}")
    uses = fields["uses"].split(",") if "uses" in fields else ()
    helpers = "\n\n".join(_read_helper(helper.strip(), name, helpers_folder) for helper in uses)
    required = {key: fields[key] for key in REQUIRED_HEADERS}
    return Procedure(name=name, summary=header[0], code=text, helpers=helpers, **required)


def read_procedure(path: Path) -> Procedure:
    """Read a procedure file, and its helper files from the folder ``helpers`` next to the file's own folder.

    Raises BadProcedure if a file cannot be read, or if the header is wrong.
    """
    return parse_procedure(_read(path), path.name, path.parent.parent / "helpers")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadProcedure(f"{path}: cannot be read: {error}") from error


def checked_procedure(
    procedure: Procedure, environment: type[Environment], options: BaseModel | None = None
) -> Procedure:
    """Return the procedure if it is for this environment and passes the static check.

    Otherwise raise BadProcedure, whose message lists all faults.
    """
    if procedure.environment != environment.name:
        raise BadProcedure(
            f"{procedure.name} is written for the environment {procedure.environment!r}, not {environment.name!r}"
        )
    faults = procedure_faults(procedure.code, environment, options, helpers=procedure.helpers)
    if faults:
        listed = "\n".join(str(fault) for fault in faults)
        raise BadProcedure(f"{procedure.name} does not pass the check:\n{listed}")
    return procedure


def procedure_faults(
    code: str, environment: type[Environment], options: BaseModel | None = None, *, helpers: str = ""
) -> list[Fault]:
    """Return the faults that the static check finds in a procedure's code. The code need not have a header."""
    names = bound_names(environment.helpers) | bound_names(helpers)
    return check_procedure(
        code, functions_to_check(environment, options), attributes=plan_attributes(environment), names=names
    )


def is_procedure(text: str) -> bool:
    """Return True if a file's text defines ``solve`` at its top level, as only procedures do."""
    tree = parse(text)
    return isinstance(tree, ast.Module) and any(
        isinstance(node, ast.FunctionDef) and node.name == "solve" for node in tree.body
    )


def _header_lines(text: str, name: str) -> list[str]:
    tree = parse(text)
    if isinstance(tree, Fault):
        raise BadProcedure(f"{name}: not Python: {tree}")
    if not (docstring := ast.get_docstring(tree)):
        raise BadProcedure(f"{name}: no header; {HEADER_FORM}")
    return docstring.strip().splitlines()


def _read_helper(helper: str, name: str, folder: Path | None) -> str:
    path = (folder / f"{helper}.py") if folder else None
    if path is None or not helper.isidentifier() or not path.is_file():
        raise BadProcedure(f"{name}: uses {helper!r}, but there is no helper file {path or helper}")
    return _read(path)
