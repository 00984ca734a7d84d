"""Writes learned procedures as Agent Skills (agentskills.io), and verifies such skills.

A skill is a folder. ``SKILL.md`` describes it, ``scripts/solve.py`` is the procedure, and ``references/manual.md``
describes the environment and lists the learned rules. ``evidence.json`` lists the tasks on which the procedure was
verified, with the verdicts and the settings.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from itertools import chain, count
from os.path import exists, isfile  # return False if a string is too long for a path; the methods of Path raise
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, Template
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from planbook.config import FOUND, Config
from planbook.envs import Selection, Task, file_digest, holds_secret, known_environments, validation_faults
from planbook.errors import BadArgument
from planbook.inputs import code_files
from planbook.knowledge import learned_in, with_manual
from planbook.manuals import replace_files, standalone_code
from planbook.options import pairs, validate
from planbook.planner import (
    Outcome,
    Procedure,
    Trajectory,
    code_of,
    parse_procedure,
    read_trajectory,
    without_block_marks,
)
from planbook.rules import Knowledge, render_environment, render_manual
from planbook.runs import Run, last_path, recorded_endings, without_folders
from planbook.sandbox import Limits
from planbook.wording import counted, listed

SKILL, SCRIPT, MANUAL, EVIDENCE = "SKILL.md", "scripts/solve.py", "references/manual.md", "evidence.json"
HASHED = (SKILL, SCRIPT, MANUAL)
NAME_CHARACTERS, DESCRIPTION_CHARACTERS = 64, 1024
"""Maximum lengths of a skill's name and description in the specification of Agent Skills."""
EXAMPLES = 3
"""Maximum number of goals that a skill's description quotes as examples."""
NEEDS_MATCHING = "its params are matched from goals (--types found), which a skill cannot do"
_FOLDERS = re.compile(r"(?<![\w/.])/(?:[^\s/'\":]+/)+")
"""Matches the folders in an absolute path."""
_FILES = re.compile(r"[\w./-]+\.(?:py|ya?ml|json)\b")
UNVERIFIED = "it comes from the library, and this run did not verify it; export it from the run that learned it"


class EvidenceModel(BaseModel):
    """Base class of the records in ``evidence.json``."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class VerifiedTask(EvidenceModel):
    """A task on which the procedure was played, with the environment's verdict."""

    task: Task
    outcome: Outcome
    score: float
    actions: int

    @property
    def solved(self) -> bool:
        """True if the environment judged the task solved."""
        return self.outcome.solved


class SkillEvidence(EvidenceModel):
    """The contents of ``evidence.json``. ``sha256`` maps the names of the skill's other files to their digests."""

    schema_version: Literal["planbook.skill-evidence/1"] = Field(default="planbook.skill-evidence/1", alias="schema")
    verify: str = "planbook skills verify ."
    """The command that verifies the skill. Run it in the skill's folder."""
    skill: str
    task_type: str
    env: str
    env_options: dict[str, JsonValue]
    """The environment's options that differ from their defaults, without secrets."""
    actions: int = Field(ge=0)
    """The maximum number of actions in one episode."""
    limits: Limits
    seed: int
    run: str
    """The name of the run that learned the procedure."""
    versions: dict[str, str]
    sha256: dict[str, str] = {}
    tasks: tuple[VerifiedTask, ...] = Field(min_length=1)


class SkillsExportResult(BaseModel):
    """The output of `planbook skills export --json`. ``left_out`` maps task types without a skill to the reasons."""

    skills: dict[str, str]
    """Maps the name of each skill to its folder."""
    left_out: dict[str, str]
    run: str


def export_skills(folder: Path, out: Path | None) -> SkillsExportResult:
    """Write a skill for each verified procedure of a run of `planbook build`. Raises BadArgument if there is none."""
    written, left_out = dict[str, str](), dict[str, str]()
    with closing(Run.open(folder)) as run:
        if run.config.learning is None:
            raise BadArgument(f"{folder} is not a run of `planbook build`, so it has no skills")
        verifications = list(_verifications(run))
        for group, state in learned_in(run).items():
            knowledge = with_manual(run, group, state)
            for kind, procedure in sorted(state.knowledge.procedures.items()):
                tasks = _verified_tasks(procedure, verifications)
                if not tasks or run.config.types == FOUND:
                    left_out[kind] = NEEDS_MATCHING if tasks else UNVERIFIED
                    continue
                name = _free_name(f"{procedure.environment}-{kind}", written)
                skill_folder = (out or folder / "skills") / name
                replace_files(skill_folder, _files(run, name, knowledge, procedure, tasks))
                written[name] = str(skill_folder)
    if not written:
        reasons = ", ".join(f"{kind}: {reason}" for kind, reason in left_out.items()) or "it has learned no procedure"
        raise BadArgument(f"{folder} has no skill to export ({reasons})")
    return SkillsExportResult(skills=written, left_out=left_out, run=str(folder))


