"""Learned procedures as Agent Skills (agentskills.io): a folder for each, with the evidence that it holds.

``SKILL.md`` says what the skill is for, ``scripts/solve.py`` is the procedure, ``references/manual.md`` has the
environment and the rules. ``evidence.json`` lists the tasks on which the procedure was verified, the verdict of each,
and what it takes to play them again.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from planbook.config import FOUND, Config
from planbook.envs import Selection, Task, holds_secret
from planbook.errors import BadArgument
from planbook.knowledge import learned_in, with_manual
from planbook.manuals import replace_files, standalone
from planbook.planner import Outcome, Procedure, Trajectory, code_of, parse_procedure, read_trajectory, unmarked
from planbook.rules import Knowledge, tell_environment, tell_manual
from planbook.runs import Run, recorded_endings
from planbook.sandbox import Limits
from planbook.wording import UNPLAYED, counted

SKILL, SCRIPT, MANUAL, EVIDENCE = "SKILL.md", "scripts/solve.py", "references/manual.md", "evidence.json"
HASHED = (SCRIPT, MANUAL)
VERIFY = "planbook skills verify"
NAME_CHARACTERS, DESCRIPTION_CHARACTERS = 64, 1024
"""Limits of the specification."""
EXAMPLES = 3
"""Goals that the description quotes."""
MATCHED = "its params are matched from goals (--types found), which a skill cannot do"
_FOLDERS = re.compile(r"(?<![\w/.])/(?:[^\s/'\":]+/)+")
"""The folders of a file that is named from the root."""
_FILES = re.compile(r"[\w./-]+\.(?:py|ya?ml|json)\b")
UNVERIFIED = "no verification of it is in the run"


class Proof(BaseModel):
    """Base of the parts of ``evidence.json``."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class VerifiedTask(Proof):
    """A task that the procedure was played on, and the environment's verdict."""

    task: Task
    outcome: Outcome
    score: float
    actions: int

    @property
    def solved(self) -> bool:
        """True if the environment judged the task solved."""
        return self.outcome.solved


class SkillEvidence(Proof):
    """What ``skills verify`` plays again. ``sha256`` has the digest of each file that the skill consists of."""

    schema_version: Literal["planbook.skill-evidence/1"] = Field(default="planbook.skill-evidence/1", alias="schema")
    verify: str = f"{VERIFY} ."
    """The command that verifies the skill, to be run in its folder."""
    skill: str
    task_type: str
    env: str
    env_options: dict[str, JsonValue]
    """The options that are not as by default, without those that hold a secret."""
    actions: int
    """Actions that one episode may take."""
    limits: Limits
    seed: int
    run: str
    """The name of the run that learned the procedure."""
    versions: dict[str, str]
    sha256: dict[str, str]
    tasks: tuple[VerifiedTask, ...]


class SkillsExported(BaseModel):
    """The object that ends standard output. ``left_out`` has the reason for each task type without a skill."""

    model_config = ConfigDict(frozen=True)

    skills: dict[str, str]
    """The folder of each skill, by its name."""
    left_out: dict[str, str]
    run: str


def export_skills(folder: Path, out: Path | None) -> SkillsExported:
    """Write a skill for each procedure of a building run that was verified there. Raises BadArgument, BadRun."""
    written, left_out = dict[str, str](), dict[str, str]()
    with closing(Run.open(folder)) as run:
        if run.config.learning is None:
            raise BadArgument(f"{folder} is not a building run; skills are the procedures that `planbook build` learns")
        verified = list(_verifications(run))
        for group, state in learned_in(run).items():
            knowledge = with_manual(run, group, state)
            for kind, procedure in sorted(state.knowledge.procedures.items()):
                tasks = _evidence_for(procedure, verified)
                if not tasks or run.config.types == FOUND:
                    left_out[kind] = MATCHED if tasks else UNVERIFIED
                    continue
                name = _free_name(f"{procedure.environment}-{kind}", written)
                home = (out or folder / "skills") / name
                replace_files(home, _files(run, name, knowledge, procedure, tasks))
                written[name] = str(home)
    if not written:
        reasons = ", ".join(f"{kind}: {why}" for kind, why in left_out.items()) or "it has learned no procedure"
        raise BadArgument(f"{folder} has no skill to export ({reasons})")
    return SkillsExported(skills=written, left_out=left_out, run=str(folder))


def _verifications(run: Run) -> Iterator[Trajectory]:
    """Yield the episodes that a building run played to verify procedures, in the order of their ends."""
    ended = [event.scope for event in run.store.events("learn", "outcome") if "/verification/" in event.scope]
    yield from (read_trajectory(path, run.store.events(path)) for path in ended)


