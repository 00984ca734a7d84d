"""Procedures: files of stored plan code that does tasks of one type without asking a model.

A procedure defines ``solve(agent, task)``. The file's docstring consists of a summary and header lines (see
``HEADER_FORM``).
"""

import ast
from pathlib import Path

from pydantic import AliasChoices, BaseModel, Field

from planbook.envs import Environment
from planbook.planner.agent import functions_to_check, plan_attributes
from planbook.planner.errors import BadProcedure
from planbook.planner.types import Record
from planbook.sandbox import Fault, bound_names, check_procedure, parse

LEARNED = "learnt from "
"""Beginning of the header line ``source`` of a procedure that a model wrote.

It says "learnt", not "learned" as elsewhere, because recorded prompts contain it.
"""


class Procedure(Record):
    """Stored plan code for tasks of one type.

    ``code`` is the text of the whole file, including the header, so that line numbers in messages match the file.
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


REQUIRED_HEADERS = ("world", "type", "source")
HEADER_FORM = """a procedure begins with a docstring: its summary, an empty line, then the header lines
    world: ENVIRONMENT
    type: TASK TYPE
    source: who or what wrote it
    uses: HELPER FILE, ... (optional, without .py)"""


def parse_procedure(text: str, name: str, helpers_folder: Path | None = None) -> Procedure:
    """Parse the text of a procedure file. Raises BadProcedure, with an explanation, if the header is wrong."""
    summary, *lines = _header_lines(text, name)
    parts = (line.partition(":") for line in lines)
    fields = {key.strip(): value.strip() for key, colon, value in parts if colon}
    if missing := [key for key in REQUIRED_HEADERS if not fields.get(key)]:
        raise BadProcedure(f"{name}: the header lacks {', '.join(missing)}; {HEADER_FORM}")
    if unknown := sorted(set(fields) - {*REQUIRED_HEADERS, "uses"}):
        raise BadProcedure(f"{name}: the header has unknown lines {', '.join(unknown)}; {HEADER_FORM}")
    uses = fields["uses"].split(",") if "uses" in fields else ()
    helpers = "\n\n".join(_read_helper(helper.strip(), name, helpers_folder) for helper in uses)
    required = {key: fields[key] for key in REQUIRED_HEADERS}
    return Procedure(name=name, summary=summary, code=text, helpers=helpers, **required)


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

    Otherwise raise BadProcedure. Its message lists all faults that the check found.
    """
    if procedure.environment != environment.name:
        raise BadProcedure(
            f"{procedure.name} is written for the environment {procedure.environment!r}, not {environment.name!r}"
        )
    faults = procedure_faults(procedure.code, environment, options, helpers=procedure.helpers)
    if faults:
        fault_lines = "\n".join(str(fault) for fault in faults)
        raise BadProcedure(f"{procedure.name} does not pass the check:\n{fault_lines}")
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
    """Return True if the text of a file defines ``solve`` at its top level, as only procedures do."""
    tree = parse(text)
    return isinstance(tree, ast.Module) and any(
        isinstance(node, ast.FunctionDef) and node.name == "solve" for node in tree.body
    )


def _header_lines(text: str, name: str) -> list[str]:
    tree = parse(text)
    if isinstance(tree, Fault):
        raise BadProcedure(f"{name}: not Python: {tree}")
    if not (docstring := (ast.get_docstring(tree) or "").strip()):
        raise BadProcedure(f"{name}: no header; {HEADER_FORM}")
    return docstring.splitlines()


def _read_helper(helper: str, name: str, folder: Path | None) -> str:
    path = (folder / f"{helper}.py") if folder else None
    if path is None or not helper.isidentifier() or not path.is_file():
        raise BadProcedure(f"{name}: uses {helper!r}, but there is no helper file {path or helper}")
    return _read(path)
