"""Read and write a library: the knowledge of an environment as files that people can read and edit.

The files are in the folder ``LIBRARY/ENVIRONMENT``:

    rules.json            the rules, with their validation logs
    manual.md             the manual; the text of its rules overrides that of rules.json
    skills.json           the skill for each task type
    reflections.json      the reflection for each task type
    types.json            the task types found by planbook
    example.md            the starting example
    procedures/TYPE.py    the procedure for each task type

If a file is missing, that part of the knowledge is empty. Other files in the folder are not touched.

A start is the knowledge that a run of ``planbook build`` has before its first task. It is a folder with ``example.md``,
an example of a simple task that planners see, and ``rules.json``, the rules that the example uses. Shipped starts are
in ``manuals/ENVIRONMENT/start/NAME``. The first line of an example may name the task that it solves, as
``<!-- task: ID -->``. Planners do not see this line, and must not be tested on that task.
"""

import json
import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from planbook.envs import Environment, validation_faults
from planbook.manuals.library import SHIPPED, TYPES_FILE, BadKnowledge, ManualsError, ProcedureLibrary
from planbook.manuals.markdown import BadManual, parse
from planbook.planner import BadProcedure, Procedure, parse_procedure
from planbook.rules import FoundType, Knowledge, Learned, Reflection, Rule, RuleBook, Skill, rule_number
from planbook.sandbox import Fault
from planbook.sandbox import parse as parse_python

LOG = logging.getLogger(__name__)
RULES, MANUAL_FILE, EXAMPLE = "rules.json", "manual.md", "example.md"
"""Names of files in the folder of an environment."""
SKILLS, REFLECTIONS, PROCEDURES = "skills.json", "reflections.json", "procedures"
"""Names of the other files, and of the folder of procedures. ``TYPES_FILE`` is the name of the file of types."""
Part = TypeVar("Part")
_USES = re.compile(r"^[ \t]*uses:.*?(?:\n|(?=\"{3}|'{3}))", re.MULTILINE)
"""Matches the header line of a procedure that names helper files, without the quotes that may end the line."""


def read_knowledge(folder: Path, environment: type[Environment], options: BaseModel | None = None) -> Knowledge:
    """Return the knowledge of an environment in a library.

    The manual takes precedence. If there is no ``rules.json``, the rules are read from the manual. If there are both,
    the rules get their text from the manual, and their validation logs and checks from ``rules.json``. Raises
    BadKnowledge if the folder is not a library, or if a file cannot be read or is invalid.
    """
    if not folder.is_dir():
        raise BadKnowledge(f"{folder} is not a folder; a library is a folder with one folder for each environment")
    home = folder / environment.name
    if not home.exists() and any((folder / name).exists() for name in (RULES, MANUAL_FILE, SKILLS)):
        raise BadKnowledge(
            f"{folder} has the files of one environment; put them into a folder {home}, since a library has a folder "
            "for each environment"
        )
    manual = _read_text(home / MANUAL_FILE) or ""
    return Knowledge(
        environment=environment.name,
        rules=_rules(home, manual),
        manual=manual,
        skills=_read_json(home / SKILLS, TypeAdapter(dict[str, Skill])) or {},
        reflections=_read_json(home / REFLECTIONS, TypeAdapter(dict[str, Reflection])) or {},
        procedures=_procedures(folder, environment, options),
        found=_read_json(home / TYPES_FILE, TypeAdapter(tuple[FoundType, ...])) or (),
        example=_read_text(home / EXAMPLE) or "",
    )