def _verifications(run: Run) -> Iterator[Trajectory]:
    """Yield the episodes that were played to verify procedures, in the order in which they ended."""
    ended = (event for event in run.store.events("learn", "outcome") if "/verification/" in event.scope)
    paths = [event.scope for event in ended if Outcome(str(event.body["outcome"])).played]
    yield from (read_trajectory(path, run.store.events(path)) for path in paths)


def _verified_tasks(procedure: Procedure, verifications: list[Trajectory]) -> tuple[VerifiedTask, ...]:
    """Return the tasks on which exactly the code of this procedure was played, each with its latest verdict."""
    code, tasks = code_of(procedure).code, dict[str, VerifiedTask]()
    for episode in verifications:
        cells = [cell.code for round_ in episode.rounds for cell in round_.cells]
        task, ending = episode.task, episode.ending
        if cells[:1] == [code]:
            outcome, score = ending.outcome, ending.verdict.score
            tasks[task.id] = VerifiedTask(task=task, outcome=outcome, score=score, actions=ending.actions)
    return tuple(tasks.values())


def _free_name(text: str, taken: Mapping[str, str]) -> str:
    """Turn a string into a name that the specification allows. If it is taken, add a number, as in "toy-fetch-2"."""
    base = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[: NAME_CHARACTERS - 4].rstrip("-") or "skill"
    numbered = (f"{base}-{number}" for number in count(2))
    return base if base not in taken else next(name for name in numbered if name not in taken)


def _files(
    run: Run, name: str, knowledge: Knowledge, procedure: Procedure, tasks: tuple[VerifiedTask, ...]
) -> dict[str, str]:
    config = run.config
    environment = render_environment(config.environment, config.environment_options)
    rules = without_block_marks(render_manual(knowledge))
    source = _shareable_source(procedure, config)
    script = standalone_code(procedure).replace(procedure.source, source, 1)
    texts = {SCRIPT: script, MANUAL: f"# {procedure.environment}\n\n{environment}\n\n{rules}\n"}
    evidence = SkillEvidence(
        skill=name,
        task_type=procedure.type,
        env=_FOLDERS.sub("", without_folders(config).env),
        env_options=_shareable_options(config),
        actions=config.actions,
        limits=config.limits,
        seed=config.seed,
        run=run.folder.resolve().name,
        versions=run.versions,
        tasks=tasks,
    )
    if evidence.env_options or evidence.env not in known_environments():
        arguments = shlex.join(_environment_arguments(evidence))
        evidence = evidence.model_copy(update={"verify": f"{evidence.verify} {arguments}"})
    texts[SKILL] = _skill_text(evidence, procedure, source, [path.name for path in code_files(config).values()])
    digests = {path: hashlib.sha256(texts[path].encode()).hexdigest() for path in HASHED}
    evidence = evidence.model_copy(update={"sha256": digests})
    text = json.dumps(evidence.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False)
    return {**texts, EVIDENCE: f"{text}\n"}


def _shareable_source(procedure: Procedure, config: Config) -> str:
    """Return the recorded source of a procedure, without the folders of paths, which exist only on this machine."""
    source = procedure.source
    for model, shareable in zip(config.models.values(), without_folders(config).models.values(), strict=True):
        source = source.replace(model, shareable)
    return _FOLDERS.sub("", source)


def _shareable_options(config: Config) -> dict[str, JsonValue]:
    options = config.environment_options.model_dump(mode="json", exclude_defaults=True)
    return {name: _without_folders(value) for name, value in options.items() if not holds_secret(name, value)}


def _without_folders(value: JsonValue) -> JsonValue:
    """Return a JSON value in which absolute paths are reduced to file names."""
    if isinstance(value, str):
        return Path(value).name if Path(value).is_absolute() and exists(value) else _FOLDERS.sub("", value)
    if isinstance(value, dict):
        return {name: _without_folders(part) for name, part in value.items()}
    return [_without_folders(part) for part in value] if isinstance(value, list) else value


