"""Verifies Agent Skills: compares a skill's files and the verdicts of a new run with the skill's evidence.

A skill may come from a stranger, so its evidence is not trusted.
"""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import BaseModel, JsonValue, ValidationError

from planbook.config import Config
from planbook.envs import Selection, Task, file_digest, known_environments, validation_faults
from planbook.errors import BadArgument
from planbook.export.skills import EVIDENCE, HASHED_FILES, SCRIPT, SkillEvidence
from planbook.options import validate
from planbook.planner import code_of, parse_procedure
from planbook.runs import Run, last_attempt, recorded_endings
from planbook.sandbox import Limits
from planbook.wording import listed


class VerifiedSkill(BaseModel):
    """The result of verifying a skill."""

    name: str
    folder: str
    tasks: int
    solved: int
    """Number of tasks that were solved in the verification."""
    changed_files: tuple[str, ...]
    """Names of the skill's files that are missing, or whose digests differ from those in the evidence."""
    changed: tuple[str, ...]
    """Ids of the tasks whose verdict or score has changed, or that were not played to their end."""
    reduced_limits: tuple[str, ...] = ()
    """Names of the limits that were reduced to planbook's defaults, because the evidence states higher ones."""
    run: str
    """The folder of the run in which the tasks were played."""

    @property
    def is_unchanged(self) -> bool:
        """True if all files and all verdicts are as recorded."""
        return not self.changed_files and not self.changed


def skill_folders(folder: Path) -> list[Path]:
    """Return the folder itself if it is a skill, or else the skills in it. Raises BadArgument if there are none."""
    folders = (folder, *sorted(folder.glob("*/")))
    skills = [path for path in folders if (path / EVIDENCE).exists() or (path / SCRIPT).exists()]
    if not skills:
        raise BadArgument(f"{folder} holds no skill with an {EVIDENCE}; write some with `planbook skills export RUN`")
    return skills[:1] if skills[0] == folder else skills


def is_own_file(folder: Path, name: str) -> bool:
    """Return True if a name is a file inside a skill's folder, and not a link out of it."""
    path = folder / name
    return path.is_file() and path.resolve().is_relative_to(folder.resolve())


def read_text(folder: Path, name: str) -> str:
    """Return the text of one of a skill's files.

    Raises OSError if the file is not in the folder or cannot be read, or UnicodeDecodeError if it is not UTF-8.
    """
    if not is_own_file(folder, name):
        raise OSError("it is not a file in the skill's folder")
    return (folder / name).read_text(encoding="utf-8")


def read_evidence(folder: Path) -> SkillEvidence:
    """Return the evidence of a skill. Raises BadArgument if it cannot be read."""
    try:
        return SkillEvidence.model_validate_json(read_text(folder, EVIDENCE))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        faults = "; ".join(validation_faults(error)) if isinstance(error, ValidationError) else error
        raise BadArgument(f"{folder / EVIDENCE} cannot be read as the evidence of a skill: {faults}") from error


def changed_files(folder: Path, evidence: SkillEvidence) -> tuple[str, ...]:
    """Return the names of files that are missing, or whose digests differ from those in the evidence.

    Only the files in ``HASHED_FILES`` are read: any other name in the evidence could lead out of the folder.
    """
    digests = {name: file_digest(folder / name) for name in HASHED_FILES if is_own_file(folder, name)}
    names = dict.fromkeys([*HASHED_FILES, *evidence.sha256])
    return tuple(name for name in names if name not in digests or digests[name] != evidence.sha256.get(name))


def reduced_limits(limits: Limits) -> dict[str, Any]:
    """Return planbook's defaults for the limits that exceed them: evidence from a stranger must not raise a limit."""
    return {name: default for name, default in Limits() if getattr(limits, name) > default}


def verification_config(
    folder: Path, evidence: SkillEvidence, env: str, env_options: Mapping[str, JsonValue]
) -> Config:
    """Return the configuration of a run that plays the skill on the tasks of its evidence.

    The environment's options come from the user, because the evidence is not trusted. Raises BadArgument if the skill
    cannot be read, is for another environment, or names an unknown environment that the user has not named.
    """
    if not env and evidence.env not in known_environments():
        raise BadArgument(
            f"{folder} is a skill for the environment {evidence.env}, whose code would run on this machine; "
            "name it yourself if you trust it: --env FILE.py:NAME"
        )
    try:
        text = read_text(folder, SCRIPT)
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"{folder / SCRIPT} cannot be read: {error}") from error
    procedure = parse_procedure(text, Path(SCRIPT).name)
    config = Config(
        planner="code",
        planner_options=code_of(procedure).model_dump(mode="json"),
        env=env or evidence.env,
        env_options=dict(env_options),
        actions=evidence.actions,
        limits=evidence.limits.model_copy(update=reduced_limits(evidence.limits)),
        seed=evidence.seed,
        selection=Selection(ids=tuple(task.task.id for task in evidence.tasks)),
    )
    if procedure.environment != (name := config.environment.name):
        raise BadArgument(
            f"{folder} is a skill for the environment {procedure.environment!r}, not {name!r}; "
            f"name {procedure.environment!r} with --env"
        )
    validate(config.environment.Options, config.env_options, "--option")
    return config


def tasks_in_environment(config: Config, evidence: SkillEvidence) -> list[Task]:
    """Return the tasks of the evidence as the environment defines them now. Raises BadSelection if one is missing."""
    selections = (Selection(split=row.task.split or None, ids=(row.task.id,)) for row in evidence.tasks)
    return [task for chosen in selections for task in config.environment.select(chosen, config.environment_options)]


def verified_skill(folder: Path, evidence: SkillEvidence, run_folder: Path) -> VerifiedSkill:
    """Compare the verdicts of a run with the evidence. Raises BadArgument if the tasks differ."""
    with closing(Run.open(run_folder)) as run:
        ended = recorded_endings(run).keys()
        episodes = {entry.task.id: last_attempt(run, entry) for entry in run.entries() if entry.index in ended}
    tasks = {id: episode.task for id, episode in episodes.items()}
    endings = {id: episode.ending for id, episode in episodes.items() if episode.ending.outcome.played}
    verdicts = {id: (ending.outcome.solved, ending.verdict.score) for id, ending in endings.items()}
    if differing := [row.task.id for row in evidence.tasks if tasks.get(row.task.id, row.task) != row.task]:
        raise BadArgument(
            f"{folder / EVIDENCE}: tasks differ from the environment's ({listed(differing, 1)}); the evidence "
            "was changed, or is from another version of the environment"
        )
    return VerifiedSkill(
        name=evidence.skill,
        folder=str(folder),
        tasks=len(evidence.tasks),
        solved=sum(solved for solved, _ in verdicts.values()),
        changed_files=changed_files(folder, evidence),
        changed=tuple(row.task.id for row in evidence.tasks if (row.solved, row.score) != verdicts.get(row.task.id)),
        reduced_limits=tuple(reduced_limits(evidence.limits)),
        run=str(run_folder),
    )
