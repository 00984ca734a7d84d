"""Read and write a library: a folder with the knowledge of environments, in files that people can read and edit.

A library has one folder for each environment. The files of an environment are in ``LIBRARY/ENVIRONMENT``:

    rules.json            the rules, with their validation logs and checks
    manual.md             the manual; its rule texts override those in rules.json
    skills.json           the skill for each task type
    reflections.json      the reflection for each task type
    types.json            the found types: task types that planbook found by itself
    example.md            the starting example: a simple task and its solution, which planners see
    procedures/TYPE.py    the procedure for each task type
    demonstrations/       examples that a planning method shows to its models (see ``DemonstratingMemory``)

If a file is missing, there is no knowledge of that kind. (Without ``rules.json``, the rules are read from
``manual.md``.) Other files in the folder are never changed.
"""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from planbook.envs import Environment, validation_faults
from planbook.manuals.errors import BadKnowledge, BadManual
from planbook.manuals.markdown import parse
from planbook.manuals.procedures import TYPES_FILE, ProcedureLibrary
from planbook.planner import BadProcedure, Procedure, parse_procedure
from planbook.rules import FoundType, Knowledge, Reflection, Rule, RuleBook, Skill, rule_number
from planbook.sandbox import Fault, parse as parse_python

LOG = logging.getLogger(__name__)
RULES_FILE, MANUAL_FILE, EXAMPLE_FILE = "rules.json", "manual.md", "example.md"
"""Names of files in the folder of an environment. ``TYPES_FILE``, from ``procedures``, names another one."""
SKILLS_FILE, REFLECTIONS_FILE, PROCEDURES_FOLDER = "skills.json", "reflections.json", "procedures"
"""Names of two more files, and of the folder of procedures."""
Part = TypeVar("Part")
_USES_LINE = re.compile(r"^[ \t]*uses:.*?(?:\n|(?=\"{3}|'{3}))", re.MULTILINE)
"""Matches the ``uses:`` line in a procedure's header, up to but excluding any quotes that close the header."""


def read_knowledge(folder: Path, environment: type[Environment], options: BaseModel | None = None) -> Knowledge:
    """Return the knowledge that a library holds for an environment.

    Rules are read from the manual or from ``rules.json``. If the library has both, the text of each rule comes from the
    manual, and its validation log and check from ``rules.json``. Procedures that need actions which ``options`` remove
    are left out. Raises BadKnowledge if the folder is not a library, or if a file cannot be read or is invalid.
    """
    if not folder.is_dir():
        raise BadKnowledge(f"{folder} is not a folder; a library is a folder with one folder for each environment")
    env_folder = folder / environment.name
    if not env_folder.exists() and any((folder / name).exists() for name in (RULES_FILE, MANUAL_FILE, SKILLS_FILE)):
        raise BadKnowledge(
            f"{folder} has the files of one environment; move them to the folder {env_folder}, since a library has a "
            "folder for each environment"
        )
    manual = _read_text(env_folder / MANUAL_FILE) or ""
    return Knowledge(
        environment=environment.name,
        rules=_rules(env_folder, manual),
        manual=manual,
        skills=_read_json(env_folder / SKILLS_FILE, TypeAdapter(dict[str, Skill])) or {},
        reflections=_read_json(env_folder / REFLECTIONS_FILE, TypeAdapter(dict[str, Reflection])) or {},
        procedures=_procedures(folder, environment, options),
        found=_read_json(env_folder / TYPES_FILE, TypeAdapter(tuple[FoundType, ...])) or (),
        example=_read_text(env_folder / EXAMPLE_FILE) or "",
    )