def write_knowledge(folder: Path, knowledge: Knowledge) -> None:
    """Write the knowledge of an environment to a library (with ``replace_files``).

    Files whose part of the knowledge is empty, and files of old procedures, are removed. A procedure that uses helper
    files is written together with their code. Raises BadKnowledge if the manual does not match the rules, or if a file
    cannot be written.
    """
    environment = knowledge.environment
    if not environment or Path(environment).name != environment:
        raise BadKnowledge(f"{environment!r} cannot be the name of an environment's folder")
    home = folder / environment
    _check_manual(home / MANUAL_FILE, knowledge)
    files = {
        RULES: _to_json([rule.model_dump(mode="json") for rule in knowledge.rules]),
        MANUAL_FILE: knowledge.manual,
        SKILLS: _to_json(_dump_by_type(knowledge.skills)),
        REFLECTIONS: _to_json(_dump_by_type(knowledge.reflections)),
        TYPES_FILE: _to_json([found.model_dump(mode="json") for found in knowledge.found]),
        EXAMPLE: knowledge.example,
        **_procedure_files(knowledge.procedures),
    }
    existing = (f"{PROCEDURES}/{path.name}" for path in (home / PROCEDURES).glob("*.py"))
    replace_files(home, dict.fromkeys(existing, "") | files)


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


def _rules(home: Path, manual: str) -> tuple[Rule, ...]:
    stored = _read_json(home / RULES, TypeAdapter(tuple[Rule, ...]))
    _check_unique_ids(home / RULES, stored or ())
    if not manual.strip():
        return stored or ()
    try:
        in_manual = {rule.id: rule for rule in parse(manual)[1]}
    except BadManual as error:
        raise BadKnowledge(f"{home / MANUAL_FILE}: {error}") from error
    if stored is None:
        return tuple(sorted(in_manual.values(), key=lambda rule: rule_number(rule.id)))
    _check_same_ids(home, [rule.id for rule in stored], list(in_manual))
    return tuple(in_manual[rule.id].model_copy(update={"log": rule.log, "check": rule.check}) for rule in stored)


def _check_unique_ids(path: Path, rules: Sequence[Rule]) -> None:
    try:
        RuleBook.from_rules(rules)
    except ValueError as error:
        raise BadKnowledge(f"{path}: {error}; correct the ids") from error


def _check_same_ids(home: Path, stored: Sequence[str], in_manual: Sequence[str]) -> None:
    unmatched = {
        RULES: [id for id in stored if id not in in_manual],
        MANUAL_FILE: [id for id in in_manual if id not in stored],
    }
    if faults := [f"only in {name}: {', '.join(ids)}" for name, ids in unmatched.items() if ids]:
        raise BadKnowledge(
            f"{home}: {RULES} and {MANUAL_FILE} hold different rules ({'; '.join(faults)}). Delete {MANUAL_FILE} and "
            f"formulate again to keep those of {RULES}, or delete {RULES} to keep those of the manual, "
            "without validation logs"
        )


def _check_manual(path: Path, knowledge: Knowledge) -> None:
    """Raise BadKnowledge if the manual differs from the rules, since the library could then not be read back."""
    _check_unique_ids(path.with_name(RULES), knowledge.rules)
    if not knowledge.manual.strip():
        return
    try:
        in_manual = {rule.id: rule for rule in parse(knowledge.manual)[1]}
    except BadManual as error:
        raise BadKnowledge(f"{path} was not written: {error}") from error
    expected = {rule.id: rule.model_copy(update={"log": (), "check": ""}) for rule in knowledge.rules}
    if differing := sorted(id for id in in_manual.keys() | expected.keys() if in_manual.get(id) != expected.get(id)):
        raise BadKnowledge(
            f"{path} was not written: the manual and the rules differ in {', '.join(differing)}. "
            "Formulate again, or leave the manual out"
        )


def _procedures(folder: Path, environment: type[Environment], options: BaseModel | None) -> dict[str, Procedure]:
    """Return the procedures of a library, except those that need actions that the options remove.

    Raises BadKnowledge if a procedure does not pass the check even without the options.
    """
    library, under_options = (ProcedureLibrary(environment, folder, each) for each in (None, options))
    procedures, left_out = dict[str, Procedure](), list[str]()
    try:
        for kind in library.files:
            try:
                procedures[kind] = under_options.checked(kind)
            except BadProcedure:
                library.checked(kind)
                left_out.append(kind)
    except BadProcedure as error:
        raise BadKnowledge(f"{library.folder}: {error}") from error
    if left_out:
        LOG.info("left out procedures, since the options remove actions that they need: %s", ", ".join(left_out))
    return procedures