def _evidence_for(procedure: Procedure, verified: list[Trajectory]) -> tuple[VerifiedTask, ...]:
    """Return the last verdict on each task that exactly this code was played on."""
    code, found = code_of(procedure).code, dict[str, VerifiedTask]()
    for each in verified:
        played = [cell.code for part in each.rounds for cell in part.cells]
        if played[:1] == [code] and each.ending.outcome not in UNPLAYED:
            found[each.task.id] = verified_task(each)
    return tuple(found.values())


def verified_task(episode: Trajectory) -> VerifiedTask:
    """Return the verdict on the task of an episode."""
    ending = episode.ending
    return VerifiedTask(task=episode.task, outcome=ending.outcome, score=ending.verdict.score, actions=ending.actions)


def _free_name(text: str, taken: Mapping[str, str]) -> str:
    """Return a name as the specification has it: lower case, letters and digits, single hyphens."""
    base = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[: NAME_CHARACTERS - 4].rstrip("-") or "skill"
    numbered = (f"{base}-{number}" for number in count(2))
    return base if base not in taken else next(name for name in numbered if name not in taken)


def _files(
    run: Run, name: str, knowledge: Knowledge, procedure: Procedure, tasks: tuple[VerifiedTask, ...]
) -> dict[str, str]:
    config = run.config
    about, rules = tell_environment(config.environment, config.environment_options), unmarked(tell_manual(knowledge))
    script = standalone(procedure).replace(procedure.source, without_folders(procedure.source), 1)
    texts = {SCRIPT: script, MANUAL: f"# {procedure.environment}\n\n{about}\n\n{rules}\n"}
    evidence = SkillEvidence(
        skill=name,
        task_type=procedure.type,
        env=without_folders(config.env),
        env_options=_told_options(config),
        actions=config.actions,
        limits=config.limits,
        seed=config.seed,
        run=run.folder.resolve().name,
        versions=run.versions,
        sha256={path: _digest(text.encode()) for path, text in texts.items()},
        tasks=tasks,
    )
    told = json.dumps(evidence.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False)
    return {SKILL: _skill_text(evidence, procedure), **texts, EVIDENCE: f"{told}\n"}


def without_folders(text: str) -> str:
    """Return a text with the names of files alone: the folders they are in are this machine's."""
    return _FOLDERS.sub("", text)


def _told_options(config: Config) -> dict[str, JsonValue]:
    options = config.environment_options.model_dump(mode="json", exclude_defaults=True)
    told = {name: value for name, value in options.items() if not holds_secret(name, value)}
    return dict(json.loads(without_folders(json.dumps(told))))


def _command(evidence: SkillEvidence) -> tuple[str, str]:
    """Return the command that plays a task, and a sentence on the files that it needs."""
    options = {name: each if isinstance(each, str) else json.dumps(each) for name, each in evidence.env_options.items()}
    words = [part for name, text in options.items() for part in ("-o", f"{name}={text}")]
    play = ["planbook", "exec", SCRIPT, "--env", evidence.env, *words, "--task", evidence.tasks[0].task.id]
    files = {Path(file).name: None for file in _FILES.findall(" ".join((evidence.env, *options.values())))}
    named = ", ".join(f"`{file}`" for file in files)
    needed = f"\nThese commands need files of the environment: copy {named} into this folder, or give the paths.\n"
    return shlex.join(play), needed if files else ""


def _skill_text(evidence: SkillEvidence, procedure: Procedure) -> str:
    solved = sum(each.solved for each in evidence.tasks)
    verdict = f"it solved {solved} of {counted(len(evidence.tasks), 'task')}"
    goals = list(dict.fromkeys(each.task.goal for each in evidence.tasks))[:EXAMPLES]
    use = f"Use for tasks of the type {procedure.type} in {procedure.environment}, such as: {'; '.join(goals)}"
    header = {
        "name": evidence.skill,
        "description": _shortened(f"{procedure.summary} {use}. Verified: {verdict}."),
        "compatibility": f"Needs planbook and its environment {procedure.environment}",
    }
    play, needed = _command(evidence)
    lines = "\n".join(f"{key}: {_scalar(value)}" for key, value in header.items())
    return f"""---
{lines}
metadata:
  task-type: {_scalar(procedure.type)}
  environment: {_scalar(procedure.environment)}
  source: {_scalar(without_folders(procedure.source))}
---

# {evidence.skill}

{procedure.summary}

`{SCRIPT}` defines `solve(agent, task)`: Python that acts by calling methods of `agent`. It needs no model. To play it
on a task, in this folder:

    {play}

`{MANUAL}` describes the environment with its actions, and has the rules that were learned of it. Read it to plan a
task that the script does not solve.

When it was verified, {verdict}. `{EVIDENCE}` lists them. To play them all again, in this folder:

    {evidence.verify}
{needed}"""


