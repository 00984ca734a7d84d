"""Writes learned procedures as Agent Skills (agentskills.io). ``verification`` verifies such skills.

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
from itertools import chain, count
from os.path import exists  # returns False if a string is too long for a path; the methods of Path raise
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planbook.config import FOUND, Config
from planbook.envs import Task, holds_secret, known_environments
from planbook.errors import BadArgument
from planbook.knowledge import learned_state, with_manual
from planbook.manuals import replace_files, standalone_code
from planbook.options import parse_pairs
from planbook.planner import Outcome, Procedure, Prompts, Trajectory, code_of, read_trajectory, without_block_marks
from planbook.rules import Knowledge, render_environment, render_manual
from planbook.runs import Run, without_folders
from planbook.sandbox import Limits
from planbook.wording import counted

SKILL, SCRIPT, MANUAL, EVIDENCE = "SKILL.md", "scripts/solve.py", "references/manual.md", "evidence.json"
HASHED_FILES = (SKILL, SCRIPT, MANUAL)
NAME_CHARACTERS, DESCRIPTION_CHARACTERS = 64, 1024
"""Maximum lengths of a skill's name and description, from the specification of Agent Skills."""
EXAMPLES = 3
"""Maximum number of goals that a skill's description quotes as examples."""
NEEDS_MATCHING = "its params are extracted from the goals (--types found), which a skill cannot do"
_FOLDERS = re.compile(r"(?<![\w/.])/(?:[^\s/'\":]+/)+")
"""Matches the folders in an absolute path."""
TEMPLATE = Prompts(Path(__file__).parent)["skill.md"]
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


def export_skills(folder: Path, out: Path | None) -> tuple[dict[str, str], dict[str, str]]:
    """Write a skill for each verified procedure of a run of `planbook build`. Raises BadArgument if there is none.

    Return a dict from the name of each skill to its folder, and a dict from each skipped task type to the reason.
    """
    written, skipped = dict[str, str](), dict[str, str]()
    with closing(Run.open(folder)) as run:
        knowledge, verifications = with_manual(run, learned_state(run)), list(_verifications(run))
        for task_type, procedure in sorted(knowledge.procedures.items()):
            tasks = _verified_tasks(procedure, verifications)
            if not tasks or run.config.types == FOUND:
                skipped[task_type] = NEEDS_MATCHING if tasks else UNVERIFIED
                continue
            name = _free_name(f"{procedure.environment}-{task_type}", written)
            skill_folder = (out or folder / "skills") / name
            replace_files(skill_folder, _files(run, name, knowledge, procedure, tasks))
            written[name] = str(skill_folder)
    if not written:
        reasons = (
            ", ".join(f"{task_type}: {reason}" for task_type, reason in skipped.items())
            or "it has learned no procedure"
        )
        raise BadArgument(f"{folder} has no skill to export ({reasons})")
    return written, skipped


def _verifications(run: Run) -> Iterator[Trajectory]:
    """Yield the episodes that were played to verify procedures, in the order in which they ended."""
    ended = (event for event in run.store.events("learn", "outcome") if "/verification/" in event.scope)
    paths = [event.scope for event in ended if Outcome(str(event.body["outcome"])).played]
    yield from (read_trajectory(path, run.store.events(path)) for path in paths)


def _verified_tasks(procedure: Procedure, verifications: list[Trajectory]) -> tuple[VerifiedTask, ...]:
    """Return the tasks on which exactly this code was played, each with its latest verdict."""
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
        versions=run.versions | run.environment_versions,
        tasks=tasks,
    )
    if evidence.env_options or evidence.env not in known_environments():
        arguments = shlex.join(_environment_arguments(evidence))
        evidence = evidence.model_copy(update={"verify": f"{evidence.verify} {arguments}"})
    texts[SKILL] = _skill_text(evidence, procedure, source)
    digests = {path: hashlib.sha256(texts[path].encode()).hexdigest() for path in HASHED_FILES}
    evidence = evidence.model_copy(update={"sha256": digests})
    text = json.dumps(evidence.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False)
    return {**texts, EVIDENCE: f"{text}\n"}


def _shareable_source(procedure: Procedure, config: Config) -> str:
    """Return the recorded source of a procedure without folders, which exist only on this machine."""
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
    """Return the text that gives an option this value in ``-o NAME=VALUE``."""
    return value if isinstance(value, str) and parse_pairs(f"_={value}", "-o") == {"_": value} else json.dumps(value)


def _skill_text(evidence: SkillEvidence, procedure: Procedure, source: str) -> str:
    solved = sum(task.solved for task in evidence.tasks)
    verdict = f"it solved {solved} of {counted(len(evidence.tasks), 'task')}"
    goals = list(dict.fromkeys(task.task.goal.removesuffix(".") for task in evidence.tasks))[:EXAMPLES]
    use = f"Use for tasks of the type {procedure.type} in {procedure.environment}, such as: {'; '.join(goals)}"
    header = {
        "name": evidence.skill,
        "description": _shortened(f"{procedure.summary} {use}. Verified: {verdict}."),
        "compatibility": f"Needs planbook and its environment {procedure.environment}",
    }
    metadata = {"task-type": procedure.type, "environment": procedure.environment, "source": source}
    play = ["planbook", "exec", SCRIPT, *_environment_arguments(evidence), "--task", evidence.tasks[0].task.id]
    text = TEMPLATE.render(
        header=_without_dashes(header), metadata=_without_dashes(metadata), evidence=evidence, procedure=procedure,
        verdict=verdict, play=shlex.join(play), script=SCRIPT, manual=MANUAL, file=EVIDENCE,
    )  # fmt: skip
    return f"{text}\n"


def _without_dashes(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts without "---", which some programs take for the end of the header."""
    return {name: re.sub(r"-{3,}", "--", text) for name, text in texts.items()}


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= DESCRIPTION_CHARACTERS else f"{line[: DESCRIPTION_CHARACTERS - 4]} ..."