def _procedure_files(procedures: Mapping[str, Procedure]) -> dict[str, str]:
    files: dict[str, str] = {}
    for kind, procedure in sorted(procedures.items()):
        name = f"{PROCEDURES}/{re.sub(r'[^A-Za-z0-9_]', '_', kind)}.py"
        if name in files:
            raise BadKnowledge(f"{name} would hold two procedures, one of them for {kind}")
        files[name] = standalone_code(procedure, kind)
    return files


def standalone_code(procedure: Procedure, kind: str = "") -> str:
    """Return a procedure's code together with that of its helpers, under a header that refers to no other file.

    Raises BadKnowledge if the code cannot be used without other files, or is not for the task type ``kind``.
    """
    kind = kind or procedure.type
    code = _with_helpers(procedure) if procedure.helpers else procedure.code
    try:
        parsed = parse_procedure(code, procedure.name)
    except BadProcedure as error:
        raise BadKnowledge(f"the procedure for {kind} cannot be written: {error}") from error
    if (parsed.environment, parsed.type) != (procedure.environment, kind):
        raise BadKnowledge(f"the procedure for {kind} has a header for {parsed.type} of {parsed.environment}")
    return code


def _with_helpers(procedure: Procedure) -> str:
    tree = parse_python(procedure.code)
    end = 0 if isinstance(tree, Fault) or not tree.body else tree.body[0].end_lineno or 0
    lines = procedure.code.split("\n")
    header = _USES.sub("", "\n".join(lines[:end]))
    return "\n".join([header, "", procedure.helpers.strip("\n"), "", *lines[end:]])


def _dump_by_type(parts: Mapping[str, BaseModel]) -> dict[str, Any]:
    return {kind: part.model_dump(mode="json") for kind, part in sorted(parts.items())}


def _to_json(value: Sequence[Any] | Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n" if value else ""


TEMPORARY = ".new"
"""Suffix of the name of a file while it is being written."""


def replace_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files in a folder. ``files`` maps their names to their texts; an empty text removes the file.

    All files are first written under temporary names, and then renamed one after the other. So an error while writing
    leaves all files unchanged, and if the process is killed, each file has either its old or its new text. Raises
    BadKnowledge if a file cannot be written.
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


# Starting knowledge: what a run of `planbook build` knows before its first task


WITHOUT_HELPERS = "without_helpers"
"""Name of the folder, in the folder of a start, that has the version for runs without helper methods."""
DEFAULT_STARTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "alfworld": {"": ("put",)},
    "miniwob": {"": ("search-engine", "click-menu", "enter-date", "social-media-some"), "feedback": ("search-engine",)},
    "toy": {"": ("fetch",)},
}
"""Maps environment and split to the starts of AutoManual's experiments (section 4, appendix D).

The key "" stands for all splits that are not listed.
"""
TEST_ONLY_TYPES: Mapping[str, tuple[str, ...]] = {"miniwob": ("email-inbox-nl-turk", "email-inbox-forward-nl-turk")}
"""Maps environments to task types that are used only in tests, since they resemble other types (appendix D)."""

_RULES = TypeAdapter(tuple[Rule, ...])
_TASK = re.compile(r"<!-- task: (\S+) -->\n")
_ID = re.compile(r"\brule_\d+\b")


class BadStart(ManualsError):
    """The starting knowledge does not exist, or is unusable. The message says which knowledge, and why."""


class Start(Learned):
    """The knowledge before the first task. ``tasks`` lists the ids of the tasks that the example plays."""

    example: str = ""
    rules: tuple[Rule, ...] = ()
    tasks: tuple[str, ...] = ()


def starts(environment_name: str) -> tuple[str, ...]:
    """Return the names of an environment's shipped starts."""
    return tuple(sorted(path.parent.name for path in (SHIPPED / environment_name / "start").glob(f"*/{EXAMPLE}")))


def default_starts(environment_name: str, split: str = "") -> tuple[str, ...]:
    """Return the names of the default starts for a build that uses this split, or () if there are none."""
    by_split = DEFAULT_STARTS.get(environment_name, {})
    return by_split.get(split, by_split.get("", ()))