def write_knowledge(folder: Path, knowledge: Knowledge) -> None:
    """Write the knowledge of an environment to a library.

    Files that would be empty are deleted, as are the files of procedures that no longer exist. If a procedure uses
    helper files, their code is written into the procedure's file. Raises BadKnowledge if the manual does not match the
    rules, or if a file cannot be written.
    """
    environment = knowledge.environment
    if not environment or Path(environment).name != environment:
        raise BadKnowledge(f"{environment!r} cannot be the name of an environment's folder")
    env_folder = folder / environment
    _check_manual(env_folder / MANUAL_FILE, knowledge)
    files = {
        RULES_FILE: _to_json([rule.model_dump(mode="json") for rule in knowledge.rules]),
        MANUAL_FILE: knowledge.manual,
        SKILLS_FILE: _to_json(_dump_by_type(knowledge.skills)),
        REFLECTIONS_FILE: _to_json(_dump_by_type(knowledge.reflections)),
        TYPES_FILE: _to_json([found_type.model_dump(mode="json") for found_type in knowledge.found]),
        EXAMPLE_FILE: knowledge.example,
        **_procedure_files(knowledge.procedures),
    }
    existing = (f"{PROCEDURES_FOLDER}/{path.name}" for path in (env_folder / PROCEDURES_FOLDER).glob("*.py"))
    replace_files(env_folder, dict.fromkeys(existing, "") | files)