def _environment_arguments(evidence: SkillEvidence) -> list[str]:
    options = (("-o", f"{name}={_as_argument(value)}") for name, value in evidence.env_options.items())
    return ["--env", evidence.env, *chain.from_iterable(options)]


def _as_argument(value: JsonValue) -> str:
    """Return the text to write for VALUE in ``-o NAME=VALUE``, so that the option gets this value."""
    return value if isinstance(value, str) and pairs(f"_={value}", "-o") == {"_": value} else json.dumps(value)


def _command(evidence: SkillEvidence, code: list[str]) -> tuple[str, str]:
    """Return the command that plays the first task, and the names of the files that it needs, among them ``code``."""
    environment = _environment_arguments(evidence)
    play = ["planbook", "exec", SCRIPT, *environment, "--task", evidence.tasks[0].task.id]
    files = dict.fromkeys([*(Path(file).name for file in _FILES.findall(" ".join(environment))), *code])
    return shlex.join(play), ", ".join(f"`{file}`" for file in files)


def _skill_text(evidence: SkillEvidence, procedure: Procedure, source: str, code: list[str]) -> str:
    solved = sum(task.solved for task in evidence.tasks)
    verdict = f"it solved {solved} of {counted(len(evidence.tasks), 'task')}"
    goals = list(dict.fromkeys(task.task.goal.removesuffix(".") for task in evidence.tasks))[:EXAMPLES]
    use = f"Use for tasks of the type {procedure.type} in {procedure.environment}, such as: {'; '.join(goals)}"
    header = {
        "name": evidence.skill,
        "description": _shortened(f"{procedure.summary} {use}. Verified: {verdict}."),
        "compatibility": f"Needs planbook and its environment {procedure.environment}",
    }
    play, files = _command(evidence, code)
    return _template().render(
        header=header, evidence=evidence, procedure=procedure, source=source, verdict=verdict,
        play=play, files=files, script=SCRIPT, manual=MANUAL, file=EVIDENCE,
    )  # fmt: skip


@cache
def _template() -> Template:
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment.filters["scalar"] = _scalar
    return environment.get_template("skill.md.j2")


def _scalar(text: str) -> str:
    """Return a string as a quoted YAML scalar, without "---", which some programs take for the end of the header."""
    return json.dumps(re.sub(r"-{3,}", "--", text), ensure_ascii=False)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= DESCRIPTION_CHARACTERS else f"{line[: DESCRIPTION_CHARACTERS - 4]} ..."


class VerifiedSkill(BaseModel):
    """The result of verifying a skill. If the skill has no evidence, there are no tasks, and ``run`` is ""."""

    name: str
    folder: str
    tasks: int
    solved: int
    """Number of tasks that were solved in the verification."""
    changed_files: tuple[str, ...]
    """Names of the skill's files that are missing, or that have other digests than the evidence records."""
    changed: tuple[str, ...]
    """Ids of the tasks whose verdict has changed, or that were not played to their end."""
    run: str
    """The run in which the tasks were played."""

    @property
    def holds(self) -> bool:
        """True if all files and all verdicts are as recorded."""
        return not self.changed_files and not self.changed


def skill_folders(folder: Path) -> list[Path]:
    """Return the folder itself if it is a skill, or else the skills in it. Raises BadArgument if it has no skills."""
    skills = [path for path in (folder, *sorted(folder.glob("*/"))) if has_evidence(path) or (path / SCRIPT).is_file()]
    if not skills:
        raise BadArgument(f"{folder} holds no skill with an {EVIDENCE}; write some with `planbook skills export RUN`")
    return skills[:1] if skills[0] == folder else skills


def has_evidence(folder: Path) -> bool:
    """Return True if the skill in a folder has evidence. Without evidence, it cannot be verified."""
    return (folder / EVIDENCE).is_file()