def types_to_build_on(environment_name: str, types: Sequence[str]) -> tuple[str, ...]:
    """Return the types that a build may use: all except ``TEST_ONLY_TYPES``."""
    return tuple(kind for kind in types if kind not in TEST_ONLY_TYPES.get(environment_name, ()))


def read_start(environment_name: str, names: Sequence[str], *, helpers: bool = True) -> Start:
    """Read the named starts, and join them into one: the examples in order, and the rules with new numbers.

    Each name is the name of a shipped start, or the path of a folder. If there are no names, the start is empty. If
    ``helpers`` is False, the version for runs without helper methods is read, if there is one. Raises BadStart if a
    start does not exist or is invalid, or is named twice.
    """
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise BadStart(f"the start {repeated[0]!r} is named more than once")
    joined = Start()
    for name in names:
        folder = _start_folder(environment_name, name)
        reduced = folder / WITHOUT_HELPERS
        added = _renumbered(
            _read_start_folder(folder if helpers or not reduced.is_dir() else reduced), first=len(joined.rules)
        )
        example = f"{joined.example}\n{added.example}" if joined.example else added.example
        joined = Start(example=example, rules=joined.rules + added.rules, tasks=joined.tasks + added.tasks)
    return joined


def _start_folder(environment_name: str, name: str) -> Path:
    shipped = starts(environment_name)
    folder = SHIPPED / environment_name / "start" / name if name in shipped else Path(name)
    if not folder.is_dir():
        available = f"{environment_name} has {', '.join(shipped)}" if shipped else f"none ship for {environment_name}"
        raise BadStart(f"no start {name!r}: {available}; or name the path of a folder with {EXAMPLE} and {RULES}")
    return folder


def _read_start_folder(folder: Path) -> Start:
    """Return the start in a folder. Raises BadStart if it cannot be read or is invalid."""
    try:
        example, rules_json = ((folder / name).read_text(encoding="utf-8") for name in (EXAMPLE, RULES))
        rules = _RULES.validate_json(rules_json)
    except (OSError, UnicodeDecodeError) as error:
        raise BadStart(f"the start {folder} cannot be read: {error}; it needs {EXAMPLE} and {RULES}") from error
    except ValidationError as error:
        raise BadStart(f"{folder / RULES} is not a list of rules: {error}") from error
    _check_consecutive_ids(rules, folder / RULES)
    task = _TASK.match(example)
    return Start(example=_TASK.sub("", example, count=1), rules=rules, tasks=(task[1],) if task else ())


def _check_consecutive_ids(rules: Sequence[Rule], path: Path) -> None:
    """Raise BadStart unless the ids are rule_0, rule_1 and so on, and each rule builds only on earlier ones."""
    for number, rule in enumerate(rules):
        if rule.id != f"rule_{number}":
            raise BadStart(f"{path}: rule {number} has the id {rule.id!r}; ids are rule_0, rule_1 and so on, in order")
        if unknown := set(rule.builds_on) - {earlier.id for earlier in rules[:number]}:
            raise BadStart(f"{path}: {rule.id} builds on {', '.join(sorted(unknown))}, which is not an earlier rule")


def _renumbered(start: Start, first: int) -> Start:
    """Return the start with its rules numbered from ``first``. The ids in the texts are changed, too."""
    new_ids = {rule.id: f"rule_{number}" for number, rule in enumerate(start.rules, first)}

    def renamed(text: str) -> str:
        return _ID.sub(lambda match: new_ids.get(match[0], match[0]), text)

    rules = [
        rule.model_copy(
            update={
                "id": new_ids[rule.id],
                **{name: renamed(getattr(rule, name)) for name in ("content", "example", "check")},
                **{name: tuple(map(renamed, getattr(rule, name))) for name in ("log", "builds_on")},
            }
        )
        for rule in start.rules
    ]
    return Start(example=renamed(start.example), rules=tuple(rules), tasks=start.tasks)