def _read_text(path: Path) -> str | None:
    """Return the text of a file with its line endings unchanged, or None if the file does not exist."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadKnowledge(f"{path} cannot be read: {error}") from error


def _read_json(path: Path, adapter: TypeAdapter[Part]) -> Part | None:
    if (text := _read_text(path)) is None:
        return None
    try:
        return adapter.validate_json(text.removeprefix("\ufeff"))
    except ValidationError as error:
        fault = validation_faults(error, "the file")[0]
        raise BadKnowledge(f"{path}: {fault}; correct it, or delete the file") from error


def _rules(env_folder: Path, manual: str) -> tuple[Rule, ...]:
    stored = _read_json(env_folder / RULES_FILE, TypeAdapter(tuple[Rule, ...]))
    _check_unique_ids(env_folder / RULES_FILE, stored or ())
    if not manual.strip():
        return stored or ()
    manual_rules = _rules_by_id(manual, f"{env_folder / MANUAL_FILE}")
    if stored is None:
        return tuple(sorted(manual_rules.values(), key=lambda rule: rule_number(rule.id)))
    _check_same_ids(env_folder, [rule.id for rule in stored], list(manual_rules))
    return tuple(manual_rules[rule.id].model_copy(update={"log": rule.log, "check": rule.check}) for rule in stored)


def _rules_by_id(manual: str, problem: str) -> dict[str, Rule]:
    """Return the rules in a manual, keyed by id.

    Raises BadKnowledge if the manual is invalid. The message begins with ``problem``.
    """
    try:
        return {rule.id: rule for rule in parse(manual)[1]}
    except BadManual as error:
        raise BadKnowledge(f"{problem}: {error}") from error


def _check_unique_ids(path: Path, rules: Sequence[Rule]) -> None:
    try:
        RuleBook.from_rules(rules)
    except ValueError as error:
        raise BadKnowledge(f"{path}: {error}; correct the ids") from error


def _check_same_ids(env_folder: Path, stored_ids: Sequence[str], manual_ids: Sequence[str]) -> None:
    unmatched = {
        RULES_FILE: [id for id in stored_ids if id not in manual_ids],
        MANUAL_FILE: [id for id in manual_ids if id not in stored_ids],
    }
    if faults := [f"only in {name}: {', '.join(ids)}" for name, ids in unmatched.items() if ids]:
        raise BadKnowledge(
            f"{env_folder}: {RULES_FILE} and {MANUAL_FILE} hold different rules ({'; '.join(faults)}). To keep those "
            f"of {RULES_FILE}, delete {MANUAL_FILE} and write it again with planbook formulate. To keep those of the "
            f"manual, without their validation logs, delete {RULES_FILE}"
        )


def _check_manual(path: Path, knowledge: Knowledge) -> None:
    """Raise BadKnowledge if manual and rules differ, since ``read_knowledge`` would then return different rules."""
    _check_unique_ids(path.with_name(RULES_FILE), knowledge.rules)
    if not knowledge.manual.strip():
        return
    manual_rules = _rules_by_id(knowledge.manual, f"{path} was not written")
    expected = {rule.id: rule.model_copy(update={"log": (), "check": ""}) for rule in knowledge.rules}
    if differing := sorted(
        id for id in manual_rules.keys() | expected.keys() if manual_rules.get(id) != expected.get(id)
    ):
        raise BadKnowledge(
            f"{path} was not written: the manual and the rules differ in {', '.join(differing)}. "
            "Write the manual again with planbook formulate, or leave it out"
        )


def _procedures(folder: Path, environment: type[Environment], options: BaseModel | None) -> dict[str, Procedure]:
    """Return the procedures of a library, except those that need actions which the options remove.

    Raises BadKnowledge if a procedure fails the check even when no action is removed.
    """
    library, library_with_options = (ProcedureLibrary(environment, folder, each) for each in (None, options))
    procedures, left_out = dict[str, Procedure](), list[str]()
    try:
        for task_type in library.files:
            try:
                procedures[task_type] = library_with_options.existing_procedure(task_type)
            except BadProcedure:
                library.existing_procedure(task_type)
                left_out.append(task_type)
    except BadProcedure as error:
        raise BadKnowledge(f"{library.folder}: {error}") from error
    if left_out:
        LOG.info("left out procedures, since the options remove actions that they need: %s", ", ".join(left_out))
    return procedures


def _procedure_files(procedures: Mapping[str, Procedure]) -> dict[str, str]:
    files: dict[str, str] = {}
    for task_type, procedure in sorted(procedures.items()):
        name = f"{PROCEDURES_FOLDER}/{re.sub(r'[^A-Za-z0-9_]', '_', task_type)}.py"
        if name in files:
            raise BadKnowledge(f"{name} would hold two procedures, one of them for {task_type}")
        files[name] = standalone_code(procedure, task_type)
    return files


def standalone_code(procedure: Procedure, task_type: str = "") -> str:
    """Return the code of a procedure and of its helpers as one file, whose header refers to no other file.

    Raises BadKnowledge if this file is not a valid procedure, or if its header names another environment or task type
    than the procedure's environment and ``task_type`` (by default, the procedure's own type).
    """
    task_type = task_type or procedure.type
    code = _with_helpers(procedure) if procedure.helpers else procedure.code
    try:
        parsed = parse_procedure(code, procedure.name)
    except BadProcedure as error:
        raise BadKnowledge(f"the procedure for {task_type} cannot be written: {error}") from error
    if (parsed.environment, parsed.type) != (procedure.environment, task_type):
        raise BadKnowledge(f"the procedure for {task_type} has a header for {parsed.type} in {parsed.environment}")
    return code


def _with_helpers(procedure: Procedure) -> str:
    tree = parse_python(procedure.code)
    end = 0 if isinstance(tree, Fault) or not tree.body else tree.body[0].end_lineno
    lines = procedure.code.split("\n")
    header = _USES_LINE.sub("", "\n".join(lines[:end]))
    return "\n".join([header, "", procedure.helpers.strip("\n"), "", *lines[end:]])


def _dump_by_type(parts: Mapping[str, BaseModel]) -> dict[str, Any]:
    return {task_type: part.model_dump(mode="json") for task_type, part in sorted(parts.items())}


def _to_json(value: Sequence[Any] | Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n" if value else ""


TEMPORARY = ".new"
"""Suffix of the temporary name that a file has while it is being written."""


def replace_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files to a folder. ``files`` maps the name of each file to its text; an empty text deletes the file.

    All files are first written under temporary names, and then renamed one after the other. If one of the temporary
    files cannot be written, no file is changed. If the process is killed, each file holds either its old or its new
    text, and all of it. Raises BadKnowledge if a file cannot be written.
    """
    written: list[Path] = []
    try:
        for name, data in {name: text.encode("utf-8") for name, text in files.items() if text}.items():
            temporary = (folder / name).with_name(Path(name).name + TEMPORARY)
            temporary.parent.mkdir(parents=True, exist_ok=True)
            written.append(temporary)
            temporary.write_bytes(data)
        for temporary in written:
            temporary.replace(temporary.with_name(temporary.name.removesuffix(TEMPORARY)))
        for name in (name for name, text in files.items() if not text):
            (folder / name).unlink(missing_ok=True)
    except (OSError, UnicodeEncodeError) as error:
        for temporary in written:
            with suppress(OSError):
                temporary.unlink()
        raise BadKnowledge(f"{folder} was not written: {error}") from error