def read_evidence(folder: Path) -> SkillEvidence:
    """Return the evidence of a skill. Raises BadArgument if it cannot be read."""
    try:
        return SkillEvidence.model_validate_json((folder / EVIDENCE).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        faults = "; ".join(validation_faults(error)) if isinstance(error, ValidationError) else error
        raise BadArgument(f"{folder / EVIDENCE} cannot be read as the evidence of a skill: {faults}") from error


def changed_files(folder: Path, evidence: SkillEvidence) -> tuple[str, ...]:
    """Return the names of files that are missing, or that have other digests than the evidence records."""
    digests = {name: file_digest(folder / name) for name in HASHED if (folder / name).is_file()}
    return tuple(name for name in HASHED if name not in digests or digests[name] != evidence.sha256.get(name))


def verifying_config(folder: Path, evidence: SkillEvidence, env: str, env_options: Mapping[str, JsonValue]) -> Config:
    """Return the configuration of a run that plays the skill on the tasks of its evidence.

    The evidence contains neither folders nor secrets: the user gives them with ``env`` and ``env_options``. Raises
    BadArgument if the evidence names code or a server that the user has not named, since the evidence is not trusted.
    """
    if not env and evidence.env not in known_environments():
        raise BadArgument(
            f"{folder} is a skill for the environment {evidence.env}, whose code would run on this machine; "
            "name it yourself if you trust it: --env FILE.py:NAME"
        )
    for name, value in evidence.env_options.items():
        suspects = (text for text in _texts(value) if "://" in text or isfile(folder / text) or isfile(text))
        if name not in env_options and (suspect := next(suspects, None)):
            raise BadArgument(
                f"the skill in {folder} was verified with the option {name}={suspect}, which may name code to run or a "
                f"server to act on; name it yourself if you trust it: -o {name}=VALUE"
            )
    try:
        text = (folder / SCRIPT).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"{folder / SCRIPT} cannot be read: {error}") from error
    procedure = parse_procedure(text, Path(SCRIPT).name)
    config = Config(
        planner="code",
        planner_options=code_of(procedure).model_dump(mode="json"),
        env=env or evidence.env,
        env_options={**evidence.env_options, **env_options},
        actions=evidence.actions,
        limits=evidence.limits,
        seed=evidence.seed,
        selection=Selection(ids=tuple(task.task.id for task in evidence.tasks)),
    )
    if procedure.environment != (name := config.environment.name):
        raise BadArgument(
            f"{folder} is a skill for the environment {procedure.environment!r}, not {name!r}; "
            f"name {procedure.environment!r} with --env"
        )
    validate(config.environment.Options, config.env_options, "--option" if env_options else EVIDENCE)
    return config


def _texts(value: JsonValue) -> Iterator[str]:
    """Yield all strings in a JSON value, but not the keys of its objects."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(part)


def tasks_in_environment(config: Config, evidence: SkillEvidence) -> list[Task]:
    """Return the tasks of the evidence as the environment defines them now. Raises BadSelection if one is missing."""
    selections = (Selection(split=row.task.split or None, ids=(row.task.id,)) for row in evidence.tasks)
    return [task for chosen in selections for task in config.environment.select(chosen, config.environment_options)]


def unverified_skill(folder: Path) -> VerifiedSkill:
    """Return the result for a skill without evidence. Its verification counts as failed."""
    return VerifiedSkill(
        name=folder.resolve().name, folder=str(folder), tasks=0, solved=0, changed_files=(EVIDENCE,), changed=(), run=""
    )


def verified_skill(folder: Path, evidence: SkillEvidence, played: Path) -> VerifiedSkill:
    """Compare the verdicts of the run in ``played`` with the evidence. Raises BadArgument if the tasks differ."""
    with closing(Run.open(played)) as run:
        endings = recorded_endings(run)
        ended = {entry.task.id: entry for entry in run.entries() if entry.index in endings}
        tasks = {
            id: read_trajectory(last_path(run, entry), run.store.events(entry.path), entry.task).task
            for id, entry in ended.items()
        }
    outcomes = {id: endings[entry.index].outcome for id, entry in ended.items()}
    verdicts = {id: outcome.solved for id, outcome in outcomes.items() if outcome.played}
    if differing := [row.task.id for row in evidence.tasks if tasks.get(row.task.id, row.task) != row.task]:
        raise BadArgument(
            f"{folder / EVIDENCE}: tasks differ from those of the environment ({listed(differing, 1)}); the evidence "
            "was changed, or is from another version of the environment"
        )
    return VerifiedSkill(
        name=evidence.skill,
        folder=str(folder),
        tasks=len(evidence.tasks),
        solved=sum(verdicts.values()),
        changed_files=changed_files(folder, evidence),
        changed=tuple(task.task.id for task in evidence.tasks if task.solved != verdicts.get(task.task.id)),
        run=str(played),
    )