def _scalar(text: str) -> str:
    """Return a YAML scalar in quotes. Readers of skills take three hyphens for the end of the header."""
    return json.dumps(re.sub(r"-{3,}", "--", text), ensure_ascii=False)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= DESCRIPTION_CHARACTERS else f"{line[: DESCRIPTION_CHARACTERS - 4]} ..."


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# Verifying.


class VerifiedSkill(BaseModel):
    """A skill that was verified again. ``changed_files`` differ from their digests, ``changed`` lists task ids."""

    model_config = ConfigDict(frozen=True)

    name: str
    folder: str
    tasks: int
    solved: int
    """Tasks that are solved now."""
    changed_files: tuple[str, ...]
    changed: tuple[str, ...]
    """Tasks whose verdict is not the recorded one."""
    run: str
    """The run in which the tasks were played."""

    @property
    def holds(self) -> bool:
        """True if files and verdicts are as they were recorded."""
        return not self.changed_files and not self.changed


def skill_folders(folder: Path) -> list[Path]:
    """Return the folder of a skill, or the skills in a folder. Raises BadArgument where there is none."""
    found = [folder] if (folder / EVIDENCE).is_file() else sorted(path.parent for path in folder.glob(f"*/{EVIDENCE}"))
    if not found:
        raise BadArgument(f"{folder} holds no skill with an {EVIDENCE}; write some with `planbook skills export RUN`")
    return found


def read_evidence(folder: Path) -> SkillEvidence:
    """Read the evidence of a skill. Raises BadArgument."""
    try:
        return SkillEvidence.model_validate_json((folder / EVIDENCE).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise BadArgument(f"{folder / EVIDENCE} cannot be read as the evidence of a skill: {error}") from error


def changed_files(folder: Path, evidence: SkillEvidence) -> tuple[str, ...]:
    """Return the files of a skill that are missing or differ from their digests."""
    paths = {name: folder / name for name in HASHED}
    return tuple(
        name
        for name, path in paths.items()
        if not path.is_file() or _digest(path.read_bytes()) != evidence.sha256.get(name)
    )


def verifying_config(folder: Path, evidence: SkillEvidence, env: str, env_options: Mapping[str, JsonValue]) -> Config:
    """Return the configuration of a run that plays the skill on the tasks of its evidence.

    ``env`` and ``env_options`` are those of this machine; the evidence has neither folders nor secrets. Raises
    BadArgument, BadProcedure.
    """
    try:
        text = (folder / SCRIPT).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"{folder / SCRIPT} cannot be read: {error}") from error
    kept = {name: _option_beside(folder, each) for name, each in evidence.env_options.items()}
    return Config(
        planner="code",
        planner_options=code_of(parse_procedure(text, Path(SCRIPT).name)).model_dump(mode="json"),
        env=env or _beside(folder, evidence.env),
        env_options={**kept, **env_options},
        actions=evidence.actions,
        limits=evidence.limits,
        seed=evidence.seed,
        selection=Selection(ids=tuple(each.task.id for each in evidence.tasks)),
    )


def _beside(folder: Path, env: str) -> str:
    """Name an environment by its file in the skill's folder, if that has it."""
    kind = "module:" if env.startswith("module:") else ""
    file, _, name = env.removeprefix(kind).partition(":")
    return f"{kind}{folder / file}{name and f':{name}'}" if (folder / file).is_file() else env


def _option_beside(folder: Path, value: JsonValue) -> JsonValue:
    """Name a file that an option names, if the skill's folder has it, by its path there."""
    return str(folder / value) if isinstance(value, str) and (folder / value).is_file() else value


def verified_skill(folder: Path, evidence: SkillEvidence, played: Path) -> VerifiedSkill:
    """Compare the verdicts in a run that played the skill with the recorded ones."""
    with closing(Run.open(played)) as run:
        endings = recorded_endings(run)
        now = {entry.task.id: endings[entry.index].outcome for entry in run.entries() if entry.index in endings}
    solved = {id for id, outcome in now.items() if outcome.solved}
    return VerifiedSkill(
        name=evidence.skill,
        folder=str(folder),
        tasks=len(evidence.tasks),
        solved=len(solved),
        changed_files=changed_files(folder, evidence),
        changed=tuple(each.task.id for each in evidence.tasks if each.solved != (each.task.id in solved)),
        run=str(played),
    )
